"""Coverage, intervals and mean errors against an independent computation of the law of a sum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fedgroup.privacy.law import DiscreteLaplace, NoiseSum

SCALES = [Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(10, 3), Fraction(40)]
COUNTS = [1, 1.1, 1.5, 2, 3, 10, 100]


def probabilities(scale: Fraction, count: float) -> np.ndarray:
    """P(sum = k) for k = 0, 1, ..., by inverting the characteristic function on a long cycle."""
    size = 1 << 14
    t = 2 * np.pi * np.arange(size) / size
    a = math.exp(-1 / scale)
    phi = (1 + 4 * a * np.sin(t / 2) ** 2 / (1 - a) ** 2) ** -count
    return np.fft.ifft(phi).real[: size // 2]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("count", COUNTS)
def test_coverage_and_half_width_are_exact(scale: Fraction, count: float) -> None:
    p = probabilities(scale, count)
    covered = np.cumsum(p) * 2 - p[0]
    law = NoiseSum(DiscreteLaplace(scale), count)
    half = int(law.half_width(0.95))
    assert half == int(np.searchsorted(covered, 0.95))
    assert law.coverage(half) == pytest.approx(covered[half], abs=1e-11)


@pytest.mark.parametrize("scale", SCALES[1:], ids=str)
@pytest.mark.parametrize("count", COUNTS)
def test_the_mean_error_is_exact(scale: Fraction, count: float) -> None:
    p = probabilities(scale, count)
    expected = 2 * (np.arange(len(p)) * p).sum()
    assert NoiseSum(DiscreteLaplace(scale), count).mean_absolute() == pytest.approx(expected, rel=1e-6)


def test_one_noise_has_the_closed_forms() -> None:
    law = DiscreteLaplace(Fraction(10, 3))
    a = math.exp(-0.3)
    assert law.variance == pytest.approx(2 * a / (1 - a) ** 2)
    assert NoiseSum(law, 1).coverage(10) == pytest.approx(1 - 2 * a**11 / (1 + a))
    assert NoiseSum(law, 1).mean_absolute() == pytest.approx(2 * a / (1 - a * a))


@pytest.mark.parametrize("count", [2, 1_000_000])
def test_very_wide_noise_has_an_interval_to_the_last_unit(count: int) -> None:
    law = NoiseSum(DiscreteLaplace(Fraction(10**6)), count)
    half = law.half_width(0.95)
    assert law.coverage(half) >= 0.95 > law.coverage(half - 1)


def test_a_million_noises_are_nearly_normal() -> None:
    law = NoiseSum(DiscreteLaplace(Fraction(10, 3)), 1_000_000)
    assert law.half_width(0.95) / law.standard_deviation == pytest.approx(1.95996, rel=1e-3)
    assert law.mean_absolute() / law.standard_deviation == pytest.approx(math.sqrt(2 / math.pi), rel=1e-4)


@pytest.mark.parametrize("count", [1, 2, 50])
def test_continuous_noise_has_continuous_intervals(count: int) -> None:
    law = NoiseSum(DiscreteLaplace(Fraction(10, 3)), count, continuous=True)
    assert law.coverage(law.half_width(0.95)) == pytest.approx(0.95, abs=1e-8)
    assert law.standard_deviation == pytest.approx(math.sqrt(2 * count) * 10 / 3)


def test_the_variance_of_squares_is_that_of_squared_noise() -> None:
    law = DiscreteLaplace(Fraction(2))
    k = np.arange(-400, 401)
    p = (1 - law.a) / (1 + law.a) * law.a ** np.abs(k)
    assert law.square_variance == pytest.approx((k**4 * p).sum() - ((k**2) * p).sum() ** 2)


def test_no_noise_needs_no_interval() -> None:
    law = NoiseSum(DiscreteLaplace(Fraction(1)), 0)
    assert (law.coverage(0), law.half_width(0.95), law.mean_absolute()) == (1.0, 0.0, 0.0)
