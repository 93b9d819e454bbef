"""The table sampler decides by 16 bits, by 64, or by as many as it takes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from bits_in_order import BitsInOrder

from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.laplace_inverse import Inverse, thresholds
from fedgroup.privacy.table import TableSampler

SCALE = Fraction(10, 3)


def sampler() -> TableSampler:
    low, edges = thresholds(SCALE)
    return TableSampler(edges, low, resolve=Inverse(SCALE))


def cumulative(k: int) -> float:
    a = math.exp(-0.3)
    return a**-k / (1 + a) if k < 0 else 1 - a ** (k + 1) / (1 + a)


def draw_at(u: int, *more: int) -> int:
    """Draw with the 64 leading bits u: 16 of them first, 48 as the upper part of the next word."""
    return int(sampler().draw(BitsInOrder(u >> 48, (u & (2**48 - 1)) << 16, *more), 1)[0])


def test_one_draw_is_what_a_draw_of_many_would_be_bit_for_bit() -> None:
    table = sampler()
    one, many = (Keystream(b"k" * 32) for _ in range(2))
    drawn = [int(table.draw(many, 1)[0]) for _ in range(5_000)]
    assert [table.draw_one(one) for _ in range(5_000)] == drawn
    assert one.words(4, np.uint64).tolist() == many.words(4, np.uint64).tolist()
    assert table.draw_sum(one, 1) == int(table.draw(many, 1)[0])


def test_thresholds_are_the_floors_of_the_cumulative_law() -> None:
    low, edges = thresholds(SCALE)
    for k in range(-30, 30):
        assert edges[k - (low - 1)] == pytest.approx(cumulative(k) * 2**64, rel=1e-14)


@pytest.mark.parametrize("k", [-20, -3, -1, 0, 1, 4, 25])
def test_a_uniform_between_two_thresholds_gives_the_outcome_between(k: int) -> None:
    low, edges = thresholds(SCALE)
    below, above = edges[k - low], edges[k - low + 1]
    assert draw_at(below + 1) == k
    assert draw_at(above - 1) == k


def test_a_tie_is_decided_by_further_bits() -> None:
    low, edges = thresholds(SCALE)
    tie = edges[5 - (low - 1)]
    assert draw_at(tie, 0) == 5
    assert draw_at(tie, 2**64 - 1) == 6


@pytest.mark.parametrize("extra", [1, 2**63, 2**64 - 2**40, 2**64 - 5])
def test_the_far_tail_is_drawn_not_cut(extra: int) -> None:
    """With U = 1 - (2^64 - extra) / 2^128 the outcome solves F exactly, far beyond the table's 2^-64."""
    left = math.log(2**64 - extra) - 128 * math.log(2) + math.log1p(math.exp(-0.3))
    expected = math.floor(-float(SCALE) * left)
    assert draw_at(2**64 - 1, extra, 1) == expected
    assert draw_at(0, 2**64 - 1 - extra, 2**64 - 2) == -expected
    assert expected > 146 or extra == 1


def test_what_a_table_does_not_hold_is_drawn_all_the_same() -> None:
    """A table of the outcomes -2..2 alone: the tails on both sides are found by more bits, not cut to its ends."""
    low, edges = thresholds(SCALE)
    first = -3 - (low - 1)
    short = TableSampler(edges[first : first + 6], -2, resolve=Inverse(SCALE))
    for k in (-20, -3, -2, 0, 2, 3, 25):
        u = edges[k - low] + 1
        bits = BitsInOrder(u >> 48, (u & (2**48 - 1)) << 16, 0, 0)
        assert short.draw(bits, 1).tolist() == [k]


def test_the_inverse_bounds_every_outcome_that_is_still_possible() -> None:
    inverse = Inverse(SCALE)
    for u in range(1, 255):
        first = next(k for k in range(-60, 60) if cumulative(k) > u / 256)
        last = next(k for k in range(-60, 60) if cumulative(k) >= (u + 1) / 256)
        assert inverse(u, 8) == (first, last)


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), Fraction(1, 50), Fraction(1, 3), Fraction(512)])
def test_thresholds_exist_for_every_small_scale(scale: Fraction) -> None:
    low, edges = thresholds(scale)
    assert edges == sorted(edges)
    assert len(edges) == 2 * (1 - low)
    assert edges[0] >= 0
    assert edges[-1] < 2**64
