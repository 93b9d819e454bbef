"""What leaves through the turnstile is noisy, calibrated, and of the right shape."""

from __future__ import annotations

from fractions import Fraction
from typing import NoReturn

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.privacy import release
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import (
    Disclosed,
    disclose_to_leader,
    release_masked,
    release_masked_sum,
    release_sum,
    release_vectors,
    scales_of,
)
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, Grid

GRID = Grid(Box(0, 0, 1, 1), 10, 10)
CIRCLE = Circle(0, 0, 1)


def test_every_cell_of_every_owner_gets_its_own_noise() -> None:
    exact = np.zeros((500, 100), dtype=np.int32)
    noisy = release_vectors(exact, grid=GRID, epsilon=Epsilon.of(0.3), protection=Protection(), noise=SeededNoise(1))
    assert noisy.scale == Fraction(10, 3)
    assert np.abs(np.corrcoef(noisy.values[:250].ravel(), noisy.values[250:].ravel())[0, 1]) < 0.03
    assert noisy.values.std() == np.float64(noisy.values.std())
    assert abs(noisy.values.var() / 22.06 - 1) < 0.05


def test_replace_doubles_the_noise_of_vectors() -> None:
    exact = np.zeros((1, 100), dtype=np.int32)
    noisy = release_vectors(
        exact, grid=GRID, epsilon=Epsilon.of(0.3), protection=Protection("replace"), noise=SeededNoise(1)
    )
    assert noisy.scale == Fraction(20, 3)


class Consecutive:
    """Noise that is none: 0, 1, 2, ..., so that each cell shows which noise it got."""

    private = False

    def __init__(self, *, continuous: bool = False) -> None:
        self.continuous = continuous
        self.drawn = 0

    def laplace(self, scale: Fraction, count: int) -> np.ndarray:
        self.drawn += count
        return np.arange(self.drawn - count, self.drawn, dtype=np.float64 if self.continuous else np.int64)

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> NoReturn:
        raise NotImplementedError


@pytest.mark.parametrize("chunk", [1, 100, 250, 10_000])
@pytest.mark.parametrize("continuous", [False, True])
def test_owners_are_released_in_chunks_each_cell_with_its_own_noise(
    chunk: int, continuous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "_CHUNK", chunk)
    exact = np.arange(700, dtype=np.int32).reshape(7, 100)[::-1]
    noise = Consecutive(continuous=continuous)
    noisy = release_vectors(exact, grid=GRID, epsilon=Epsilon.of(1), protection=Protection(), noise=noise)
    assert np.array_equal(noisy.values, exact + np.arange(700).reshape(7, 100))
    assert noisy.values.dtype == (np.float64 if continuous else np.int16)
    assert noise.drawn == 700


@pytest.mark.parametrize("count", [2**15 - 1, 2**15, 2**16, 2**31 - 1])
def test_integers_are_as_wide_as_the_noisy_counts_ask_for(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "_CHUNK", 200)
    exact = np.zeros((9, 100), dtype=np.int32)
    exact[4, 0] = count
    noisy = release_vectors(exact, grid=GRID, epsilon=Epsilon.of(1), protection=Protection(), noise=Consecutive())
    assert np.array_equal(noisy.values, exact + np.arange(900).reshape(9, 100))
    assert noisy.values.dtype == (np.int64 if count > 2**30 else np.int32)


def test_an_average_gives_each_part_half_of_the_budget() -> None:
    query = RangeQuery("avg", CIRCLE, Epsilon.of(0.3), Measure("fare", 50, resolution=0.01))
    assert scales_of(query, Protection()) == {"sum": Fraction(5000) / Fraction(15, 100), "count": Fraction(100, 15)}


def test_groups_with_nothing_in_range_get_noise_too() -> None:
    query = RangeQuery("count", CIRCLE, Epsilon.of(0.1))
    noise = SeededNoise(2)
    released = [
        release_sum(
            {"count": np.array([0])}, groups=1, query=query, protection=Protection(), noise=noise, heard=1
        ).parts["count"]
        for _ in range(2_000)
    ]
    assert np.count_nonzero(released) > 1_800


def test_many_groups_of_a_host_get_a_noise_each() -> None:
    query = RangeQuery("avg", CIRCLE, Epsilon.of(0.3), Measure("fare", 50, resolution=0.01))
    scales = scales_of(query, Protection())
    exact = {"sum": np.array([70_000]), "count": np.array([9])}
    released = release_sum(exact, groups=1_000, query=query, protection=Protection(), noise=SeededNoise(2), heard=5_000)
    same = SeededNoise(2)
    assert released.parts["sum"] == 70_000 + same.laplace(scales["sum"], 1_000).sum()
    assert released.parts["count"] == 9 + same.laplace(scales["count"], 1_000).sum()
    assert (released.noises, released.heard) == (1_000, 5_000)


class Shares:
    """Notes which shares are asked for, and gives out 1, 10, 100, ... so that each word shows which it got."""

    private = False
    continuous = False

    def __init__(self) -> None:
        self.asked: list[tuple[Fraction, int, int]] = []

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> np.ndarray:
        self.asked.append((scale, parts, count))
        return 10 ** np.arange(count, dtype=np.int64)

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> np.ndarray:
        self.asked.append((scale, parts, shares))
        return 10 ** np.arange(count, dtype=np.int64)


def unmasked(words: np.ndarray) -> np.ndarray:
    return words.view(np.uint64)


@pytest.mark.parametrize("members", [1, 3])
def test_every_member_adds_a_share_of_its_own_to_every_bin(members: int) -> None:
    query = RangeQuery("count", Grid(Box(0, 0, 1, 1), 2, 1), Epsilon.of(0.1))
    noise, parts = Shares(), np.full(members, 4, dtype=np.int64)
    exact = {"count": np.full((members, 2), 7, dtype=np.int64)}
    sent = release_masked(exact, query=query, protection=Protection(), noise=noise, parts=parts, mask=unmasked)
    assert noise.asked == [(Fraction(10), 4, 2 * members)]
    assert sent.ravel().tolist() == [7 + 10**at for at in range(2 * members)]


def test_members_of_groups_of_other_sizes_have_shares_of_other_sizes() -> None:
    query = RangeQuery("count", CIRCLE, Epsilon.of(0.1))
    noise, parts = Shares(), np.array([4, 9, 4])
    exact = {"count": np.zeros((3, 1), dtype=np.int64)}
    release_masked(exact, query=query, protection=Protection(), noise=noise, parts=parts, mask=unmasked)
    assert noise.asked == [(Fraction(10), 4, 2), (Fraction(10), 9, 1)]


def test_sums_that_leave_masks_out_have_the_noise_of_all_members() -> None:
    query = RangeQuery("count", Grid(Box(0, 0, 1, 1), 2, 1), Epsilon.of(0.1))
    noise, exact = Shares(), {"count": np.array([7, 7])}
    sums = release_masked_sum(exact, query=query, protection=Protection(), noise=noise, sizes={4: 5, 9: 11})
    assert noise.asked == [(Fraction(10), 4, 5), (Fraction(10), 9, 11)]
    assert sums["count"].tolist() == [7 + 2 * 1, 7 + 2 * 10]


def test_what_a_leader_sees_does_not_print() -> None:
    disclosed = disclose_to_leader({"count": 42})
    assert isinstance(disclosed, Disclosed)
    assert "42" not in repr(disclosed) + str(disclosed) + f"{disclosed}"
