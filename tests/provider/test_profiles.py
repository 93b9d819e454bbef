"""Owners placed where they likely belong: calibrated, better than the top cell, and never from anything but noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.shares import judge
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.noise import SeededNoise
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.placing import belonging, likely_cells, profiles_of
from fedgroup.provider.role import Provider
from fedgroup.provider.settings import GroupingSettings
from fedgroup.space import Box, PublicMap

GRID = PublicMap(Box(0, 0, 5, 5)).grid(5, 5)
EPSILON = Epsilon.of(0.3)
SCALE = Fraction(10, 3)

World = Callable[..., np.ndarray]


def exact_vectors(owners: int, *, seed: int = 0) -> np.ndarray:
    """Most owners live in three cells; sizes range from 5 records to some hundreds."""
    rng = np.random.default_rng(seed)
    home = rng.choice([3, 12, 17, 24], p=[0.5, 0.3, 0.15, 0.05], size=owners)
    sizes = rng.geometric(1 / 30, size=owners) + 5
    shares = np.full((owners, 25), 0.2 / 24)
    shares[np.arange(owners), home] = 0.8
    return np.array([rng.multinomial(n, p) for n, p in zip(sizes, shares, strict=True)], dtype=np.int32)


def noisy(exact: np.ndarray, *, seed: int = 1) -> NoisyVectors:
    noise = SeededNoise(seed).laplace(SCALE, exact.size).reshape(exact.shape)
    return NoisyVectors((exact + noise).astype(np.int16), GRID, SCALE, EPSILON)


def misplaced_and_groups(vectors: NoisyVectors, exact: np.ndarray, **settings: object) -> tuple[float, int]:
    grouping = Provider().group(vectors, GroupingSettings(**settings), private=True)
    return judge(grouping.partition, exact, threshold=0.5).misplaced_share, grouping.partition.groups


def scattered_vectors(owners: int, *, seed: int = 0) -> np.ndarray:
    """Heavy owners live in three cells; of the light ones a third live in cells where hardly a heavy one does."""
    rng = np.random.default_rng(seed)
    home = rng.choice([3, 12, 17], p=[0.5, 0.3, 0.2], size=owners)
    heavy = rng.random(owners) < 0.4
    home = np.where(~heavy & (rng.random(owners) < 1 / 3), rng.integers(0, 25, owners), home)
    sizes = np.where(heavy, rng.integers(60, 120, owners), rng.integers(10, 25, owners))
    shares = np.full((owners, 25), 0.3 / 24)
    shares[np.arange(owners), home] = 0.7
    return rng.multinomial(sizes, shares).astype(np.int32)


def mean_misplaced(world: World, target: float) -> float:
    found = []
    for seed in range(5):
        exact = world(600, seed=seed)
        found.append(misplaced_and_groups(noisy(exact, seed=seed + 10), exact, graph="likely", misplaced=target)[0])
    return float(np.mean(found))


@pytest.mark.parametrize("target", [0.01, 0.02, 0.05])
def test_no_more_owners_are_misplaced_on_average_than_were_allowed(target: float) -> None:
    assert mean_misplaced(exact_vectors, target) <= target


@pytest.mark.parametrize("target", [0.02, 0.05])
def test_light_owners_that_live_elsewhere_are_hardly_placed_with_heavy_ones(target: float) -> None:
    assert mean_misplaced(scattered_vectors, target) <= 1.25 * target


def test_light_owners_are_placed_that_the_top_cell_leaves_alone() -> None:
    exact = exact_vectors(1_500)
    vectors = noisy(exact)
    likely = misplaced_and_groups(vectors, exact, graph="likely", misplaced=0.02)
    topcell = misplaced_and_groups(vectors, exact, graph="topcell", false_cells=0.1)
    assert likely[0] <= 0.02
    assert likely[1] < topcell[1] / 2


def test_the_surest_are_placed_first() -> None:
    vectors = noisy(exact_vectors(400))
    few, many = (likely_cells(vectors, false_cells=0.1, threshold=0.5, misplaced=share).cell for share in (0.005, 0.05))
    assert 0 < (few >= 0).sum() < (many >= 0).sum()
    assert (many[few >= 0] == few[few >= 0]).all()


def test_nobody_is_placed_where_nobody_stands_out() -> None:
    vectors = noisy(np.zeros((50, 25), dtype=np.int32), seed=3)
    placed = likely_cells(vectors, false_cells=1e-6, threshold=0.5, misplaced=0.02)
    assert (placed.cell == -1).all()
    assert placed.expected == 0


def test_no_owner_at_all_is_fine() -> None:
    nobody = noisy(np.zeros((0, 25), dtype=np.int32))
    assert len(likely_cells(nobody, false_cells=1, threshold=0.5, misplaced=1).cell) == 0


def test_one_profile_alone_is_enough() -> None:
    exact = np.zeros((3, 25), dtype=np.int32)
    exact[0, 3] = 500
    placed = likely_cells(noisy(exact), false_cells=1e-3, threshold=0.5, misplaced=1)
    assert placed.cell[0] == 3
    assert 0 <= placed.expected <= 1


def test_equal_vectors_give_equal_groups() -> None:
    vectors = noisy(exact_vectors(300))
    first, second = (likely_cells(vectors, false_cells=0.1, threshold=0.5, misplaced=0.02) for _ in range(2))
    assert (first.cell.tolist(), first.expected) == (second.cell.tolist(), second.expected)


def test_a_profile_likely_belongs_where_most_are_similar_and_never_where_nobody_is() -> None:
    exact = np.zeros((9, 25), dtype=np.int32)
    exact[:8, 3], exact[8, 4], exact[8, 3] = 300, 300, 100
    chances = belonging(profiles_of(NoisyVectors(exact.astype(np.int16), GRID, SCALE, EPSILON), 0.1), 25, 0.5)
    assert chances[0, 3] > 0.95
    assert chances[0, 4] < 0.5 < chances[8, 4] < chances[0, 3]
    assert (chances[:, [0, 24]] == 0).all()


def test_profiles_are_shares_of_cells_above_tau() -> None:
    exact = np.zeros((3, 25), dtype=np.int32)
    exact[0, 3], exact[1, 4] = 300, 100
    exact[1, 5] = 300
    vectors = NoisyVectors(exact.astype(np.int16), GRID, SCALE, EPSILON)
    profiles = profiles_of(vectors, 0.1)
    assert profiles.top.tolist() == [3, 5]
    assert profiles.share.tolist() == [1.0, 0.25, 0.75]
    assert profiles.cell.tolist() == [3, 4, 5]


def test_limits_hold() -> None:
    settings = GroupingSettings(graph="likely", limits=Limits(7))
    assert Provider().group(noisy(exact_vectors(300)), settings, private=True).partition.sizes.max() == 7


def test_the_plan_says_what_was_allowed_and_what_is_expected() -> None:
    grouping = Provider().group(noisy(exact_vectors(100)), GroupingSettings(graph="likely"), private=True)
    assert (grouping.settings["graph"], grouping.settings["misplaced"], grouping.epsilon) == ("likely", 0.02, EPSILON)
    assert 0 < grouping.settings["misplaced_expected"] <= 0.02
    assert grouping.private
    assert "epsilon-DP" in grouping.guarantee


@pytest.mark.parametrize("wrong", [{"misplaced": -0.1}, {"misplaced": 1.5}, {"algorithm": "greedy"}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        GroupingSettings(graph="likely", **wrong)
