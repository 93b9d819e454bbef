"""How much long windows help short ones: ladders and trees of published maps, against daily maps added up.

Everything is measured against the truth, so nothing here is private. Every record costs epsilon 1 in all: one map of
its day, or a share of it for its day and for every longer window that it is in. Days are shaped by longer windows
*before* them, as they are live. Constants were chosen on a synthetic city and on one half of the owners of Gowalla's
New York; the other half was set aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments.published_maps import SCENES, cascade, plane_of
from fedgroup.maps.answering import Atlas
from fedgroup.maps.ladder import Pixels, Rung, Shaped, before, climbed, rung_of, shape_of
from fedgroup.maps.publishing import Publication, Released
from fedgroup.maps.sizing import MapSizes
from fedgroup.maps.tree import Window, needed
from fedgroup.maps.unevenness import Unevenness
from fedgroup.space import Box, Circle, Grid, PublicMap, Range

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DAYS, QUICK_DAYS = 448, 64
PLANS = {"daily": (1,), "ladder": (1, 28), "tree": (1, 16, 256)}
"""How many days long the maps of each way are; each length has the same share of epsilon."""
NOISES = (1, 142)
ASKED = (7, 30, 365)
RADIUS_M = 2_000.0
_DAY_S = 86_400


@dataclass(frozen=True, eq=False)
class DailyScene:
    """A city on a plane, in metres, its records by day: those of day d are from start[d] to start[d + 1]."""

    name: str
    set_aside: bool
    x: Floats
    y: Floats
    start: Ints
    domain: Box

    @property
    def days(self) -> int:
        return len(self.start) - 1

    @classmethod
    def of(
        cls, name: str, x: Floats, y: Floats, day: Ints, domain: Box, *, days: int, set_aside: bool = False
    ) -> DailyScene:
        """Return a city from places and days in any order; days outside of the time are left out."""
        kept = (day >= 0) & (day < days)
        order = np.argsort(day[kept], kind="stable")
        start = np.searchsorted(day[kept][order], np.arange(days + 1))
        return cls(name, set_aside, x[kept][order], y[kept][order], start, domain)


@dataclass(frozen=True)
class LadderRow:
    """How well sums over so many days were read in one way: the mean absolute error, and how often intervals held."""

    city: str
    set_aside: bool
    noises: int
    days: int
    records: float
    way: str
    error: float
    coverage: float
    maps: float


def measure(
    data: Path | None, *, quick: bool, seeds: int = 2, circles: int = 24, windows: int = 8
) -> Iterator[LadderRow]:
    """Yield a row for each city, number of noises, length of a time and way to read it."""
    seeds, circles, windows = (1, 4, 2) if quick else (seeds, circles, windows)
    for scene in scenes(data, quick=quick):
        pick = np.random.default_rng(3)
        at = pick.integers(0, len(scene.x), circles).tolist()
        asked = [Circle(float(scene.x[i]), float(scene.y[i]), RADIUS_M) for i in at]
        lengths = [many for many in ASKED if many <= scene.days]
        times = {many: pick.integers(0, scene.days - many + 1, windows).tolist() for many in lengths}
        for noises in NOISES[1:] if quick else NOISES:
            for way in PLANS:
                yield from _rows(scene, way, asked, times, noises=noises, seeds=seeds)


def scenes(data: Path | None, *, quick: bool) -> Iterator[DailyScene]:
    """Yield a synthetic city, and the halves of New York if there is a folder with check-ins."""
    days = QUICK_DAYS if quick else DAYS
    x, y = cascade(2_000, 0.8, seed=2, levels=7) if quick else cascade(70_000, 0.8, seed=2)
    week = np.array([1.0, 1.0, 1.0, 1.1, 1.3, 1.4, 0.9])[np.arange(days) % 7]
    day = np.random.default_rng(5).choice(days, len(x), p=week / week.sum())
    yield DailyScene.of("synthetic", x, y, day, Box(0, 0, 50_000, 50_000), days=days)
    if data is None:
        return
    file, sides, _ = SCENES["New York, Gowalla"]
    if not (data / file).is_file():
        raise InvalidInput(f"there is no file {file} in this folder; give the one with the check-ins: --data FOLDER")
    x, y, time, domain = plane_of(data / file, Box(*sides))
    odd = owners_of(data / file, Box(*sides)) % 2 == 1
    day = days - 1 - (time.max() - time) // _DAY_S
    for name, half in (("New York, even owners", ~odd), ("New York, odd owners", odd)):
        yield DailyScene.of(name, x[half], y[half], day[half], domain, days=days, set_aside=half is odd)


def owners_of(path: Path, box: Box) -> Ints:
    """Return the owners of the check-ins in a domain."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["lon", "lat", "owner"])
    inside = box.contains(table["lon"].to_numpy(), table["lat"].to_numpy())
    owners: Ints = table["owner"].to_numpy()[inside].astype(np.int64)
    return owners


