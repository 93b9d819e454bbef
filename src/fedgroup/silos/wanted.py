"""Which rows a question could need: the coarse cut that a database makes, always of too many rows and never too few.

Boxes are in the table's own coordinates. Longitudes may be written there with a turn more or less than on the map, as
-3 or as 357, so a question may need several boxes; they share no place, so that no row comes twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fedgroup.owner.range_scan import window_of
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle, PublicMap, Range

LARGEST_LONGITUDE = 360.0
"""Numbers beyond it are no longitudes: such a row is on no map."""
EARLIEST_S = -62_135_596_800.0
LATEST_S = 253_402_300_799.0
"""The seconds since 1970 of the years 1 and 9999: what every database can compare times with."""

_TURN = 360.0
_DEGREES_SLACK = 1e-8
"""More than rounding can move a longitude by whole turns."""
_SLACK = 1e-12
"""Of a radius: more than rounding can move a distance."""
_SECONDS_SLACK = 1.0

Stretch = tuple[float, float]


class CoarseBox(NamedTuple):
    """The places with west <= x <= east and south <= y <= north, in the table's coordinates."""

    west: float
    south: float
    east: float
    north: float


@dataclass(frozen=True)
class Wanted:
    """Rows to fetch: those in any of the boxes and in a window of seconds, or the `first` of them in the agreed order.

    Besides the place, the time is fetched if `with_time`, the subject if `with_subject`, and these attributes and
    texts. The order is kept if `ordered`.
    """

    boxes: tuple[CoarseBox, ...]
    since_s: float | None = None
    until_s: float | None = None
    with_time: bool = False
    attributes: tuple[str, ...] = ()
    with_subject: bool = False
    texts: tuple[str, ...] = ()
    ordered: bool = False
    first: int | None = None

    @property
    def in_order(self) -> bool:
        """Whether rows come in the agreed order."""
        return self.ordered or self.first is not None

    @property
    def plain(self) -> bool:
        """Whether rows are numbers alone, in any order."""
        return not (self.in_order or self.with_subject or self.texts)


def rows_of_domain(public_map: PublicMap) -> Wanted:
    """Return all rows that may lie in the domain."""
    west, south, east, north = public_map.domain.sides
    return Wanted(_boxes(public_map, [(west, east)], (south, north)))


def rows_of_question(query: RangeQuery, public_map: PublicMap) -> Wanted:
    """Return all rows that may lie in the domain and in the range and the time window of a question."""
    one = query.range if isinstance(query.range, Range) else None
    boxes = rows_of_domain(public_map).boxes if one is None else _boxes(public_map, *_window(one, public_map))
    by = query.by
    numbers = [] if by is None or by.of_texts else [by.attribute]
    summed = [] if query.measure is None else [query.measure.attribute]
    return Wanted(
        boxes,
        since_s=_comparable(query.since, -_SECONDS_SLACK),
        until_s=_comparable(query.until, _SECONDS_SLACK),
        with_time=query.since is not None or query.until is not None,
        attributes=tuple(dict.fromkeys([*summed, *numbers])),
        texts=(by.attribute,) if by is not None and by.of_texts else (),
    )


def _comparable(instant: int | None, slack_s: float) -> float | None:
    """Return an instant in seconds, moved a little; none where a database could not compare with it."""
    seconds = None if instant is None else instant / 1e6 + slack_s
    return seconds if seconds is not None and EARLIEST_S <= seconds <= LATEST_S else None


def _window(asked: Range, public_map: PublicMap) -> tuple[list[Stretch], Stretch]:
    """Return the stretches of x and the stretch of y around a range, as the map writes them."""
    if isinstance(asked, Circle) and not public_map.lonlat:
        reach = asked.radius * (1 + _SLACK)
        return [_widened((asked.x - reach, asked.x + reach))], _widened((asked.y - reach, asked.y + reach))
    window = window_of(asked, public_map)
    return [(side.low, side.high) for side in window.across], (window.up.low, window.up.high)


def _boxes(public_map: PublicMap, across: Sequence[Stretch], up: Stretch) -> tuple[CoarseBox, ...]:
    west, south, east, north = public_map.domain.sides
    low, high = _common(up, (south, north))
    stretches = _joined(_common(stretch, (west, east)) for stretch in across)
    turned = [moved for stretch in stretches for moved in (_turned(stretch) if public_map.lonlat else [stretch])]
    if low > high:
        return ()
    # widened before they are joined, so that no two share a place
    south, north = _widened((low, high))
    return tuple(CoarseBox(left, south, right, north) for left, right in _joined(map(_widened, turned)))


def _widened(stretch: Stretch) -> Stretch:
    """Return a stretch with the next numbers on both sides: a decimal may lie beyond its nearest double."""
    return math.nextafter(stretch[0], -math.inf), math.nextafter(stretch[1], math.inf)


def _turned(stretch: Stretch) -> list[Stretch]:
    """Return the longitudes that some whole turns bring onto a stretch."""
    low, high = stretch[0] - _DEGREES_SLACK, stretch[1] + _DEGREES_SLACK
    fewest = math.floor((-LARGEST_LONGITUDE - high) / _TURN)
    most = math.ceil((LARGEST_LONGITUDE - low) / _TURN)
    moved = ((low + turns * _TURN, high + turns * _TURN) for turns in range(fewest, most + 1))
    there = (_common(each, (-LARGEST_LONGITUDE, LARGEST_LONGITUDE)) for each in moved)
    return [each for each in there if each[0] <= each[1]]


def _common(one: Stretch, other: Stretch) -> Stretch:
    return max(one[0], other[0]), min(one[1], other[1])


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the stretches that are not empty, ascending, those that touch joined."""
    result: list[Stretch] = []
    for low, high in sorted(stretch for stretch in stretches if stretch[0] <= stretch[1]):
        if result and low <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], high))
        else:
            result.append((low, high))
    return result
