"""Free answers from a published map: any range, with what noise and the unevenness of records may add to it.

Whole blocks count by their own counts, cells that a border cuts by the covered share of their area. An answer is thus a
weighted sum of the map's counts (`Weights`), and the noise's part of its error is known exactly from the weights of the
reconstruction, for one range as for the difference of two.

Guarantee: everything here is post-processing of released counts: it costs nothing, however often it is done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedgroup.maps.areas import covered, extent
from fedgroup.maps.reconstruction import Reconstructed, least_squares
from fedgroup.space import PublicMap, Range
from fedgroup.space.blocks import Boxes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_WHOLE = 1e-9


@dataclass(frozen=True, eq=False)
class Weights:
    """How much of what a range takes: of each block that it meets, and of each cell of those that its border cuts."""

    blocks: Ints
    share: Floats
    cells: Ints
    part: Floats


class Spread(NamedTuple):
    """The variance of a sum of independent parts, and how much of it is in few of them: 1 if there is but one."""

    variance: float
    fewness: float


@dataclass(frozen=True, eq=False)
class Atlas:
    """A reconstructed map that tells what lies in ranges, in whole units."""

    made: Reconstructed
    public_map: PublicMap

    def weights(self, asked: Range) -> Weights:
        """Return the covered shares of blocks, and of the cells of those that are neither whole nor free."""
        blocks = self._touched(asked)
        share = covered(asked, self.public_map, self._boxes(blocks))
        met = share > _WHOLE
        blocks, share = blocks[met], share[met]
        whole = share > 1 - _WHOLE
        share[whole] = 1.0
        cells = self.cells_of(blocks[~whole])
        part = covered(asked, self.public_map, Boxes(*(side[cells] for side in self.made.cut.boxes)))
        # a block's share is the mean of its cells', to the last digit, or noise would seem to be left where none is
        share[~whole] = self._means(part, blocks[~whole])
        return Weights(blocks, share, cells, part)

    def value(self, weights: Weights) -> float:
        """Return the weighted sum: blocks as they are, and those that are cut by their cells."""
        of_cells = float((weights.part * self.made.cells[weights.cells]).sum())
        whole = ~self._has_cells(weights)
        # no dot product: of so few numbers it is lost in waking threads up
        return float((self.made.blocks[weights.blocks[whole]] * weights.share[whole]).sum()) + of_cells

    def unbiased(self, weights: Weights) -> float:
        """Return the weighted sum as least squares have it: free of bias, with cells that may be negative."""
        moved = self._least_squares[weights.cells] - self.made.cells[weights.cells]
        return self.value(weights) + float((weights.part * moved).sum())

    def noise(self, weights: Weights) -> Spread:
        """Return the variance of what noise adds to a weighted sum, exactly as least squares leave it."""
        cut = self.made.cut
        mean = np.zeros(len(cut.depths))
        mean[weights.blocks] = weights.share
        apart = weights.part - mean[cut.block_of[weights.cells]]
        return _spread(self.made.variances[2] * apart**2, *self._of_blocks(weights))

    def noise_left(self, weights: Weights) -> Spread:
        """Return the variance of what noise adds to a weighted sum, were it known which cells are empty.

        Cells that were made 0 have none, cells that keep their own counts have their own, and the others share that of
        the total.
        """
        made, block = self.made, self.made.cut.block_of[weights.cells]
        held, kept = made.cells[weights.cells], made.kept[weights.cells]
        shared = ~kept & ((held > 0) | (made.blocks[block] <= 0))
        many = np.bincount(block[shared], minlength=len(made.blocks))
        taken = np.bincount(block[shared], weights.part[shared], minlength=len(made.blocks))
        share = taken / np.maximum(many, 1)
        own = np.where(kept | (held > 0), weights.part - share[block], 0.0)
        parted = np.where(self._has_cells(weights), share[weights.blocks], weights.share)
        moved = replace(weights, share=parted)
        return _spread(made.variances[2] * own**2, *self._of_blocks(moved))

    def difference(self, one: Weights, other: Weights) -> Weights:
        """Return the weights of one sum less another."""
        blocks = np.union1d(one.blocks, other.blocks)
        share = np.zeros(len(blocks))
        for each, sign in ((one, 1.0), (other, -1.0)):
            share[np.searchsorted(blocks, each.blocks)] += sign * each.share
        parted = np.union1d(self.made.cut.block_of[one.cells], self.made.cut.block_of[other.cells])
        cells = self.cells_of(parted)
        part = np.zeros(len(cells))
        for each, sign in ((one, 1.0), (other, -1.0)):
            whole = np.zeros(len(self.made.cut.depths))
            whole[each.blocks] = each.share
            mine = whole[self.made.cut.block_of[cells]]
            at = np.searchsorted(cells, each.cells)
            mine[at] = each.part
            part += sign * mine
        return Weights(blocks, share, cells, part)

    # --- pieces ---------------------------------------------------------------------------------------------------

    @cached_property
    def _least_squares(self) -> Floats:
        return least_squares(self.made.cut, self.made.noisy, self.made.blocks)

    def _has_cells(self, weights: Weights) -> npt.NDArray[np.bool_]:
        parted = np.zeros(len(self.made.cut.depths), dtype=np.bool_)
        parted[self.made.cut.block_of[weights.cells]] = True
        return parted[weights.blocks]

    def cells_of(self, blocks: Ints) -> Ints:
        """Return the numbers of all cells of some blocks, ascending with the blocks."""
        cut = self.made.cut
        many = cut.offsets[blocks + 1] - cut.offsets[blocks]
        first = np.repeat(cut.offsets[blocks], many)
        cells: Ints = first + np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        return cells

    def _means(self, part: Floats, blocks: Ints) -> Floats:
        if not len(blocks):
            return np.zeros(0)
        many = 4 ** self.made.cut.depth[blocks]
        return np.add.reduceat(part, np.cumsum(many) - many) / many

    def _touched(self, asked: Range) -> Ints:
        """Return the blocks that the box around a range meets."""
        side, box = self.made.cut.side, self.public_map.domain
        west, south, east, north = extent(asked, self.public_map)
        rows = _steps(south, north, box.south, box.height, side)
        turns = (-360.0, 0.0, 360.0) if self.public_map.lonlat else (0.0,)
        found = [_steps(west + turn, east + turn, box.west, box.width, side) for turn in turns]
        columns = np.unique(np.concatenate(found))
        return (rows[:, None] * side + columns).ravel()

    def _boxes(self, blocks: Ints) -> Boxes:
        grid = self.made.cut.grid
        row, column = np.divmod(blocks, self.made.cut.side)
        return Boxes(grid.x_edges[column], grid.y_edges[row], grid.x_edges[column + 1], grid.y_edges[row + 1])

    @cached_property
    def coarse(self) -> tuple[Ints, Floats]:
        """The coarse cell of each block, and the variances of its blocks together."""
        made = self.made
        number = made.by_coarse(np.arange(len(made.blocks)).astype(float)).astype(np.int64)
        coarse = np.empty(len(made.blocks), dtype=np.int64)
        coarse[number.ravel()] = np.repeat(np.arange(len(number)), number.shape[1])
        return coarse, made.by_coarse(made.block_variance).sum(axis=1)

    def _of_blocks(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return the variances of a weighted sum of blocks, and of coarse cells, which know their sums better."""
        coarse, together = self.coarse
        at = coarse[weights.blocks]
        variance = self.made.block_variance[weights.blocks]
        mixed = np.bincount(at, variance * weights.share, minlength=len(together))
        top = mixed / together
        own = variance * (weights.share - top[at]) ** 2
        # blocks that are not met have a share of 0, and the rest of the variance
        rest = np.maximum(together - np.bincount(at, variance, minlength=len(together)), 0) * top**2
        return own, np.concatenate([rest, self.made.coarse_variance * top**2])


def _spread(*variances: Floats) -> Spread:
    """Return the variance of independent parts together, and how much of it is in few of them."""
    whole = sum(float(each.sum()) for each in variances)
    if not whole:
        return Spread(whole, 0.0)
    # shares of the whole: squares of variances may be too small for a float
    return Spread(whole, sum(float(((each / whole) ** 2).sum()) for each in variances))


def _steps(low: float, high: float, start: float, length: float, steps: int) -> Ints:
    """Return the steps of a side that a stretch meets."""
    first, last = (math.floor((end - start) / length * steps) for end in (low, high))
    return np.arange(max(first, 0), min(last, steps - 1) + 1)
