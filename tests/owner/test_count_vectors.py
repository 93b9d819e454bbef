"""A record is counted in the cell that `Grid.cell_of` gives its place, on edges and across the antimeridian too."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.owner.counting import count_vectors
from fedgroup.owner.records import Records
from fedgroup.space import Box, Grid, PublicMap

PLANES = [
    PublicMap(Box(0, 0, 8, 8)),
    PublicMap(Box(-0.3, 0.1, 0.7, 1 / 3)),
    PublicMap(Box(1e9 / 3, -1e9, 1e9 / 3 + 0.1, -1e9 + 7)),
    PublicMap(Box(0, -1e-300, 1e-300, 1e-300)),
    PublicMap(Box(-1e149, 1e149, 1e149, 1e150)),
]
FIJI = PublicMap(Box(177, -20, 182, -15), lonlat=True)
EARTH = [
    FIJI,
    PublicMap(Box(12.9, 47.9, 13.3, 48.2), lonlat=True),
    PublicMap(Box(-180, -90, 180, 90), lonlat=True),
    PublicMap(Box(100.1, -60, 460.1, 60), lonlat=True),
    PublicMap(Box(-200, -60.7, -170, 90), lonlat=True),
]
OWNERS = 3
Place = tuple[int, float, float]


def on_and_beside(edges: np.ndarray) -> list[float]:
    """Every edge, the numbers next to it, and a place beyond either end."""
    step = float(edges[1] - edges[0])
    around = [
        near for edge in edges.tolist() for near in (edge, math.nextafter(edge, -1e200), math.nextafter(edge, 1e200))
    ]
    return [*around, float(edges[0]) - step / 2, float(edges[-1]) + step / 2]


@st.composite
def places(draw: st.DrawFn, grid: Grid, *, turns: tuple[int, ...] = (0,)) -> list[Place]:
    """Owners and places of records: on edges, beside them and anywhere, also whole turns away."""
    west, south, east, north = grid.box.sides
    x = st.sampled_from(on_and_beside(grid.x_edges)) | st.floats(west, east)
    y = st.sampled_from(on_and_beside(grid.y_edges)) | st.floats(south, north)
    turned = st.builds(lambda place, turn: place + turn, x, st.sampled_from(turns))
    return draw(st.lists(st.tuples(st.integers(0, OWNERS - 1), turned, y), max_size=60))


def table(rows: list[Place], *, lonlat: bool = False) -> Records:
    owner, x, y = ([row[k] for row in rows] for k in range(3))
    return Records(owner=owner, x=x, y=y, owners=range(OWNERS), lonlat=lonlat)


def counted_by_cell_of(records: Records, grid: Grid, public_map: PublicMap) -> np.ndarray:
    counts = np.zeros((OWNERS, grid.cells), dtype=int)
    for owner, cell in zip(records.code, grid.cell_of(public_map.place(records.x), records.y), strict=True):
        if cell >= 0:
            counts[owner, cell] += 1
    return counts


@given(st.sampled_from(PLANES), st.integers(1, 19), st.integers(1, 19), st.data())
def test_on_a_plane_every_record_is_in_its_cell(
    public_map: PublicMap, columns: int, rows: int, data: st.DataObject
) -> None:
    grid = public_map.grid(columns, rows)
    records = table(data.draw(places(grid)))
    np.testing.assert_array_equal(
        count_vectors(records, grid, public_map), counted_by_cell_of(records, grid, public_map)
    )


@given(st.sampled_from(EARTH), st.integers(1, 19), st.integers(1, 19), st.data())
def test_on_earth_every_record_is_in_its_cell_whole_turns_away_too(
    public_map: PublicMap, columns: int, rows: int, data: st.DataObject
) -> None:
    grid = public_map.grid(columns, rows)
    drawn = data.draw(places(grid, turns=(-360, 0, 360)))
    records = table([row for row in drawn if abs(row[1]) <= 360 and abs(row[2]) <= 90], lonlat=True)
    np.testing.assert_array_equal(
        count_vectors(records, grid, public_map), counted_by_cell_of(records, grid, public_map)
    )


@given(st.lists(st.tuples(st.integers(-360 * 8, 360 * 8), st.integers(-21 * 8, -14 * 8)), max_size=60))
def test_across_the_antimeridian_cells_are_those_of_exact_arithmetic(eighths: list[tuple[int, int]]) -> None:
    grid = FIJI.grid(4, 8)
    expected = [0] * grid.cells
    for lon, lat in eighths:
        column = math.floor((Fraction(lon, 8) - 177) % 360 / Fraction(5, 4))
        row = math.floor((Fraction(lat, 8) + 20) / Fraction(5, 8))
        if column < 4 and 0 <= row < 8:
            expected[row * 4 + column] += 1
    records = table([(0, lon / 8, lat / 8) for lon, lat in eighths], lonlat=True)
    assert count_vectors(records, grid, FIJI)[0].tolist() == expected


@pytest.mark.parametrize("public_map", [one for one in PLANES + EARTH if not one.lonlat or one.domain.east <= 360])
@pytest.mark.parametrize("parts", [1, 7, 10, 97, 1000])
def test_every_edge_belongs_to_the_cell_east_and_north_of_it(public_map: PublicMap, parts: int) -> None:
    for grid in (public_map.grid(parts, 1), public_map.grid(1, parts)):
        corners = [(0, x, y) for y in grid.y_edges[:-1].tolist() for x in grid.x_edges[:-1].tolist()]
        found = count_vectors(table(corners, lonlat=public_map.lonlat), grid, public_map)[0]
        assert (found == 1).all()
