"""From two rounds of noisy counts to a map that adds up: blocks by least squares, cells non-negative within them.

Blocks may be negative: cutting negative ones off would bias every sum of many blocks upwards. Cells inside a block are
the nearest non-negative ones that add up to it, four quarters at a time from the top.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.maps.sizing import MapSizes
from fedgroup.space.blocks import DEEPEST, Blocks

Floats = npt.NDArray[np.float64]

_DECIDED = 2
"""Up to so many cuts the first round's own noise decides how often a block is cut."""


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """A map's counts: of every block and every cell, and the variances that the noise leaves in them.

    block_variance    of a block's count from its own measurements
    coarse_variance   of a coarse cell's count, after all measurements
    """

    sizes: MapSizes
    cut: Blocks
    blocks: Floats
    cells: Floats
    block_variance: Floats
    coarse_variance: Floats

    def by_coarse(self, values: Floats) -> Floats:
        """Return values of blocks as a row for each coarse cell."""
        return _by_coarse(values, self.sizes)

    @property
    def total(self) -> float:
        """How many records there are in all."""
        return float(self.blocks.sum())


def found_first(sizes: MapSizes, coarse: Floats, blocks: Floats) -> Floats:
    """Return the counts of blocks after the first round: least squares of both grids."""
    return _merged(sizes, coarse, blocks, np.full(len(blocks), sizes.variances[1]))[0]


def reconstructed(
    sizes: MapSizes, coarse: Floats | None, blocks: Floats | None, cut: Blocks, cells: Floats
) -> Reconstructed:
    """Return the map of both rounds; without the first one's counts, for they were of other owners, of the second's."""
    own: Floats = np.power(4.0, cut.depth)
    sums = np.add.reduceat(cells, cut.offsets[:-1])
    _, first, second = sizes.variances
    if blocks is None or coarse is None:
        variance: Floats = second * own
        counts, coarse_variance = sums, _by_coarse(variance, sizes).sum(axis=1)
    else:
        # weights that follow the depth where the first round's noise decides it would add a bias to sparse blocks
        trusted = np.where(cut.depth > _DECIDED, second * own, second)
        weight = 1 / (1 + first / trusted)
        variance = weight**2 * first + (1 - weight) ** 2 * second * own
        counts, coarse_variance = _merged(sizes, coarse, weight * blocks + (1 - weight) * sums, variance)
    return Reconstructed(sizes, cut, counts, _cut_down(cut, cells, counts), variance, coarse_variance)


def _merged(sizes: MapSizes, coarse: Floats, blocks: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return blocks and coarse cells by least squares: unbiased, maybe negative; and the variance of coarse cells."""
    rows, own = _by_coarse(blocks, sizes), _by_coarse(variance, sizes)
    of_coarse, of_rows = 1 / sizes.variances[0], 1 / own.sum(axis=1)
    top = (coarse * of_coarse + rows.sum(axis=1) * of_rows) / (of_coarse + of_rows)
    spare = (top - rows.sum(axis=1)) / own.sum(axis=1)
    return _by_block(rows + spare[:, None] * own, sizes), 1 / (of_coarse + of_rows)


def _by_coarse(values: Floats, sizes: MapSizes) -> Floats:
    """Return values of blocks as a row for each coarse cell."""
    wide = sizes.coarse.side
    within = sizes.blocks.side // wide
    return values.reshape(wide, within, wide, within).transpose(0, 2, 1, 3).reshape(wide * wide, within * within)


def _by_block(rows: Floats, sizes: MapSizes) -> Floats:
    wide = sizes.coarse.side
    within = sizes.blocks.side // wide
    return rows.reshape(wide, wide, within, within).transpose(0, 2, 1, 3).reshape(-1)


def _cut_down(cut: Blocks, noisy: Floats, totals: Floats) -> Floats:
    """Return non-negative cells that add up to each block's total; a negative total is spread evenly."""
    cells = np.empty(len(noisy))
    for depth in range(DEEPEST + 1):
        blocks, numbers = cut.of_depth(depth)
        if len(blocks):
            cells[numbers] = _spread(noisy[numbers], totals[blocks])
    return cells


def _spread(noisy: Floats, totals: Floats) -> Floats:
    levels = list(_pyramid(noisy))
    found = np.maximum(totals, 0)[:, None, None]
    for level in reversed(levels[:-1]):
        four = quarters(level)
        found = _joined(_projected(four.reshape(-1, 4), found.ravel()).reshape(four.shape))
    spread: Floats = found + (np.minimum(totals, 0) / noisy[0].size)[:, None, None]
    return spread


def _pyramid(cells: Floats) -> Iterator[Floats]:
    """Yield cells, sums of four of them, and so on up to whole blocks."""
    yield cells
    while cells.shape[1] > 1:
        cells = quarters(cells).sum(axis=-1)
        yield cells


def quarters(cells: Floats) -> Floats:
    """Return cells of blocks as fours of neighbours: a half as many rows and columns, and four in each."""
    blocks, half = cells.shape[0], cells.shape[1] // 2
    return cells.reshape(blocks, half, 2, half, 2).transpose(0, 1, 3, 2, 4).reshape(blocks, half, half, 4)


def _joined(four: Floats) -> Floats:
    blocks, half = four.shape[:2]
    return four.reshape(blocks, half, half, 2, 2).transpose(0, 1, 3, 2, 4).reshape(blocks, 2 * half, 2 * half)


def _projected(values: Floats, totals: Floats) -> Floats:
    """Return the rows nearest to `values` that are not negative and add up to `totals`."""
    falling = -np.sort(-values, axis=1)
    over = (np.cumsum(falling, axis=1) - totals[:, None]) / np.arange(1, values.shape[1] + 1)
    kept = (falling > over).sum(axis=1)
    lowered = over[np.arange(len(values)), np.maximum(kept, 1) - 1]
    projected: Floats = np.maximum(values - lowered[:, None], 0)
    return projected
