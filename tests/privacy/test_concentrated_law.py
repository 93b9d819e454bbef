"""Intervals and errors of sums of Gaussian and Skellam noises, against convolutions of their laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ive

from fedgroup.privacy.concentrated_law import ConcentratedSum

SUMS = [
    (0.1, 1, 0.0), (0.3, 3, 0.0), (2.0, 1, 0.0), (3.9, 4, 0.0), (4.1, 4, 0.0), (50.0, 3, 7.5), (1.0, 0, 0.02),
    (1.0, 0, 3.0), (1.0, 0, 500.0), (0.2, 2, 0.3), (10_000.0, 1, 0.0),
]  # fmt: skip


def convolved(variance: float, gaussians: int, skellam: float) -> tuple[np.ndarray, np.ndarray]:
    reach = math.ceil(14 * math.sqrt(variance)) + 40
    one = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance))
    law = np.ones(1)
    for _ in range(gaussians):
        law = np.convolve(law, one / one.sum())
    if skellam:
        reach = math.ceil(14 * math.sqrt(skellam)) + 60
        law = np.convolve(law, ive(np.abs(np.arange(-reach, reach + 1)), skellam))
    return np.abs(np.arange(len(law)) - len(law) // 2), law


@pytest.mark.parametrize(("variance", "gaussians", "skellam"), SUMS)
def test_coverage_moments_and_intervals_are_those_of_the_convolution(variance, gaussians, skellam) -> None:
    away, law = convolved(variance, gaussians, skellam)
    noise = ConcentratedSum(Fraction(variance), gaussians, skellam)
    for h in (0, 1, 2, 5, 17, 60, 200):
        assert noise.coverage(h + 0.9) == pytest.approx(law[away <= h].sum(), abs=1e-13)
    assert noise.mean_absolute() == pytest.approx((away * law).sum(), rel=1e-11)
    assert noise.standard_deviation == pytest.approx(math.sqrt((away**2 * law).sum()), rel=1e-12)
    for confidence in (0.5, 0.95, 1 - 1e-7):
        half = noise.half_width(confidence)
        assert law[away <= half].sum() >= confidence - 1e-12 > law[away < half].sum() - 1e-10


def test_small_noise_is_not_taken_for_normal() -> None:
    noise = ConcentratedSum(Fraction(3, 10), 3)
    normal = 1.96 * noise.standard_deviation
    assert (noise.half_width(0.95), math.ceil(normal)) == (2.0, 2)
    assert noise.half_width(1 - 1e-8) == 5.0 < 5.73 * noise.standard_deviation + 1


def test_no_noise_is_certain_and_large_noise_quick() -> None:
    assert (ConcentratedSum(Fraction(1), 0).coverage(0), ConcentratedSum(Fraction(1), 0).half_width(0.95)) == (1.0, 0.0)
    assert ConcentratedSum(Fraction(1), 1).coverage(-1) == 0.0
    large = ConcentratedSum(Fraction(3**24), 7_000, 1e12)
    assert large.half_width(0.95) / large.standard_deviation == pytest.approx(1.959964, abs=1e-6)
