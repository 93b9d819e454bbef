"""How a published map is cut and paid, decided before anything is spent, from public numbers alone.

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

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import whole_number
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.privacy.pure_prices import counted_rho, pure_price
from fedgroup.rho import Rho
from fedgroup.space import Box, Grid
from fedgroup.space.blocks import DEEPEST, HIGHEST, MOST_CELLS, Blocks

Floats = npt.NDArray[np.float64]
Variances = tuple[float, float, float]

MOST_RECORDS = 10**12
FEWEST_CELLS = 64
_FIRST = 4
"""A share of one in four of epsilon finds the blocks, and one in four of that the coarse grid."""
_PER_BLOCK = 8.0
"""So many blocks that N e* / blocks is about this."""
_PER_CELL = 2.0
"""A cell's expected count, in units of 1 / e* of the second round: 1.4 standard deviations of its noise."""
_FEWEST_LEVELS = 2
_COARSER = 3


def shares_of(epsilon: Epsilon) -> tuple[Epsilon, Epsilon, Epsilon]:
    """Return what the coarse grid, the blocks and the cells of a map cost; together exactly epsilon."""
    first = epsilon.nano // _FIRST
    coarse = first // _FIRST
    return Epsilon(coarse), Epsilon(first - coarse), Epsilon(epsilon.nano - first)


def map_price(epsilon: float | Epsilon | None, rho: float | Rho | None, accounting: Accounting) -> Epsilon:
    """Return the epsilon of a map whose price was said in one way; of a rho the largest whose rounds count no more.

    Its noise is Laplace noise in any case.
    """
    return pure_price(epsilon, rho, accounting, parts=shares_of)


@dataclass(frozen=True)
class MapSizes:
    """Everything that is public before the first round.

    records      a public guess of how many records there are (a factor of 4 is one level); of a sum, how many records
                 of the largest value would make it
    noises       how many noises a count is expected to hold, by the method that is used
    sensitivity  how far one protected unit moves the counts of one grid, in whole units
    unit         how many whole units the largest value of a record is: 1 for counts
    signed       whether values may be negative
    most_cells   a public cap on the cells of the second round: above it all of them are coarser
    """

    domain: Box
    epsilon: Epsilon
    noises: float
    records: int
    sensitivity: int = 1
    unit: int = 1
    signed: bool = False
    most_cells: int = MOST_CELLS

    def __post_init__(self) -> None:
        name = "records, the guess of their number,"
        whole_number(self.records, name=name, least=1, most=MOST_RECORDS, refusal=InvalidQuery)
        whole_number(self.most_cells, name="most_cells", least=FEWEST_CELLS, most=MOST_CELLS, refusal=InvalidQuery)
        if min(share.nano for share in self.shares) <= 0:
            raise InvalidQuery("its price is too small to be split over the three grids of a map")

    @property
    def shares(self) -> tuple[Epsilon, Epsilon, Epsilon]:
        """What the coarse grid, the blocks and the cells cost; together exactly epsilon."""
        return shares_of(self.epsilon)

    def counted(self, accounting: Accounting, *, again: Epsilon = NOTHING) -> float | None:
        """Return what the map counts as a rho, with rounds that were asked `again`; None where epsilon is counted.

        Several such rounds count as one of their sum, which is never less.
        """
        return counted_rho((*self.shares, again), accounting)

    @property
    def laws(self) -> tuple[DiscreteLaplace, DiscreteLaplace, DiscreteLaplace]:
        """The law of one noise in a count of the coarse grid, of blocks and of cells."""
        coarse, blocks, cells = (DiscreteLaplace(Fraction(self.sensitivity) / share.exact) for share in self.shares)
        return coarse, blocks, cells

    def variances(self, noises: tuple[float, float, float] | None = None) -> Variances:
        """Return the variance of the noise in a count of each grid, with so many noises in each as were released."""
        given = (self.noises,) * 3 if noises is None else noises
        coarse, blocks, cells = (many * law.variance for many, law in zip(given, self.laws, strict=True))
        return coarse, blocks, cells

    @property
    def strength(self) -> float:
        """e*, on which everything else depends."""
        return float(self.epsilon) * self._per_unit

    @property
    def level(self) -> int:
        """There are 4^level blocks."""
        wanted = max(self.records * self.strength / _PER_BLOCK, 1)
        level = min(max(round(0.5 * math.log2(wanted)), _FEWEST_LEVELS), HIGHEST)
        return min(level, int(math.log2(self.most_cells) // 2))

    @property
    def coarse(self) -> Grid:
        """A grid 8 x 8 times as coarse as the blocks."""
        side = 1 << max(self.level - _COARSER, 0)
        return Grid(self.domain, side, side)

    @property
    def blocks(self) -> Grid:
        side = 1 << self.level
        return Grid(self.domain, side, side)

    def cut(self, counts: Floats) -> Blocks:
        """Return the blocks cut by what the first round found in them, in whole units."""
        depths = self._wanted(counts)
        while depths.any() and int((4**depths).sum()) > self.most_cells:
            depths = np.maximum(depths - 1, 0)
        return Blocks(self.domain, self.level, depths.astype(np.uint8).tobytes())

    def cells_each(self, counts: Floats, cut: Blocks) -> float:
        """Return into how many cells blocks are cut for every whole unit in them, by counts they were cut by."""
        lowered = int(self._wanted(counts).max()) - int(cut.depth.max())
        return self._wanted_each / 4.0**lowered

    @property
    def _wanted_each(self) -> float:
        return float(self.shares[2]) * self._per_unit / _PER_CELL / self.unit

    def _wanted(self, counts: Floats) -> npt.NDArray[np.int64]:
        """Return how often blocks would be cut were there no cap on the cells."""
        found = np.abs(counts) if self.signed else np.maximum(counts, 0)
        wanted = np.maximum(np.sqrt(found * self._wanted_each), 1)
        return np.clip(np.rint(np.log2(wanted)), 0, DEEPEST).astype(np.int64)

    @property
    def _per_unit(self) -> float:
        return self.unit / (self.sensitivity * math.sqrt(max(self.noises, 1e-9)))
