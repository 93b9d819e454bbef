"""The agreed rectangle and its cells."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.given import written

MOST_CELLS = 1_000_000
LARGEST_COORDINATE = 1e150
"""Up to here squares of distances and areas are finite."""


@dataclass(frozen=True)
class Box:
    """The rectangle [west, east) x [south, north)."""

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        become_floats(self, refusal=InvalidInput)
        if not (self.west < self.east and self.south < self.north):
            raise InvalidInput(f"a box needs west < east and south < north, got {self.written}")

    @property
    def sides(self) -> tuple[float, float, float, float]:
        """West, south, east, north."""
        return (self.west, self.south, self.east, self.north)

    @property
    def written(self) -> str:
        """The sides as people write them: 0,0,20000,20000."""
        return ",".join(written(side) for side in self.sides)

    @property
    def width(self) -> float:
        return self.east - self.west

    @property
    def height(self) -> float:
        return self.north - self.south

    def contains(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Tell for each place whether it lies in the half-open box."""
        return (x >= self.west) & (x < self.east) & (y >= self.south) & (y < self.north)


@dataclass(frozen=True)
class Grid:
    """A box cut into `columns` x `rows` half-open cells, numbered row by row from the south-west corner.

    The cells partition the box: cell edges are the numbers in `x_edges` and `y_edges`, and a place on an edge
    belongs to the cell east or north of it.
    """

    box: Box
    columns: int
    rows: int

    def __post_init__(self) -> None:
        if not isinstance(self.box, Box):
            raise InvalidInput(f"a grid cuts a Box, got {written(self.box)}")
        given = f"{written(self.columns)}x{written(self.rows)}"
        if not all(_is_whole(parts) and parts >= 1 for parts in (self.columns, self.rows)):
            raise InvalidInput(f"a grid needs whole numbers of at least 1x1 cells, got {given}")
        object.__setattr__(self, "columns", int(self.columns))
        object.__setattr__(self, "rows", int(self.rows))
        if self.cells > MOST_CELLS:
            raise InvalidInput(f"a grid has at most {MOST_CELLS:,} cells, got {given}")
        if not (np.all(np.diff(self.x_edges) > 0) and np.all(np.diff(self.y_edges) > 0)):
            raise InvalidInput(
                f"the box {self.box.written} is too small to be cut into {self.columns}x{self.rows} cells"
            )

    @property
    def cells(self) -> int:
        """How many cells there are, |T|."""
        return self.columns * self.rows

    @cached_property
    def x_edges(self) -> npt.NDArray[np.float64]:
        return edges(self.box.west, self.box.east, self.columns)

    @cached_property
    def y_edges(self) -> npt.NDArray[np.float64]:
        return edges(self.box.south, self.box.north, self.rows)

    def cell_of(self, x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the cell of each place, -1 for places outside the box."""
        column = np.searchsorted(self.x_edges, x, side="right") - 1
        row = np.searchsorted(self.y_edges, y, side="right") - 1
        cell = row * self.columns + column
        return np.where(self.box.contains(x, y), cell, -1)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_coordinate(value: Any) -> bool:
    """Tell whether a value is a number that a map can use: finite and not beyond `LARGEST_COORDINATE`."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return abs(float(value)) <= LARGEST_COORDINATE
    except OverflowError:  # an integer of more than 308 digits
        return False


def become_floats(shape: Any, *, refusal: type[InvalidInput]) -> None:
    """Make every field of a shape under construction a Python float, or refuse the shape."""
    for field in fields(shape):
        value = getattr(shape, field.name)
        if not is_coordinate(value):
            kind = type(shape).__name__.lower()
            raise refusal(f"the {field.name} of a {kind} must be a finite number (up to 1e150), got {written(value)}")
        object.__setattr__(shape, field.name, float(value))


def edges(low: float, high: float, parts: int) -> npt.NDArray[np.float64]:
    """Return where so many equal parts of a stretch begin, and its end."""
    found = low + (high - low) * (np.arange(parts + 1) / parts)
    found[-1] = high
    found.flags.writeable = False
    return found
