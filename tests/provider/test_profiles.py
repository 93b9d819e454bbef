"""Owners placed where they likely belong: calibrated, better than the top cell, and never from anything but noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.shares import judge
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.noise import SeededNoise
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.profiles import likely_cells, profiles_of
from fedgroup.provider.role import Provider
from fedgroup.provider.settings import GroupingSettings
from fedgroup.space import Box, PublicMap

GRID = PublicMap(Box(0, 0, 5, 5)).grid(5, 5)
EPSILON = Epsilon.of(0.3)
SCALE = Fraction(10, 3)


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
    grouping = Provider().group(vectors, GroupingSettings(**settings), private=True)  # type: ignore[arg-type]
    return judge(grouping.partition, exact, threshold=0.5).misplaced_share, grouping.partition.groups


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", [0.01, 0.05])
def test_about_as_many_owners_are_misplaced_as_were_allowed(target: float, seed: int) -> None:
    exact = exact_vectors(1_500, seed=seed)
    found, _ = misplaced_and_groups(noisy(exact, seed=seed + 10), exact, graph="likely", misplaced=target)
    assert found <= 1.5 * target


def test_light_owners_are_placed_that_the_top_cell_leaves_alone() -> None:
    exact = exact_vectors(1_500)
    vectors = noisy(exact)
    likely = misplaced_and_groups(vectors, exact, graph="likely", misplaced=0.02)
    topcell = misplaced_and_groups(vectors, exact, graph="topcell", false_cells=0.1)
    assert likely[0] <= 0.03
    assert likely[1] < topcell[1] / 2


def test_the_surest_are_placed_first() -> None:
    vectors = noisy(exact_vectors(400))
    few, many = (likely_cells(vectors, false_cells=0.1, threshold=0.5, misplaced=share) for share in (0.005, 0.05))
    assert 0 < (few >= 0).sum() < (many >= 0).sum()
    assert (many[few >= 0] == few[few >= 0]).all()


def test_nobody_is_placed_where_nobody_stands_out() -> None:
    vectors = noisy(np.zeros((50, 25), dtype=np.int32), seed=3)
    cells = likely_cells(vectors, false_cells=1e-6, threshold=0.5, misplaced=0.02)
    assert (cells == -1).all()


def test_no_owner_at_all_is_fine() -> None:
    assert len(likely_cells(noisy(np.zeros((0, 25), dtype=np.int32)), false_cells=1, threshold=0.5, misplaced=1)) == 0


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


def test_the_plan_says_what_was_allowed() -> None:
    grouping = Provider().group(noisy(exact_vectors(100)), GroupingSettings(graph="likely"), private=True)
    assert (grouping.settings["graph"], grouping.settings["misplaced"], grouping.epsilon) == ("likely", 0.02, EPSILON)
    assert grouping.private
    assert "epsilon-DP" in grouping.guarantee


@pytest.mark.parametrize("wrong", [{"misplaced": -0.1}, {"misplaced": 1.5}, {"algorithm": "greedy"}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        GroupingSettings(graph="likely", **wrong)  # type: ignore[arg-type]
