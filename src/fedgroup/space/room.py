"""Whether a range has room for a circle near every place of it, or is in some part smaller or narrower than that.

A part is what hangs together of a range, once it is cut to the domain. A part has room for a radius if no place of it
is farther than four radii from the centre of a circle of that radius which lies wholly in the part, and if the same
holds of circles of a half, a quarter and an eighth of the radius, each with four radii of its own. The first keeps
small parts out, wherever the large ones are; the others keep out corridors, by which a small place could hang on a
large one: what is narrower than a quarter of the radius sticks out by less than half of it. Corners of 31 degrees or
more have room.

Tolerance: circles may be up to 4 % smaller, the smaller ones up to 6 %. On a lon/lat map a degree of longitude counts
for as little as it does within five degrees of latitude (and five radii more), so that places nearer to the equator are
held to more; beyond 85 degrees north or south it counts as there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import shapely

from fedgroup.space.geodesy import degrees_m, nearer_than, places_around, reach_degrees
from fedgroup.space.publicmap import PublicMap
from fedgroup.space.ranges import Circle, Range, Rectangle

_SMALLEST = 0.125
_REACH = 4.0
_NEARLY = 0.99
_ALIKE = 2.0**-20
"""Of the radius: what lies nearer together is one place."""
_FEW_CORNERS = 64
_BAND = 5.0
_LAST_PARALLEL = 85.0
_ALL_ROUND = 360.0 - 1e-9
_QUARTER_M = 9.9e6
"""Less than a quarter of the way round the Earth: up to here the farthest place of a box is at a corner."""
_FEWEST_CORNERS, _MOST_CORNERS = 64, 4096


class _Band(NamedTuple):
    """Places to be looked at, all that is near to them, and what one unit is along x and y, in the radius."""

    places: shapely.Geometry
    near: shapely.Geometry
    units: tuple[float, float]


def has_room(asked: Range, radius: float, public_map: PublicMap) -> bool:
    """Tell whether every part of a range has room for circles of a radius, in units of the map or, in degrees, metres.

    A circle inside the domain is compared by its own radius.
    """
    if radius <= 0:
        return True
    if isinstance(asked, Circle) and _surrounds(public_map, asked):
        return asked.radius >= radius
    outline = _outline(asked, radius, public_map)
    cut = shapely.get_parts(shapely.intersection(outline, _domain(public_map)))
    parts = [part for part in cut if isinstance(part, shapely.Polygon) and not part.is_empty]
    return bool(parts) and all(_part_has_room(part, radius, public_map) for part in parts)


def _part_has_room(part: shapely.Polygon, radius: float, public_map: PublicMap) -> bool:
    bands = _bands(part, radius) if public_map.lonlat else [_Band(part, part, (1 / radius, 1 / radius))]
    return all(_band_has_room(band) for band in bands)


def _band_has_room(band: _Band) -> bool:
    """Tell it of a band, on a plane where the radius is 1."""
    origin = shapely.get_coordinates(band.near)[0]

    def planar(shape: shapely.Geometry) -> shapely.Geometry:
        return shapely.transform(shape, lambda xy: (xy - origin) * band.units)

    places = planar(band.places)
    return all(shapely.covers(_reached(centres, size), places) for size, centres in _centres(planar(band.near)))


def _centres(near: shapely.Geometry) -> Iterator[tuple[float, shapely.Geometry]]:
    """Yield from the smallest size on up to 1 where the centres of circles are that lie wholly in a shape.

    GEOS takes time that grows with the square of the corners within the size; so a shape with many corners is narrowed
    by a tiny size first and then by as much again, which leaves the fewer corners the larger the size is.
    """
    size = _SMALLEST if shapely.get_num_coordinates(near) <= _FEW_CORNERS else _ALIKE
    centres = _narrowed(shapely.set_precision(near, _ALIKE), size)
    while size < 1:
        if size >= _SMALLEST:
            yield size, centres
        centres, size = _narrowed(centres, size), 2 * size
    yield size, centres


def _narrowed(shape: shapely.Geometry, by: float) -> shapely.Geometry:
    """Return the places of a shape that are farther than that from all its edges; tiny steps need not be exact."""
    arc, dent = (8, by / 100) if by > _SMALLEST / 10 else (2, by / 8)
    return shapely.simplify(shapely.buffer(shape, -_NEARLY * by, quad_segs=arc), dent, preserve_topology=False)


def _reached(centres: shapely.Geometry, size: float) -> shapely.Geometry:
    """Return the places that are no farther from a centre than four times the size."""
    return shapely.buffer(shapely.simplify(centres, size / 10), _REACH * size, quad_segs=4)


def _bands(part: shapely.Polygon, radius_m: float) -> Iterator[_Band]:
    """Yield a part of a lon/lat map in bands of latitude, each with what is near enough to matter."""
    west, south, east, north = part.bounds
    margin = (_REACH + 1) * radius_m / degrees_m(0.0)[1]
    count = max(1, math.ceil((north - south) / _BAND))
    for number in range(count):
        low, high = (south + (north - south) * end / count for end in (number, number + 1))
        lowest, highest = max(low - margin, south), min(high + margin, north)
        shortest = degrees_m(min(max(abs(lowest), abs(highest)), _LAST_PARALLEL))[0]
        up = degrees_m(0.0 if lowest < 0 < highest else min(abs(lowest), abs(highest)))[1]
        units = (shortest / radius_m, up / radius_m)
        if count == 1:
            yield _Band(part, part, units)
            return
        places = shapely.intersection(part, shapely.box(west, low, east, high))
        yield _Band(places, shapely.intersection(part, shapely.box(west, lowest, east, highest)), units)


def _domain(public_map: PublicMap) -> shapely.Geometry:
    """Return the domain; on a lon/lat map with all its turns that a range may be written in."""
    west, south, east, north = public_map.domain.sides
    if not public_map.lonlat:
        return shapely.box(west, south, east, north)
    if public_map.domain.width >= _ALL_ROUND:
        return shapely.box(-720, south, 900, north)
    turns = (-720.0, -360.0, 0.0, 360.0, 720.0)
    return shapely.MultiPolygon([shapely.box(west + turn, south, east + turn, north) for turn in turns])


def _outline(asked: Range, radius: float, public_map: PublicMap) -> shapely.Geometry:
    """Return a range as straight edges in x and y, nothing where it cannot be drawn so."""
    match asked:
        case Circle() if public_map.lonlat:
            return _circle_on_earth(asked, radius, public_map)
        case Circle(x, y, around):
            return shapely.Point(x, y).buffer(around, quad_segs=_corners(around / radius) // 4)
        case Rectangle():
            return shapely.box(*asked.box.sides)
        case _:
            return asked.shape


def _circle_on_earth(asked: Circle, radius_m: float, public_map: PublicMap) -> shapely.Geometry:
    """Return a circle's outline in degrees, the domain's where it covers all of it.

    Others that come near a pole cannot be drawn: they get no outline, and so have no room.
    """
    if _covers_domain(asked, public_map):
        return shapely.box(*public_map.domain.sides)
    if abs(asked.y) + reach_degrees(asked.radius) > _LAST_PARALLEL:
        return shapely.Polygon()
    return shapely.Polygon(places_around(asked.x, asked.y, asked.radius, _corners(asked.radius / radius_m)))


def _corners(ratio: float) -> int:
    """Return how many corners draw a circle, `ratio` times the radius, to a hundredth of the radius."""
    return min(max(math.ceil(math.pi * math.sqrt(ratio * 50) / 4) * 4, _FEWEST_CORNERS), _MOST_CORNERS)


def _covers_domain(asked: Circle, public_map: PublicMap) -> bool:
    west, south, east, north = public_map.domain.sides
    opposite = west + (asked.x + 180.0 - west) % 360.0
    far = [west, east, *([opposite] if opposite < east else [])]
    lon, lat = np.array([(x, y) for x in far for y in (south, north)]).T.copy()
    return bool(nearer_than(lon, lat, asked.x, asked.y, min(asked.radius, _QUARTER_M)).all())


def _surrounds(public_map: PublicMap, asked: Circle) -> bool:
    """Tell whether a circle surely lies in the domain."""
    west, south, east, north = public_map.domain.sides
    if not public_map.lonlat:
        across = up = asked.radius
        x = asked.x
        all_round = False
    else:
        up, across = reach_degrees(asked.radius), reach_degrees(asked.radius, parallel=asked.y)
        x = west + (asked.x - west) % 360.0
        all_round = public_map.domain.width >= _ALL_ROUND
    beside = all_round or (west <= x - across and x + across <= east)
    below = south <= asked.y - up or (all_round and south == -90)
    return beside and below and (asked.y + up <= north or (all_round and north == 90))
