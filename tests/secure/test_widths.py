"""Words of 32 bits where no sum needs more: the rule, its bound on noise, and what happens when it is broken."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.secure.member import Member
from fedgroup.secure.terms import MaskedTerms
from fedgroup.secure.widths import NARROW, WIDE, largest_sum, word_bytes
from fedgroup.space import Box, Grid
from owner_keys import Keys

GRID = Grid(Box(0, 0, 10, 10), 4, 4)
OWNER = Protection(unit="owner", max_records=20)
TERMS = MaskedTerms(100)


def count(epsilon: float = 1.0, **more: object) -> RangeQuery:
    return RangeQuery("count", GRID, Epsilon.of(epsilon), **more)


def test_counts_of_owners_with_few_records_need_half_a_word() -> None:
    assert word_bytes(count(), OWNER, TERMS) == NARROW
    assert word_bytes(count(), OWNER, MaskedTerms(2_000)) == NARROW


@pytest.mark.parametrize("protection", [Protection(), Protection(unit="subject", max_records=20)])
def test_where_nobody_agreed_on_an_owners_records_words_are_whole(protection: Protection) -> None:
    assert largest_sum(count(), protection, TERMS) is None
    assert word_bytes(count(), protection, TERMS) == WIDE


def test_values_and_noise_count_towards_the_bound() -> None:
    fares = RangeQuery("sum", GRID, Epsilon.of(1), Measure("fare", 1_000_000, resolution=1))
    assert word_bytes(fares, OWNER, MaskedTerms(200)) == WIDE
    assert word_bytes(count(1e-6), OWNER, TERMS) == NARROW
    assert word_bytes(count(1e-7), OWNER, TERMS) == WIDE
    many = Protection(unit="owner", max_records=(1 << 31) // 100)
    assert word_bytes(count(), many, TERMS) == WIDE


def test_forty_deviations_are_passed_with_a_chance_below_two_to_the_minus_sixty_eight() -> None:
    for k in (1 + i / 100 for i in range(200_000)):
        y = 0.9 if k <= 800 else 0.5
        exponent = math.log(2) - y * 40 * math.sqrt(2 * k) - k * math.log(1 - y * y)
        assert exponent < -68 * math.log(2)


def test_the_moments_of_a_noise_are_bounded_as_the_proof_says() -> None:
    for scale in (0.03, 0.5, 1.0, 7.0, 400.0):
        p = math.exp(-1 / scale)
        for y in (0.5, 0.9):
            z = math.exp(y / scale)
            moment = (1 - p) ** 2 / ((1 - p * z) * (1 - p / z))
            assert moment <= 1 / (1 - y * y) * (1 + 1e-9)


def summed(values: list[int], width: int) -> int:
    """Return the sum that a provider reads out of what three members send."""
    keys = [Keys(name) for name in "abc"]
    roster = [each.exchange_key for each in keys]
    total = np.zeros(1, dtype=f"u{width}")
    for at, (key, value) in enumerate(zip(keys, values, strict=True)):
        others = [other for other in range(3) if other != at]
        sent = Member(key.owner_key, at, roster=roster, neighbours=others).answer(bytes(32), [value], word_bytes=width)
        assert len(sent) == width
        total += np.frombuffer(sent, dtype=f"<u{width}")
    return int(total.view(f"i{width}")[0])


def test_masks_of_half_a_word_are_gone_in_the_sum() -> None:
    assert summed([7, -5, 1_000], NARROW) == summed([7, -5, 1_000], WIDE) == 1_002
    assert summed([(1 << 31) + 5, -(1 << 31), -9], NARROW) == -4


def test_a_sum_beyond_the_bound_would_be_wrong_in_half_a_word() -> None:
    assert summed([1 << 30, 1 << 30, 1], NARROW) == (1 << 31) + 1 - (1 << 32)
    assert summed([1 << 30, 1 << 30, 1], WIDE) == (1 << 31) + 1
