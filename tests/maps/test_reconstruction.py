"""Blocks of a map have no bias, whatever they hold, and the variance that is stated for them."""

from __future__ import annotations

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.maps.publishing import Publication, Released
from fedgroup.maps.reconstruction import Reconstructed
from fedgroup.maps.sizing import MapSizes
from fedgroup.space import Box

SIDE = 32
WORTHLESS = 1e9
"""So many noises that the coarse grid counts for nothing, and no block leans on its neighbours."""


def reconstructed(held: int, *, epsilon: float, noises: int, seed: int, most_cells: int = 10**6) -> Reconstructed:
    """Return a map of blocks that hold so much each, in the middle of one of their cells."""
    guess = round(8 * SIDE**2 * noises**0.5 / epsilon)
    sizes = MapSizes(Box(0, 0, SIDE, SIDE), Epsilon.of(epsilon), noises, guess, most_cells=most_cells)
    rng = np.random.default_rng(seed)

    def noise(grid: int, many: int) -> np.ndarray:
        up, down = rng.negative_binomial(noises, 1 - sizes.laws[grid].a, (2, many))
        return up - down

    coarse = Released(np.zeros(sizes.coarse.cells), WORTHLESS)
    going = Publication(sizes).after(coarse).after(Released(held + noise(1, SIDE**2), noises))
    exact = np.zeros(len(going.cut))
    exact[going.cut.offsets[:-1]] = held
    return going.after(Released(exact + noise(2, len(exact)), noises)).reconstruct()


@pytest.mark.parametrize(("epsilon", "noises"), [(2.0, 1), (0.3, 1), (1.0, 10), (1.0, 1_000)])
@pytest.mark.parametrize("cells", [0, 1, 4, 12, 32, 100])
def test_blocks_gain_nothing_by_the_noise_that_decided_how_often_they_are_cut(
    cells: int, epsilon: float, noises: int
) -> None:
    # so much that a block is cut into about so many cells: between 2 and 3 times for 32 of them
    held = round(cells * 2 * noises**0.5 / (0.75 * epsilon))
    maps = [reconstructed(held, epsilon=epsilon, noises=noises, seed=seed) for seed in range(6)]
    off = np.concatenate([made.blocks - held for made in maps])
    stated = np.concatenate([made.block_variance for made in maps])
    # sums of 6,144 blocks; of the 24 means one in a thousand suites has one that is farther off
    assert abs(off.sum()) < 4.1 * np.sqrt(stated.sum())
    assert off.var() == pytest.approx(stated.mean(), rel=0.15)


def test_a_cap_on_cells_leaves_blocks_without_bias() -> None:
    made = reconstructed(90, epsilon=2.0, noises=1, seed=1, most_cells=3 * SIDE**2)
    assert made.cut.depth.max() < 3
    assert abs((made.blocks - 90).sum()) < 4 * np.sqrt(made.block_variance.sum())
