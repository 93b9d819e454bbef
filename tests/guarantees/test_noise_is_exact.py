"""The noise has the law it claims, against the formula and against OpenDP's sampler."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from laws import FALSE_ALARM, chi_square_p, two_sample_p

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.noise import FloatingPointLaplace, SeededNoise
from fedgroup.privacy.opendp_noise import OpenDPNoise
from fedgroup.privacy.release import scale_of_noise
from fixed_noise import fixed_noise

COUNT_SCALES = [scale_of_noise(1, Epsilon.of(epsilon)) for epsilon in (0.1, 0.3, 1, 3)]
SUM_SCALES = [Fraction(10), Fraction(500), Fraction(3_000), Fraction(10**6)]
ALL_SCALES = [*COUNT_SCALES, *SUM_SCALES]


@pytest.mark.parametrize("scale", ALL_SCALES, ids=str)
def test_draws_follow_the_exact_law(scale: Fraction) -> None:
    count = 4_000_000 if scale <= 512 else 400_000
    assert chi_square_p(SeededNoise(11).laplace(scale, count), scale) > FALSE_ALARM


@pytest.mark.parametrize("scale", ALL_SCALES, ids=str)
def test_draws_cannot_be_told_from_opendps(scale: Fraction) -> None:
    """OpenDP's keys are fresh: one of these tests fails in a million runs of all."""
    ours = SeededNoise(12).laplace(scale, 100_000)
    assert two_sample_p(ours, OpenDPNoise().laplace(scale, 20_000), scale) > FALSE_ALARM / len(ALL_SCALES)


@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(3_000)], ids=str)
def test_secure_draws_follow_the_same_law(scale: Fraction) -> None:
    assert chi_square_p(fixed_noise("draws").laplace(scale, 400_000), scale) > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(511), Fraction(513)], ids=str)
def test_the_law_does_not_change_where_the_sampler_does(scale: Fraction) -> None:
    assert chi_square_p(SeededNoise(13).laplace(scale, 1_000_000), scale) > FALSE_ALARM


def test_a_scale_with_an_ugly_fraction_is_exact_too() -> None:
    scale = scale_of_noise(2_000, Epsilon.of(0.999999937))
    assert chi_square_p(SeededNoise(14).laplace(scale, 400_000), scale) > FALSE_ALARM


def test_tails_are_not_cut() -> None:
    scale = Fraction(10, 3)
    draws = SeededNoise(15).laplace(scale, 30_000_000)
    beyond = (np.abs(draws) > 40).sum()
    a = np.exp(-0.3)
    expected = 2 * a**41 / (1 + a) * len(draws)
    assert abs(beyond - expected) < 5 * np.sqrt(expected)


def test_neighbouring_counts_are_as_hard_to_tell_apart_as_promised() -> None:
    """The log ratio of any outcome's frequency on two neighbours stays within epsilon, up to 5 standard errors."""
    epsilon, draws = 1.0, 4_000_000
    noise = SeededNoise(16)
    first = 10 + noise.laplace(Fraction(1), draws)
    second = 11 + noise.laplace(Fraction(1), draws)
    counts = np.array([np.bincount(np.clip(side, 0, 21), minlength=22) for side in (first, second)], dtype=float)
    ratio = np.abs(np.log(counts[0] / counts[1]))
    assert (ratio < epsilon + 5 * np.sqrt(1 / counts[0] + 1 / counts[1])).all()


def test_the_papers_noise_is_continuous_laplace() -> None:
    from scipy import stats

    draws = FloatingPointLaplace(17).laplace(Fraction(10, 3), 200_000)
    assert stats.kstest(draws, stats.laplace(scale=10 / 3).cdf).pvalue > FALSE_ALARM