def table(rows: Sequence[LadderRow]) -> str:
    """Return the rows as Markdown: errors, and in brackets how often the 95 % interval held."""
    ways = list(dict.fromkeys(row.way for row in rows))
    head = ["city", "noises", "days", "records", *ways]
    lines = [_line(head), _line(["---"] * len(head))]
    for key in dict.fromkeys((row.city, row.noises, row.days) for row in rows):
        mine = {row.way: row for row in rows if (row.city, row.noises, row.days) == key}
        some = next(iter(mine.values()))
        city = f"{some.city} (set aside)" if some.set_aside else some.city
        told = [f"{mine[way].error:.0f} ({mine[way].coverage:.2f})" for way in ways]
        lines.append(_line([city, some.noises, some.days, f"{some.records:.0f}", *told]))
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _rows(
    scene: DailyScene, way: str, asked: Sequence[Circle], times: dict[int, list[int]], *, noises: int, seeds: int
) -> Iterator[LadderRow]:
    plane = PublicMap(scene.domain)
    inside = np.array(
        [np.concatenate([[0], np.cumsum(plane.contains(each, scene.x, scene.y))])[scene.start] for each in asked]
    )
    off: dict[int, list[tuple[float, bool, int]]] = {many: [] for many in times}
    for seed in range(seeds):
        windows, found = _read(scene, way, asked, noises=noises, rng=np.random.default_rng((seed, noises)))
        for many, begins in times.items():
            for begin in begins:
                used = needed(begin, begin + many, windows)
                here = [windows[number] for number in used]
                for at, true in enumerate((inside[:, begin + many] - inside[:, begin]).tolist()):
                    one = climbed(begin, begin + many, here, [found[number][at] for number in used], noises=noises)
                    low, high = one.interval
                    off[many].append((abs(max(one.value, 0.0) - true), low <= true <= high, len(used)))
    for many, begins in times.items():
        records = float(np.mean([inside[:, begin + many] - inside[:, begin] for begin in begins]))
        error, coverage, maps = np.array(off[many], dtype=float).mean(axis=0).tolist()
        yield LadderRow(scene.name, scene.set_aside, noises, many, records, way, error, coverage, maps)


def _read(
    scene: DailyScene, way: str, asked: Sequence[Range], *, noises: int, rng: Any
) -> tuple[list[Window], list[list[Rung]]]:
    """Return the windows of one way to publish, in days, and what each map of it tells of each range."""
    plane, pixels, lengths = PublicMap(scene.domain), Pixels(scene.domain), PLANS[way]
    covers = [pixels.covered_by(each, plane) for each in asked]
    windows = [(at, at + many) for many in lengths for at in range(0, scene.days - scene.days % many, many)]
    maps = [_map(scene, window, share=1 / len(lengths), noises=noises, rng=rng) for window in windows]
    shapes: dict[int, Floats] = {}
    found = []
    for number, made in enumerate(maps):
        longer, uneven = before(number, windows), Unevenness.learnt(made.made)
        if longer is not None and longer not in shapes:
            shapes[longer] = shape_of(maps[longer], pixels)
        shaped = None if longer is None else Shaped(made, shapes[longer], pixels)
        taken = (
            made.weights(one) if shaped is None else shaped.weights(one, cover)
            for one, cover in zip(asked, covers, strict=True)
        )
        found.append([rung_of(made, each, uneven, shaped=shaped is not None) for each in taken])
    return windows, found


def _map(scene: DailyScene, window: Window, *, share: float, noises: int, rng: Any) -> Atlas:
    """Return a map of a window, with noise drawn from the law of the sum."""
    first, last = window
    guess = max(1, round(len(scene.x) * (last - first) / scene.days))
    sizes = MapSizes(scene.domain, Epsilon.of(share), noises, guess)
    here, going = slice(scene.start[first], scene.start[last]), Publication(sizes)
    for law in sizes.laws:
        question = going.next_question
        assert question is not None  # noqa: S101  there are three
        bins: Any = question.range
        many = bins.cells if isinstance(bins, Grid) else len(bins)
        exact = np.bincount(bins.cell_of(scene.x[here], scene.y[here]), minlength=many)
        up, down = rng.negative_binomial(noises, 1 - law.a, (2, len(exact)))
        going = going.after(Released(exact + up - down, noises))
    return Atlas(going.reconstruct(), PublicMap(scene.domain))
