"""Worlds that differ by one protected unit, as far as a unit can make them: the pairs that an audit tells apart.

Every list holds the pair that theory says is worst, for each part of an answer, and pairs that are worst if something
is wrong: a unit among others, records beyond those that count, a unit whose first records lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.kinds import KINDS
from fedgroup.space import Box, PublicMap, Rectangle

DOMAIN = Box(0, 0, 4, 4)
MAP = PublicMap(DOMAIN)
RANGE = Rectangle(0, 0, 2, 2)
"""The first of the four cells of the domain; a range is asked about here."""
CELLS = ((1.0, 1.0), (3.0, 1.0), (1.0, 3.0), (3.0, 3.0))
BINS = len(CELLS)
SHAPES = ("range", "map", "series")
MOST_RECORDS, MOST_BINS = 3, 2
CLIP = 10
"""Values are cut to it and counted in whole ones."""
BEYOND = 2
"""So many records of a unit are more than those that count."""
HOUR = 3_600
MEMBERS = 5
"""Owners of a federation in which they answer in groups; the first holds the unit, the last ones collude."""


@dataclass(frozen=True)
class SeenRecord:
    """One record: in which bin it lies, its value, and whose it is."""

    bin: int
    value: float = CLIP
    subject: int = 0


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring worlds, and how far each number of every part differs between them, if all is right."""

    name: str
    one: tuple[SeenRecord, ...]
    other: tuple[SeenRecord, ...]
    moves: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Setting:
    """What worlds are made for: a kind of question over one shape of bins, and what is protected."""

    kind: str
    shape: str
    protection: Protection
    signed: bool = False

    @property
    def bins(self) -> int:
        return 1 if self.shape == "range" else BINS

    @property
    def unit_bins(self) -> int:
        """In how many bins the protected unit counts as one of the people there."""
        return min(MOST_BINS if self.protection.max_bins is None else self.protection.max_bins, self.bins)

    @property
    def spreads(self) -> bool:
        """Whether the unit moves people by one in several bins, rather than many in one."""
        return self.kind == "people" and self.protection.of_subjects


def table(seen: Sequence[SeenRecord], shape: str, *, owners: int, subjects: bool) -> Records:
    """Return the records of a world, all of the first of so many owners."""
    steps = shape == "series"
    places = [CELLS[0] if steps else CELLS[each.bin] for each in seen]
    columns: dict[str, Any] = {"time": np.array([each.bin * HOUR + 60 for each in seen], dtype=np.int64)}
    if subjects:
        columns["subject"] = np.array([each.subject for each in seen], dtype=np.int64)
    return Records(
        owner=np.zeros(len(seen), dtype=np.int64),
        x=np.array([x for x, _ in places], dtype=np.float64),
        y=np.array([y for _, y in places], dtype=np.float64),
        attributes={"fare": np.array([each.value for each in seen], dtype=np.float64)},
        owners=np.arange(owners),
        domain=DOMAIN,
        **columns,
    )


def pairs(setting: Setting) -> list[Pair]:
    """Return the pairs of worlds that are told apart, the worst one first."""
    found = _replaced(setting) if setting.protection.neighbours == "replace" else _added(setting)
    if setting.protection.unit == "owner":
        return found  # nobody else's records are beside those of the unit
    others = tuple(SeenRecord(at, subject=9) for at in range(BINS))
    among = found[0]
    return [*found, Pair(f"{among.name}, among others", others + among.one, others + among.other, among.moves)]


def _added(setting: Setting) -> list[Pair]:
    found = [_pair(setting, "a unit more", _unit(setting, 0, CLIP), ())]
    if setting.signed:
        found.append(_pair(setting, "a unit more, below 0", _unit(setting, 0, -CLIP), ()))
    if setting.protection.max_records is not None:
        first = _unit(setting, BINS - 1, CLIP)[: setting.protection.max_records]
        late = (*first, *_unit(setting, 0, CLIP)) if not setting.spreads else _unit(setting, 0, CLIP) * 2
        found.append(_pair(setting, "a unit more, late records here", late, ()))
    return found


def _replaced(setting: Setting) -> list[Pair]:
    here, signed = _unit(setting, 0, CLIP), setting.signed
    elsewhere = _pair(setting, "a unit went elsewhere", here, _unit(setting, BINS - 2, CLIP))
    if not signed:
        return [elsewhere]
    return [_pair(setting, "a unit changed its sign", here, _unit(setting, 0, -CLIP)), elsewhere]


def _unit(setting: Setting, first: int, value: float) -> tuple[SeenRecord, ...]:
    """Return the records of one unit that moves the answer as far as it can, from a bin on."""
    most = setting.protection.max_records
    if most is None:
        return (SeenRecord(first, value),)
    if setting.spreads and setting.bins > 1:
        return tuple(SeenRecord((first + step) % BINS, value) for step in range(BINS))
    own = setting.protection.unit == "owner" and setting.protection.subjects
    return tuple(SeenRecord(first, value, subject=each if own else 0) for each in range(most + BEYOND))


def _pair(setting: Setting, name: str, one: tuple[SeenRecord, ...], other: tuple[SeenRecord, ...]) -> Pair:
    with_it, without = (_counted(setting, side) for side in (one, other))
    moves = {part: tuple(a - b for a, b in zip(with_it[part], without[part], strict=True)) for part in with_it}
    return Pair(name, one, other, moves)


def _counted(setting: Setting, unit: tuple[SeenRecord, ...]) -> dict[str, list[int]]:
    """Return what a unit adds to each bin of every part: the definition, record by record, apart from the package."""
    most = setting.protection.max_records
    kept = unit if most is None else unit[:most]
    found: dict[str, list[int]] = {part: [0] * setting.bins for part in KINDS[setting.kind].parts}
    if "people" in found:
        pairs_kept = dict.fromkeys((each.subject, each.bin) for each in (unit if setting.spreads else kept))
        inside = [at for _, at in pairs_kept if at < setting.bins]
        for at in inside[: setting.unit_bins] if setting.spreads else inside:
            found["people"][at] += 1
        return found
    for each in kept:
        if each.bin < setting.bins:
            for part in found:
                found[part][each.bin] += 1 if part == "count" else int(each.value)
    return found
