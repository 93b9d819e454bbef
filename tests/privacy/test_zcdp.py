from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.zcdp import epsilon_of, rho_within
from fedgroup.rho import Delta, Rho

DELTAS = st.integers(1, 10**18 // 2).map(Delta)
RHOS = st.integers(1, 10**13).map(Rho)
MICRO = Delta.of("1e-6")


def bound(rho: Rho, delta: Delta, order: int) -> mpmath.mpf:
    """The bound of Canonne, Kamath and Steinke at one order, by another library and to 80 digits."""
    with mpmath.workdps(80):
        r, d = mpmath.mpf(rho.pico) / 10**12, mpmath.mpf(delta.atto) / 10**18
        return r * order + mpmath.log(1 / (order * d)) / (order - 1) + mpmath.log(1 - mpmath.mpf(1) / order)


def as_mpf(epsilon: Epsilon) -> mpmath.mpf:
    with mpmath.workdps(80):
        return mpmath.mpf(epsilon.nano) / 10**9


def orders_around_the_best(rho: Rho, delta: Delta) -> list[int]:
    """Whole orders on both sides of the root of (a - 1)^2 rho = ln(1 / (a delta)), found anew."""
    low, high = 1.0, 1 / float(delta) + 2
    for _ in range(200):
        middle = (low + high) / 2
        falls = (middle - 1) ** 2 * float(rho) < -float(mpmath.log(middle * float(delta)))
        low, high = (middle, high) if falls else (low, middle)
    return list(range(max(2, int(low) - 3), int(low) + 5))


@settings(max_examples=150)
@given(RHOS, DELTAS)
def test_an_epsilon_is_never_understated_and_never_more_than_a_nano_too_large(rho: Rho, delta: Delta) -> None:
    least = min(bound(rho, delta, order) for order in orders_around_the_best(rho, delta))
    stated = as_mpf(epsilon_of(rho, delta))
    assert stated >= least
    assert stated <= max(least, 0) + mpmath.mpf("1.000001e-9")


@settings(max_examples=50)
@given(st.integers(1, 10**10).map(Epsilon), DELTAS)
def test_a_cap_is_the_largest_rho_that_stays_within_it(epsilon: Epsilon, delta: Delta) -> None:
    cap = rho_within(epsilon, delta)
    assert epsilon_of(cap, delta) <= epsilon < epsilon_of(Rho(cap.pico + 1), delta)


@given(st.integers(1, 10**12).map(Epsilon))
def test_a_pure_release_costs_half_its_square_rounded_up(epsilon: Epsilon) -> None:
    assert 0 <= Rho.of_pure(epsilon).exact - epsilon.exact**2 / 2 < Fraction(1, 10**12)


@given(st.integers(0, 10**15).map(Rho))
def test_the_largest_pure_release_that_fits_fits_and_the_next_does_not(rho: Rho) -> None:
    fitting = rho.pure
    assert Rho.of_pure(fitting) <= rho < Rho.of_pure(Epsilon(fitting.nano + 1))


@given(st.lists(st.integers(1, 10**9).map(Epsilon), min_size=1, max_size=20), DELTAS)
def test_pure_releases_cost_no_less_together_than_apart(releases: list[Epsilon], delta: Delta) -> None:
    together = sum(Rho.of_pure(each).pico for each in releases)
    assert epsilon_of(Rho(together), delta) >= epsilon_of(Rho.of_pure(max(releases)), delta)


@given(st.integers(1, 10**9).map(Epsilon), st.integers(1, 1_000))
def test_releases_of_one_epsilon_are_counted_one_by_one(each: Epsilon, times: int) -> None:
    counted = Rho(Accounting(MICRO).units_of(each * times, None, times=times)).exact
    assert 0 <= counted - times * each.exact**2 / 2 < Fraction(times, 10**12)
    assert PURE.units_of(each * times, None, times=times) == each.nano * times


def test_the_figures_of_the_documents() -> None:
    cap = rho_within(Epsilon.of(1), MICRO)
    assert cap == Rho(24_355_957_194)
    deviations = [(n / (2 * float(cap))) ** 0.5 for n in (24, 168, 1000)]
    assert deviations == pytest.approx([22.2, 58.7, 143.3], abs=0.05)


def test_nothing_spent_is_nothing_stated_and_too_much_is_refused() -> None:
    assert epsilon_of(Rho(0), MICRO) == Epsilon(0)
    with pytest.raises(InvalidInput, match="more than concentrated accounting can count"):
        Rho.of_pure(Epsilon.of(1_500))
