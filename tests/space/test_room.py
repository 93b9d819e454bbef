"""No shape of a range gets a small place past a smallest radius: here 5, on a map of 100 x 100."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from scipy.spatial import cKDTree

from fedgroup.space import Box, Circle, MultiPolygon, Polygon, PublicMap, Range, Rectangle
from fedgroup.space.geodesy import geodesic_m
from fedgroup.space.room import has_room

PLANE = PublicMap(Box(0, 0, 100, 100))
CITY = PublicMap(Box(-74.26, 40.48, -73.70, 40.92), lonlat=True)
WORLD = PublicMap(Box(-180, -90, 180, 90), lonlat=True)
TURNED = PublicMap(Box(-360, 0, -350, 10), lonlat=True)

Ring = list[tuple[float, float]]


def square(x: float, y: float, side: float) -> Ring:
    return [(x, y), (x + side, y), (x + side, y + side), (x, y + side)]


def with_corridor(length: float, width: float, room: float) -> Polygon:
    """A square of 40, and a small room that a corridor joins with it."""
    low, high, end = 30 - width / 2, 30 + width / 2, 50 + length
    side = [(50, low), (end, low), (end, 30 - room / 2), (end + room, 30 - room / 2)]
    other = [(end + room, 30 + room / 2), (end, 30 + room / 2), (end, high), (50, high)]
    return Polygon([(10, 10), (50, 10), *side, *other, (50, 50), (10, 50)])


def wedge(degrees: float) -> Polygon:
    return Polygon([(10, 10), (90, 10), (90, 10 + 80 * math.tan(math.radians(degrees)))])


def comb(teeth: int, length: float) -> Polygon:
    points = [(10.0, 10.0), (90.0, 10.0), (90.0, 50.0)]
    for tooth in range(teeth):
        points += [(90 - 80 * (tooth + 0.5) / teeth, 50 + length), (90 - 80 * (tooth + 1) / teeth, 50.0)]
    return Polygon(points)


ROOMY = {
    "a circle of the radius": Circle(50, 50, 5),
    "half of a larger circle": Circle(0, 50, 15),
    "a square around such a circle": Rectangle(10, 10, 20, 20),
    "two large parts": MultiPolygon([Polygon(square(10, 10, 20)), Polygon(square(60, 60, 20))]),
    "sharp corners": wedge(31),
    "a small hole": Polygon(square(5, 5, 90), [square(50, 50, 0.1)]),
    "small dents": comb(100, 0.5),
    "a short narrow bit": with_corridor(0.5, 0.2, 0.4),
    "a gate between two halls": Polygon(
        [
            (5, 5),
            (45, 5),
            (45, 48),
            (46, 48),
            (46, 5),
            (95, 5),
            (95, 95),
            (46, 95),
            (46, 52),
            (45, 52),
            (45, 95),
            (5, 95),
        ]
    ),
}
NARROW = {
    "a circle a little smaller": Circle(50, 50, 4.999),
    "half of a circle of the radius": Circle(0, 50, 5),
    "a circle that touches the domain": Circle(-40, 50, 40.1),
    "a strip": Rectangle(5, 10, 95, 19),
    "mostly outside": Rectangle(-90, 10, 3, 90),
    "a small part and a decoy": MultiPolygon([Polygon(square(10, 10, 60)), Polygon(square(90, 90, 0.1))]),
    "a small part beside a decoy": MultiPolygon([Polygon(square(10, 10, 60)), Polygon(square(70.1, 30, 0.1))]),
    "a small part in a decoy's hole": MultiPolygon(
        [Polygon(square(5, 5, 90), [square(30, 30, 40)]), Polygon(square(50, 50, 0.2))]
    ),
    "a small part, the decoy outside": MultiPolygon([Polygon(square(-80, 10, 60)), Polygon(square(50, 50, 1))]),
    "a room at a long corridor": with_corridor(40, 0.01, 1),
    "a room at a short corridor": with_corridor(4, 0.01, 1),
    "a room at a wide corridor": with_corridor(35, 6, 6),
    "a frame": Polygon(square(5, 5, 90), [square(6, 6, 88)]),
    "a needle": wedge(25),
    "long teeth": comb(100, 30),
}


@pytest.mark.parametrize("asked", ROOMY.values(), ids=ROOMY)
def test_a_range_has_room_if_circles_fit_near_every_place(asked: Range) -> None:
    assert has_room(asked, 5, PLANE)


@pytest.mark.parametrize("asked", NARROW.values(), ids=NARROW)
def test_no_trick_of_shape_gets_a_small_place_past_the_radius(asked: Range) -> None:
    assert not has_room(asked, 5, PLANE)
    assert has_room(asked, 0, PLANE)


def with_corners_between(polygon: Polygon) -> Polygon:
    rings = [shapely.segmentize(shapely.LinearRing(ring), 0.5).coords for ring in (polygon.points, *polygon.holes)]
    return Polygon(list(rings[0]), [list(ring) for ring in rings[1:]])


@pytest.mark.parametrize(
    ("asked", "has"),
    [(asked, group is ROOMY) for group in (ROOMY, NARROW) for asked in group.values() if isinstance(asked, Polygon)],
)
def test_corners_that_change_no_shape_change_nothing(asked: Polygon, has: bool) -> None:
    assert has_room(with_corners_between(asked), 5, PLANE) == has


def has_room_by_sampling(shape: shapely.Polygon, *, fitting: float, reach: float) -> bool:
    """A second implementation, on a lattice of 0.5: `fitting` and `reach` are the tolerances, in radii."""
    x, y = (side.ravel() for side in np.meshgrid(np.arange(0, 100, 0.5), np.arange(0, 100, 0.5)))
    places = np.column_stack((x, y))[shapely.contains_xy(shape, x, y)]
    to_edge = shapely.distance(shape.boundary, shapely.points(places))
    for size in (5, 2.5, 1.25):
        centres = places[to_edge >= fitting * size]
        if len(centres) == 0 or cKDTree(centres).query(places)[0].max() > reach * size:
            return False
    return True


def test_a_second_implementation_says_the_same_up_to_the_tolerance() -> None:
    """Sampling misses centres by up to 0.36, an eighth of the radius and more of the smaller circles."""
    random, told = np.random.default_rng(7), set()
    for corners in (5, 7, 9, 12, 15, 20, 80, 200):
        for _ in range(6):
            far = random.uniform(15, 45, corners) if corners < 80 else 30 + np.cumsum(random.normal(0, 0.5, corners))
            turns = math.tau * np.arange(corners) / corners
            ring = list(zip((50 + far * np.cos(turns)).tolist(), (50 + far * np.sin(turns)).tolist(), strict=True))
            has, shape = has_room(Polygon(ring), 5, PLANE), Polygon(ring).shape
            told.add(has)
            assert not has or has_room_by_sampling(shape, fitting=0.6, reach=4.6)
            assert has or not has_room_by_sampling(shape, fitting=1.0, reach=3.7)
    assert told == {True, False}


SLIVER_M = geodesic_m(-100, 50, -74.26, 40.92)


@pytest.mark.parametrize(
    ("asked", "public_map", "has"),
    [
        (Circle(-74, 40.7, 500), CITY, True),
        (Circle(-74, 40.7, 499.9), CITY, False),
        (Circle(-74.26, 40.7, 2_000), CITY, True),
        (Circle(-100, 50, SLIVER_M + 300), CITY, False),  # far away, and only its edge in the domain
        (Circle(-100, 50, SLIVER_M + 90_000), CITY, True),  # all of the domain
        (Circle(-100, 80, 5_000_000), CITY, True),
        (Circle(0, 89, 1_000_000), WORLD, True),  # around the pole
        (Rectangle(-180, -90, 180, 90), WORLD, True),
        (Rectangle(179.99, 0, 180.01, 0.02), WORLD, True),  # across the seam of a domain that goes all round
        (Rectangle(179.996, 0, 180.004, 0.02), WORLD, False),
        (Polygon([(0, 0), (10, 0), (10, 80), (0, 80)]), WORLD, True),
        (Polygon([(0, 0), (10, 0), (10, 50), (0.02, 50), (0.02, 80), (0, 80)]), WORLD, False),
        (Polygon([(0, 60), (0.018, 60), (0.018, 60.02), (0, 60.02)]), WORLD, True),
        (Polygon([(0, 60), (0.017, 60), (0.017, 60.02), (0, 60.02)]), WORLD, False),
        (MultiPolygon([Polygon(square(-360, 0, 10)), Polygon(square(361, 1, 1))]), TURNED, True),
        (MultiPolygon([Polygon(square(-360, 0, 10)), Polygon(square(361, 1, 0.001))]), TURNED, False),
    ],
)
def test_on_a_map_in_degrees_room_is_measured_in_metres(asked: Range, public_map: PublicMap, has: bool) -> None:
    assert has_room(asked, 500, public_map) == has


@pytest.mark.parametrize("side", [1e-140, 1e100, 1e150])
def test_room_is_told_at_any_scale(side: float) -> None:
    public_map = PublicMap(Box(-side, -side, side, side))
    assert has_room(Polygon(square(0, 0, side)), side / 4, public_map)
    assert not has_room(Polygon(square(0, 0, side / 4)), side / 4, public_map)


def test_corners_by_the_thousand_are_dealt_with() -> None:
    assert has_room(comb(900, 0.3), 5, PLANE)  # narrowed at once, this would take half a minute
