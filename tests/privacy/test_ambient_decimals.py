"""Noise and budgets do not depend on the decimal context of whoever calls."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.laplace_inverse import Inverse, thresholds

SCALES = [Fraction(10, 3), Fraction(514749, 1009), Fraction(100)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_thresholds_are_the_same_under_any_precision(scale: Fraction) -> None:
    usual = thresholds(scale)
    with localcontext(prec=2):
        assert thresholds(scale) == usual


def test_a_threshold_next_to_a_whole_number_is_right() -> None:
    """2^64 F(-1393) is 388257.0000001 in its last digits: 28 digits of precision put it one too low."""
    low, edges = thresholds(Fraction(514749, 1009))
    assert edges[-1393 - (low - 1)] % 1_000_000 == 388_257


@pytest.mark.parametrize("precision", [1, 2, 28])
def test_outcomes_are_the_same_under_any_precision(precision: int) -> None:
    inverse = Inverse(Fraction(10, 3))
    usual = [inverse(u, 16) for u in range(1, 60_000, 999)]
    with localcontext(prec=precision):
        assert [inverse(u, 16) for u in range(1, 60_000, 999)] == usual


def test_budgets_are_not_rounded_by_the_caller() -> None:
    with localcontext(prec=2):
        assert Epsilon.of(Decimal("10.1")).nano == 10_100_000_000
        assert Epsilon.of("0.123456789").nano == 123_456_789
