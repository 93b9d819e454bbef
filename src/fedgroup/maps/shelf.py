"""Published maps side by side: the newest of each kind and window is read, older ones stay readable.

What they cost a record together is told. To delete a map changes nothing: what was released is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fedgroup.maps.private_map import PrivateMap
from fedgroup.maps.published import PublishedMap

OF_RECORDS = "one record, add-remove"
"""The protection under which a record pays for the maps of its own time only."""


T = TypeVar("T")

_REPLACES = 0.5
"""A map with less than such a share of another's epsilon does not replace it: it is much blurrier."""


def newest(maps: Iterable[tuple[T, float]]) -> T | None:
    """Return the map that is read, given all of one kind and window with their epsilons, the newest last.

    It is the newest, but for those far blurrier than one before them: a cheap map must not hide a good one from all.
    """
    shown: tuple[T, float] | None = None
    for made, epsilon in maps:
        if shown is None or epsilon >= _REPLACES * shown[1]:
            shown = made, epsilon
    return None if shown is None else shown[0]


@dataclass(frozen=True)
class Shelf:
    """Maps in the order in which they were published."""

    maps: tuple[PublishedMap, ...] = ()

    def __len__(self) -> int:
        return len(self.maps)

    def with_map(self, made: PublishedMap) -> Shelf:
        """Return the shelf with one more map on it; one that is there already is not there twice."""
        others = (each for each in self.maps if not _same(each, made))
        return Shelf((*others, made))

    def newest(self, kind: str, *, since: int | None = None, until: int | None = None) -> PublishedMap | None:
        """Return the last map of this kind and window."""
        fitting = (m for m in reversed(self.maps) if (m.kind, m.query.since, m.query.until) == (kind, since, until))
        return next(fitting, None)

    @property
    def current(self) -> tuple[PublishedMap, ...]:
        """The newest map of every kind and window."""
        newest = {(m.kind, m.query.since, m.query.until): m for m in self.maps}
        return tuple(newest.values())

    @property
    def together(self) -> float:
        """What all maps, also those that were replaced, cost one protected unit together."""
        return cost_together(self.maps)


def paid(made: PrivateMap) -> float:
    """Return the epsilon that a map cost, with rounds that were asked again; one that was given again had cost it."""
    return max(made.epsilon, made.charged)


def cost_together(maps: Sequence[PrivateMap], cost: Callable[[PrivateMap], float] = paid) -> float:
    """Return what maps cost one protected unit together: epsilon, or else what `cost` tells of each, such as its rho.

    A record has one time: under add-remove it pays for the maps whose windows it lies in, and no others. A subject or
    an owner has records at all times, and a record that is replaced may move: they pay for all.
    """
    if not all(made.protection == OF_RECORDS for made in maps):
        return math.fsum(cost(made) for made in maps)
    most, at_once = 0.0, list[tuple[float, float]]()
    for first, last, price in sorted((_start(made), _end(made), cost(made)) for made in maps):
        at_once = [each for each in at_once if each[0] > first] + [(last, price)]
        most = max(most, math.fsum(each for _, each in at_once))
    return most


def costs_together(maps: Sequence[PrivateMap]) -> dict[str, float | None]:
    """Return the epsilon, rho and delta of maps together; the rho is None where some of them do not tell theirs."""
    counted = all(made.rho is not None for made in maps)
    return {
        "epsilon": cost_together(maps),
        "rho": cost_together(maps, lambda made: made.rho or 0.0) if counted else None,
        "delta": cost_together(maps, lambda made: made.delta),
    }


def _same(one: PublishedMap, other: PublishedMap) -> bool:
    """Tell whether two maps are one release, read twice."""
    if (one.query, one.asked_at) != (other.query, other.asked_at):
        return False
    return np.array_equal(one.publication.released[2].counts, other.publication.released[2].counts)


def _start(made: PrivateMap) -> float:
    return -math.inf if made.query.since is None else float(made.query.since)


def _end(made: PrivateMap) -> float:
    return math.inf if made.query.until is None else float(made.query.until)
