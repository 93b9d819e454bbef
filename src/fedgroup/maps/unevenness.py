"""How unevenly records lie inside the cells of a map: what a border through cells may add to a free answer's error.

Of n records in a cell of which a share f is covered, f n are expected inside, with variance v n^2 f (1 - f): v is 0
where records lie evenly and 1 where all are in one place. It is learnt from the map itself, for each depth of cutting:
the contrasts of four sibling cells with n records together have mean square v n^2 / 4, beyond the noise.

Guarantee: this is post-processing of released counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.maps.reconstruction import Reconstructed, quarters
from fedgroup.space.blocks import DEEPEST

Floats = npt.NDArray[np.float64]

LEAST = 0.6
"""On exact counts of five data sets v lay between 0.3 and 0.8 at every scale from 46 m to 650 km: less is noise.

0.5 is enough for the synthetic cities and Gowalla's New York, but not for circles of 5 km in San Francisco."""
_TRIED = np.linspace(0.05, 1, 39)
_PRIOR = 30.0
"""So many fours of cells is worth what all depths together say."""
ENOUGH = 100
"""From fewer fours of cells than this v is a guess: a city that is more uneven than most would not show it."""


@dataclass(frozen=True, eq=False)
class Unevenness:
    """v of the cells of blocks that are cut so often, by depth; and the variance of what may hide in their noise.

    Cells of one depth hold h = mean(count^2) - noise beyond their noise, which is independent of how they were cut. Of
    what one of them holds the noise leaves noise h / (noise + h) unknown, were it normal. `fours` is from how
    many fours of cells v was learnt.
    """

    by_depth: Floats
    hidden: Floats
    fours: int = 0

    @property
    def guessed(self) -> bool:
        """Whether the map has too few cells to tell how uneven it is."""
        return self.fours < ENOUGH

    @classmethod
    def learnt(cls, made: Reconstructed) -> Unevenness:
        """Return what the noisy cells of a map tell; depths that tell little are taken as all together."""
        costs = [_cost(*_contrasts(made, depth), noise=made.variances[2]) for depth in range(DEEPEST + 1)]
        many = np.array([fours for fours, _ in costs])
        together = sum((cost for _, cost in costs), start=np.zeros(len(_TRIED)))
        hidden = np.array([_hidden(made, depth) for depth in range(DEEPEST + 1)])
        if many.sum() == 0:
            return cls(np.full(DEEPEST + 1, LEAST), hidden)
        mean = together / many.sum()
        best = [_TRIED[int(np.argmin(cost + _PRIOR * mean))] for _, cost in costs]
        return cls(np.maximum(np.array(best), LEAST), hidden, int(many.sum()))

    @classmethod
    def unknown(cls) -> Unevenness:
        """Return what is thought of a map that is not made yet."""
        return cls(np.full(DEEPEST + 1, LEAST), np.zeros(DEEPEST + 1))


def _hidden(made: Reconstructed, depth: int) -> float:
    """Return the variance of what a cell of this depth may hold beyond what it seems to."""
    blocks, numbers = made.cut.of_depth(depth)
    if not len(blocks):
        return 0.0
    noise = made.variances[2]
    held = max(float((made.noisy[numbers] ** 2).mean()) - noise, 0.0)
    return noise * held / (noise + held) if held else 0.0


def _contrasts(made: Reconstructed, depth: int) -> tuple[Floats, Floats]:
    """Return how much sibling cells hold together, and the mean square of their noisy contrasts."""
    blocks, numbers = made.cut.of_depth(depth)
    if not len(blocks) or depth == 0:
        return np.zeros(0), np.zeros(0)
    four = quarters(made.noisy[numbers])
    apart = four - four.mean(axis=-1, keepdims=True)
    squares = ((apart * apart).sum(axis=-1) / 3).ravel()
    together = quarters(made.cells[numbers]).sum(axis=-1).ravel()
    return together[together > 0], squares[together > 0]


def _cost(together: Floats, squares: Floats, *, noise: float) -> tuple[int, Floats]:
    """Return how many fours there are, and the quasi-likelihood of each v that is tried: less is better."""
    cost = np.zeros(len(_TRIED))
    for at, tried in enumerate(_TRIED.tolist()):
        expected = tried / 4 * together**2 + noise
        cost[at] = float((np.log(expected) + squares / expected).sum())
    return len(together), cost
