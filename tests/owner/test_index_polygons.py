"""Large polygons with holes, and multipolygons, over many records: an index finds what looking at each record finds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import NOTHING
from fedgroup.owner.counting import contributing, partial_answers, sum_by
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, MultiPolygon, Polygon, PublicMap
from fedgroup.space.ranges import Point

PLANE = PublicMap(Box(0, 0, 8, 8))
FIJI = PublicMap(Box(176, -20, 184, -12), lonlat=True)
OWNERS = 50
RECORDS = 60_000


def table(public_map: PublicMap, *, lattice: int = 0) -> Records:
    """Records all over the map; on a lattice many lie on the polygons' edges and corners."""
    rng = np.random.default_rng(7)
    parts = rng.integers(0, lattice, (2, RECORDS)) / lattice if lattice else rng.random((2, RECORDS))
    west, south, _, _ = public_map.domain.sides
    x, y = west + public_map.domain.width * parts[0], south + public_map.domain.height * parts[1]
    x = np.where(x >= 180, x - 360, x) if public_map.lonlat else x
    owner = rng.integers(0, OWNERS, RECORDS)
    return contributing(Records(owner=owner, x=x, y=y, owners=range(OWNERS), lonlat=public_map.lonlat), public_map)


TABLES = {"plane": (PLANE, table(PLANE)), "lattice": (PLANE, table(PLANE, lattice=64)), "fiji": (FIJI, table(FIJI))}
INDEXES = {name: RecordIndex.build(records, public_map) for name, (public_map, records) in TABLES.items()}


def ring(x: float, y: float, radii: Sequence[float]) -> list[Point]:
    """A ring around a place with corners that far from it, in as many directions."""
    turns = (2 * math.pi * k / len(radii) for k in range(len(radii)))
    return [
        (x + radius * math.cos(turn), y + radius * math.sin(turn)) for radius, turn in zip(radii, turns, strict=True)
    ]


def moved(polygon: Polygon, public_map: PublicMap) -> Polygon:
    """The polygon, drawn on 8 x 8, at its place on a map of that size."""
    west, south, _, _ = public_map.domain.sides
    rings = [[(west + x, south + y) for x, y in points] for points in (polygon.points, *polygon.holes)]
    return Polygon(rings[0], rings[1:])


def inside(polygons: Sequence[Polygon], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tell for each place whether a ray to the east crosses the rings an odd number of times."""
    odd = np.zeros(len(x), dtype=bool)
    for points in (points for polygon in polygons for points in (polygon.points, *polygon.holes)):
        for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
            if y0 != y1:
                odd ^= ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return odd


def counts(name: str, asked: Polygon | MultiPolygon) -> list[int]:
    found = INDEXES[name].partials(RangeQuery("count", asked, NOTHING))
    code, units = found.code, found.units
    return sum_by(code, units["count"], OWNERS).tolist()


def counts_of_every_record(name: str, asked: Polygon | MultiPolygon) -> list[int]:
    public_map, records = TABLES[name]
    return partial_answers(records, RangeQuery("count", asked, NOTHING), public_map)["count"].tolist()


def counts_by_crossings(name: str, polygons: Sequence[Polygon]) -> list[int]:
    public_map, records = TABLES[name]
    found = inside(polygons, public_map.place(records.x), records.y)
    return np.bincount(records.code[found], minlength=OWNERS).tolist()


RADII = st.lists(st.floats(2.0, 4.5), min_size=3, max_size=12)
HOLE = st.lists(st.floats(0.1, 0.5), min_size=3, max_size=8)
SOME_HOLES = st.lists(HOLE, max_size=2)


def holed(radii: Sequence[float], holes: Sequence[Sequence[float]]) -> Polygon:
    """A large polygon around the middle of the map; its holes are near the middle, where it is surely wide enough."""
    middles = [(3.45, 4.0), (4.55, 4.0)]
    wide = [*radii, *radii] if len(radii) < 6 else radii
    return Polygon(ring(4, 4, wide), [ring(x, y, hole) for (x, y), hole in zip(middles, holes, strict=False)])


@pytest.mark.parametrize("name", ["plane", "fiji"])
@given(radii=RADII, holes=SOME_HOLES)
@settings(max_examples=40)
def test_a_large_polygon_with_holes_is_exact(name: str, radii: list[float], holes: list[list[float]]) -> None:
    asked = moved(holed(radii, holes), TABLES[name][0])
    assert counts(name, asked) == counts_of_every_record(name, asked) == counts_by_crossings(name, [asked])


@pytest.mark.parametrize("name", ["plane", "fiji"])
@given(st.lists(st.lists(st.floats(0.5, 1.9), min_size=3, max_size=9), min_size=2, max_size=4), st.booleans())
@settings(max_examples=40)
def test_a_multipolygon_of_large_parts_is_exact(name: str, parts: list[list[float]], holed_parts: bool) -> None:
    corners = [(2, 2), (6, 6), (2, 6), (6, 2)]
    hole = [0.12, 0.2, 0.15]
    drawn = [
        Polygon(ring(x, y, [*radii, *radii, *radii]), [ring(x, y, hole)] if holed_parts else [])
        for (x, y), radii in zip(corners, parts, strict=False)
    ]
    polygons = [moved(part, TABLES[name][0]) for part in drawn]
    asked = MultiPolygon(polygons)
    assert counts(name, asked) == counts_of_every_record(name, asked) == counts_by_crossings(name, polygons)


def test_a_multipolygon_may_lie_in_its_own_hole() -> None:
    lake = ring(4, 4, [2.0] * 8)
    island = Polygon(ring(4, 4, [1.0] * 8), [ring(4, 4, [0.3] * 5)])
    parts = [Polygon([(-1, -1), (9, -1), (9, 9), (-1, 9)], [lake]), island]
    assert counts("plane", MultiPolygon(parts)) == counts_by_crossings("plane", parts)
    assert sum(counts("plane", MultiPolygon(parts))) < RECORDS


@given(st.tuples(*[st.integers(0, 64)] * 4), st.tuples(*[st.integers(1, 15)] * 4))
@settings(max_examples=60)
def test_records_on_the_edges_of_rings_are_outside(sides: tuple[int, ...], margins: tuple[int, ...]) -> None:
    west, east = sorted(sides[:2])
    south, north = sorted(sides[2:])
    east, north = max(east, west + 32), max(north, south + 32)
    inner = west + margins[0], south + margins[1], east - margins[2], north - margins[3]
    outer_ring, hole = (
        [(a / 8, b / 8), (c / 8, b / 8), (c / 8, d / 8), (a / 8, d / 8)]
        for a, b, c, d in ((west, south, east, north), inner)
    )
    _, records = TABLES["lattice"]
    x, y = 8 * records.x, 8 * records.y
    within = (x > west) & (x < east) & (y > south) & (y < north)
    in_hole = (x >= inner[0]) & (x <= inner[2]) & (y >= inner[1]) & (y <= inner[3])
    expected = np.bincount(records.code[within & ~in_hole], minlength=OWNERS).tolist()
    assert counts("lattice", Polygon(outer_ring, [hole])) == expected


def test_a_polygon_around_everything_finds_every_record() -> None:
    for name, (public_map, records) in TABLES.items():
        around = moved(Polygon([(-1, -1), (9, -1), (9, 9), (-1, 9)]), public_map)
        assert sum(counts(name, around)) == len(records)
