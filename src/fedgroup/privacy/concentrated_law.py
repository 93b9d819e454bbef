"""The exact law of sums of discrete Gaussian and Skellam noises: what an interval covers, how far off an answer is.

Sums of discrete Gaussians are not discrete Gaussian, so everything comes from characteristic functions, which multiply:
of Skellam noise of variance s it is exp(-s (1 - cos t)), of a discrete Gaussian a quotient of theta functions. On the
whole numbers modulo N the discrete Fourier transform is exact, and N is so large that less than 1e-15 wraps around; of
its terms only those matter in which the function is above 1e-17, some fifty however large the noise is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_DEVIATIONS = 24
"""A sum is farther than half as many standard deviations from 0 with a chance below 1e-30."""
_LEAST = 256
_SMALL = 4.0
"""Below it a discrete Gaussian is summed up outcome by outcome; above, by the peaks of its transform."""


@dataclass(frozen=True)
class ConcentratedSum:
    """The sum of `gaussians` discrete Gaussian noises of one variance parameter, and of Skellam noise in all."""

    variance: Fraction
    gaussians: float
    skellam: float = 0.0

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.gaussians * gaussian_moment(float(self.variance)) + self.skellam)

    def coverage(self, half_width: float) -> float:
        """Return the probability that the sum lies within `half_width` of 0."""
        if self.standard_deviation == 0:
            return 1.0 if half_width >= 0 else 0.0
        h = math.floor(half_width)
        if h < 0:
            return 0.0
        size, t, phi = self._spectrum(h)
        waves = phi * np.sin((h + 0.5) * t) / np.sin(t / 2)
        waves[t == math.pi] /= 2
        return min(1.0, (2 * h + 1 + 2 * float(waves.sum())) / size)

    def half_width(self, confidence: float) -> float:
        """Return the smallest whole h such that [-h, h] holds the sum as often as `confidence`."""
        return _half_width(self, confidence)

    def mean_absolute(self) -> float:
        """Return the mean of the absolute value: the expected error of an answer."""
        if self.standard_deviation == 0:
            return 0.0
        size, t, phi = self._spectrum(0)
        odd = slice(0, None, 2)
        return size / 4 - 2 / size * float((phi[odd] / np.sin(t[odd] / 2) ** 2).sum())

    def _spectrum(self, half_width: int) -> tuple[int, Floats, Floats]:
        """Return a modulus, and the frequencies 2 pi j / modulus above 0 that matter, with the function there."""
        size = max(_LEAST, 2 * half_width + 2 + math.ceil(_DEVIATIONS * self.standard_deviation))
        size += -size % 4
        last = min(size // 2, math.ceil(size * self._last_frequency() / (2 * math.pi)) + 1)
        t: Floats = np.arange(1, last + 1, dtype=np.float64) * np.float64(2 * math.pi / size)
        if last == size // 2:
            t[-1] = math.pi
        log = self.gaussians * gaussian_log(float(self.variance), t) - 2 * self.skellam * np.sin(t / 2) ** 2
        return size, t, np.exp(log)

    def _last_frequency(self) -> float:
        """Return a frequency beyond which the function is below 1e-17: both fall as exp(-t^2 / 5) at least."""
        spread = self.gaussians * min(float(self.variance), gaussian_moment(float(self.variance))) + self.skellam
        return math.sqrt(40 * 5 / spread) if spread > 0 else math.pi


@lru_cache(maxsize=256)
def gaussian_moment(c: float) -> float:
    """Return the variance of a discrete Gaussian: c but for less than 1e-30 of it, unless c is small."""
    if c >= _SMALL:
        return c
    k = np.arange(1, 64, dtype=np.float64)
    weight = np.exp(-(k**2) / (2 * c))
    return float(2 * (k**2 * weight).sum() / (1 + 2 * weight.sum()))


def gaussian_log(c: float, t: Floats) -> Floats:
    """Return the logarithm of the characteristic function of a discrete Gaussian for 0 <= t <= pi."""
    if c >= _SMALL:
        # by Poisson's summation: peaks at all multiples of 2 pi, of which only the nearest two matter
        log: Floats = -c * t**2 / 2 + np.log1p(np.exp(-2 * math.pi * c * (math.pi - t)))
        return log
    k = np.arange(1, 64, dtype=np.float64)
    weight = np.exp(-(k**2) / (2 * c))
    waves = 1 + 2 * (weight[:, None] * np.cos(k[:, None] * t)).sum(axis=0)
    small: Floats = np.log(waves / (1 + 2 * weight.sum()))
    return small


@lru_cache(maxsize=1024)
def _half_width(noise: ConcentratedSum, confidence: float) -> float:
    low, high = -1, 1
    while noise.coverage(high) < confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if noise.coverage(middle) < confidence else (low, middle)
    return float(high)
