"""Discrete Gaussian and Skellam draws have the laws they claim, alone and added up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from laws import FALSE_ALARM, symmetric_p
from scipy.special import ive

from fedgroup.privacy.concentrated_law import ConcentratedSum
from fedgroup.privacy.gaussian import drawable_variance
from fedgroup.privacy.noise import SeededNoise
from fixed_noise import fixed_noise

VARIANCES = [Fraction(1, 9), Fraction(3), Fraction(3457, 2), Fraction(2**16), Fraction(2**16 + 1), Fraction(10**6)]


def gaussian_weights(variance: float) -> np.ndarray:
    return np.exp(-(np.arange(0, 12 * math.sqrt(variance) + 20) ** 2) / (2 * variance))


def skellam_weights(variance: float) -> np.ndarray:
    return ive(np.arange(0, 12 * math.sqrt(variance) + 20), variance)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_gaussian_draws_follow_the_exact_law(variance: Fraction) -> None:
    variance = drawable_variance(variance)
    draws = SeededNoise(21).gaussian_sums(variance, 1, 500_000)
    assert symmetric_p(draws, gaussian_weights(float(variance))) > FALSE_ALARM


@pytest.mark.parametrize("variance", [Fraction(1, 50), *VARIANCES[1:]], ids=str)
def test_skellam_draws_follow_the_exact_law(variance: Fraction) -> None:
    draws = SeededNoise(22).skellam(variance, 500_000)
    assert symmetric_p(draws, skellam_weights(float(variance))) > FALSE_ALARM


@pytest.mark.parametrize("parts", [1, 3, 44])
def test_shares_of_skellam_noise_add_up_to_one_noise(parts: int) -> None:
    variance = Fraction(5000, 7)
    shares = fixed_noise("shares").skellam(variance / parts, parts * 100_000).reshape(-1, parts)
    assert symmetric_p(shares.sum(axis=1), skellam_weights(float(variance))) > FALSE_ALARM


def test_a_chi_square_finds_noise_that_is_a_little_too_small() -> None:
    draws = SeededNoise(23).skellam(Fraction(98, 10), 500_000)
    assert symmetric_p(draws, skellam_weights(10.0)) < FALSE_ALARM


def test_tails_are_not_cut() -> None:
    for draws, law in (
        (SeededNoise(24).gaussian_sums(Fraction(3), 1, 5_000_000), ConcentratedSum(Fraction(3), 1)),
        (SeededNoise(25).skellam(Fraction(3), 5_000_000), ConcentratedSum(Fraction(3), 0, 3.0)),
    ):
        beyond, expected = (np.abs(draws) > 7).sum(), (1 - law.coverage(7)) * len(draws)
        assert abs(beyond - expected) < 5 * np.sqrt(expected)


def test_intervals_of_sums_of_both_hold_as_often_as_they_say() -> None:
    noise = SeededNoise(26)
    sums = noise.gaussian_sums(Fraction(7), 5, 200_000) + noise.skellam(Fraction(9), 200_000)
    law = ConcentratedSum(Fraction(7), 5, 9.0)
    for confidence in (0.5, 0.95, 0.999):
        held = (np.abs(sums) <= law.half_width(confidence)).mean()
        exact = law.coverage(law.half_width(confidence))
        assert abs(held - exact) < 5 * math.sqrt(exact * (1 - exact) / len(sums))
    assert np.abs(sums).mean() == pytest.approx(law.mean_absolute(), rel=0.01)


def test_many_sums_are_drawn_in_pieces() -> None:
    sums = SeededNoise(27).gaussian_sums(Fraction(2), 3_000, 700)
    assert sums.std() == pytest.approx(math.sqrt(6_000), rel=0.1)
    assert SeededNoise(28).gaussian_sums(Fraction(2), 2_000_000, 1).shape == (1,)
    assert SeededNoise(29).gaussian_sums(Fraction(2), 0, 3).tolist() == [0, 0, 0]
    large = SeededNoise(30).skellam(Fraction(2**32), 200)
    assert large.std() == pytest.approx(2**16, rel=0.2)
