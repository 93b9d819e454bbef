"""Our (epsilon, delta) beside tight numerical accounting: Google's dp-accounting, privacy loss distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import ive

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.skellam import skellam_variance
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


@pytest.mark.parametrize("releases", RELEASES)
def test_skellam_releases_are_stated_no_better_than_they_are_and_hardly_worse(releases: int) -> None:
    each = Rho(rho_within(Epsilon.of(1), DELTA).pico // releases)
    variance = float(skellam_variance(1, 1, each))

    def least_epsilon(variance: float) -> float:
        """What that many releases of this variance cost together at least: their losses rounded down."""
        k = np.arange(-math.ceil(12 * math.sqrt(variance)), math.ceil(12 * math.sqrt(variance)) + 1)
        logs = np.log(ive(np.abs(k), variance)).tolist()
        apart = (dict(zip((k + moved).tolist(), logs, strict=True)) for moved in (0, 1))
        loss = pld.from_two_probability_mass_functions(
            *apart, pessimistic_estimate=False, value_discretization_interval=1e-5
        )
        return float(loss.self_compose(releases).get_epsilon_for_delta(float(DELTA)))

    assert 0.8 < least_epsilon(variance) <= float(epsilon_of(each * releases, DELTA)) <= 1
    assert least_epsilon(variance / WITHIN**2) > 1
