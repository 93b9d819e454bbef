"""Our (epsilon, delta) beside tight numerical accounting: Google's dp-accounting, privacy loss distributions."""

from __future__ import annotations

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.zcdp import epsilon_of, rho_within
from fedgroup.rho import Delta, Rho

DELTA = Delta.of("1e-6")
RELEASES = (24, 168, 1_000)
WITHIN = 1.10


def epsilon_by_pld(deviation: float, releases: int, *, pessimistic: bool) -> float:
    """What that many Gaussian releases cost together: rounded up, or rounded down, which is a lower bound."""
    # The sum of n Gaussian losses is one Gaussian loss of a deviation smaller by sqrt(n).
    loss = pld.from_gaussian_mechanism(
        deviation / math.sqrt(releases), pessimistic_estimate=pessimistic, value_discretization_interval=1e-3
    )
    return float(loss.get_epsilon_for_delta(float(DELTA)))


@pytest.mark.parametrize("releases", RELEASES)
def test_our_statement_is_never_below_the_lower_bound_of_tight_accounting(releases: int) -> None:
    for deviation in (20.7, 58.7, 143.0, 1000.0):
        each = Rho(math.ceil(10**12 / (2 * deviation**2)))
        stated = float(epsilon_of(each * releases, DELTA))
        assert stated >= epsilon_by_pld(deviation, releases, pessimistic=False)


@pytest.mark.parametrize("releases", RELEASES)
def test_our_noise_is_within_a_tenth_of_what_tight_accounting_asks_for(releases: int) -> None:
    ours = math.sqrt(releases / (2 * float(rho_within(Epsilon.of(1), DELTA))))
    assert epsilon_by_pld(ours, releases, pessimistic=True) <= 1
    assert epsilon_by_pld(ours / WITHIN, releases, pessimistic=False) > 1


@pytest.mark.parametrize("releases", RELEASES)
def test_pure_releases_are_stated_no_better_than_they_are(releases: int) -> None:
    each = Epsilon.of(0.02)
    loss = pld.from_laplace_mechanism(1 / float(each), pessimistic_estimate=False, value_discretization_interval=1e-3)
    exact = float(loss.self_compose(releases).get_epsilon_for_delta(float(DELTA)))
    assert float(epsilon_of(Rho.of_pure(each) * releases, DELTA)) >= exact
