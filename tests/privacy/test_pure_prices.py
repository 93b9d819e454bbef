"""A rho buys the largest epsilon whose parts count no more than it, and nothing where epsilon is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.sizing import map_price, shares_of
from fedgroup.privacy.accounting import PURE, RHO_IN_PURE, Accounting
from fedgroup.privacy.pure_prices import counted_rho, pure_price
from fedgroup.rho import LARGEST, PICO, Delta, Rho

ZCDP = Accounting(Delta.of("1e-6"))


def counted(epsilon: Epsilon) -> int:
    """What the rounds of a map count, each as a ledger counts it."""
    return sum(ZCDP.units_of(share, None) for share in shares_of(epsilon))


@given(some.integers(3, LARGEST * PICO).map(Rho) | some.sampled_from([Rho(3), Rho(LARGEST * PICO)]))
def test_rounds_of_a_map_count_no_more_than_its_rho_and_one_nano_more_would(rho: Rho) -> None:
    bought = map_price(None, rho, ZCDP)
    assert counted(bought) <= rho.pico < counted(Epsilon(bought.nano + 1))
    assert bought > rho.pure or rho < Rho(1_000)  # cheaper in three parts than in one, but for rounding
    assert pure_price(None, rho, ZCDP) == rho.pure


@given(some.lists(some.integers(0, 10**11).map(Epsilon), min_size=1, max_size=5))
def test_what_is_told_is_what_a_ledger_counts(parts: list[Epsilon]) -> None:
    assert counted_rho(parts, ZCDP) == sum(Rho.of_pure(part).pico for part in parts) / PICO
    assert counted_rho(parts, PURE) is None


def test_a_price_is_said_once_and_in_what_is_counted() -> None:
    assert map_price(0.3, None, PURE) == map_price(0.3, None, ZCDP) == Epsilon.of(0.3)
    for price in (map_price, pure_price):
        with pytest.raises(InvalidInput) as refused:
            price(None, 0.5, PURE)
        assert str(refused.value) == RHO_IN_PURE
        for said in ((None, None), (1, 0.5)):
            with pytest.raises(InvalidQuery):
                price(*said, ZCDP)
