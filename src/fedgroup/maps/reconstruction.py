"""From two rounds of noisy counts to a map that adds up: blocks by least squares, cells non-negative within them.

Blocks may be negative: cutting negative ones off would bias every sum of many blocks upwards. Cells inside a block are
the nearest non-negative ones that add up to it, four quarters at a time from the top.

How often a block is cut is decided by its own first count. Weighed by what was decided, a count that noise had raised
would count for more, and blocks would gain. So its weight follows the first count smoothly, and what it gains by the
noise is taken off. Of L Laplace noises of scale b, with variance V = 2 L b^2 together, E[w(n) noise] = V E[W'(n)]
for the smoothed weight W, w = W - b^2 W'' (for normal noise w is W: Stein's identity). What is left has no bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.maps.sizing import MapSizes, Variances
from fedgroup.privacy.law import NoiseSum
from fedgroup.space.blocks import DEEPEST, Blocks

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """A map's counts: of every block and every cell, and the variances that the noise leaves in them.

    noisy            what was released of every cell
    kept             which cells keep that, because noise does not explain them
    variances        of the noise in one count of the coarse grid, the blocks and the cells, as they were released
    block_variance   of a block's count from its own measurements
    coarse_variance  of a coarse cell's count, after all measurements
    """

    sizes: MapSizes
    variances: Variances
    cut: Blocks
    blocks: Floats
    cells: Floats
    noisy: Floats
    kept: Bools
    block_variance: Floats
    coarse_variance: Floats

    def by_coarse(self, values: Floats) -> Floats:
        """Return values of blocks as a row for each coarse cell."""
        return _by_coarse(values, self.sizes)

    @property
    def total(self) -> float:
        """How much there is in all."""
        return float(self.blocks.sum())


def found_first(sizes: MapSizes, variances: Variances, coarse: Floats, blocks: Floats) -> Floats:
    """Return the counts of blocks after the first round: least squares of both grids."""
    return _merged(sizes, coarse, blocks, np.full(len(blocks), variances[1]), of_coarse=variances[0])[0]


def reconstructed(
    sizes: MapSizes,
    first: tuple[Floats, Floats] | None,
    cut: Blocks,
    cells: Floats,
    *,
    variances: Variances,
    law: NoiseSum | None,
) -> Reconstructed:
    """Return the map of both rounds; without the first one's counts, for they were of other owners, of the second's.

    `law` is that of the noise in a cell, by which peaks are told; None for none of them. A signed sum stays as least
    squares have it: its cells may be negative.
    """
    sums = np.add.reduceat(cells, cut.offsets[:-1])
    if first is None:
        counts, variance = sums, variances[2] * np.power(4.0, cut.depth)
        coarse_variance = _by_coarse(variance, sizes).sum(axis=1)
    else:
        coarse, blocks = first
        each = sizes.cells_each(found_first(sizes, variances, coarse, blocks), cut)
        weighed = _Weighed.of(blocks, cut, sizes, variances, cells_each=each)
        mixed = weighed.first * blocks + (1 - weighed.first) * sums - weighed.gained
        variance = weighed.variance
        counts, coarse_variance = _merged(sizes, coarse, mixed, variance, of_coarse=variances[0])
    spread, kept = least_squares(cut, cells, counts), np.zeros(len(cells), dtype=np.bool_)
    if not sizes.signed:
        spread, kept = _cut_down(cut, cells, counts, law=law)
    return Reconstructed(sizes, variances, cut, counts, spread, cells, kept, variance, coarse_variance)


def foreseen(sizes: MapSizes, counts: Floats) -> Reconstructed:
    """Return a map as it would come out without noise over blocks of so many records, spread evenly in each."""
    cut = sizes.cut(counts)
    variances = sizes.variances()
    each = sizes.cells_each(counts, cut)
    variance = _Weighed.of(counts, cut, sizes, variances, cells_each=each).variance
    coarse = 1 / (1 / variances[0] + 1 / _by_coarse(variance, sizes).sum(axis=1))
    cells = (counts / np.power(4.0, cut.depth))[cut.block_of]
    kept = np.zeros(len(cells), dtype=np.bool_)
    return Reconstructed(sizes, variances, cut, counts, cells, cells, kept, variance, coarse)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """How much the first count of each block weighs, what that gains by its noise, and the variance of the mixture."""

    first: Floats
    gained: Floats
    variance: Floats

    @classmethod
    def of(cls, blocks: Floats, cut: Blocks, sizes: MapSizes, variances: Variances, *, cells_each: float) -> _Weighed:
        _, before, of_cell = variances
        # the variance of the cells' sum against the first count's, were blocks cut into any number of cells
        slope = cells_each * of_cell / before
        ratio = slope * (np.abs(blocks) if sizes.signed else np.maximum(blocks, 0.0))
        # ratio / (1 + ratio) were best; this is flat where there is nothing, as in most blocks, and little worse
        below = 1 + ratio + ratio**2
        smooth, rising = ratio**2 / below, (2 * ratio + ratio**2) / below**2
        bending = np.where(ratio > 0, (2 - 6 * ratio**2 - 2 * ratio**3) / below**3, 0.0)
        first = smooth - sizes.laws[1].variance / 2 * slope**2 * bending
        gained = before * slope * np.sign(blocks) * rising
        own = of_cell * np.power(4.0, cut.depth)
        return cls(first, gained, first**2 * before + gained**2 + (1 - first) ** 2 * own)


def least_squares(cut: Blocks, noisy: Floats, totals: Floats) -> Floats:
    """Return cells that add up to each block's total: what is missing is spread evenly."""
    missing = totals - np.add.reduceat(noisy, cut.offsets[:-1])
    spread: Floats = noisy + (missing / np.power(4.0, cut.depth))[cut.block_of]
    return spread


