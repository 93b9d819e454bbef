"""A published map as squares: nothing is lost, and noise alone shows no square of a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from published_maps import CITY, federation, places, simulated

from fedgroup.maps.published import published_map
from fedgroup.maps.rasters import Raster, raster
from fedgroup.space import PublicMap

HOW = {"method": "mpc", "in_group": "masked", "trust": "", "groups": 1, "noises": 3.0, "owners": 1, "delta": 0.0}
TOLD: dict[str, Any] = {"charged": 1.0, "notes": (), "heard": 1, "missing": 0, "private": False}


def squares(x: object, y: object, *, seed: int) -> Raster:
    going = simulated(x, y, epsilon=1, noises=3, seed=seed, records=8_000)
    return raster(published_map(going, PublicMap(CITY), method=HOW, **TOLD))


def test_squares_hold_all_that_cells_hold() -> None:
    made = federation().publish(epsilon=1, records=8_000)
    drawn = raster(made)
    km2 = CITY.width * CITY.height / drawn.bins / 1e6
    assert drawn.values.sum() * km2 == pytest.approx(made.values.sum())
    assert drawn.cells == made.bins


def test_busy_places_are_shown_and_empty_pictures_show_nothing() -> None:
    """Of 60 empty pictures at most 10 show a square: more has a chance of 0.0004 if it is 5 %."""
    assert squares(*places(), seed=1).sure.sum() > 40
    nothing = np.zeros(0)
    assert sum(bool(squares(nothing, nothing, seed=seed).sure.any()) for seed in range(60)) <= 10
