"""What an audit would have noticed: the least excess of a release that raises an alarm in nine runs of ten.

The excess is told as a factor: noise made for a sensitivity that is so many times too small. It is computed from the
number of draws and from the law that the noise should have, not from any run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import stats

from fedgroup.lab.audit.bounds import least_epsilon
from fedgroup.privacy.skellam import skellam_variance
from fedgroup.rho import Rho

Numbers = npt.NDArray[np.float64]
Moves = Mapping[str, Sequence[int]]
"""How far the numbers of every part of an answer differ between two worlds."""

SURE = 0.9
MOST = 8.0
"""A factor of more is not looked for."""
_STEP = 1 / 32
"""Of likelihood ratios, as they are added up."""


@dataclass(frozen=True)
class Noise:
    """The noise of one number that moves by `shift`: Laplace of a scale, or Gaussian or Skellam of a variance."""

    law: str
    size: float
    shift: int

    def too_small(self, factor: float) -> Noise:
        """Return the noise made for a sensitivity that is so many times too small."""
        return Noise(self.law, self.size / (factor if self.law == "laplace" else factor**2), self.shift)


def promised(
    pairs: Sequence[Moves], *, epsilon: float | None = None, rho: float | None = None, shared: bool = False
) -> list[tuple[Noise, ...]]:
    """Return the noises that each pair of worlds meets, if they were made as promised.

    The price is split equally among the parts of an answer. The sensitivity of a part is the farthest that any of the
    pairs moves it: the pairs hold the worst of every part.
    """
    noises = {}
    for part in pairs[0]:
        moved = [np.abs(np.array(moves[part])) for moves in pairs]
        reach, squared = max(int(m.sum()) for m in moved), max(int((m**2).sum()) for m in moved)
        if epsilon is not None:
            noises[part] = "laplace", reach / (epsilon / len(pairs[0]))
        elif rho is not None:
            own = Rho.of(rho / len(pairs[0]))
            size = skellam_variance(reach, squared, own) if shared else Fraction(squared) / (2 * own.exact)
            noises[part] = "skellam" if shared else "gaussian", float(size)
    return [
        tuple(Noise(*noises[part], abs(shift)) for part, shifts in moves.items() for shift in shifts if shift)
        for moves in pairs
    ]


def least_noticed(
    pairs: Sequence[tuple[Noise, ...]], *, draws: int, alarm: float, charge: float, delta: float
) -> float | None:
    """Return the least factor that is noticed by the best of the pairs; None where it is above `MOST`."""

    def noticed(factor: float) -> bool:
        return any(
            _noticed(tuple(noise.too_small(factor) for noise in pair), draws, alarm=alarm, charge=charge, delta=delta)
            for pair in pairs
            if pair
        )

    low, high = 1.0, MOST
    if not noticed(high):
        return None
    while high - low > 0.005:
        middle = (low + high) / 2
        low, high = (low, middle) if noticed(middle) else (middle, high)
    return high


def _noticed(noises: tuple[Noise, ...], draws: int, *, alarm: float, charge: float, delta: float) -> bool:
    """Tell whether some threshold of the likelihood ratio exceeds the charge in nine runs of ten."""
    seldom = (1 - SURE) / 2
    for often, rarely in _thresholds(noises):
        likely = int(stats.binom.ppf(seldom, draws, often))
        unlikely = int(stats.binom.ppf(1 - seldom, draws, rarely))
        if least_epsilon(likely, unlikely, draws, alarm=alarm, delta=delta) > charge:
            return True
    return False


def _thresholds(noises: tuple[Noise, ...], *, most: int = 48) -> Iterator[tuple[float, float]]:
    """Yield the chances of events above thresholds of the likelihood ratio, in both worlds."""
    chances = {0: (1.0, 1.0)}
    for noise in noises:
        added: dict[int, tuple[float, float]] = {}
        for ratio, (one, other) in _ratios(noise).items():
            for before, (first, second) in chances.items():
                old = added.get(ratio + before, (0.0, 0.0))
                added[ratio + before] = old[0] + one * first, old[1] + other * second
        chances = added
    ratios = sorted(chances, reverse=True)
    above = np.cumsum([chances[ratio] for ratio in ratios], axis=0)
    for at in sorted({int(at) for at in np.searchsorted(above[:, 0], np.linspace(0.01, 0.99, most))}):
        often, rarely = above[min(at, len(above) - 1)]
        yield min(1.0, float(often)), min(1.0, float(rarely))


@lru_cache(maxsize=512)
def _ratios(noise: Noise) -> dict[int, tuple[float, float]]:
    """Return the chances, in both worlds, of the steps that the logarithm of their ratio takes."""
    chances = _law(noise)
    one = np.pad(chances, (0, noise.shift))
    other = np.pad(chances, (noise.shift, 0))
    kept = (one > 1e-12) & (other > 1e-300)
    one, other = one[kept], other[kept]
    steps = np.rint(np.log(one / other) / _STEP).astype(np.int64)
    found: dict[int, tuple[float, float]] = {}
    for step, first, second in zip(steps.tolist(), one.tolist(), other.tolist(), strict=True):
        before = found.get(step, (0.0, 0.0))
        found[step] = before[0] + first, before[1] + second
    return found


def _law(noise: Noise) -> Numbers:
    """Return the chances of the whole numbers from -m to m, beyond which there is next to nothing."""
    if noise.law == "laplace":
        m = max(4, math.ceil(30 * noise.size))
        weights = np.exp(-np.abs(np.arange(-m, m + 1)) / noise.size)
    else:
        m = max(8, math.ceil(9 * math.sqrt(noise.size)))
        at = np.arange(-m, m + 1)
        half = noise.size / 2
        weights = np.exp(-(at**2) / (4 * half)) if noise.law == "gaussian" else stats.skellam.pmf(at, half, half)
    return np.asarray(weights / weights.sum())
