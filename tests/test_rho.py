from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.rho import NO_RHO, Delta, Rho


@given(st.decimals("1e-12", 1_000_000, allow_nan=False, allow_infinity=False))
def test_a_rho_is_rounded_up_to_the_next_pico(amount: Decimal) -> None:
    assert 0 <= Rho.of(amount).exact - Fraction(amount) < Fraction(1, 10**12)


@given(st.decimals("1e-18", "0.999999", allow_nan=False, allow_infinity=False))
def test_a_delta_is_rounded_down(chance: Decimal) -> None:
    assert 0 <= Fraction(chance) - Delta.of(chance).exact < Fraction(1, 10**18)


def test_a_context_of_few_digits_changes_nothing() -> None:
    with localcontext() as context:
        context.prec = 3
        assert Rho.of("0.123456789012").pico == 123_456_789_012
        assert Delta.of("0.123456789012345678").atto == 123_456_789_012_345_678


@pytest.mark.parametrize("amount", [0, -1, "nan", float("inf"), None, "abc", 1e-13, 1_000_000.5, [1], True])
def test_what_is_no_rho_is_refused(amount: Any) -> None:
    with pytest.raises(InvalidInput, match="rho must be"):
        Rho.of(amount)


@pytest.mark.parametrize("chance", [0, 1, 1.5, -1e-6, "nan", None, "1e-19"])
def test_what_is_no_delta_is_refused(chance: Any) -> None:
    with pytest.raises(InvalidInput, match="delta must be"):
        Delta.of(chance)


def test_parts_cost_at_most_the_whole() -> None:
    assert Rho(7).split(2) == Rho(3)
    assert Rho(3) + Rho(4) == Rho(7)
    assert Rho(3) * 2 == Rho(6)
    assert float(Rho.of(np.float64(0.5))) == 0.5
    assert str(Rho.of("1e-12")) == "1e-12"
    with pytest.raises(InvalidInput, match="too small to be split"):
        NO_RHO.split(2)
