"""What a page's map begins with: how finely places are told, radii to offer, the first area, what is drawn below."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fedgroup.space import PublicMap

_METRES_PER_DEGREE = 111_320.0

Area = Mapping[str, Any]
"""A circle, rectangle or polygon as the HTTP API takes it."""


def decimals_of(public_map: PublicMap) -> int:
    """Return how many decimals a place has: finer than a pixel, and short enough to be said again."""
    if public_map.lonlat:
        return 5
    return max(0, 5 - math.floor(math.log10(public_map.domain.east - public_map.domain.west)))


def radii_of(public_map: PublicMap) -> tuple[float, float, float]:
    """Return the smallest, a usual and the largest radius to offer, in the map's unit, or metres if in degrees."""
    domain = public_map.domain
    width = domain.east - domain.west
    if public_map.lonlat:
        width *= _METRES_PER_DEGREE * math.cos(math.radians((domain.south + domain.north) / 2))
    step = 10.0 ** math.floor(math.log10(width / 100))
    return step, _rounded(width / 10, step), _rounded(width / 2, step)


def first_area(public_map: PublicMap) -> Area:
    """Return the area that a page begins with: a circle in the middle."""
    domain, decimals = public_map.domain, decimals_of(public_map)
    middle = ((domain.west + domain.east) / 2, (domain.south + domain.north) / 2)
    x, y = (round(value, decimals) for value in middle)
    return {"circle": {"x": x, "y": y, "radius": radii_of(public_map)[1]}}


def _rounded(value: float, step: float) -> float:
    return round(round(value / step) * step, 9)
