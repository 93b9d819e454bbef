"""How a private map is cut and paid, decided before anything is spent, from public numbers alone.

Two rounds: a quarter of epsilon finds out where records are, a quarter of that on a coarse grid and the rest on blocks;
three quarters count the cells of the blocks, cut the finer the more records they seem to hold. Everything depends on
epsilon, the noises and the sensitivity through one number, the strength e* = epsilon / (sensitivity sqrt(noises)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import whole_number
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.space import Box
from fedgroup.space.blocks import DEEPEST, Blocks

Floats = npt.NDArray[np.float64]

_FIRST = 4
"""A share of one in four of epsilon finds the blocks, and one in four of that the coarse grid."""
_PER_BLOCK = 8.0
"""So many blocks that N e* / blocks is about this."""
_PER_CELL = 2.0
"""A cell's expected count, in units of 1 / e* of the second round: 1.4 standard deviations of its noise."""
_FEWEST, _MOST = 2, 9
_COARSER = 3


@dataclass(frozen=True)
class MapSizes:
    """Everything that is public before the first round.

    `records` is a public guess of how many records there are (a factor of 4 is one level), `noises` how many noises a
    count holds by the method that is used, `sensitivity` how far one protected unit moves the counts of one grid.
    """

    domain: Box
    epsilon: Epsilon
    noises: float
    records: int
    sensitivity: int = 1

    def __post_init__(self) -> None:
        whole_number(self.records, name="the guess of the number of records", least=1, refusal=InvalidQuery)
        if min(share.nano for share in self.shares) <= 0:
            raise InvalidQuery("epsilon is too small to be split over the three grids of a map")

    @property
    def shares(self) -> tuple[Epsilon, Epsilon, Epsilon]:
        """What the coarse grid, the blocks and the cells cost; together exactly epsilon."""
        first = self.epsilon.nano // _FIRST
        coarse = first // _FIRST
        return Epsilon(coarse), Epsilon(first - coarse), Epsilon(self.epsilon.nano - first)

    @property
    def variances(self) -> tuple[float, float, float]:
        """The variance of the noise in a count of the coarse grid, of blocks and of cells."""
        coarse, blocks, cells = (self._variance(share) for share in self.shares)
        return coarse, blocks, cells

    @property
    def strength(self) -> float:
        """e*, on which everything else depends."""
        return float(self.epsilon) / (self.sensitivity * math.sqrt(self.noises))

    @property
    def level(self) -> int:
        """There are 4^level blocks."""
        wanted = max(self.records * self.strength / _PER_BLOCK, 1)
        return min(max(round(0.5 * math.log2(wanted)), _FEWEST), _MOST)

    @property
    def coarse(self) -> Blocks:
        """A grid 8 x 8 times as coarse as the blocks."""
        return Blocks.whole(self.domain, max(self.level - _COARSER, 0))

    @property
    def blocks(self) -> Blocks:
        return Blocks.whole(self.domain, self.level)

    def cut(self, counts: Floats, *, most: int | None = None) -> Blocks:
        """Return the blocks cut by what the first round found in them; at most `most` cells, else all are coarser."""
        strength = float(self.shares[2]) / (self.sensitivity * math.sqrt(self.noises))
        wanted = np.maximum(np.sqrt(np.maximum(counts, 0) * strength / _PER_CELL), 1)
        depths = np.clip(np.rint(np.log2(wanted)), 0, DEEPEST).astype(np.int64)
        while most is not None and depths.any() and int((4**depths).sum()) > most:
            depths = np.maximum(depths - 1, 0)
        return Blocks(self.domain, self.level, depths.astype(np.uint8).tobytes())

    def _variance(self, share: Epsilon) -> float:
        return self.noises * DiscreteLaplace(Fraction(self.sensitivity) / share.exact).variance
