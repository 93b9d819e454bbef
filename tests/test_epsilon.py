from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import NOTHING, Epsilon, weak_notes
from fedgroup.errors import InvalidInput

AMOUNTS = st.integers(1, 10**14).map(Epsilon)
DECIMALS = st.decimals("1e-9", 1_000_000, allow_nan=False, allow_infinity=False)


@given(DECIMALS)
def test_an_amount_is_rounded_up_to_the_next_nano(amount: Decimal) -> None:
    charged = Epsilon.of(amount).exact
    assert 0 <= charged - Fraction(amount) < Fraction(1, 10**9)


@given(st.floats(1e-9, 1e6))
def test_a_float_is_charged_as_it_prints(amount: float) -> None:
    assert Epsilon.of(amount) == Epsilon.of(repr(amount)) == Epsilon.of(np.float64(amount))


@pytest.mark.parametrize(
    ("amount", "nano"),
    [
        (0.3, 300_000_000), (0.1 + 0.2, 300_000_001), (1, 10**9), ("0.3", 300_000_000), (1e-9, 1),
        (1_000_000, 10**15), ("0.1" + "0" * 40 + "1", 100_000_001), (np.float32(0.1), 10**8),
        (Decimal("2.5e-9"), 3), (np.int64(2), 2 * 10**9),
    ],
)  # fmt: skip
def test_known_amounts(amount: Any, nano: int) -> None:
    assert Epsilon.of(amount).nano == nano


@pytest.mark.parametrize(
    "amount",
    [0, 0.0, -0.0, -0.1, "-1e-30", float("nan"), float("inf"), -float("inf"), "sNaN", "abc", "", "0.1.2", True, False,
     None, [0.3], b"1", 1_000_000.1, "1e7", "1e999999999", Decimal("NaN"), 1j],
)  # fmt: skip
def test_what_is_no_amount_above_zero_is_refused(amount: Any) -> None:
    with pytest.raises(InvalidInput, match="budget must be"):
        Epsilon.of(amount, name="budget")


@pytest.mark.parametrize("amount", ["9.9e-10", 1e-12, 1e-300, "1e-9999999", Decimal("1e-10")])
def test_less_than_a_nano_is_refused_in_one_sentence(amount: Any) -> None:
    with pytest.raises(InvalidInput, match=r"epsilon must be at least 1e-9, the smallest amount that can be charged"):
        Epsilon.of(amount)


@pytest.mark.parametrize(("amount", "notes"), [(10, 0), (10.000000001, 1), (1e6, 1)])
def test_an_epsilon_above_10_is_told_to_protect_hardly_anything(amount: float, notes: int) -> None:
    assert [("protects hardly anything" in note) for note in weak_notes(Epsilon.of(amount))] == [True] * notes


@given(st.lists(AMOUNTS))
def test_sums_are_exact(amounts: list[Epsilon]) -> None:
    total = sum(amounts, NOTHING) if sum(a.nano for a in amounts) <= 10**15 else None
    if total is not None:
        assert total.exact == sum((amount.exact for amount in amounts), Fraction(0))


def test_a_million_tenths_add_up_to_a_hundred_thousand() -> None:
    assert Epsilon.of(0.1) * 1_000_000 == Epsilon.of(100_000)


@given(AMOUNTS, st.integers(1, 1000))
def test_shares_cost_at_most_the_whole_and_lose_less_than_a_nano_each(amount: Epsilon, parts: int) -> None:
    if amount.nano >= parts:
        share = amount.split(parts)
        assert 0 <= amount.nano - share.nano * parts < parts


@pytest.mark.parametrize("parts", [0, -1, 11])
def test_a_split_that_leaves_a_share_of_nothing_is_refused(parts: int) -> None:
    with pytest.raises(InvalidInput, match="split"):
        Epsilon(10).split(parts)


@given(AMOUNTS, AMOUNTS)
def test_amounts_are_ordered_as_their_numbers(a: Epsilon, b: Epsilon) -> None:
    assert (a < b, a <= b, a == b) == (a.exact < b.exact, a.exact <= b.exact, a.exact == b.exact)
    assert a > NOTHING


@pytest.mark.parametrize("nano", [-1, 10**15 + 1, 10**400])
def test_amounts_outside_the_limits_are_refused(nano: int) -> None:
    with pytest.raises(InvalidInput, match="between 0 and"):
        Epsilon(nano)


def test_amounts_are_whole_nanos() -> None:
    assert type(Epsilon(np.int64(5)).nano) is int
    with pytest.raises(TypeError):
        Epsilon(0.5)
    with pytest.raises(TypeError):
        Epsilon(10) * 0.5


@given(st.integers(0, 10**12).map(Epsilon))
def test_an_amount_prints_so_that_it_can_be_read_back(amount: Epsilon) -> None:
    assert amount == NOTHING or Epsilon.of(str(amount)) == amount
    assert float(amount) == float(amount.exact)


def test_an_amount_is_its_own_epsilon() -> None:
    assert Epsilon.of(Epsilon(7)) == Epsilon(7)
