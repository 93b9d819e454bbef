"""An index answers exactly as looking at every record does, and looks at few."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import NOTHING
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.owner.counting import contributing, partial_answers, sum_by
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.range_scan import rows_of
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, MultiPolygon, Polygon, PublicMap, Range, Rectangle

PLANE = PublicMap(Box(0, 0, 8, 8))
CITY = PublicMap(Box(12.9, 47.9, 13.3, 48.2), lonlat=True)
FIJI = PublicMap(Box(177, -20, 182, -15), lonlat=True)
ARCTIC = PublicMap(Box(-180, 80, 180, 90), lonlat=True)
WORLD = PublicMap(Box(-180, -90, 180, 90), lonlat=True)
SHIFTED = PublicMap(Box(100, -60, 460, 60), lonlat=True)
MAPS = (CITY, FIJI, ARCTIC, WORLD, SHIFTED)

HALF = st.integers(-3, 19).map(lambda half: half / 2)
PART = st.floats(-0.2, 1.2)
SIZE = st.floats(1e-4, 0.8)
STAR = ((1.0, 0.0), (0.2, 0.3), (0.0, 1.0), (-0.3, 0.1), (-0.9, -0.2), (-0.1, -0.3), (0.1, -1.0))


def table(public_map: PublicMap, *, count: int, seed: int = 0, lattice: int = 0) -> Records:
    """Records all over the map, some absent values and times; on a lattice many share a place and lie on edges."""
    rng = np.random.default_rng(seed)
    west, south, _, _ = public_map.domain.sides
    parts = rng.integers(0, lattice, (2, count)) / lattice if lattice else rng.random((2, count))
    fare = np.where(rng.random(count) < 0.2, np.nan, rng.normal(0, 8, count))
    time = np.where(rng.random(count) < 0.2, np.datetime64("NaT"), rng.integers(0, 50, count).astype("datetime64[s]"))
    return Records(
        owner=rng.integers(0, 9, count),
        x=_as_degrees(west + public_map.domain.width * parts[0], public_map),
        y=south + public_map.domain.height * parts[1],
        attributes={"fare": fare},
        time=time,
        owners=np.arange(10),
        lonlat=public_map.lonlat,
    )


def _as_degrees(x: Any, public_map: PublicMap) -> Any:
    return np.where(x >= 180, x - 360, x) if public_map.lonlat else x


TABLES = {one: contributing(table(one, count=6_000), one) for one in (PLANE, *MAPS)}
INDEXES = {one: RecordIndex.build(records, one) for one, records in TABLES.items()}
LATTICE = table(PLANE, count=6_000, lattice=16)
LATTICE_INDEX = RecordIndex.build(LATTICE, PLANE)


def agrees(found: RecordIndex, records: Records, query: RangeQuery) -> bool:
    """Tell whether the index finds what looking at every record finds."""
    exact = partial_answers(records, query, found.public_map)
    partials = found.partials(query)
    sums = {part: sum_by(partials.code, values, len(records.owners)) for part, values in partials.units.items()}
    totals = {part: [values.sum()] for part, values in exact.items()}
    return (
        {part: values.tolist() for part, values in found.totals(query).items()} == totals
        and list(sums) == list(exact)
        and all(np.array_equal(sums[part], exact[part]) for part in exact)
    )


def counts_agree(public_map: PublicMap, asked: Range) -> bool:
    return agrees(INDEXES[public_map], TABLES[public_map], RangeQuery("count", asked, NOTHING))


def at(public_map: PublicMap, x: float, y: float) -> tuple[float, float]:
    """The place at these parts of the domain's sides, kept on Earth."""
    west, south, _, _ = public_map.domain.sides
    north = south + public_map.domain.height * y
    return west + public_map.domain.width * x, min(max(north, -90), 90) if public_map.lonlat else north


def star(public_map: PublicMap, x: float, y: float, size: float) -> Polygon:
    return Polygon([at(public_map, x + size * dx, y + size * dy) for dx, dy in STAR])


def valid(make: Callable[..., Polygon], *arguments: Any) -> Polygon:
    """A polygon, or no example where the edge of the Earth cut it to pieces."""
    try:
        return make(*arguments)
    except InvalidQuery:
        assume(False)
        raise


@given(HALF, HALF, st.integers(1, 24))
def test_a_circle_through_records_on_cell_edges_is_exact(x: float, y: float, half: int) -> None:
    query = RangeQuery("count", Circle(x, y, half / 2), NOTHING)
    assert agrees(LATTICE_INDEX, LATTICE, query)


@given(HALF, HALF, st.integers(1, 24), st.integers(1, 24))
def test_a_rectangle_on_cell_edges_is_exact(west: float, south: float, wide: int, high: int) -> None:
    query = RangeQuery("count", Rectangle(west, south, west + wide / 2, south + high / 2), NOTHING)
    assert agrees(LATTICE_INDEX, LATTICE, query)


@given(PART, PART, SIZE)
def test_a_circle_anywhere_on_the_plane_is_exact(x: float, y: float, size: float) -> None:
    assert counts_agree(PLANE, Circle(*at(PLANE, x, y), 8 * size))


