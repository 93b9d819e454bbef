"""The interval of a free answer holds for places drawn by area, and for places drawn where records are."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from published_maps import CITY, MIDDLE, places, simulated
from scipy import stats

import fedgroup as fg
from fedgroup.maps.answering import Atlas
from fedgroup.maps.free import Z, quantile
from fedgroup.maps.intervals import GUESSED, interval_of, reach_of_two, rough_note, uneven_in
from fedgroup.maps.unevenness import Unevenness
from fedgroup.space import PublicMap

NOISES = 3


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return Atlas(simulated(*places(), epsilon=0.3, noises=NOISES, seed=2).reconstruct(), PublicMap(CITY))


@pytest.mark.parametrize("apart", [0.0, 0.01, 0.3, 1.0, 4.0, 100.0])
def test_two_laws_are_each_held_in_95_of_100_cases(apart: float) -> None:
    reach = reach_of_two(apart)
    assert stats.norm.cdf(reach) - stats.norm.cdf(-reach - apart) == pytest.approx(0.95, abs=1e-9)
    assert stats.norm.isf(0.05) - 1e-6 <= reach <= stats.norm.isf(0.025) + 1e-6


def test_ends_are_nearer_where_each_law_fails_at_its_own_end(atlas: Atlas) -> None:
    uneven, weights = Unevenness.learnt(atlas.made), atlas.weights(fg.Circle(10_000, 10_000, 400))
    found = interval_of(atlas, weights, uneven, noises=NOISES)
    assert found.uneven > found.noise
    _, _, above = uneven_in(atlas, weights, uneven)
    both_ends = math.hypot(Z * found.noise, above)
    moved = max(atlas.unbiased(weights) - found.value, 0.0)
    assert 0.7 * both_ends < found.high - found.value < both_ends + moved - 0.05 * above


def test_a_range_that_cuts_no_cell_may_fail_at_both_ends(atlas: Atlas) -> None:
    whole = atlas.weights(fg.Rectangle(*CITY.sides))
    found = interval_of(atlas, whole, Unevenness.learnt(atlas.made), noises=NOISES)
    half = quantile(3 * atlas.noise(whole).fewness / NOISES) * found.noise
    assert found.uneven == 0
    assert found.high - found.value == pytest.approx(half)
    assert found.value - found.low == pytest.approx(half)


def test_learnt_unevenness_is_never_less_than_what_large_circles_need(atlas: Atlas) -> None:
    assert Unevenness.learnt(atlas.made).by_depth.min() >= 0.6
    assert interval_of(atlas, atlas.weights(MIDDLE), Unevenness.unknown(), noises=NOISES).uneven > 0


def clump(many: int = 20_000, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Nearly all of them in one place, the others anywhere: most cells of its block are empty."""
    rng = np.random.default_rng(seed)
    x, y = np.concatenate([rng.uniform(10_100, 10_110, (many, 2)), rng.uniform(0, 20_000, (many // 20, 2))]).T
    return x, y


def test_noise_that_empty_cells_no_longer_have_is_not_in_the_interval() -> None:
    x, y = clump()
    asked = fg.Circle(10_105, 10_105, 600)
    truth, held, shorter = float((np.hypot(x - 10_105, y - 10_105) <= 600).sum()), [], []
    for seed in range(80):
        of_city = Atlas(simulated(x, y, epsilon=0.5, noises=1, seed=seed).reconstruct(), PublicMap(CITY))
        weights = of_city.weights(asked)
        found = interval_of(of_city, weights, Unevenness.learnt(of_city.made), noises=1)
        held.append(found.low <= truth <= found.high)
        shorter.append(found.noise / math.sqrt(of_city.noise(weights).variance))
    # 95 % of 80 maps: fewer than 69 would hold once in a thousand suites
    assert sum(held) >= 69
    assert np.mean(shorter) < 0.75


def test_noise_that_is_left_is_that_of_least_squares_where_no_cell_is_cut_or_empty(atlas: Atlas) -> None:
    whole = atlas.weights(fg.Rectangle(*CITY.sides))
    assert atlas.noise_left(whole).variance == pytest.approx(atlas.noise(whole).variance)
    cut = atlas.made.cut
    full = replace(atlas.made, cells=np.ones(len(cut)), kept=np.zeros(len(cut), dtype=np.bool_))
    weights = atlas.weights(MIDDLE)
    assert Atlas(full, atlas.public_map).noise_left(weights).variance == pytest.approx(atlas.noise(weights).variance)


def test_a_map_of_few_cells_says_that_it_guesses_how_uneven_it_is() -> None:
    x, y = np.random.default_rng(3).uniform(0, 20_000, (2, 3_000))
    asked, told = fg.Circle(10_000, 10_000, 3_000), []
    for epsilon, noises in ((0.3, 142), (2.0, 1)):
        of_city = Atlas(simulated(x, y, epsilon=epsilon, noises=noises, seed=1).reconstruct(), PublicMap(CITY))
        uneven = Unevenness.learnt(of_city.made)
        found = interval_of(of_city, of_city.weights(asked), uneven, noises=noises)
        told.append(rough_note(replace(found, noise=0.0), uneven))  # whatever noise adds, unevenness is most of it
        assert rough_note(replace(found, noise=2 * found.uneven), uneven) == ()
    assert told == [(GUESSED,), ()]


def test_a_range_never_loses_more_than_it_holds_of_cut_cells(atlas: Atlas) -> None:
    for radius in (50, 200, 800):
        weights = atlas.weights(fg.Circle(10_000, 10_000, radius))
        cut = (weights.part > 0) & (weights.part < 1)
        inside = (weights.part * np.maximum(atlas.made.cells[weights.cells], 0))[cut].sum()
        assert uneven_in(atlas, weights, Unevenness.unknown())[1] <= inside + 1e-9
