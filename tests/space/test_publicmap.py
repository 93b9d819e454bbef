from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.space import Box, Circle, MultiPolygon, Polygon, PublicMap, Range, Rectangle
from fedgroup.space.publicmap import wrapped

PLANE = PublicMap(Box(0, 0, 100, 100))
FIJI = PublicMap(Box(177, -20, 182, -15), lonlat=True)
WORLD = PublicMap(Box(-180, -90, 180, 90), lonlat=True)
SMALL = st.integers(-60, 160)


def square(west: float, south: float, side: float) -> Polygon:
    return Polygon([(west, south), (west + side, south), (west + side, south + side), (west, south + side)])


def holds(where: PublicMap, asked: Range, *places: tuple[float, float]) -> list[bool]:
    x, y = np.array(places, dtype=float).T
    found: list[bool] = where.contains(asked, x, y).tolist()
    return found


def refused(where: PublicMap, asked: Range) -> bool:
    try:
        where.require_reachable(asked)
    except InvalidQuery as error:
        assert "outside the domain" in str(error)  # noqa: PT017
        return True
    return False


def test_a_place_at_exactly_the_radius_is_outside_a_circle() -> None:
    assert holds(PLANE, Circle(10, 10, 5), (13, 14), (13, 13.999999), (10, 10), (15, 10)) == [False, True, True, False]


def test_extreme_radii_and_places_neither_overflow_nor_vanish() -> None:
    assert holds(PLANE, Circle(1, 1, 1e150), (0, 0), (-1e140, 1e140), (1e200, 0)) == [True, True, False]
    assert holds(PLANE, Circle(1, 1, 1e-150), (1, 1), (1, 1.0000001)) == [True, False]


def test_a_rectangle_keeps_its_west_and_south_sides_only() -> None:
    places = [(1, 1), (1, 3), (5, 1), (4.99, 2.99), (0.99, 2), (2, 0.99)]
    assert holds(PLANE, Rectangle(1, 1, 5, 3), *places) == [True, False, False, True, False, False]


def test_a_polygon_leaves_out_its_boundary_and_its_holes() -> None:
    asked = Polygon([(0, 0), (10, 0), (10, 10), (0, 10)], [[(4, 4), (6, 4), (6, 6), (4, 6)]])
    places = [(1, 1), (5, 5), (4, 5), (0, 5), (10, 10), (5, 0), (11, 5), (6.001, 5)]
    assert holds(PLANE, asked, *places) == [True, False, False, False, False, False, False, True]


def test_a_multipolygon_holds_what_its_parts_hold() -> None:
    asked = MultiPolygon((square(0, 0, 2), square(10, 10, 2)))
    assert holds(PLANE, asked, (1, 1), (11, 11), (5, 5), (2, 2)) == [True, True, False, False]


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1), SMALL, SMALL, st.integers(1, 50))
def test_a_square_polygon_is_the_square_without_its_boundary(
    places: list[tuple[int, int]], west: int, south: int, side: int
) -> None:
    expected = [west < x < west + side and south < y < south + side for x, y in places]
    assert holds(PLANE, square(west, south, side), *places) == expected


@pytest.mark.parametrize("lon", [-179, 181, -539, 541])
def test_longitudes_are_read_modulo_a_full_turn(lon: float) -> None:
    assert FIJI.inside(np.array([lon]), np.array([-17.0])).all()
    for asked in (Rectangle(180.5, -18, 181.5, -16), Rectangle(-179.5, -18, -178.5, -16), square(180.5, -18, 1.5),
                  square(-179.5, -18, 1.5), Circle(-179, -17, 10), Circle(181, -17, 10)):  # fmt: skip
        assert holds(FIJI, asked, (lon, -17)) == [True]
        FIJI.require_reachable(asked)


def test_180_east_is_180_west() -> None:
    for where in (FIJI, WORLD):
        assert where.inside(np.array([180.0, -180.0]), np.array([-17.0, -17.0])).all()
        for asked in (Rectangle(179, -18, 181, -16), Rectangle(-180, -18, -179, -16), square(179, -18, 2)):
            assert holds(where, asked, (180, -17), (-180, -17)) == [True, True]


