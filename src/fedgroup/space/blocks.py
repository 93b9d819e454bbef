"""A domain cut into blocks, and each block into as many cells as it deserves: the bins of a private map.

All levels share the edges of one fine grid, so that the cells of a block add up to it, and blocks to coarser grids,
record by record.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidInput
from fedgroup.given import whole_number
from fedgroup.space.box import Box, Grid
from fedgroup.space.box import edges as edges_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DEEPEST = 6
HIGHEST = 9
MOST_CELLS = 1_000_000

_WITHIN = (1 << DEEPEST) - 1


class Boxes(NamedTuple):
    """Many boxes, side by side."""

    west: Floats
    south: Floats
    east: Floats
    north: Floats


@dataclass(frozen=True)
class Blocks:
    """A box of 2^level x 2^level blocks, numbered row by row from the south-west; block b has 4^depths[b] cells.

    Cells are numbered block by block, and row by row from the south-west within one. A place on an edge belongs to the
    cell east or north of it, as in a `Grid`.
    """

    box: Box
    level: int
    depths: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.box, Box):
            raise InvalidInput("blocks cut a Box")
        whole_number(self.level, name="the level of blocks", least=0, most=HIGHEST)
        if not isinstance(self.depths, bytes) or len(self.depths) != 4**self.level or max(self.depths) > DEEPEST:
            raise InvalidInput(f"each of a map's blocks is cut 0 to {DEEPEST} times")
        if len(self) > MOST_CELLS:
            raise InvalidInput(f"a map has at most {MOST_CELLS:,} cells, got {len(self):,}")
        if not all(np.all(np.diff(each) > 0) for each in self._fine_edges):
            raise InvalidInput(f"the box {self.box.written} is too small to be cut into so many cells")

    @property
    def grid(self) -> Grid:
        """The blocks as the cells of a grid."""
        return Grid(self.box, self.side, self.side)

    @property
    def side(self) -> int:
        """How many blocks there are from west to east, and from south to north."""
        return 1 << self.level

    @cached_property
    def depth(self) -> Ints:
        """How often each block is cut."""
        return np.frombuffer(self.depths, dtype=np.uint8).astype(np.int64)

    @cached_property
    def offsets(self) -> Ints:
        """The number of the first cell of each block, and of all cells."""
        return np.concatenate([[0], np.cumsum(4**self.depth)])

    @cached_property
    def block_of(self) -> Ints:
        """The block of each cell."""
        return np.repeat(np.arange(len(self.depths)), 4**self.depth)

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def cell_of(self, x: Floats, y: Floats) -> Ints:
        """Return the cell of each place, -1 for places outside the box."""
        x_edges, y_edges = self._fine_edges
        fine_x, fine_y = _interval(x, x_edges), _interval(y, y_edges)
        block = (fine_y >> DEEPEST) * self.side + (fine_x >> DEEPEST)
        depth = self.depth[block]
        column, row = (((fine & _WITHIN) >> (DEEPEST - depth)) for fine in (fine_x, fine_y))
        cell = self.offsets[block] + (row << depth) + column
        return np.where(self.box.contains(x, y), cell, -1)

    def of_depth(self, depth: int) -> tuple[Ints, Ints]:
        """Return the blocks that are cut so often, and the numbers of their cells as rows and columns of each."""
        blocks = np.flatnonzero(self.depth == depth)
        return blocks, self.cells_of(blocks, depth)

    def cells_of(self, blocks: Ints, depth: int) -> Ints:
        """Return the numbers of the cells of blocks that are cut so often, as rows and columns of each."""
        across = 1 << depth
        cells: Ints = (self.offsets[blocks, None] + np.arange(across * across)).reshape(-1, across, across)
        return cells

    @cached_property
    def places(self) -> tuple[Ints, Ints, Ints]:
        """The row and column of each cell in a grid of so many cells across as there would be if all were like it."""
        block, depth = self.block_of, self.depth[self.block_of]
        within = np.arange(len(self)) - self.offsets[block]
        row, column = np.divmod(block, self.side)
        return (row << depth) + (within >> depth), (column << depth) + (within & ((1 << depth) - 1)), self.side << depth

    @property
    def names(self) -> list[str]:
        """Row and column of each cell, and of how many rows and columns: 5-3/64."""
        return [
            f"{row}-{column}/{across}" for row, column, across in zip(*map(np.ndarray.tolist, self.places), strict=True)
        ]

    @cached_property
    def boxes(self) -> Boxes:
        """The sides of every cell."""
        x_edges, y_edges = self._fine_edges
        row, column, across = self.places
        step = (self.side << DEEPEST) // across
        return Boxes(
            x_edges[column * step], y_edges[row * step], x_edges[(column + 1) * step], y_edges[(row + 1) * step]
        )

    def shapes(self) -> list[shapely.Geometry]:
        """Return every cell as a polygon."""
        return list(shapely.box(*self.boxes))

    # --- as JSON --------------------------------------------------------------------------------------------------

    def said(self) -> dict[str, Any]:
        """Return the blocks as JSON values, without their box."""
        return {"level": self.level, "depths": base64.b64encode(zlib.compress(self.depths, 9)).decode()}

    @classmethod
    def of_said(cls, said: Mapping[str, Any], box: Box) -> Blocks:
        """Return the blocks of a box from JSON values."""
        try:
            level = whole_number(said["level"], name="the level of blocks", least=0, most=HIGHEST)
            packed = zlib.decompressobj()
            # no more than there can be, whatever was packed
            depths = packed.decompress(base64.b64decode(said["depths"], validate=True), 4**level + 1)
        except (KeyError, TypeError, ValueError, binascii.Error, zlib.error):
            raise InvalidInput("blocks are a level and packed depths") from None
        return cls(box, level, depths)

    @cached_property
    def _fine_edges(self) -> tuple[Floats, Floats]:
        steps = self.side << DEEPEST
        return edges_of(self.box.west, self.box.east, steps), edges_of(self.box.south, self.box.north, steps)


def _interval(place: Floats, edges: Floats) -> Ints:
    """Return k with edges[k] <= place < edges[k + 1]; for places outside any k of these."""
    steps = len(edges) - 1
    guess = np.nan_to_num((place - edges[0]) / (edges[-1] - edges[0]) * steps)
    found: Ints = np.clip(guess, 0, steps - 1).astype(np.int64)
    found -= (place < edges[found]) & (found > 0)
    found += (place >= edges[found + 1]) & (found < steps - 1)
    return found
