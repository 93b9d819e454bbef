from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.space import Box, Grid

UGLY = st.floats(-1e12, 1e12) | st.sampled_from([0.1, 0.3, 1 / 3, 1e-9, -0.0, 5e-324, 179.99999999999997])


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    west, south, width, height = draw(UGLY), draw(UGLY), draw(st.floats(1e-6, 1e12)), draw(st.floats(1e-6, 1e12))
    assume(west < west + width and south < south + height)
    try:
        return Grid(Box(west, south, west + width, south + height), draw(st.integers(1, 40)), draw(st.integers(1, 40)))
    except InvalidInput:  # too small to be cut
        assume(False)
        raise


def places_around(grid: Grid, draw: st.DataObject) -> tuple[Any, Any]:
    """Places anywhere, on edges, and one float beside them."""
    spots = []
    for edges in (grid.x_edges, grid.y_edges):
        beside = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        inner = draw.draw(st.lists(st.floats(edges[0], edges[-1]), min_size=1, max_size=5))
        spots.append(np.concatenate([beside, inner, [np.nan, np.inf, -np.inf]]))
    x, y = np.meshgrid(*spots)
    return x.ravel(), y.ravel()


@given(grids(), st.data())
def test_each_place_in_the_box_is_in_the_one_cell_whose_edges_enclose_it(grid: Grid, data: st.DataObject) -> None:
    x, y = places_around(grid, data)
    cell = grid.cell_of(x, y)
    inside = grid.box.contains(x, y)
    row, column = np.divmod(cell[inside], grid.columns)
    assert ((row >= 0) & (row < grid.rows)).all()
    assert ((grid.x_edges[column] <= x[inside]) & (x[inside] < grid.x_edges[column + 1])).all()
    assert ((grid.y_edges[row] <= y[inside]) & (y[inside] < grid.y_edges[row + 1])).all()


@given(grids(), st.data())
def test_places_outside_the_box_are_in_no_cell(grid: Grid, data: st.DataObject) -> None:
    x, y = places_around(grid, data)
    west, south, east, north = grid.box.sides
    outside = ~((x >= west) & (x < east) & (y >= south) & (y < north))
    assert ((grid.cell_of(x, y) == -1) == outside).all()


@given(grids())
def test_the_outermost_edges_are_the_sides_of_the_box(grid: Grid) -> None:
    edges = (grid.x_edges[0], grid.y_edges[0], grid.x_edges[-1], grid.y_edges[-1])
    assert edges == grid.box.sides
    assert (len(grid.x_edges), len(grid.y_edges)) == (grid.columns + 1, grid.rows + 1)


def test_the_last_edge_is_the_side_even_where_adding_the_width_misses_it() -> None:
    west, east = next((w, e) for w in np.arange(-1, 0, 0.1) for e in np.arange(0, 1, 0.07) if w + (e - w) != e)
    assert Grid(Box(west, 0, east, 1), 7, 1).x_edges[-1] == east


def test_cells_are_numbered_row_by_row_and_an_edge_belongs_to_the_east_or_north_cell() -> None:
    grid = Grid(Box(0, 0, 3, 2), 3, 2)
    x, y = np.array([0.0, 0.9, 1.0, 2.5, 0.0, 2.0, 3.0, 1.0]), np.array([0.0, 0.9, 0.5, 0.0, 1.0, 1.0, 1.0, 2.0])
    assert grid.cell_of(x, y).tolist() == [0, 0, 1, 2, 3, 5, -1, -1]


def test_edges_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Grid(Box(0, 0, 1, 1), 2, 2).x_edges[0] = 5


@pytest.mark.parametrize("columns", [0, -1, 2.5, 2.0, "3", None, 10**12])
def test_a_grid_that_cannot_be_is_refused(columns: Any) -> None:
    with pytest.raises(InvalidInput):
        Grid(Box(0, 0, 1, 1), columns, 1)
    with pytest.raises(InvalidInput):
        Grid(Box(0, 0, 1, 1), 1, columns)


def test_a_grid_has_at_most_a_million_cells() -> None:
    assert Grid(Box(0, 0, 1, 1), 1000, np.int64(1000)).cells == 1_000_000
    with pytest.raises(InvalidInput, match="at most 1,000,000"):
        Grid(Box(0, 0, 1, 1), 1000, 1001)


def test_a_box_narrower_than_its_cells_can_be_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too small"):
        Grid(Box(1, 0, np.nextafter(1, 2), 1), 2, 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, 10**400, "1", None, True])
@pytest.mark.parametrize("side", range(4))
def test_a_box_with_a_side_that_is_no_finite_number_is_refused(side: int, bad: Any) -> None:
    sides: list[Any] = [0, 0, 1, 1]
    sides[side] = bad
    with pytest.raises(InvalidInput, match="finite number"):
        Box(*sides)


@pytest.mark.parametrize("sides", [(1, 0, 1, 1), (2, 0, 1, 1), (0, 1, 1, 1), (0, 2, 1, 1)])
def test_a_box_without_inside_is_refused(sides: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidInput, match="west < east and south < north"):
        Box(*sides)


def test_sides_are_plain_floats_whatever_numbers_were_given() -> None:
    box = Box(np.int64(0), np.float32(0.5), 2, np.float64(3))
    assert repr(box) == "Box(west=0.0, south=0.5, east=2.0, north=3.0)"
    assert (box.width, box.height) == (2, 2.5)
