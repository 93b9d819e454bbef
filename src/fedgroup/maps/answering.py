"""Free answers from a private map: any range, with an interval that holds the noise and the unevenness of records.

Whole blocks count by their own counts, cells that a border cuts by the covered share of their area. The noise's part of
the error is known exactly from the weights of the reconstruction. That of unevenness is V = v n^2 f (1 - f) for a cell
with n records of which a share f is covered; v is learnt from the map itself.

Guarantee: everything here is post-processing of released counts: it costs nothing, however often it is done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fedgroup.maps.areas import Boxes, covered, extent
from fedgroup.maps.reconstruction import Reconstructed, quarters
from fedgroup.space import PublicMap, Range
from fedgroup.space.blocks import DEEPEST

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAST_UNEVEN = 0.5
"""On exact counts of five data sets v lay between 0.3 and 0.8 at every scale: a smaller fit is noise."""
_ENOUGH = 30
_Z = 1.959964
_WHOLE = 1e-9


@dataclass(frozen=True)
class FreeAnswer:
    """A count from a map: the value, and the standard deviations of what noise and what unevenness add to it."""

    value: float
    noise: float
    uneven: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval.

        Upwards it also holds what a busy place has more: one picked because it is busy holds uneven^2 / value more.
        """
        half = _Z * math.hypot(self.noise, self.uneven)
        busy = self.uneven**2 / max(self.value, self.noise, 1.0)
        return max(0.0, self.value - half), max(self.value, 0.0) + half + busy


@dataclass(frozen=True, eq=False)
class Atlas:
    """A reconstructed map that answers ranges."""

    made: Reconstructed
    noisy_cells: Floats
    public_map: PublicMap

    @cached_property
    def unevenness(self) -> float:
        """v of the law V(n) = v n^2: the square of how far the quarters of n records are from n / 4, beyond the noise.

        Quarters of n records vary by V / 4, so the mean square of their contrasts, of 3 degrees of freedom, has the
        mean V(n) / 4 plus the noise's variance.
        """
        together, squares = self._contrasts()
        if len(together) < _ENOUGH:
            return LEAST_UNEVEN
        noise = self.made.sizes.variances[2]
        tried = np.linspace(0.05, 1, 39)
        expected = tried[:, None] / 4 * together**2 + noise
        cost = (np.log(expected) + squares / expected).mean(axis=1)
        return max(LEAST_UNEVEN, float(tried[int(np.argmin(cost))]))

    def count(self, asked: Range) -> FreeAnswer:
        """Return how many records lie in a range."""
        made, cut = self.made, self.made.cut
        blocks = self._touched(asked)
        share = np.zeros(len(made.blocks))
        share[blocks] = covered(asked, self.public_map, self._boxes(blocks))
        whole = share > 1 - _WHOLE
        value, noise, uneven = float(made.blocks[whole].sum()), 0.0, 0.0
        halved = np.flatnonzero((share > _WHOLE) & ~whole)
        for depth in np.unique(cut.depth[halved]).tolist():
            mine = halved[cut.depth[halved] == depth]
            part, cells = self._parts(asked, mine, depth)
            value += float((part * cells).sum())
            noise += made.sizes.variances[2] * float(((part - part.mean(axis=(1, 2), keepdims=True)) ** 2).sum())
            # a cell's own count may be 0 by luck: half of what its neighbours suggest is kept
            near = np.maximum(cells, np.maximum(cells.mean(axis=(1, 2), keepdims=True), 0) / 2)
            uneven += self.unevenness * float((part * (1 - part) * near**2).sum())
        return FreeAnswer(value, math.sqrt(noise + self._noise_of_blocks(share)), math.sqrt(uneven))

    def _contrasts(self) -> tuple[Floats, Floats]:
        """Return how many records sibling cells hold together, and the mean square of their noisy contrasts."""
        cut = self.made.cut
        together, squares = [np.zeros(0)], [np.zeros(0)]
        for depth in range(1, DEEPEST + 1):
            blocks, numbers = cut.of_depth(depth)
            if len(blocks):
                four = quarters(self.noisy_cells[numbers])
                apart = four - four.mean(axis=-1, keepdims=True)
                squares.append(((apart * apart).sum(axis=-1) / 3).ravel())
                together.append(quarters(self.made.cells[numbers]).sum(axis=-1).ravel())
        n, s = np.concatenate(together), np.concatenate(squares)
        return n[n > 0], s[n > 0]

    def _touched(self, asked: Range) -> Ints:
        """Return the blocks that the box around a range meets."""
        side, box = self.made.cut.side, self.public_map.domain
        west, south, east, north = extent(asked, self.public_map)
        rows = _steps(south, north, box.south, box.height, side)
        turns = (-360.0, 0.0, 360.0) if self.public_map.lonlat else (0.0,)
        found = [_steps(west + turn, east + turn, box.west, box.width, side) for turn in turns]
        columns = np.unique(np.concatenate(found))
        return (rows[:, None] * side + columns).ravel()

    def _boxes(self, blocks: Ints, depth: int = 0) -> Boxes:
        """Return blocks, or all cells of blocks that are cut so often, as boxes."""
        side, box, across = self.made.cut.side, self.public_map.domain, 1 << depth
        row, column = np.divmod(blocks, side)
        up, right = np.divmod(np.arange(across * across), across)
        steps = side * across
        columns = (column[:, None] * across + right).ravel()
        rows = (row[:, None] * across + up).ravel()
        wide, high = box.width / steps, box.height / steps
        west, south = box.west + columns * wide, box.south + rows * high
        return Boxes(west, south, west + wide, south + high)

    def _parts(self, asked: Range, blocks: Ints, depth: int) -> tuple[Floats, Floats]:
        """Return the covered shares and the counts of the cells of blocks that are cut so often."""
        across, cut = 1 << depth, self.made.cut
        share = covered(asked, self.public_map, self._boxes(blocks, depth)).reshape(-1, across, across)
        numbers = (cut.offsets[blocks, None] + np.arange(across * across)).reshape(-1, across, across)
        return share, self.made.cells[numbers]

    def _noise_of_blocks(self, share: Floats) -> float:
        """Return the variance of a weighted sum of blocks, whose sums the coarse cells know better."""
        made = self.made
        rows, variance = made.by_coarse(share), made.by_coarse(made.block_variance)
        touched = rows.any(axis=1)
        rows, variance = rows[touched], variance[touched]
        top = (rows * variance).sum(axis=1) / variance.sum(axis=1)
        own = float((variance * (rows - top[:, None]) ** 2).sum())
        return own + float((made.coarse_variance[touched] * top**2).sum())


def _steps(low: float, high: float, start: float, length: float, steps: int) -> Ints:
    """Return the steps of a side that a stretch meets."""
    first, last = (math.floor((end - start) / length * steps) for end in (low, high))
    return np.arange(max(first, 0), min(last, steps - 1) + 1)
