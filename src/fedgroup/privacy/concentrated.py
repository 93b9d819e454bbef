"""Noise by the price of a question: Laplace for an epsilon; for a rho discrete Gaussian, and Skellam in shares.

Guarantee: what is drawn for a rho costs no more than it, at the sensitivities that the noise was made for.
Proof:     docs/guarantees.md#gaussian-noise, docs/guarantees.md#skellam-noise
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from fedgroup.messages import NoiseScale, Variances
from fedgroup.privacy.concentrated_law import ConcentratedSum
from fedgroup.privacy.gaussian import gaussian_variance
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.shares import require_shareable
from fedgroup.privacy.skellam import require_shared_variance, skellam_variance
from fedgroup.rho import Rho

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@lru_cache(maxsize=256)
def variances_of(reach: int, squared: int, rho: Rho) -> Variances:
    """Return the noises that cost `rho` at an L1 sensitivity and a squared L2 sensitivity."""
    return Variances(gaussian_variance(squared, rho), skellam_variance(reach, squared, rho))


def drawn_sums(noise: NoiseSource, scale: NoiseScale, each: int, count: int) -> Ints | Floats:
    """Return `count` independent sums of `each` noises that one party draws."""
    if isinstance(scale, Fraction):
        return noise.laplace_sums(scale, each, count)
    return noise.gaussian_sums(scale.gaussian, each, count)


def shares_of_noise(noise: NoiseSource, scale: NoiseScale, parts: int, count: int) -> Ints:
    """Return `count` independent shares of noise, of which `parts` make one."""
    if isinstance(scale, Fraction):
        return noise.laplace_shares(scale, parts, count)
    return noise.skellam(scale.skellam / parts, count)


def summed_shares(noise: NoiseSource, scale: NoiseScale, parts: int, shares: int, count: int) -> Ints:
    """Return `count` independent sums of so many `shares`, of which `parts` make one noise."""
    if isinstance(scale, Fraction):
        return noise.sums_of_shares(scale, parts, shares, count)
    return noise.skellam(scale.skellam * shares / parts, count)


def require_noise(scale: NoiseScale, *, shared: bool) -> None:
    """Refuse noise that cannot be drawn, or not in shares where it is `shared`."""
    if isinstance(scale, Variances):
        if shared:
            require_shared_variance(scale.skellam)
        return
    require_drawable(scale)
    if shared:
        require_shareable(scale, 1)


def law_of_noise(scale: NoiseScale, *, noises: float, shared: float, continuous: bool) -> NoiseSum | ConcentratedSum:
    """Return the law of so many noises, `shared` of which came in shares."""
    if isinstance(scale, Fraction):
        return NoiseSum(DiscreteLaplace(scale), noises, continuous)
    return ConcentratedSum(scale.gaussian, noises - shared, float(scale.skellam) * shared)
