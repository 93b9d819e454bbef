"""Squares of a published map: what they hold, how sure that is, and no phantoms among them."""

from __future__ import annotations

import numpy as np
import pytest
from published_maps import CITY, federation, places, simulated

from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import quantile
from fedgroup.maps.published import PublishedMap, published_map
from fedgroup.maps.squares import squares
from fedgroup.space import PublicMap, Rectangle

TOLD = {"method": "mpc", "in_group": None, "trust": "", "groups": 1, "owners": 1, "heard": 1, "missing": 0}


@pytest.fixture(scope="module")
def made() -> PublishedMap:
    return federation().publish(epsilon=1, records=8_000)


@pytest.mark.parametrize("share", [0.25, 1, 4, 64])
def test_squares_hold_what_the_map_says_of_them_with_its_own_noise(made: PublishedMap, share: float) -> None:
    side = int(made.blocks.side * share)
    found = squares(made, side)
    assert found.values.sum() == pytest.approx(made.total().value, rel=1e-6)
    wide, high = found.boxes.east - found.boxes.west, found.boxes.north - found.boxes.south
    assert (wide * high).sum() == pytest.approx(CITY.width * CITY.height)
    assert wide.min() >= CITY.width / side * (1 - 1e-9) or side > made.blocks.side
    for at in np.random.default_rng(1).choice(len(wide), 12, replace=False):
        weights = made.atlas.weights(Rectangle(*(float(each[at]) for each in found.boxes)))
        noise = quantile(3 / max(made.noises, 1)) * made.atlas.noise(weights).variance ** 0.5
        assert found.half_widths[at] == pytest.approx(noise, rel=1e-6, abs=1e-6)
        assert found.values[at] == pytest.approx(made.atlas.value(weights), abs=1e-6)


def test_what_noise_alone_explains_is_shown_in_one_map_of_twenty_at_most() -> None:
    x, y = places(20_000)
    left = x < 9_000
    phantoms = 0
    for seed in range(40):  # 5 % of the maps may show one, half of them here: more than 4 of 40 in 1 of 300 runs
        going = simulated(x[left], y[left], epsilon=1, noises=3, seed=seed)
        map_of_half = published_map(
            going, PublicMap(CITY), method=TOLD | {"noises": 3.0, "private": True}, charged=1.0, notes=()
        )
        found = squares(map_of_half, 16)
        phantoms += bool((found.sure & (found.boxes.west >= 9_000)).any())
    assert phantoms <= 4
    assert found.sure.any()
    assert found.least > 0


@pytest.mark.parametrize("side", [0, 3, 8192])
def test_other_numbers_of_squares_are_refused(made: PublishedMap, side: int) -> None:
    with pytest.raises(InvalidQuery, match="squares lie along a side"):
        squares(made, side)
