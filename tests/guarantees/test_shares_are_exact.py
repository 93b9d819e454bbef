"""Any t shares make exactly one Laplace noise, and n of them exactly n/t: against formulas computed apart."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from laws import FALSE_ALARM, chi_square_p, p_value_of_shape
from scipy import stats

from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.privacy.noise import SeededNoise
from fixed_noise import fixed_noise

SCALES = [Fraction(10, 3), Fraction(1, 3), Fraction(400), Fraction(3_000), Fraction(10**5)]
PARTS = [1, 2, 5, 44, 1_000]


def shares_that_take_a_moment(scale: Fraction, parts: int) -> int:
    return 2_000_000 if scale <= 512 or parts >= 1_000 else 100_000 * min(parts, 10)


def largest_log_ratio(scale: Fraction, shape: float) -> float:
    """The largest |log P(d) / P(d+1)| of the difference of two negative binomials, as sums of positive terms."""
    pmf = stats.nbinom.pmf(np.arange(math.ceil(60 * scale)), shape, -math.expm1(-1 / scale))
    last = math.ceil(10 * scale)
    probabilities = np.array([(pmf[: len(pmf) - d] * pmf[d:]).sum() for d in range(last)])
    return float(np.abs(np.diff(np.log(probabilities))).max())


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("parts", PARTS)
def test_a_share_follows_its_exact_law(scale: Fraction, parts: int) -> None:
    shares = SeededNoise(21).laplace_shares(scale, parts, shares_that_take_a_moment(scale, parts))
    assert p_value_of_shape(shares, scale, Fraction(1, parts)) > FALSE_ALARM


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("parts", PARTS)
def test_as_many_shares_as_parts_make_one_laplace_noise(scale: Fraction, parts: int) -> None:
    count = shares_that_take_a_moment(scale, parts) // parts
    sums = SeededNoise(22).laplace_shares(scale, parts, parts * count).reshape(parts, count).sum(axis=0)
    assert chi_square_p(sums, scale) > FALSE_ALARM


@pytest.mark.parametrize(("parts", "heard"), [(5, 7), (44, 60), (2, 9), (4, 3)])
@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(3_000)], ids=str)
def test_shares_heard_follow_the_law_of_their_shape(scale: Fraction, parts: int, heard: int) -> None:
    count = shares_that_take_a_moment(scale, parts) // heard
    sums = SeededNoise(23).laplace_shares(scale, parts, heard * count).reshape(heard, count).sum(axis=0)
    assert p_value_of_shape(sums, scale, Fraction(heard, parts)) > FALSE_ALARM


@pytest.mark.parametrize(("parts", "heard"), [(5, 7), (44, 60), (2, 8), (4, 3)])
def test_sums_of_shares_drawn_at_once_follow_the_same_law(parts: int, heard: int) -> None:
    scale = Fraction(10, 3)
    sums = SeededNoise(26).sums_of_shares(scale, parts, heard, 200_000)
    assert p_value_of_shape(sums, scale, Fraction(heard, parts)) > FALSE_ALARM


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_intervals_cover_sums_of_shares_as_often_as_they_say(confidence: float) -> None:
    scale, parts, heard, count = Fraction(10, 3), 44, 49, 100_000
    noise = NoiseSum(DiscreteLaplace(scale), count=heard / parts)
    sums = SeededNoise(24).laplace_shares(scale, parts, heard * count).reshape(heard, count).sum(axis=0)
    half_width = noise.half_width(confidence)
    covered = int((np.abs(sums) <= half_width).sum())
    assert stats.binomtest(covered, count, noise.coverage(half_width)).pvalue > FALSE_ALARM


def test_secure_shares_follow_the_same_law() -> None:
    scale, parts = Fraction(10, 3), 5
    sums = fixed_noise("shares").laplace_shares(scale, parts, 1_000_000).reshape(parts, -1).sum(axis=0)
    assert chi_square_p(sums, scale) > FALSE_ALARM


def test_a_scale_with_an_ugly_fraction_has_exact_shares_too() -> None:
    scale = Fraction(2_000 * 10**9, 999_999_937)
    sums = SeededNoise(25).laplace_shares(scale, 7, 700_000).reshape(7, -1).sum(axis=0)
    assert chi_square_p(sums, scale) > FALSE_ALARM


def test_rare_shares_of_a_million_owners_are_not_cut() -> None:
    """With a million parts, 2.7 shares in a million differ from 0: either X or Y does, and both next to never."""
    parts, count = 1_000_000, 10_000_000
    shares = SeededNoise(26).laplace_shares(Fraction(10, 3), parts, count)
    probability = -math.expm1(2 / parts * math.log(-math.expm1(-0.3)))
    assert stats.binomtest(int((shares != 0).sum()), count, probability).pvalue > FALSE_ALARM
    assert np.abs(shares).max() > 5


@pytest.mark.parametrize("shape", [1, 49 / 44, 1.5, 4])
@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(1, 3), Fraction(20)], ids=str)
def test_enough_shares_hide_a_record_as_well_as_promised(scale: Fraction, shape: float) -> None:
    assert largest_log_ratio(scale, shape) <= float(1 / scale) + 1e-9


@pytest.mark.parametrize("shape", [0.1, 0.5, 43 / 44])
@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(1, 3), Fraction(20)], ids=str)
def test_too_few_shares_break_the_promise_so_that_groups_abort(scale: Fraction, shape: float) -> None:
    assert largest_log_ratio(scale, shape) > float(1 / scale) * 1.0001
