"""A domain cut into blocks, and each block into as many cells as it deserves: the bins of a private map.

All levels come from one fine grid of whole numbers, so that the cells of a block add up to it, and blocks to coarser
ones, record by record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.space.box import Box

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Depths = npt.NDArray[np.int64]

DEEPEST = 6
HIGHEST = 10
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Blocks:
    """A box of 2^level x 2^level blocks, numbered row by row from the south-west; block b has 4^depths[b] cells.

    Cells are numbered block by block, and row by row from the south-west within one.
    """

    box: Box
    level: int
    depths: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.level <= HIGHEST:
            raise InvalidInput(f"a map has 4^0 to 4^{HIGHEST} blocks, got a level of {self.level}")
        if len(self.depths) != 4**self.level or max(self.depths) > DEEPEST:
            raise InvalidInput(f"each of a map's blocks is cut 0 to {DEEPEST} times")
        if self.cells > MOST_CELLS:
            raise InvalidInput(f"a map has at most {MOST_CELLS:,} cells, got {self.cells:,}")

    @classmethod
    def whole(cls, box: Box, level: int) -> Blocks:
        """Return blocks that are not cut."""
        return cls(box, level, bytes(4**level))

    @property
    def side(self) -> int:
        """How many blocks there are from west to east, and from south to north."""
        return 1 << self.level

    @cached_property
    def depth(self) -> Depths:
        """How often each block is cut."""
        return np.frombuffer(self.depths, dtype=np.uint8).astype(np.int64)

    @cached_property
    def offsets(self) -> Ints:
        """The number of the first cell of each block, and of all cells."""
        return np.concatenate([[0], np.cumsum(4**self.depth)])

    @property
    def cells(self) -> int:
        return int(self.offsets[-1])

    def cell_of(self, x: Floats, y: Floats) -> Ints:
        """Return the cell of each place, -1 for places outside the box."""
        fine_x, fine_y = self._fine(x, self.box.west, self.box.width), self._fine(y, self.box.south, self.box.height)
        block = (fine_y >> DEEPEST) * self.side + (fine_x >> DEEPEST)
        depth = self.depth[block]
        column, row = (((fine & _WITHIN) >> (DEEPEST - depth)) for fine in (fine_x, fine_y))
        cell = self.offsets[block] + (row << depth) + column
        return np.where(self.box.contains(x, y), cell, -1)

    def of_depth(self, depth: int) -> tuple[Ints, Ints]:
        """Return the blocks that are cut so often, and the numbers of their cells as rows and columns of each."""
        blocks = np.flatnonzero(self.depth == depth)
        across = 1 << depth
        return blocks, (self.offsets[blocks, None] + np.arange(across * across)).reshape(-1, across, across)

    def _fine(self, place: Floats, low: float, length: float) -> Ints:
        steps = self.side << DEEPEST
        found = np.floor((place - low) / length * steps)
        # places outside are dropped later; rounding must not lead the others out
        return np.clip(np.nan_to_num(found), 0, steps - 1).astype(np.int64)


_WITHIN = (1 << DEEPEST) - 1
