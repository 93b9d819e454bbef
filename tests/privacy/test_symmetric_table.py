"""Discrete Gaussian and Skellam noise is drawn by exact thresholds; ties and tails are decided by more bits."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from bits_in_order import BitsInOrder

from fedgroup.privacy.gaussian import GaussianLaw
from fedgroup.privacy.skellam import SkellamLaw
from fedgroup.privacy.symmetric_table import SymmetricInverse, table_of

LAWS: list[GaussianLaw | SkellamLaw] = [
    GaussianLaw(Fraction(1, 9)), GaussianLaw(Fraction(7, 3)), GaussianLaw(Fraction(1234, 7)),
    SkellamLaw(Fraction(1, 50)), SkellamLaw(Fraction(7, 3)), SkellamLaw(Fraction(1234, 7)),
]  # fmt: skip
DIGITS = 120


@cache
def weights_of(law: GaussianLaw | SkellamLaw) -> tuple[list[mpmath.mpf], mpmath.mpf]:
    """The weights of 0, 1, ... and the total of both sides, to far more digits than a draw needs."""
    reach = 60 + math.ceil(24 * math.sqrt(law.c if isinstance(law, GaussianLaw) else law.s + 1))
    if isinstance(law, GaussianLaw):
        weights = [mpmath.exp(-mpmath.mpf(j * j) * law.c.denominator / (2 * law.c.numerator)) for j in range(reach)]
    else:
        s = mpmath.mpf(law.s.numerator) / law.s.denominator
        weights = [mpmath.besseli(j, s) for j in range(reach)]
    return weights, weights[0] + 2 * mpmath.fsum(weights[1:])


def cumulative(law: GaussianLaw | SkellamLaw, k: int) -> mpmath.mpf:
    """F(k) by another library; the Bessel functions are mpmath's."""
    weights, total = weights_of(law)
    tail = mpmath.fsum(weights[abs(k) if k < 0 else k + 1 :]) / total
    return tail if k < 0 else 1 - tail


def draw_at(law: GaussianLaw | SkellamLaw, u: int, *more: int) -> int:
    return int(table_of(law).draw(BitsInOrder(u >> 48, (u & (2**48 - 1)) << 16, *more), 1)[0])


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("k", [-9, -2, -1, 0, 1, 7])
def test_thresholds_are_exact_floors(law: GaussianLaw | SkellamLaw, k: int) -> None:
    table = table_of(law)
    edges = dict(zip(range(table._low - 1, 10**6), table._thresholds.tolist(), strict=False))
    with mpmath.workdps(DIGITS):
        if k in edges:
            assert edges[k] == int(mpmath.floor(cumulative(law, k) * 2**64))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("k", [-1, 0, 1])
def test_a_tie_is_decided_by_the_bits_that_follow(law: GaussianLaw | SkellamLaw, k: int) -> None:
    with mpmath.workdps(DIGITS):
        scaled = cumulative(law, k) * 2**128
        edge, rest = divmod(int(mpmath.floor(scaled)), 2**64)
    assert draw_at(law, edge, rest - 1) == k
    assert draw_at(law, edge, rest + 1) == k + 1


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tails_are_drawn_and_not_cut(law: GaussianLaw | SkellamLaw) -> None:
    for u, more, sign in ((0, 1, -1), (2**64 - 1, 2**64 - 2, 1)):
        outcome = draw_at(law, u, more)
        with mpmath.workdps(DIGITS):
            leading = mpmath.mpf(u * 2**64 + more) / 2**128
            assert cumulative(law, outcome - 1) <= leading < cumulative(law, outcome)
        assert outcome * sign > 0
        assert abs(outcome) > abs(draw_at(law, 2**63 + sign * 2**62))


def test_what_is_possible_narrows_as_bits_come_in() -> None:
    possible = SymmetricInverse(GaussianLaw(Fraction(50)))
    assert possible(0, 64)[0] < -(10**6)
    assert possible(2**64 - 1, 64)[1] > 10**6
    low, high = possible(2**63, 64)
    assert low == high == 0
