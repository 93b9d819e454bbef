"""The data that experiments play on: real check-ins where a folder or file has them, else a synthetic city."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fedgroup.data.files import read
from fedgroup.data.synthetic import synthesize
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.selection import select_owners
from fedgroup.lab.experiments.places import NEW_YORK, WORLD, public_places
from fedgroup.lab.experiments.trial import PAPER_OWNERS, PAPER_TRUTH, TrialPlan
from fedgroup.owner.counting import contributing
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records
from fedgroup.space import Box, Circle, PublicMap

Stated = Callable[[Records], Box | None]

SYNTHETIC = "synthetic city"
_NAMES = {NEW_YORK: "New York", WORLD: "worldwide"}
_FILES = {NEW_YORK: "gowalla_nyc_*.parquet", WORLD: "gowalla_u*.parquet"}
_SNAP = "*_totalCheckins.txt*"
_CITY_OWNERS = 5_000
_QUICK_CITY_OWNERS = 800
_CITY_RECORDS = 33
_BISECTIONS = 30


@dataclass(frozen=True, eq=False)
class Scene:
    """Records on their public map, and circles around public places to ask about.

    `pool` holds the owners with enough records; `fixed` is the question whose true count is nearest to the paper's.
    """

    name: str
    pool: Records
    domain: Box
    circles: tuple[Circle, ...]
    fixed: int

    @property
    def owners(self) -> int:
        return len(self.pool.owners)

    @property
    def facts(self) -> dict[str, Any]:
        """What tells this scene from others."""
        return {
            "data": self.name,
            "digest": self.pool.snapshot[:16],
            "owners": self.owners,
            "records": len(self.pool),
            "domain": list(self.domain.sides),
            "radius_m": self.circles[0].radius,
            "questions": len(self.circles),
        }

    def stage(self, owners: int, selection: int) -> Stage:
        """Return one selection of owners."""
        some = select_owners(self.pool, owners, seed=selection)
        public_map = PublicMap(self.domain, self.pool.lonlat)
        return Stage(self, RecordIndex.build(some, public_map), selection)


@dataclass(frozen=True, eq=False)
class Stage:
    """Some owners of a scene, with the true answers to all questions."""

    scene: Scene
    index: RecordIndex
    selection: int

    @property
    def owners(self) -> int:
        return len(self.index.records.owners)

    @cached_property
    def truths(self) -> list[int]:
        return [len(self.index.rows_in(circle)) for circle in self.scene.circles]


def open_scenes(data: Path | None, trial: TrialPlan, *, stated: Stated = lambda _: None) -> list[Scene]:
    """Return the scenes that a folder or file has, or a synthetic city where none is given.

    `stated` returns the domain that was given for a file's records, if any.
    """
    sources = list(
        _synthetic(trial) if data is None else _of_file(data, stated) if data.is_file() else _of_folder(data)
    )
    scenes = [_scene(records, place, trial, real=data is not None) for records, place in sources]
    enough = [scene for scene in scenes if scene is not None]
    if not enough:
        raise InvalidInput(
            f"{data or SYNTHETIC} has fewer than {trial.owners} owners with {trial.min_records} records or more in any "
            "known domain; give other data, or --owners and --min-records"
        )
    return enough


def _synthetic(trial: TrialPlan) -> Iterator[tuple[Records, Box]]:
    owners = _QUICK_CITY_OWNERS if trial.quick else _CITY_OWNERS
    records = synthesize(owners, records_per_owner=_CITY_RECORDS, seed=1)
    assert records.domain is not None  # noqa: S101  cities state theirs
    yield records, records.domain


def _of_folder(folder: Path) -> Iterator[tuple[Records, Box]]:
    found = {domain: _files(folder, pattern) for domain, pattern in _FILES.items()}
    for domain, files in found.items():
        if files:
            yield read(files[0]), domain
    if any(found.values()):
        return
    checkins = _files(folder, _SNAP)
    if not checkins:
        wanted = ", ".join([*_FILES.values(), _SNAP])
        raise InvalidInput(f"{folder} holds none of {wanted}; give a folder with one of them, or a file")
    yield from _of_file(checkins[0], lambda _: None)


def _of_file(path: Path, stated: Stated) -> Iterator[tuple[Records, Box]]:
    """Yield the file's records on its own domain; degrees without one are looked at in New York and worldwide."""
    records = read(path)
    known = stated(records) or records.domain
    if known is None and not records.lonlat:
        raise InvalidInput("--domain W,S,E,N is needed: the agreed public rectangle, never taken from the records")
    for place in (NEW_YORK, WORLD) if known is None else (known,):
        yield records, place


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if "edges" not in path.name)


def _scene(records: Records, domain: Box, trial: TrialPlan, *, real: bool) -> Scene | None:
    public_map = PublicMap(domain, records.lonlat)
    inside = contributing(records, public_map)
    enough = np.bincount(inside.code, minlength=len(inside.owners)) >= trial.min_records
    if int(enough.sum()) < trial.owners:
        return None
    pool = inside.keep(np.flatnonzero(enough[inside.code]), owners=inside.owners[enough])
    return make_scene(_NAMES.get(domain, "given data") if real else SYNTHETIC, pool, domain, questions=trial.questions)


def make_scene(name: str, pool: Records, domain: Box, *, questions: int | None) -> Scene:
    """Return a scene whose circles hold as many records on average as the paper's question, at 500 owners."""
    places = public_places(domain)
    step = 1 if questions is None else max(1, len(places) // questions)
    chosen = places[::step][:questions]
    index = RecordIndex.build(pool, PublicMap(domain, pool.lonlat))
    share = PAPER_OWNERS / len(pool.owners)

    def expected(radius: float) -> list[float]:
        return [share * len(index.rows_in(Circle(x, y, radius))) for x, y in chosen]

    radius = _solved(lambda radius: float(np.mean(expected(radius))), largest=_largest_radius(domain, pool.lonlat))
    fixed = int(np.argmin(np.abs(np.array(expected(radius)) - PAPER_TRUTH)))
    return Scene(name, pool, domain, tuple(Circle(x, y, radius) for x, y in chosen), fixed)


def _largest_radius(domain: Box, lonlat: bool) -> float:
    metres_per_unit = 111_000.0 if lonlat else 1.0
    return min(domain.width, domain.height) / 4 * metres_per_unit


def _solved(mean: Callable[[float], float], *, largest: float) -> float:
    """Return the radius at which the mean count is the paper's, to three digits, or the largest allowed."""
    low, high = largest / 1e6, largest
    for _ in range(_BISECTIONS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if mean(middle) < PAPER_TRUTH else (low, middle)
    return float(f"{high:.3g}")
