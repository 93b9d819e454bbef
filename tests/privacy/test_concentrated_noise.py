"""What noise for a rho costs: never more than the rho, by exact Renyi divergences and by exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ive

from fedgroup.errors import InvalidInput
from fedgroup.privacy.concentrated import require_noise, variances_of
from fedgroup.privacy.gaussian import drawable_variance, gaussian_variance
from fedgroup.privacy.skellam import require_shared_variance, skellam_rho, skellam_variance
from fedgroup.rho import Rho

RHOS = st.integers(10**3, 10**13).map(Rho)


def divergence(weights: np.ndarray, shift: int, order: int) -> float:
    """The Renyi divergence between a law on -m..m and the same one moved, far enough from its ends."""
    moved, kept = weights[:-shift], weights[shift:]
    known = (moved > 1e-280) & (kept > 1e-280)
    logs = order * np.log(moved[known]) - (order - 1) * np.log(kept[known])
    return float(np.logaddexp.reduce(logs)) / (order - 1)


@pytest.mark.parametrize("variance", [0.5, 2.0, 5.0, 30.0, 400.0, 3000.0])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_skellam_noise_costs_no_more_than_is_counted_at_every_order(variance: float, shift: int) -> None:
    k = np.arange(-900, 901) if variance < 500 else np.arange(-2400, 2401)
    weights = ive(np.abs(k), variance)
    counted = float(skellam_rho(Fraction(variance), reach=shift, squared=shift**2))
    for order in (2, 3, 5, 8, 16, 24):
        assert divergence(weights, shift, order) <= order * counted * (1 + 1e-9)


def rarer(variance: float, shift: float) -> float:
    """How much less likely than 0 a number is, in logarithms: ln(I_0 / I_shift)."""
    return math.log(ive(0, variance) / ive(shift, variance))


@pytest.mark.parametrize("variance", [0.05, 0.5, 1.9, 2.0, 5.0, 30.0, 400.0])
@pytest.mark.parametrize("shift", [1, 2, 3, 7, 12])
def test_skellam_noise_costs_at_most_what_the_proof_says_and_that_is_less_than_is_counted(
    variance: float, shift: int
) -> None:
    k = np.arange(-700, 701)
    weights, most = ive(np.abs(k), variance), rarer(variance, shift)
    found = [divergence(weights, shift, order) for order in (2, 3, 5, 9, 17)]
    assert all(each <= order * most * (1 + 1e-9) for order, each in zip((2, 3, 5, 9, 17), found, strict=True))
    counted = Fraction(variance)
    for several in (1, 4):  # bins that move by as much, and one by 1 besides
        whole = several * most + rarer(variance, 1)
        reach, squared = several * shift + 1, several * shift**2 + 1
        assert whole <= float(skellam_rho(counted, reach=reach, squared=squared))


@pytest.mark.parametrize("variance", [0.05, 0.7, 2.0, 9.0, 250.0])
def test_every_step_of_the_proof_about_skellam_noise_holds(variance: float) -> None:
    squares = np.linspace(0, 144, 1_201)
    log = np.log(ive(np.sqrt(squares), variance))
    assert np.diff(log, 2).min() > -1e-12  # 1: convex in the square of the index
    p = np.log(ive(np.abs(np.arange(-60, 61)), variance))
    known = np.isfinite(p)
    for d in (1, 2, 5):  # 2: no second difference is larger than that around 0
        inside = known[: -2 * d] & known[2 * d :]
        bent = (2 * p[d:-d] - p[: -2 * d] - p[2 * d :])[inside]
        assert bent.max() <= 2 * rarer(variance, d) * (1 + 1e-9)
        assert rarer(variance, d) <= min(d * (d + 1) / (2 * variance), d**2 * rarer(variance, 1)) * (1 + 1e-9)  # 4
    if variance >= 2:  # 5
        assert rarer(variance, 1) < 1 / (2 * variance) + 1 / (2 * variance**2)


def test_the_proof_about_skellam_noise_begins_above_its_bound() -> None:
    assert ive(1, 2.0) / ive(0, 2.0) == pytest.approx(0.6977, abs=1e-4)
    assert math.exp(-1 / 4 - 1 / 8) == pytest.approx(0.6873, abs=1e-4)


@pytest.mark.parametrize("variance", [0.5, 2.0, 30.0, 3000.0])
@pytest.mark.parametrize("shift", [1, 3])
def test_gaussian_noise_costs_no_more_than_its_square(variance: float, shift: int) -> None:
    k = np.arange(-3000, 3001, dtype=float)
    weights = np.exp(-(k**2) / (2 * variance))
    weights /= weights.sum()
    for order in (2, 3, 8):
        assert divergence(weights, shift, order) <= order * shift**2 / (2 * variance) * (1 + 1e-9)


@given(st.integers(1, 10**5), st.integers(1, 10**5), RHOS)
def test_skellam_noise_costs_the_rho_and_hardly_less(reach: int, squared: int, rho: Rho) -> None:
    variance = skellam_variance(reach, squared, rho)
    assert skellam_rho(variance, reach=reach, squared=squared) <= rho.exact
    smaller = variance * Fraction(999_999, 1_000_000) - Fraction(2, 2**20)
    if smaller > 0:
        assert skellam_rho(smaller, reach=reach, squared=squared) > rho.exact


@given(st.integers(1, 10**9), RHOS)
def test_gaussian_noise_costs_the_rho_and_hardly_less(squared: int, rho: Rho) -> None:
    exact = Fraction(squared) / (2 * rho.exact)
    if exact > 2**59:
        with pytest.raises(InvalidInput, match="cannot be drawn"):
            gaussian_variance(squared, Rho(1))
        return
    variance = gaussian_variance(squared, rho)
    assert 0 <= variance / exact - 1 <= Fraction(1, 2**14)


@given(st.integers(1, 500), st.integers(1, 500), RHOS)
def test_shares_cost_what_one_noise_does(reach: int, parts: int, rho: Rho) -> None:
    variance = skellam_variance(reach, reach, rho)
    assert sum([variance / parts] * parts) == variance


def test_what_cannot_be_drawn_is_refused_before_anything_is_spent() -> None:
    for wrong in (Fraction(0), Fraction(2**61)):
        with pytest.raises(InvalidInput, match="use a coarser resolution"):
            drawable_variance(wrong)
    with pytest.raises(InvalidInput, match="use a coarser resolution"):
        require_shared_variance(Fraction(2**41))
    large = variances_of(10**7, 10**14, Rho.of("1e-3"))
    require_noise(large, shared=False)
    with pytest.raises(InvalidInput, match="noise shares"):
        require_noise(large, shared=True)


def test_skellam_noise_is_hardly_larger_than_gaussian_noise() -> None:
    found = variances_of(1, 1, Rho.of("1e-4"))
    assert 1 < found.skellam / found.gaussian < 1.001
    assert math.isclose(float(found), math.sqrt(5000))
