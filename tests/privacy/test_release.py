"""What leaves through the turnstile is noisy, calibrated, and of the right shape."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.messages import Measure, RangeQuery
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import Disclosed, disclose_to_leader, release_sums, release_vectors, scales_of
from fedgroup.privacy.sensitivity import Protection
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


def test_an_average_gives_each_part_half_of_the_budget() -> None:
    query = RangeQuery("avg", CIRCLE, Epsilon.of(0.3), Measure("fare", 50, resolution=0.01))
    assert scales_of(query, Protection()) == {"sum": Fraction(5000) / Fraction(15, 100), "count": Fraction(100, 15)}


def test_groups_with_nothing_in_range_get_noise_too() -> None:
    query = RangeQuery("count", CIRCLE, Epsilon.of(0.1))
    released = release_sums({"count": np.zeros(2_000, dtype=np.int64)}, query=query, protection=Protection(),
                            noise=SeededNoise(2), heard=2_000)  # fmt: skip
    assert (released.parts["count"] != 0).mean() > 0.9


def test_what_a_leader_sees_does_not_print() -> None:
    disclosed = disclose_to_leader({"count": np.array([42])})
    assert isinstance(disclosed, Disclosed)
    assert "42" not in repr(disclosed) + str(disclosed) + f"{disclosed}"
