"""A bug for audits to find: noise as if the sensitivity were half of what it is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedgroup.privacy.noise import NoiseSource, SecureNoise


class HalfNoise:
    """Laplace noise of half the scale, Gaussian and Skellam noise of a quarter of the variance."""

    private = True
    continuous = False

    def __init__(self, noise: NoiseSource | None = None) -> None:
        self._noise = noise or SecureNoise()

    def laplace(self, scale: Fraction, count: int) -> Any:
        return self._noise.laplace(scale / 2, count)

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> Any:
        return self._noise.laplace_sums(scale / 2, each, count)

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> Any:
        return self._noise.laplace_shares(scale / 2, parts, count)

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> Any:
        return self._noise.sums_of_shares(scale / 2, parts, shares, count)

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> Any:
        return self._noise.gaussian_sums(variance / 4, each, count)

    def skellam(self, variance: Fraction, count: int) -> Any:
        return self._noise.skellam(variance / 4, count)