def test_each_side_of_the_antimeridian_is_told_apart() -> None:
    places = [(179.5, -17), (-179.5, -17), (176, -17), (-177.5, -17), (0, -17)]
    assert FIJI.inside(*np.array(places).T).tolist() == [True, True, False, False, False]
    assert holds(FIJI, Rectangle(179, -18, 180, -16), *places) == [True, False, False, False, False]
    assert holds(FIJI, square(180, -18, 2), *places) == [False, True, False, False, False]


def test_a_polygon_wider_than_a_full_turn_holds_every_longitude_it_covers() -> None:
    slanted = Polygon([(-180, 0), (539, 0), (539, 1), (400, 1), (400, 2), (-180, 2)])
    assert holds(WORLD, slanted, (100, 1.5), (100, 0.5), (39, 1.5), (41, 1.5)) == [True, True, True, True]
    narrow = Polygon([(-350, 0), (530, 0), (530, 50), (520, 50), (520, 1), (-350, 1)])
    assert holds(WORLD, narrow, (165, 20), (175, 20), (0, 0.5)) == [True, False, True]


@given(st.lists(st.floats(-360, 540), min_size=1), st.floats(-360, 180))
def test_wrapping_moves_by_whole_turns_and_keeps_what_is_already_there(lons: list[float], west: float) -> None:
    lon = np.array(lons)
    moved = wrapped(lon, west)
    there = (lon >= west) & (lon < west + 360)
    turns = (moved - lon) / 360
    assert (moved[there] == lon[there]).all()
    assert ((moved >= west) & (moved < west + 360)).all()
    assert np.abs(turns - turns.round()).max() < 1e-13


def test_a_place_a_hair_west_of_the_domain_stays_outside() -> None:
    where = PublicMap(Box(0, 0, 10, 10), lonlat=True)
    assert where.inside(np.array([-1e-18, 0.0]), np.array([5.0, 5.0])).tolist() == [False, True]


def test_a_planar_map_leaves_coordinates_alone() -> None:
    x = np.array([-500.0, 12.0, 1e9])
    assert PLANE.place(x) is x
    assert holds(PLANE, Rectangle(0, 0, 20, 20), (12, 5), (372, 5), (-348, 5)) == [True, False, False]


@given(SMALL, SMALL, st.integers(1, 80), st.integers(1, 80))
def test_rectangles_are_refused_exactly_when_they_share_no_area_with_the_domain(
    west: int, south: int, width: int, height: int
) -> None:
    overlap = west < 100 and west + width > 0 and south < 100 and south + height > 0
    assert refused(PLANE, Rectangle(west, south, west + width, south + height)) == (not overlap)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=3, max_size=7))
def test_polygons_are_refused_exactly_when_they_share_no_area_with_the_domain(points: list[tuple[int, int]]) -> None:
    try:
        asked = Polygon(points)
    except InvalidQuery:
        return
    shared = shapely.intersection(shapely.box(0, 0, 100, 100), asked.shape).area
    assert refused(PLANE, asked) == (shared == 0)


@given(SMALL, SMALL, st.integers(1, 100))
def test_planar_circles_are_refused_exactly_when_disjoint(x: int, y: int, radius: int) -> None:
    nearest_x, nearest_y = min(max(x, 0), 100), min(max(y, 0), 100)
    overlap = (nearest_x - x) ** 2 + (nearest_y - y) ** 2 < radius**2
    assert refused(PLANE, Circle(x, y, radius)) == (not overlap)


@pytest.mark.parametrize(("west", "south"), [(-5, 50), (100, 50), (50, -5), (50, 100), (-5, -5), (100, 100)])
def test_ranges_that_only_touch_the_domain_are_refused(west: float, south: float) -> None:
    assert refused(PLANE, Rectangle(west, south, west + 5, south + 5))
    assert refused(PLANE, square(west, south, 5))


def test_circles_that_only_touch_the_domain_are_refused() -> None:
    for asked in (Circle(-5, 50, 5), Circle(105, 50, 5), Circle(50, -5, 5), Circle(50, 105, 5), Circle(-3, -4, 5)):
        assert refused(PLANE, asked)
        assert not refused(PLANE, Circle(asked.x, asked.y, 5.000001))


@pytest.mark.parametrize("lon", [-359, 1, 361])
def test_a_range_is_found_however_many_turns_it_is_away(lon: float) -> None:
    for west in (-360, 0, 360):
        where = PublicMap(Box(west, 0, west + 10, 10), lonlat=True)
        for asked in (Rectangle(lon, 1, lon + 1, 2), square(lon, 1, 1), Circle(lon, 1, 5)):
            assert not refused(where, asked)