@given(st.integers(0, 5_999), st.integers(0, 5_999))
def test_a_circle_through_one_record_around_another_is_exact(centre: int, edge: int) -> None:
    x, y = TABLES[PLANE].x, TABLES[PLANE].y
    radius = math.hypot(x[edge] - x[centre], y[edge] - y[centre])
    for tried in (radius, math.nextafter(radius, 9), math.nextafter(radius, 0)):
        if tried > 1e-9:
            assert counts_agree(PLANE, Circle(x[centre], y[centre], tried))


@given(st.sampled_from((PLANE, *MAPS)), PART, PART, SIZE, SIZE)
def test_a_rectangle_on_any_map_is_exact(public_map: PublicMap, x: float, y: float, wide: float, high: float) -> None:
    west, south = at(public_map, x, y)
    east, north = west + public_map.domain.width * wide, south + public_map.domain.height * high
    assert counts_agree(public_map, Rectangle(west, south, east, north))


@given(st.sampled_from(MAPS), PART, PART, st.floats(0.5, 7.3), st.sampled_from([-360, 0, 360]))
def test_a_circle_on_earth_is_exact(public_map: PublicMap, x: float, y: float, digits: float, turn: int) -> None:
    longitude, latitude = at(public_map, x, y)
    assert counts_agree(public_map, Circle(longitude + turn, latitude, min(10**digits, 19_900_000)))


@pytest.mark.parametrize("latitude", [90.0, 89.9999, 85.0, -90.0])
@pytest.mark.parametrize("radius_m", [1.0, 30_000.0, 900_000.0, 1_100_000.0])
@pytest.mark.parametrize("public_map", [ARCTIC, WORLD])
def test_a_circle_over_a_pole_is_exact(public_map: PublicMap, latitude: float, radius_m: float) -> None:
    assert counts_agree(public_map, Circle(179.5, latitude, radius_m))


def test_a_circle_reaches_as_far_along_a_meridian_as_degrees_are_short() -> None:
    public_map = PublicMap(Box(-0.01, -5, 0.01, 5), lonlat=True)
    latitude = np.linspace(-4.99, 4.99, 4_000)
    records = Records(owner=np.arange(4_000) % 7, x=np.zeros(4_000), y=latitude, lonlat=True)
    found = RecordIndex.build(records, public_map)
    for radius_m in np.linspace(300_000, 500_000, 60):
        assert agrees(found, records, RangeQuery("count", Circle(0, 0, radius_m), NOTHING))


@given(st.sampled_from((PLANE, *MAPS)), PART, PART, SIZE)
@settings(max_examples=60)
def test_polygons_on_any_map_are_exact(public_map: PublicMap, x: float, y: float, size: float) -> None:
    first = valid(star, public_map, x, y, size / 2)
    assert counts_agree(public_map, first)
    beyond = [(point[0] + 2 * public_map.domain.width * size, point[1]) for point in first.points]
    assert counts_agree(public_map, MultiPolygon([first, Polygon(beyond)]))


def test_ranges_of_whole_turns_are_exact() -> None:
    for west, east in ((-180, 180), (-360, 540), (100, 460), (-17.5, 342.5)):
        for public_map in MAPS:
            assert counts_agree(public_map, Rectangle(west, -90, east, 90))
            assert counts_agree(public_map, Polygon([(west, -80), (east, -80), (east, 85), (west, 85)]))


@given(st.none() | st.integers(-1, 51), st.none() | st.integers(-1, 51), st.sampled_from(["count", "avg"]))
def test_a_time_window_is_exact(since: int | None, until: int | None, kind: Any) -> None:
    assume(since is None or until is None or since < until)
    window = [None if second is None else second * 1_000_000 for second in (since, until)]
    measure = None if kind == "count" else Measure("fare", 10)
    for asked in (Circle(3, 4, 2.3), Rectangle(1.1, 2, 6, 7)):
        assert agrees(INDEXES[PLANE], TABLES[PLANE], RangeQuery(kind, asked, NOTHING, measure, *window))


@given(PART, PART, SIZE, st.floats(0.01, 40), st.booleans(), st.integers(1, 10**6), st.sampled_from(["sum", "avg"]))
def test_sums_are_exact(x: float, y: float, size: float, clip: float, signed: bool, steps: int, kind: Any) -> None:
    measure = Measure("fare", clip, signed, clip / steps)
    query = RangeQuery(kind, Circle(*at(PLANE, x, y), 8 * size), NOTHING, measure)
    assert agrees(INDEXES[PLANE], TABLES[PLANE], query)


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=5), st.sampled_from([1, 64]))
def test_few_places_with_many_records_are_exact(places: list[tuple[int, int]], copies: int) -> None:
    x, y = (np.repeat([place[side] / 2 for place in places], copies) for side in (0, 1))
    records = Records(owner=np.arange(len(x)) % 3, x=x, y=y, owners=range(3))
    found = RecordIndex.build(records, PLANE)
    for asked in (Circle(4, 4, 2.5), Rectangle(0, 0, 8, 8), Rectangle(1, 1, 3.5, 5), Polygon([(0, 0), (8, 0), (0, 7)])):
        assert agrees(found, records, RangeQuery("count", asked, NOTHING))


