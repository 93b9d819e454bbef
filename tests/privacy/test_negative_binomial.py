"""Negative binomials are drawn by exact thresholds, or as sums of exact log-series variables."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from bits_in_order import BitsInOrder
from scipy import stats

from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.log_series import _uniform_below_each, coins_of_exp, draw_log_series
from fedgroup.privacy.series_inverse import SeriesInverse, _separated, cumulative_bounds, thresholds
from fedgroup.privacy.share_laws import NegativeBinomial, NumberOfTerms
from fedgroup.privacy.shares import draw_negative_binomial
from fedgroup.privacy.table import TableSampler

FALSE_ALARM = 1e-6
SCALE = Fraction(10, 3)
LAW = NegativeBinomial(SCALE, parts=5)
LAWS = [NegativeBinomial(s, t) for s in (SCALE, Fraction(1, 3), Fraction(512)) for t in (1, 2, 44, 999_000)]


def draw_at(u: int, *more: int) -> int:
    """Draw with the 64 leading bits u: 16 of them first, 48 as the upper part of the next word."""
    table = TableSampler(thresholds(LAW), 0, resolve=SeriesInverse(LAW))
    return int(table.draw(BitsInOrder(u >> 48, (u & (2**48 - 1)) << 16, *more), 1)[0])


def exact_cumulative(law: NegativeBinomial, last: int) -> list[Decimal]:
    """F(0), ..., F(last) to about 110 digits, the binomial coefficients as exact fractions."""
    with localcontext(Context(prec=120)):
        a = (Decimal(-law.scale.denominator) / Decimal(law.scale.numerator)).exp()
        first, total, coefficient, cumulative = (1 - a) ** (1 / Decimal(law.parts)), Decimal(0), Fraction(1), []
        for k in range(last + 1):
            total += first * a**k * coefficient.numerator / coefficient.denominator
            cumulative.append(total)
            coefficient *= (k + Fraction(1, law.parts)) / (k + 1)
        return cumulative


def exact_multiple(value: Decimal, bits: int) -> Decimal:
    with localcontext(Context(prec=400)):
        return value * 2**bits


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_thresholds_agree_with_scipys_negative_binomial(law: NegativeBinomial) -> None:
    edges = np.array(thresholds(law), dtype=np.float64)
    expected = stats.nbinom.cdf(np.arange(-1, len(edges) - 1), 1 / law.parts, -math.expm1(-1 / law.scale))
    assert np.allclose(edges / 2.0**64, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_thresholds_are_exact_floors(law: NegativeBinomial) -> None:
    edges = thresholds(law)[:150]
    assert edges == [0, *(int(exact_multiple(value, 64)) for value in exact_cumulative(law, len(edges) - 2))]


@pytest.mark.parametrize(("scale", "parts"), [(3_000, 1), (10**5, 44), (2**40, 1), (2**40, 10**6)])
def test_thresholds_of_the_number_of_terms_are_exact_floors(scale: int, parts: int) -> None:
    edges = thresholds(NumberOfTerms(Fraction(scale), parts))
    with localcontext(Context(prec=150)):
        mean = -(1 - (-1 / Decimal(scale)).exp()).ln() / parts
        terms = [(-mean).exp() * mean**k / math.factorial(k) for k in range(len(edges) - 1)]
        assert edges == [0, *(int(sum(terms[: k + 1]) * 2**64) for k in range(len(terms)))]


@pytest.mark.parametrize("law", [*LAWS, NegativeBinomial(Fraction(1, 10**6), 3)], ids=str)
def test_a_table_starts_at_zero_ends_in_the_tail_and_fits_16_bits(law: NegativeBinomial) -> None:
    edges = thresholds(law)
    assert edges == sorted(edges)
    assert (edges[0], edges[-1]) == (0, 2**64 - 1)
    assert len(edges) - 1 < 2**15


def test_bounds_enclose_the_exact_law_and_do_not_pretend_to_more_digits() -> None:
    exact = exact_cumulative(LAW, 60)
    for value, (at_least, at_most) in zip(exact, cumulative_bounds(LAW, 80), strict=False):
        assert at_least < exact_multiple(value, 80) < at_most
    assert _separated(LAW, 66) is None
    assert _separated(LAW, 512) == thresholds(LAW)


@pytest.mark.parametrize("k", [0, 1, 2, 5, 40])
def test_a_uniform_between_two_thresholds_gives_the_count_between(k: int) -> None:
    below, above = thresholds(LAW)[k : k + 2]
    assert draw_at(below + 1) == k
    assert draw_at(above - 1) == k


def test_the_lowest_uniform_gives_zero() -> None:
    assert draw_at(0) == 0


@pytest.mark.parametrize("k", [0, 3, 30])
def test_a_tie_of_counts_is_decided_by_further_bits(k: int) -> None:
    further = int(exact_multiple(exact_cumulative(LAW, k)[k], 128)) & (2**64 - 1)
    tie = thresholds(LAW)[k + 1]
    assert draw_at(tie, 0) == draw_at(tie, further - 1) == k
    assert draw_at(tie, further + 1) == draw_at(tie, 2**64 - 1) == k + 1


def test_a_tie_of_128_bits_is_decided_by_further_bits_too() -> None:
    further = int(exact_multiple(exact_cumulative(LAW, 3)[3], 128)) & (2**64 - 1)
    assert draw_at(thresholds(LAW)[4], further, 0) == 3
    assert draw_at(thresholds(LAW)[4], further, 2**64 - 1) == 4


@pytest.mark.parametrize("extra", [1, 2**63, 2**64 - 2**40, 2**64 - 5])
def test_the_far_tail_of_counts_is_drawn_not_cut(extra: int) -> None:
    """U = 1 - (2^64 - extra) / 2^128 lies beyond the table, whose last threshold leaves 2^-64."""
    with localcontext(Context(prec=120)):
        u = 1 - Decimal(2**64 - extra) / 2**128
    expected = next(k for k, value in enumerate(exact_cumulative(LAW, 400)) if value > u)
    assert draw_at(2**64 - 1, extra, 1) == expected
    assert extra == 1 or expected > len(thresholds(LAW)) - 2


def test_more_bits_are_asked_for_where_every_large_count_is_possible() -> None:
    smallest, largest = SeriesInverse(LAW)(2**64 - 1, 64)
    assert smallest < 200
    assert largest >= 2**62
    assert draw_at(2**64 - 1, 2**64 - 1, 0) > draw_at(2**64 - 1, 0, 0)


def test_the_inverse_bounds_every_count_that_is_still_possible() -> None:
    exact = exact_cumulative(LAW, 60)
    for u in range(255):
        first = next(k for k, value in enumerate(exact) if value > Decimal(u) / 256)
        last = next(k for k, value in enumerate(exact) if value >= Decimal(u + 1) / 256)
        assert SeriesInverse(LAW)(u, 8) == (first, last)


def test_the_callers_decimal_context_does_not_change_the_thresholds() -> None:
    laws = [LAW, NumberOfTerms(Fraction(7 * 10**5, 3), 2)]
    expected = [thresholds(law) for law in laws]
    with localcontext(Context(prec=4)):
        assert [thresholds(law) for law in laws] == expected


@pytest.mark.parametrize("scale", [Fraction(600), Fraction(3_000), Fraction(10**15 + 37, 10**10)], ids=str)
def test_log_series_draws_follow_their_law(scale: Fraction) -> None:
    draws = draw_log_series(Keystream(bytes(32)), scale, 400_000)
    k = np.arange(1, math.ceil(40 * scale))
    cumulative = np.cumsum(np.exp(-k / float(scale)) / k) / -math.log(-math.expm1(-1 / scale))
    ends = np.unique(np.concatenate([np.arange(1, 20), np.geomspace(20, 9 * float(scale), 100).astype(np.int64)]))
    expected = np.diff(np.concatenate([[0.0], cumulative[ends - 1], [1.0]])) * len(draws)
    observed = np.bincount(np.searchsorted(ends, draws), minlength=len(expected))
    assert stats.chisquare(observed, expected, sum_check=False).pvalue > FALSE_ALARM


def test_log_series_draws_reach_far_beyond_their_scale() -> None:
    draws = draw_log_series(Keystream(bytes(32)), Fraction(600), 1_000_000)
    k = np.arange(8 * 600, 40 * 600)
    probability = (np.exp(-k / 600) / k).sum() / -math.log(-math.expm1(-1 / 600))
    assert probability * len(draws) > 5
    assert stats.binomtest(int((draws >= 8 * 600).sum()), len(draws), probability).pvalue > FALSE_ALARM


@pytest.mark.parametrize("u", [0, 3, 7, 8, 19, 40])
def test_coins_of_an_exponential_have_their_probability(u: int) -> None:
    count, probability = 400_000, math.exp(-u / 7)
    heads = coins_of_exp(Keystream(bytes(32)), np.full(count, u), 7).sum()
    assert stats.binomtest(int(heads), count, probability).pvalue > FALSE_ALARM


def test_uniforms_below_many_bounds_are_uniform() -> None:
    bounds = np.tile(np.array([1, 2, 3, 7, 8, 9]), 60_000)
    drawn = _uniform_below_each(Keystream(bytes(32)), bounds)
    for bound in (2, 3, 7, 8, 9):
        counts = np.bincount(drawn[bounds == bound])
        assert len(counts) == bound
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(511), Fraction(513)], ids=str)
def test_the_law_of_counts_does_not_change_where_the_sampler_does(scale: Fraction) -> None:
    draws = draw_negative_binomial(Keystream(bytes(32)), scale, parts=3, count=200_000)
    law = stats.nbinom(1 / 3, -math.expm1(-1 / scale))
    ends = np.unique(law.ppf(np.arange(1, 100) / 100)).astype(np.int64)
    expected = np.diff(np.concatenate([[0.0], law.cdf(ends), [1.0]])) * len(draws)
    observed = np.bincount(np.searchsorted(ends, draws), minlength=len(expected))
    assert stats.chisquare(observed, expected, sum_check=False).pvalue > FALSE_ALARM
