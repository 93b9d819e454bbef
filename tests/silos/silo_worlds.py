"""Random tables and questions with all the edges that could come out wrong, and what `owner.counting` says of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.owner.counting import Ints, contributing, count_vectors, total_units
from fedgroup.owner.records import Records
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, Polygon, PublicMap, Range, Rectangle
from fedgroup.space.geodesy import geodesic_m

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = 1_767_268_800_000_000
"""2026-01-01 12:00 UTC in microseconds."""
HOUR = 3_600_000_000

PLANE = PublicMap(Box(-10, -10, 30, 20))
PARIS = PublicMap(Box(2.2, 48.8, 2.5, 48.95), lonlat=True)
FIJI = PublicMap(Box(177, -20, 182, -15), lonlat=True)
EARTH = PublicMap(Box(-180, -90, 180, 90), lonlat=True)
MAPS = (PLANE, PARIS, FIJI, EARTH)


@dataclass(frozen=True)
class Row:
    """One row as a database holds it; none is NULL."""

    x: float | None
    y: float | None
    fare: float | None
    time: int | None
    car: str | None = None
    category: str | None = None

    @property
    def instant(self) -> datetime | None:
        return None if self.time is None else EPOCH + timedelta(microseconds=self.time)


@dataclass(frozen=True)
class World:
    """A map, a table, and a question about it."""

    public_map: PublicMap
    rows: tuple[Row, ...]
    query: RangeQuery

    def inside(self, most: int | None) -> Records:
        """Return the records inside the domain, at most the first so many."""
        return contributing(records_of(self.rows, self.public_map), self.public_map, most=most)

    def totals(self, most: int | None = None) -> dict[str, Ints]:
        return total_units(self.inside(most), self.query, self.public_map)

    def counts(self, most: int | None = None) -> list[int]:
        return count_vectors(self.inside(most), self.public_map.grid(4, 3), self.public_map)[0].tolist()


def records_of(rows: tuple[Row, ...], public_map: PublicMap) -> Records:
    """Return the rows that have a place."""
    placed = [row for row in rows if row.x is not None and row.y is not None]
    times = [np.datetime64("NaT" if row.time is None else row.time, "us") for row in placed]
    return Records(
        owner=np.zeros(len(placed), dtype=np.int64),
        owners=[0],
        x=[row.x for row in placed],
        y=[row.y for row in placed],
        attributes={"fare": [math.nan if row.fare is None else row.fare for row in placed]},
        time=np.array(times, dtype="datetime64[us]"),
        lonlat=public_map.lonlat,
    )


@st.composite
def worlds(draw: st.DrawFn, maps: tuple[PublicMap, ...] = MAPS, *, turned: bool = True) -> World:
    """Draw a world; unless `turned`, longitudes lie between -180 and 180."""
    public_map = draw(st.sampled_from(maps))
    rows = tuple(draw(st.lists(_rows(public_map, turned=turned), max_size=25)))
    since = draw(st.none() | st.sampled_from([NOON - HOUR, NOON, NOON + 1]))
    until = draw(st.none() | st.sampled_from([NOON + 2, NOON + HOUR]))
    kind = draw(st.sampled_from(["count", "sum", "avg"]))
    measure = None if kind == "count" else draw(_MEASURES)
    asked = draw(_ranges(public_map, rows))
    return World(public_map, rows, RangeQuery(kind, asked, Epsilon.of(1), measure, since, until))


_MEASURES = st.builds(
    Measure,
    attribute=st.just("fare"),
    clip=st.sampled_from([3.0, 7.3, 50.0]),
    signed=st.booleans(),
    resolution=st.sampled_from([None, 0.1, 0.25, 3.0]),
)
_FARES = st.none() | st.sampled_from([0.0, 0.05, 0.125, 0.15, -0.35, 4.5, 1e300]) | st.floats(-60, 60)
_TIMES = st.none() | st.sampled_from([NOON - 1, NOON, NOON + 1, NOON + 2, NOON + HOUR]) | st.integers(-HOUR, 2 * NOON)


def _rows(public_map: PublicMap, *, turned: bool) -> st.SearchStrategy[Row]:
    west, south, east, north = public_map.domain.sides
    x = _axis(west, east)
    if public_map.lonlat:
        turns = x.flatmap(lambda value: st.sampled_from([value - 360, value, value + 360]))
        x = turns.filter(lambda value: abs(value) <= (360 if turned else 180))
    y = _axis(south, north)
    if public_map.lonlat:
        y = y.filter(lambda value: abs(value) <= 90)
    return st.builds(Row, st.none() | x, st.none() | y, _FARES, _TIMES)


def _axis(low: float, high: float) -> st.SearchStrategy[float]:
    """Coordinates on the borders of the domain and its cells, next to them, and anywhere near."""
    borders = [low + (high - low) * part / 12 for part in range(13)]
    beside = [math.nextafter(border, to) for border in borders for to in (-math.inf, math.inf)]
    return st.sampled_from([*borders, *beside]) | st.floats(low - 1, high + 1)


@st.composite
def _ranges(draw: st.DrawFn, public_map: PublicMap, rows: tuple[Row, ...]) -> Range:
    shape = draw(st.sampled_from(["circle", "rectangle", "polygon"]))
    west, south, east, north = public_map.domain.sides
    if shape == "circle":
        return draw(_circles(public_map, rows))
    across = sorted(draw(st.tuples(_axis(west, east), _axis(west, east))))
    up = sorted(draw(st.tuples(_axis(south, north), _axis(south, north))))
    left, right = _apart(*across, fallback=(west, east))
    low, high = _apart(*up, fallback=(south, north))
    if shape == "rectangle":
        return Rectangle(left, low, right, high)
    return _holed(left, low, right, high)


def _apart(low: float, high: float, *, fallback: tuple[float, float]) -> tuple[float, float]:
    return (low, high) if high - low > 0.01 else fallback


def _holed(west: float, south: float, east: float, north: float) -> Polygon:
    """A diamond with a square hole."""
    x, y, wide, high = (west + east) / 2, (south + north) / 2, (east - west) / 2, (north - south) / 2
    ring = [(west, y), (x, south), (east, y), (x, north)]
    sides = [(x - wide / 4, y - high / 4), (x + wide / 4, y - high / 4), (x + wide / 4, y + high / 4)]
    return Polygon(ring, [[*sides, (x - wide / 4, y + high / 4)]])


@st.composite
def _circles(draw: st.DrawFn, public_map: PublicMap, rows: tuple[Row, ...]) -> Circle:
    """A circle whose radius is exactly the distance of a row, or nearly, or any."""
    west, south, east, north = public_map.domain.sides
    x, y = draw(_axis(west, east)), draw(_axis(south, north).filter(lambda value: abs(value) <= 90))
    some = draw(st.sampled_from([1e-3, 0.3, 5.0, 40.0]))
    radius = some * (100_000 if public_map is EARTH else 1_000) if public_map.lonlat else some
    placed = [row for row in rows if row.x is not None and row.y is not None]
    if placed and draw(st.booleans()):
        row = draw(st.sampled_from(placed))
        distance = _distance(public_map, x, y, row)
        radius = distance if 1e-9 < distance < 1.9e7 else radius
    return Circle(x, y, draw(st.sampled_from([radius, math.nextafter(radius, math.inf)])))


def _distance(public_map: PublicMap, x: float, y: float, row: Row) -> float:
    assert row.x is not None
    assert row.y is not None
    if public_map.lonlat:
        return float(geodesic_m(x, y, row.x, row.y))
    return math.hypot(x - row.x, y - row.y)
