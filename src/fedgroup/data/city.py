"""The map of a synthetic city: districts, streets, a river, a lake, a park and the sea, on 20 x 20 km."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SIZE_M = 20_000.0
_BORDER_M = 60.0
_BLOCK_M = 115.0
_NEIGHBOURHOODS = 44
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
_RIVER_HALF_WIDTH_M = 190.0
_ROUND_GAPS = ((15_700.0, 14_600.0, 1_500.0), (7_900.0, 11_900.0, 720.0))
"""The lake and the park, as centre and radius."""


@dataclass(frozen=True)
class CityDistricts:
    """Where the districts lie, how far they spread, how their streets run, and what people do there."""

    x: Floats
    y: Floats
    spread_m: Floats
    streets: Floats
    homes: Floats
    work: Floats
    leisure: Floats

    def __len__(self) -> int:
        return len(self.x)


@cache
def districts() -> CityDistricts:
    """Return the centre, the sub-centres, and the residential neighbourhoods in belts around them."""
    #        x       y    spread  streets homes  work  leisure
    named = np.array(
        [
            [10_000, 10_000, 700, 0.00, 10.0, 34.0, 34.0],  # old town and business centre
            [10_900, 8_700, 700, 0.15, 5.0, 10.0, 9.0],
            [9_000, 8_600, 800, -0.10, 6.0, 6.0, 6.0],
            [4_600, 14_800, 650, 0.60, 4.0, 8.0, 5.0],  # sub-centres
            [15_900, 6_400, 700, -0.45, 4.5, 9.0, 6.0],
            [5_300, 5_200, 550, 0.30, 3.5, 6.0, 4.0],
            [12_700, 16_900, 500, 0.85, 3.0, 4.0, 3.5],
            [17_600, 10_900, 600, 0.10, 1.0, 7.0, 0.8],  # industry and the airport: work, hardly any homes
            [2_400, 9_300, 500, 0.00, 0.6, 5.0, 0.5],
        ]
    )
    place = np.arange(_NEIGHBOURHOODS)
    radius = 2_600 + 6_600 * np.sqrt((place + 0.5) / _NEIGHBOURHOODS)
    angle = place * _GOLDEN_ANGLE
    weight = 1.9 - 1.5 * place / _NEIGHBOURHOODS
    belts = np.column_stack(
        [
            10_000 + 1.05 * radius * np.cos(angle),
            10_400 + 0.95 * radius * np.sin(angle),
            400 + 50 * (place * 7 % 11),
            angle % 1.5,
            weight,
            0.22 * weight,
            0.2 * weight,
        ]
    )
    return CityDistricts(*np.vstack([named, belts]).T)


def scatter(rng: np.random.Generator, chosen: Ints) -> tuple[Floats, Floats]:
    """Return one address in each chosen district: along its streets, on dry land, inside the city."""
    city = districts()
    reach = city.spread_m[chosen] * np.sqrt(rng.exponential(1.0, len(chosen)))
    along, across = reach * rng.standard_normal(len(chosen)), reach * rng.standard_normal(len(chosen))
    on_street = _BLOCK_M * np.rint(across / _BLOCK_M) + rng.uniform(-9, 9, len(chosen))
    turned = rng.random(len(chosen)) < 0.5
    east, north = np.where(turned, on_street, along), np.where(turned, along, on_street)
    cosine, sine = np.cos(city.streets[chosen]), np.sin(city.streets[chosen])
    return on_dry_land(
        city.x[chosen] + east * cosine - north * sine,
        city.y[chosen] + east * sine + north * cosine,
    )


def on_dry_land(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the places with those in water, in the park or outside the city moved just beyond the edge."""
    x, y = _folded(x), _folded(y)
    for centre_x, centre_y, radius in _ROUND_GAPS:
        x, y = _out_of_circle(x, y, centre=(centre_x, centre_y), radius=radius)
    river = _river(y)
    from_river = x - river
    depth = np.maximum(_RIVER_HALF_WIDTH_M - np.abs(from_river), 0)
    x = x + np.where(from_river < 0, -2, 2) * depth
    y = y + 1.5 * np.maximum(_shore(x) - y, 0)
    return _inside(x), _inside(y)


def _river(y: Floats) -> Floats:
    return np.asarray(12_300 + 900 * np.sin(y / 2_900) + 350 * np.sin(y / 1_100))


def _shore(x: Floats) -> Floats:
    return np.asarray(1_500 + 500 * np.sin(x / 2_600) + 160 * np.sin(x / 700))


def _out_of_circle(x: Floats, y: Floats, *, centre: tuple[float, float], radius: float) -> tuple[Floats, Floats]:
    east, north = x - centre[0], y - centre[1]
    distance = np.maximum(np.hypot(east, north), 1.0)
    stretch = 1 + 1.4 * np.maximum(radius - distance, 0) / distance
    return centre[0] + east * stretch, centre[1] + north * stretch


def _folded(at: Floats) -> Floats:
    """Places beyond the border, mirrored at it."""
    return SIZE_M - np.abs(SIZE_M - np.abs(at))


def _inside(at: Floats) -> Floats:
    return np.clip(at, _BORDER_M, SIZE_M - _BORDER_M)
