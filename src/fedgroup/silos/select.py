"""The SELECT that makes the coarse cut: one part per box, put together, every value a bound parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedgroup.silos.batches import Clock
from fedgroup.silos.named_parameters import Spell
from fedgroup.silos.wanted import CoarseBox, Wanted

Bounds = tuple[Any, Any]
Parameters = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A coordinate: the expression to fetch it as a double, the one to compare, and bounds as they compare with it."""

    value: str
    compared: str
    bounds: Callable[[float, float], Bounds] = lambda low, high: (low, high)


@dataclass(frozen=True)
class Time:
    """A time: the expression to fetch it, how it arrives, and a cut of it, if there is one, by comparison or by text.

    `cut` takes an operator and a placeholder; `bound` makes the parameter of seconds since 1970.
    """

    value: str
    clock: Clock
    cut: Callable[[str, str], str] | None = None
    bound: Callable[[float], Any] = lambda seconds: seconds


@dataclass(frozen=True)
class Fragments:
    """A table's pieces of SQL; `source` and `near` are written for the box with a given number.

    `near` is what an index can find of a box besides the comparison of coordinates, with parameters of its own;
    `reaches` tells whether the table could have rows in a box at all. A row without a `subject`, which is then NULL, is
    not there. `doubles` names the attributes whose every value
    is a double, and has an empty name if the coordinates are.
    """

    source: Callable[[int], str]
    spell: Spell
    x: Place
    y: Place
    time: Time | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    subject: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    near: Callable[[int], str] | None = None
    near_parameters: Callable[[Wanted, CoarseBox], Parameters] = lambda _wanted, _box: {}
    reaches: Callable[[CoarseBox], bool] | None = None
    doubles: frozenset[str] = frozenset()


def select(fragments: Fragments, wanted: Wanted) -> tuple[str, Parameters]:
    """Return the SELECT of the wanted rows, in the order x, y, time, attributes, subject, texts, and its parameters."""
    parameters: Parameters = {}
    parts = []
    reached = [box for box in wanted.boxes if fragments.reaches is None or fragments.reaches(box)]
    for number, box in enumerate(reached):
        parts.append(_part(fragments, wanted, number))
        parameters |= _parameters(fragments, wanted, number, box)
    return _ordered(fragments, wanted, parts), parameters


def _part(fragments: Fragments, wanted: Wanted, number: int) -> str:
    spell = fragments.spell
    between = [
        f"{place.compared} BETWEEN {spell(f'{low}_{number}')} AND {spell(f'{high}_{number}')}"
        for place, low, high in ((fragments.x, "left", "right"), (fragments.y, "lower", "upper"))
    ]
    near = [] if fragments.near is None else [fragments.near(number)]
    whose = [] if fragments.subject is None else [f"{fragments.subject} IS NOT NULL"]
    conditions = " AND ".join([*near, *between, *_time_cuts(fragments, wanted), *whose])
    ordered = list(fragments.order) if wanted.in_order else []
    named = [f"{value} AS c{i}" for i, value in enumerate([*_fetched(fragments, wanted), *ordered])]
    return f"SELECT {', '.join(named)} FROM {fragments.source(number)} WHERE {conditions}"  # noqa: S608  quoted pieces


def _fetched(fragments: Fragments, wanted: Wanted) -> list[str]:
    time = [fragments.time.value] if wanted.with_time and fragments.time is not None else []
    subject = [fragments.subject] if wanted.with_subject and fragments.subject is not None else []
    texts = [fragments.texts[name] for name in wanted.texts]
    values = [fragments.attributes[name] for name in wanted.attributes]
    return [fragments.x.value, fragments.y.value, *time, *values, *subject, *texts]


def _ordered(fragments: Fragments, wanted: Wanted, parts: list[str]) -> str:
    """Return the parts together, in the order where it is wanted, absent values last, or the first by it."""
    together = " UNION ALL ".join(parts)
    if not wanted.in_order:
        return together
    fetched = len(_fetched(fragments, wanted))
    columns = ", ".join(f"c{i}" for i in range(fetched))
    keys = ", ".join(f"c{i} NULLS LAST" for i in range(fetched, fetched + len(fragments.order)))
    limit = "" if wanted.first is None else f" LIMIT {int(wanted.first)}"
    return f"SELECT {columns} FROM ({together}) AS together ORDER BY {keys}{limit}"  # noqa: S608  quoted pieces


def _time_cuts(fragments: Fragments, wanted: Wanted) -> list[str]:
    time = fragments.time
    if time is None or time.cut is None:
        return []
    limits = ((wanted.since_s, ">=", "earliest"), (wanted.until_s, "<=", "latest"))
    return [time.cut(compare, fragments.spell(name)) for limit, compare, name in limits if limit is not None]


def _parameters(fragments: Fragments, wanted: Wanted, number: int, box: CoarseBox) -> Parameters:
    left, right = fragments.x.bounds(box.west, box.east)
    lower, upper = fragments.y.bounds(box.south, box.north)
    compared = {"left": left, "right": right, "lower": lower, "upper": upper}
    found = {f"{name}_{number}": value for name, value in (compared | fragments.near_parameters(wanted, box)).items()}
    time = fragments.time
    if time is not None and time.cut is not None:
        limits = {"earliest": wanted.since_s, "latest": wanted.until_s}
        found |= {name: time.bound(seconds) for name, seconds in limits.items() if seconds is not None}
    return found