@pytest.mark.parametrize("where", [PLANE, PublicMap(Box(0, 0, 100, 80), lonlat=True)], ids=["plane", "lonlat"])
def test_tiny_ranges_inside_are_never_refused(where: PublicMap) -> None:
    for asked in (Circle(50, 50, 1e-150), Rectangle(0, 0, 1e-200, 1e-200), square(1e-120, 1e-120, 1e-120),
                  square(50, 50, 1e-12), square(-1, -1, 1.000001)):  # fmt: skip
        assert not refused(where, asked)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-360, 500), st.floats(-90, 80), st.floats(0.01, 30), st.floats(-180, 180), st.floats(-90, 80))
def test_a_range_that_holds_a_place_of_the_domain_is_never_refused(
    west: float, south: float, side: float, lon: float, lat: float
) -> None:
    place = np.array([lon]), np.array([lat])
    where = PublicMap(Box(lon - 1, lat - 1 if lat > -89 else -90, lon + 1, lat + 1), lonlat=True)
    ranges: list[Range] = [Rectangle(west, south, west + side, south + side), square(west, south, side),
                           Circle(west, south, side * 1e5)]  # fmt: skip
    for asked in ranges:
        assert not (where.contains(asked, *place).any() and refused(where, asked))


@pytest.mark.parametrize(
    "asked",
    [
        Rectangle(182, -20, 183, -15), Rectangle(-178, -20, -177, -15), Rectangle(176, -20, 177, -15),
        Rectangle(177, -15, 182, -14), square(182, -18, 1), square(-178, -18, 1), Circle(-177.9, -17, 10_000),
        Circle(0, 0, 1000), Circle(2, 17, 19_000_000), Circle(180, -14.9, 11_000), Rectangle(-176, -20, 176, -15),
    ],
)  # fmt: skip
def test_ranges_beside_a_domain_across_the_antimeridian_are_refused(asked: Range) -> None:
    assert refused(FIJI, asked)


@pytest.mark.parametrize(
    "asked",
    [
        Rectangle(181, -20, 183, -15), Rectangle(-179, -20, -177, -15), Rectangle(-180, -90, 180, 90),
        square(181.5, -18, 1), square(-178.5, -18, 1), Circle(-177.9, -17, 11_000), Circle(-179, -17, 1),
        Circle(0, 90, 19_900_000), Circle(0, 0, 19_900_000), Circle(180, -14.9, 11_100), Rectangle(-183, -16, -182, -2),
    ],
)  # fmt: skip
def test_ranges_over_a_domain_across_the_antimeridian_are_answered(asked: Range) -> None:
    assert not refused(FIJI, asked)


@settings(deadline=None)  # the first call compiles
@given(st.floats(-180, 180), st.floats(-90, 90), st.floats(1e-3, 19_900_000))
def test_no_circle_lies_outside_the_world(lon: float, lat: float, radius_m: float) -> None:
    assert not refused(WORLD, Circle(lon, lat, radius_m))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (Circle(0, 0, 19_900_001), "at most 19,900,000 m"),
        (Circle(0, 90.1, 10), "longitude,latitude"),
        (Circle(541, 0, 10), "between -360 and 540"),
        (Rectangle(-361, 0, 10, 10), "between -360 and 540"),
        (square(539.5, 0, 1), "between -360 and 540"),
    ],
)
def test_ranges_that_are_not_on_the_earth_are_refused_with_the_reason(asked: Range, reason: str) -> None:
    with pytest.raises(InvalidQuery, match=reason):
        WORLD.require_reachable(asked)


@pytest.mark.parametrize(
    "sides", [(-361, 0, -1, 1), (0, 0, 541, 1), (-180, 0, 181, 1), (0, -91, 1, 0), (0, 0, 1, 90.5)]
)
def test_a_domain_that_is_not_on_the_earth_is_refused(sides: Any) -> None:
    with pytest.raises(InvalidInput, match="360 degrees of longitude"):
        PublicMap(Box(*sides), lonlat=True)


def test_grid_cells_across_the_antimeridian_are_counted_from_the_west() -> None:
    grid = FIJI.grid(5, 1)
    x: npt.NDArray[np.float64] = np.array([177.5, 179.5, -179.5, -178.5, 180.0])
    assert grid.cell_of(FIJI.place(x), np.full(5, -17.0)).tolist() == [0, 2, 3, 4, 3]
