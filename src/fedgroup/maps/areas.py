"""Which share of a box a range covers, for many boxes at once: exact for rectangles, circles and polygons on a plane.

On a lon/lat map a circle is taken for the ellipse of degrees that has its radius at its middle, and area is measured in
degrees: for a circle of r metres that is off by about r tan(latitude) / 6,400 km of a share, below 0.1 % up to 5 km and
60 degrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.space import Circle, MultiPolygon, Polygon, PublicMap, Range, Rectangle
from fedgroup.space.blocks import Boxes
from fedgroup.space.geodesy import degrees_m

Floats = npt.NDArray[np.float64]

_TURN = 360.0


def covered(asked: Range, public_map: PublicMap, boxes: Boxes) -> Floats:
    """Return the covered share of the area of each box, from 0 to 1."""
    area = (boxes.east - boxes.west) * (boxes.north - boxes.south)
    found = sum(
        (_area(asked, public_map, _moved(boxes, turn)) for turn in _turns(asked, public_map, boxes)),
        start=np.zeros(len(area)),
    )
    shares: Floats = np.clip(found / area, 0.0, 1.0)
    return shares


def _turns(asked: Range, public_map: PublicMap, boxes: Boxes) -> list[float]:
    """Return by how much boxes are moved to meet a range, which may be written with a turn more or less than they."""
    if not public_map.lonlat or not len(boxes.west):
        return [0.0]
    west, _, east, _ = extent(asked, public_map)
    first, last = float(boxes.west.min()), float(boxes.east.max())
    return [turn for turn in (-_TURN, 0.0, _TURN) if first + turn <= east and last + turn >= west]


def square_km(boxes: Boxes, public_map: PublicMap) -> Floats:
    """Return the area of every box: square kilometres in degrees, 1,000 x 1,000 units on a plane."""
    wide, high = (boxes.east - boxes.west) / 1000, (boxes.north - boxes.south) / 1000
    if not public_map.lonlat:
        return wide * high
    rows, at = np.unique((boxes.south + boxes.north) / 2, return_inverse=True)
    across, up = np.array([degrees_m(lat) for lat in rows.tolist()]).T
    area: Floats = wide * across[at] * high * up[at]
    return area


def extent(asked: Range, public_map: PublicMap) -> tuple[float, float, float, float]:
    """Return the west, south, east and north ends of a range, as it is written."""
    match asked:
        case Circle(x, y, _):
            across, up = _radii(asked, public_map)
            return x - across, y - up, x + across, y + up
        case Rectangle():
            return asked.west, asked.south, asked.east, asked.north
        case Polygon() | MultiPolygon():
            west, south, east, north = asked.shape.bounds
            return west, south, east, north


def _moved(boxes: Boxes, turn: float) -> Boxes:
    return boxes._replace(west=boxes.west + turn, east=boxes.east + turn) if turn else boxes


def _area(asked: Range, public_map: PublicMap, boxes: Boxes) -> Floats:
    match asked:
        case Circle():
            return _of_circle(asked, public_map, boxes)
        case Rectangle():
            wide = np.minimum(boxes.east, asked.east) - np.maximum(boxes.west, asked.west)
            high = np.minimum(boxes.north, asked.north) - np.maximum(boxes.south, asked.south)
            area: Floats = np.maximum(wide, 0) * np.maximum(high, 0)
            return area
        case Polygon() | MultiPolygon():
            return _of_polygon(asked.shape, boxes)


def _radii(circle: Circle, public_map: PublicMap) -> tuple[float, float]:
    """Return a circle's radius in the map's units, across and up."""
    if not public_map.lonlat:
        return circle.radius, circle.radius
    across, up = degrees_m(circle.y)
    return circle.radius / max(across, 1.0), circle.radius / up


def _of_circle(circle: Circle, public_map: PublicMap, boxes: Boxes) -> Floats:
    """Return areas of the parts of a circle: as a unit disc, by what lies south-west of the corners of each box."""
    across, up = _radii(circle, public_map)
    west, east = ((side - circle.x) / across for side in (boxes.west, boxes.east))
    south, north = ((side - circle.y) / up for side in (boxes.south, boxes.north))
    # most boxes lie wholly inside or outside, which is seen at once
    far = np.maximum(-west, east) ** 2 + np.maximum(-south, north) ** 2
    beside = np.maximum(np.maximum(west, -east), 0) ** 2 + np.maximum(np.maximum(south, -north), 0) ** 2
    area: Floats = np.where(far <= 1, (east - west) * (north - south), 0.0)
    cut = np.flatnonzero((far > 1) & (beside < 1))
    west, east, south, north = (np.clip(side[cut], -1, 1) for side in (west, east, south, north))
    part = _south_west(east, north) - _south_west(west, north) - _south_west(east, south) + _south_west(west, south)
    area[cut] = np.maximum(part, 0)
    return area * (across * up)


def _south_west(x: Floats, y: Floats) -> Floats:
    """Return the area of the unit disc to the west of x and to the south of y, both between -1 and 1.

    The line at y meets the circle at -a and a. Below it the disc is cut to y + sqrt(1 - t^2) between them, and, where y
    is positive, whole beside them; `_half` is the integral of sqrt(1 - t^2).
    """
    a = np.sqrt(np.maximum(1 - y * y, 0))
    middle = np.clip(x, -a, a)
    between = y * (middle + a) + _half(middle) - _half(-a)
    beside = 2 * (_half(np.minimum(x, -a)) - _half(np.full_like(x, -1.0)) + _half(np.maximum(x, a)) - _half(a))
    found: Floats = between + np.where(y >= 0, beside, 0.0)
    return found


def _half(t: Floats) -> Floats:
    found: Floats = 0.5 * (t * np.sqrt(np.maximum(1 - t * t, 0)) + np.arcsin(np.clip(t, -1, 1)))
    return found


def _of_polygon(shape: Any, boxes: Boxes) -> Floats:
    """Return areas of the parts of a polygon; only boxes that its border cuts are cut."""
    west, south, east, north = shape.bounds
    near = np.flatnonzero((boxes.west < east) & (boxes.east > west) & (boxes.south < north) & (boxes.north > south))
    area = np.zeros(len(boxes.west))
    if not len(near):
        return area
    tiles = shapely.box(boxes.west[near], boxes.south[near], boxes.east[near], boxes.north[near])
    shapely.prepare(shape)
    inside = shapely.contains_properly(shape, tiles)
    area[near[inside]] = shapely.area(tiles[inside])
    cut = ~inside & shapely.intersects(shape, tiles)
    area[near[cut]] = shapely.area(shapely.intersection(tiles[cut], shape))
    return area
