"""Audits of releases for a rho: what two neighbours' answers show, counted, stays within what was promised.

A release that costs rho is (epsilon, delta)-DP for every delta; the audit bounds the delta of one epsilon from below by
Clopper-Pearson. Each audit is seen to fail with a bug planted: noise too small, a sensitivity that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from laws import audited_delta

from fedgroup.epsilon import Epsilon
from fedgroup.messages import Variances
from fedgroup.privacy import release
from fedgroup.privacy.release import release_masked, release_sum
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.zcdp import epsilon_of
from fedgroup.questions.query import RangeQuery
from fedgroup.rho import Delta, Rho
from fedgroup.space import Box, Grid
from fixed_noise import fixed_noise

DRAWS = 60_000
RHO, DELTA = Rho.of(0.2), Delta.of("0.02")
MOST_BINS = 9
PEOPLE = Protection("add-remove", "subject", 9, MOST_BINS, subjects=True)
MAP = RangeQuery("people", Grid(Box(0, 0, 1, 1), 5, 2), Epsilon(1), rho=RHO)
SOMEBODY = np.array([1] * MOST_BINS + [0])
"""One person more, in as many bins as one may be in."""
COLLUDERS, SILENT, MEMBERS = 2, 1, 6
PARTS = MEMBERS - COLLUDERS - SILENT

Scales = Callable[..., dict]
right_scales = release.scales_of


def halved(query: RangeQuery, protection: Protection) -> dict:
    """Noise of half the standard deviation."""
    found = right_scales(query, protection)
    each = found["people"]
    assert isinstance(each, Variances)
    return {"people": Variances(each.gaussian / 4, each.skellam / 4)}


def as_if_in_one_bin(query: RangeQuery, protection: Protection) -> dict:
    """Noise for a squared L2 sensitivity of 1, where one person moves nine bins."""
    return right_scales(query, replace(protection, max_bins=1))


def leaders(exact: np.ndarray, name: str) -> np.ndarray:
    """What the leader of a group releases, over and over."""
    noise = fixed_noise(name)
    each = (
        release_sum({"people": exact}, groups=1, query=MAP, protection=PEOPLE, noise=noise, heard=1)
        for _ in range(DRAWS // 20)
    )
    return np.array([one.parts["people"] for one in each])


def many_at_once(exact: np.ndarray, name: str) -> np.ndarray:
    """The same noise for many copies of the bins: drawn together, since one by one takes long."""
    copies = np.tile(exact, DRAWS)
    found = release_sum({"people": copies}, groups=1, query=MAP, protection=PEOPLE, noise=fixed_noise(name), heard=1)
    return found.parts["people"].reshape(DRAWS, -1)


def masked_sums(exact: np.ndarray, name: str) -> np.ndarray:
    """What colluders see of a masked group: the sum of the honest heard members, their own shares taken off."""
    honest = np.zeros((PARTS, DRAWS * len(exact)), dtype=np.int64)
    honest[0] = np.tile(exact, DRAWS)
    words = release_masked(
        {"people": honest}, query=MAP, protection=PEOPLE, noise=fixed_noise(name),
        parts=np.full(PARTS, PARTS), mask=lambda values: values.astype(np.uint64),
    )  # fmt: skip
    return words.astype(np.int64).sum(axis=0).reshape(DRAWS, -1)


def found_delta(released: Callable[[np.ndarray, str], np.ndarray]) -> float:
    """The largest delta that some threshold on the bins of that person shows, beside the epsilon of the promise."""
    epsilon = float(epsilon_of(RHO, DELTA))
    with_them, without = (released(SOMEBODY * there, f"audit {there}") @ SOMEBODY for there in (1, 0))
    draws = len(with_them)
    # thresholds are looked for in the first half and held against the second
    half = draws // 2
    cuts = range(40)
    best = max(cuts, key=lambda cut: (with_them[:half] > cut).mean() - np.exp(epsilon) * (without[:half] > cut).mean())
    likely, unlikely = (int((side[half:] > best).sum()) for side in (with_them, without))
    return audited_delta(likely, unlikely, draws - half, epsilon=epsilon)


@pytest.mark.parametrize("released", [many_at_once, masked_sums])
def test_what_is_released_for_a_rho_keeps_its_promise(released) -> None:
    assert found_delta(released) <= float(DELTA)


@pytest.mark.parametrize("bug", [halved, as_if_in_one_bin])
@pytest.mark.parametrize("released", [many_at_once, masked_sums])
def test_an_audit_finds_noise_that_is_too_small(released, bug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "scales_of", bug)
    assert found_delta(released) > float(DELTA)


def test_an_audit_finds_shares_for_more_honest_members_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = release.shares_of_noise
    monkeypatch.setattr(release, "shares_of_noise", lambda noise, scale, parts, n: shares(noise, scale, 3 * parts, n))
    assert found_delta(masked_sums) > float(DELTA)


def test_one_release_after_the_other_is_the_same_as_many_at_once() -> None:
    found = right_scales(MAP, PEOPLE)["people"]
    assert isinstance(found, Variances)
    variance = found.gaussian
    assert variance == Fraction(MOST_BINS) / Fraction(4, 10)
    assert leaders(SOMEBODY, "one by one").var(axis=0) == pytest.approx([float(variance)] * 10, rel=0.15)
