"""The exact law of the noise: its moments, its intervals, and those of sums of many noises.

Discrete Laplace noise of scale s takes the integer k with probability (1-a)/(1+a) a^|k|, a = exp(-1/s). A sum of n
of them has the characteristic function phi(t)^n, phi(t) = (1-a)^2 / (1 - 2a cos t + a^2); what an interval covers
and how large the error is on average are integrals of it, evaluated to about 12 digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DiscreteLaplace:
    """The law P(k) = (1-a)/(1+a) a^|k| on the integers, a = exp(-1/scale)."""

    scale: Fraction

    @property
    def a(self) -> float:
        return math.exp(-1 / self.scale)

    @property
    def _lack(self) -> float:
        """1 - a, without cancellation."""
        return -math.expm1(-1 / self.scale)

    @property
    def variance(self) -> float:
        """2a / (1-a)^2."""
        return 2 * self.a / self._lack**2

    @property
    def square_variance(self) -> float:
        """The variance of the squared noise: 2a(1 + 10a + a^2)/(1-a)^4 - variance^2."""
        a = self.a
        return 2 * a * (1 + 10 * a + a * a) / self._lack**4 - self.variance**2

    def upper_tail(self, k: int) -> float:
        """Return the probability of k or more, for k >= 1: a^k / (1+a)."""
        return math.exp(-k / self.scale) / (1 + self.a)

    def characteristic_log(self, t: Floats) -> Floats:
        """Return log phi(t)."""
        return -np.log1p(4 * self.a * np.sin(t / 2) ** 2 / self._lack**2)


@dataclass(frozen=True)
class NoiseSum:
    """The sum of `count` independent noises of one law; `continuous` means the float Laplace of the paper."""

    law: DiscreteLaplace
    count: float
    continuous: bool = False

    @property
    def standard_deviation(self) -> float:
        one = 2 * float(self.law.scale) ** 2 if self.continuous else self.law.variance
        return math.sqrt(self.count * one)

    def coverage(self, half_width: float) -> float:
        """Return the probability that the sum lies within `half_width` of 0."""
        if self.count == 0 or self.standard_deviation == 0:
            return 1.0
        if self.count == 1:
            return self._coverage_of_one(half_width)
        t, weight, log_phi = self._spectrum(half_width)
        wave = half_width if self.continuous else math.floor(half_width) + 0.5
        kernel = np.sin(wave * t) / (t / 2 if self.continuous else np.sin(t / 2))
        return min(1.0, float((weight * np.exp(log_phi) * kernel).sum() / math.pi))

    def half_width(self, confidence: float) -> float:
        """Return the smallest h, whole if the noise is, such that [-h, h] holds the sum as often as `confidence`."""
        return _half_width(self, confidence)

    def mean_absolute(self) -> float:
        """Return the mean of the absolute value: the expected error of an answer."""
        if self.count == 0 or self.standard_deviation == 0:
            return 0.0
        if self.count == 1 and not self.continuous:
            return 2 * self.law.a / (self.law._lack * (1 + self.law.a))
        t, weight, log_phi = self._spectrum(self.standard_deviation)
        bend = t**2 / 2 if self.continuous else 2 * np.sin(t / 2) ** 2
        end = self._last_frequency()
        beyond = 2 / end if self.continuous else 1 / math.tan(end / 2)
        return float(((weight * -np.expm1(log_phi) / bend).sum() + beyond) / math.pi)

    def _coverage_of_one(self, half_width: float) -> float:
        if self.continuous:
            return -math.expm1(-half_width / float(self.law.scale))
        return 1 - 2 * self.law.upper_tail(math.floor(half_width) + 1) if half_width >= 0 else 0.0

    def _spectrum(self, half_width: float) -> tuple[Floats, Floats, Floats]:
        """Return nodes and weights on (0, end], dense enough for the wave of `half_width`, and log phi^count."""
        end = self._last_frequency()
        waves = end * max(half_width, self.standard_deviation) / (2 * math.pi)
        panels = max(64, math.ceil(3 * waves))
        node, weight = _gauss_legendre(16)
        # Panels that grow from 0 outwards resolve the peak of phi and its long, flat tail alike.
        edges = end * np.linspace(0, 1, panels + 1) ** 1.5
        width = np.diff(edges)[:, None]
        t = (edges[:-1, None] + width * node).ravel()
        return t, (width * weight).ravel(), self.count * self._log_phi(t)

    def _log_phi(self, t: Floats) -> Floats:
        if self.continuous:
            return -np.log1p((float(self.law.scale) * t) ** 2)
        return self.law.characteristic_log(t)

    def _last_frequency(self) -> float:
        """Return the frequency beyond which phi^count is below 1e-14, or too small to matter after oscillation."""
        reach = math.sqrt(math.expm1(min(32.0 / self.count, 18.0))) / float(self.law.scale)
        return reach if self.continuous else min(math.pi, 2 * math.asin(min(1.0, reach * self._chord() / 2)))

    def _chord(self) -> float:
        """Translate a continuous frequency to the lattice's: (1-a)/sqrt(a) against 1/scale."""
        return self.law._lack / math.sqrt(self.law.a) * float(self.law.scale) if self.law.a > 0 else math.inf


@lru_cache(maxsize=1024)
def _half_width(noise: NoiseSum, confidence: float) -> float:
    if noise.count == 0 or noise.standard_deviation == 0:
        return 0.0
    low, high = -1, 1
    step = 1.0 if not noise.continuous else max(noise.standard_deviation * 1e-9, 1e-300)
    while noise.coverage(high * step) < confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if noise.coverage(middle * step) < confidence else (low, middle)
    return high * step


@lru_cache(maxsize=4)
def _gauss_legendre(points: int) -> tuple[Floats, Floats]:
    node, weight = np.polynomial.legendre.leggauss(points)
    return (node + 1) / 2, weight / 2
