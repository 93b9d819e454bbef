"""Which maps of a standing map's windows a time is read from: as few as make it up. Reading costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.tree import GAP, MOST_LEVELS, Tree, Window, needed
from fedgroup.questions.instants import When, as_instant

MOST_LISTED = 1_000
"""So many windows of each level, the latest, a service lists."""


@dataclass(frozen=True)
class _Level:
    """The published windows of one length, with the ids of their maps."""

    windows: tuple[Window, ...]
    maps: tuple[str, ...]
    adaptive: bool

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> _Level:
        """Return a standing map as the service tells of it."""
        there = [each for each in told["windows"] if each["state"] == "published" and each["map"]]
        windows = tuple((_instant(each["since"]), _instant(each["until"])) for each in there)
        return cls(windows, tuple(str(each["map"]) for each in there), bool(told["map"].get("adaptive")))

    def latest_before(self, begin: int) -> str | None:
        """Return the map of the latest window that was over then."""
        over = [(last, made) for (_, last), made in zip(self.windows, self.maps, strict=True) if last <= begin]
        return max(over)[1] if over else None


def maps_between(standing: Iterable[Mapping[str, Any]], name: str, since: When, until: When) -> list[str]:
    """Return the ids of the maps that a time is read from, of all levels of a standing map.

    To those of adaptive maps the latest longer ones before the time are added: they tell where inside cells records
    lie.
    """
    begin, end = as_instant(since, name="since"), as_instant(until, name="until")
    levels = _levels(list(standing), name)
    windows = [each for level in levels for each in level.windows]
    maps = [each for level in levels for each in level.maps]
    chosen = [maps[number] for number in needed(begin, end, windows)]
    if not chosen:
        raise InvalidQuery(f"{GAP}; 'fedgroup ask standing' shows which windows of {name} are published")
    before = [level.latest_before(begin) for level in levels[1:] if level.adaptive]
    return list(dict.fromkeys([*chosen, *(each for each in before if each is not None)]))


def _levels(standing: Sequence[Mapping[str, Any]], name: str) -> list[_Level]:
    told = {each["name"]: each for each in standing}
    if name not in told:
        there = ", ".join(sorted(told)) or "none"
        raise InvalidInput(f"this federation has no standing map {name!r}; there are: {there}")
    names = [name, *(f"{name}-{length}" for length in Tree(MOST_LEVELS).lengths[1:])]
    return [_Level.of(told[each]) for each in names if each in told]


def _instant(told: str) -> int:
    return as_instant(told, name="a window")