@pytest.mark.parametrize("unit", [1e-310, 1e-160, 1e-12, 1e9, 1e149])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_maps_of_extreme_size_are_exact(unit: float, start: float) -> None:
    low = start * unit
    public_map = PublicMap(Box(low, low, low + 4 * unit, low + 2 * unit))
    x, y = low + 2 * unit * np.random.default_rng(1).random((2, 2_000))
    records = contributing(Records(owner=np.arange(2_000) % 5, x=x, y=y), public_map)
    found = RecordIndex.build(records, public_map)
    circles = [Circle(x[0], y[0], radius) for radius in (max(unit, 1e-150), 1e-150, 1e150)]
    for asked in (*circles, Rectangle(low - unit, low - unit, low + unit, low + unit)):
        assert agrees(found, records, RangeQuery("count", asked, NOTHING))


@pytest.mark.parametrize("centre", [1e6, 1e9, 1e13])
def test_a_map_far_from_its_origin_is_exact(centre: float) -> None:
    public_map = PublicMap(Box(centre, -centre, centre + 1, -centre + 1))
    rng = np.random.default_rng(2)
    x, y = centre + rng.random(5_000), -centre + rng.random(5_000)
    records = contributing(Records(owner=np.arange(5_000) % 5, x=x, y=y), public_map)
    found = RecordIndex.build(records, public_map)
    for radius in (1e-3, 0.1, 0.25, 0.5, 1.0):
        assert agrees(found, records, RangeQuery("count", Circle(centre + 0.5, -centre + 0.5, radius), NOTHING))


def test_most_records_of_a_large_range_are_taken_untested() -> None:
    for public_map, asked in (
        (PLANE, Circle(4, 4, 3)),
        (PLANE, Rectangle(1, 1, 7, 7)),
        (FIJI, Rectangle(178, -19, 181, -16)),
    ):
        _, sure = rows_of(INDEXES[public_map]._runs(asked))
        assert sure.mean() > 0.5
        assert len(sure) < 1.5 * len(INDEXES[public_map].rows_in(asked))


def test_rows_are_ascending_and_hold_the_records_in_the_range() -> None:
    found = INDEXES[WORLD]
    rows = found.rows_in(Circle(10, 50, 2_000_000))
    assert (np.diff(rows) > 0).all()
    inside = WORLD.contains(Circle(10, 50, 2_000_000), found.records.x, found.records.y)
    np.testing.assert_array_equal(rows, np.flatnonzero(inside))


def test_the_sorted_table_has_the_same_records_bit_for_bit() -> None:
    before, after = TABLES[FIJI], INDEXES[FIJI].records
    orders = [np.lexsort((each.code, each.y, each.x)) for each in (before, after)]
    for name in ("x", "y", "code", "time"):
        one, other = (getattr(each, name)[order] for each, order in zip((before, after), orders, strict=True))
        np.testing.assert_array_equal(one, other)
    fares = [each.attributes["fare"][order] for each, order in zip((before, after), orders, strict=True)]
    np.testing.assert_array_equal(*fares)
    assert (after.owners is before.owners, after.listed, after.domain) == (True, True, FIJI.domain)
    assert NO_TIME in after.time


def test_the_sorted_table_can_be_cut_and_counts_as_the_table_it_came_from() -> None:
    found = RecordIndex.build(TABLES[PLANE], PLANE, snapshot="abc", most=7)
    assert (found.records.snapshot, found.most, len(found)) == ("abc", 7, 6_000)
    some = found.records.keep(np.arange(10))
    assert some.snapshot not in ("abc", INDEXES[PLANE].records.snapshot)
    np.testing.assert_array_equal(some.time, found.records.time[:10])


def test_the_sorted_table_cannot_be_changed() -> None:
    records = INDEXES[PLANE].records
    for column in (records.x, records.code, records.time, records.attributes["fare"], INDEXES[PLANE].offsets):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_an_index_prints_nothing() -> None:
    assert repr(INDEXES[PLANE]) == "RecordIndex(<private>)"


def test_records_outside_the_domain_are_refused() -> None:
    with pytest.raises(InvalidInput, match="inside the domain"):
        RecordIndex.build(Records(owner=[1], x=[9.0], y=[1.0]), PLANE)


def test_questions_that_the_records_cannot_answer_are_refused_alike() -> None:
    found = RecordIndex.build(Records(owner=[1], x=[1.0], y=[1.0]), PLANE)
    with pytest.raises(InvalidQuery, match="no time column"):
        found.partials(RangeQuery("count", Circle(1, 1, 1), NOTHING, since=0))
    with pytest.raises(InvalidInput, match="no numeric column"):
        found.partials(RangeQuery("sum", Circle(1, 1, 1), NOTHING, Measure("fare", 1)))