def _merged(
    sizes: MapSizes, coarse: Floats, blocks: Floats, variance: Floats, *, of_coarse: float
) -> tuple[Floats, Floats]:
    """Return blocks and coarse cells by least squares: unbiased, maybe negative; and the variance of coarse cells."""
    rows, own = _by_coarse(blocks, sizes), _by_coarse(variance, sizes)
    known, found = 1 / of_coarse, 1 / own.sum(axis=1)
    top = (coarse * known + rows.sum(axis=1) * found) / (known + found)
    spare = (top - rows.sum(axis=1)) / own.sum(axis=1)
    return _by_block(rows + spare[:, None] * own, sizes), 1 / (known + found)


def _by_coarse(values: Floats, sizes: MapSizes) -> Floats:
    """Return values of blocks as a row for each coarse cell."""
    wide = sizes.coarse.columns
    within = sizes.blocks.columns // wide
    return values.reshape(wide, within, wide, within).transpose(0, 2, 1, 3).reshape(wide * wide, within * within)


def _by_block(rows: Floats, sizes: MapSizes) -> Floats:
    wide = sizes.coarse.columns
    within = sizes.blocks.columns // wide
    return rows.reshape(wide, wide, within, within).transpose(0, 2, 1, 3).reshape(-1)


def _cut_down(cut: Blocks, noisy: Floats, totals: Floats, *, law: NoiseSum | None) -> tuple[Floats, Bools]:
    """Return non-negative cells that add up to each block's total, and which of them keep their own counts.

    A negative total is spread evenly.
    """
    cells, kept = np.empty(len(noisy)), np.zeros(len(noisy), dtype=np.bool_)
    for depth in range(DEEPEST + 1):
        blocks, numbers = cut.of_depth(depth)
        if len(blocks):
            peak = law.half_width(1 - 1 / 4**depth) if depth and law is not None else np.inf
            cells[numbers], kept[numbers] = _with_peaks(noisy[numbers], totals[blocks], peak=peak)
    return cells, kept


def _with_peaks(noisy: Floats, totals: Floats, *, peak: float) -> tuple[Floats, Bools]:
    """Return cells where those above `peak` keep their own counts, and the others share what is left of the total.

    A cell that noise does not explain is known better by its own count than by the sums of thousands of others around
    it: without this, what noise leaves in empty cells would be taken from it.
    """
    high = noisy > peak
    kept = np.where(high, noisy, 0.0)
    left = totals - kept.sum(axis=(1, 2))
    found = kept + _spread(np.where(high, 0.0, noisy), np.where(high.any(axis=(1, 2)), np.maximum(left, 0), left))
    over = np.flatnonzero((left < 0) & high.any(axis=(1, 2)) & (totals > 0))
    if len(over):
        # peaks alone are more than the total: all cells are lowered alike
        found[over] = _projected(noisy[over].reshape(len(over), -1), totals[over]).reshape(-1, *noisy.shape[1:])
    under = np.flatnonzero((totals <= 0) & high.any(axis=(1, 2)))
    found[under] = (totals[under] / noisy[0].size)[:, None, None]
    high[over] = high[under] = False
    return found, high


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
