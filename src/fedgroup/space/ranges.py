"""The ranges a question can name. All leave their boundary out, except that a rectangle keeps its west and south
sides, so that neighbouring rectangles share no place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, written
from fedgroup.space.box import Box, become_floats, is_coordinate

Point = tuple[float, float]

SMALLEST_RADIUS = 1e-150
"""From here on the square of a radius is greater than 0."""
_NOT_GEOJSON = "this is not a GeoJSON polygon; give a Polygon, a MultiPolygon or a Feature with one"


@dataclass(frozen=True)
class Circle:
    """The places nearer than `radius` to (x, y): a place at exactly that distance is outside.

    On a plane the radius has the unit of x and y; on a lon/lat map it is in metres.
    """

    x: float
    y: float
    radius: float

    def __post_init__(self) -> None:
        become_floats(self, refusal=InvalidQuery)
        if self.radius < SMALLEST_RADIUS:
            raise InvalidQuery(
                f"the radius of a circle must be greater than 0 (from 1e-150 on), got {written(self.radius)}"
            )


@dataclass(frozen=True)
class Rectangle:
    """The places in [west, east) x [south, north)."""

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        become_floats(self, refusal=InvalidQuery)
        if not (self.west < self.east and self.south < self.north):
            given = _sides(self.west, self.south, self.east, self.north)
            crosses = -180 <= self.east < self.west <= 180
            hint = "; if it crosses the antimeridian, say so: Rectangle.across_antimeridian" if crosses else ""
            raise InvalidQuery(f"a rectangle needs west < east and south < north, got {given}{hint}")

    @classmethod
    def across_antimeridian(cls, west: float, south: float, east: float, north: float) -> Rectangle:
        """Return the rectangle that goes east from `west` over the antimeridian to `east`, all in degrees."""
        sides = (west, south, east, north)
        if all(map(is_coordinate, sides)) and not -180 <= east < west <= 180:
            raise InvalidQuery(
                "a rectangle across the antimeridian has -180 <= east < west <= 180, such as 170,-20,-170,20, "
                f"got {_sides(*sides)}"
            )
        # what is no number is refused by the rectangle itself
        return cls(west, south, east + 360 if is_coordinate(east) else east, north)

    @property
    def box(self) -> Box:
        return Box(self.west, self.south, self.east, self.north)


@dataclass(frozen=True)
class Polygon:
    """The places inside the ring `points` and outside the rings `holes`; edges are straight in x and y."""

    points: Sequence[Point]
    holes: Sequence[Sequence[Point]] = ()
    _wkb: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _ring(self.points))
        object.__setattr__(self, "holes", tuple(_ring(hole) for hole in _listed(self.holes, "the holes of a polygon")))
        object.__setattr__(self, "_wkb", _checked(shapely.Polygon(self.points, self.holes)))

    @property
    def shape(self) -> shapely.Polygon:
        """The polygon as shapely knows it, a new one each time: one may be changed by looking at it.

        GEOS builds indexes inside a shape when it is first tested, without a lock and outside of Python's. Threads that
        share a range therefore never share a shape.
        """
        return cast(shapely.Polygon, shapely.from_wkb(self._wkb))


@dataclass(frozen=True)
class MultiPolygon:
    """The places inside any of several polygons that do not overlap."""

    parts: Sequence[Polygon]
    _wkb: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _listed(self.parts, "the parts of a multipolygon"))
        if not all(isinstance(part, Polygon) for part in self.parts):
            raise InvalidQuery("a multipolygon is made of Polygons")
        if not self.parts:
            raise InvalidQuery("a multipolygon needs at least one polygon, got none")
        object.__setattr__(self, "_wkb", _checked(shapely.MultiPolygon([part.shape for part in self.parts])))

    @property
    def shape(self) -> shapely.MultiPolygon:
        """The polygons as shapely knows them, new ones each time, as in `Polygon.shape`."""
        return cast(shapely.MultiPolygon, shapely.from_wkb(self._wkb))


Range = Circle | Rectangle | Polygon | MultiPolygon


def range_from_geojson(text: str) -> Polygon | MultiPolygon:
    """Return the polygon in a GeoJSON geometry, feature, or collection of one feature."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidQuery(_NOT_GEOJSON) from None
    return range_from_mapping(found)


def range_from_mapping(found: Any) -> Polygon | MultiPolygon:
    """Return the polygon in GeoJSON that was parsed, or in what `__geo_interface__` returns."""
    try:
        return _polygon_of(_geometry_of(found))
    except InvalidQuery:
        raise
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidQuery(_NOT_GEOJSON) from None


def canonical_range(asked: Range) -> list[Any]:
    """Return one JSON value for all spellings of the same range, so that repeated questions are recognised."""
    match asked:
        case Circle(x, y, radius):
            return ["circle", *_without_minus_zero(x, y, radius)]
        case Rectangle(west, south, east, north):
            return ["rectangle", *_without_minus_zero(west, south, east, north)]
        case Polygon():
            return ["polygon", _spelled_once([asked])]
        case MultiPolygon(parts):
            return ["polygon", _spelled_once(parts)]


def _sides(*sides: float) -> str:
    return ",".join(written(side) for side in sides)


def _without_minus_zero(*values: float) -> list[float]:
    return [value + 0.0 for value in values]


def _spelled_once(parts: Sequence[Polygon]) -> str:
    """Return the parts in hexadecimal WKB, with rings and points in shapely's normal order."""
    whole = shapely.remove_repeated_points(shapely.MultiPolygon([part.shape for part in parts]))
    return str(shapely.to_wkb(shapely.normalize(whole), hex=True, byte_order=1))


def _listed(values: Any, name: str) -> tuple[Any, ...]:
    if not is_list(values):
        raise InvalidQuery(f"{name} are a list, got {written(values)}")
    return tuple(values)


def _ring(points: Sequence[Point]) -> tuple[Point, ...]:
    try:
        ring = tuple((x, y) for x, y in points)
    except (TypeError, ValueError):
        raise InvalidQuery("a ring of a polygon is a list of points (x, y)") from None
    if not all(is_coordinate(x) and is_coordinate(y) for x, y in ring):
        raise InvalidQuery("the points of a polygon must be finite numbers (up to 1e150)")
    if len(set(ring)) < 3:
        raise InvalidQuery(f"a ring of a polygon needs at least 3 different points, got {len(set(ring))}")
    # adding 0 turns -0 into 0: equal places have one spelling
    return tuple((float(x) + 0.0, float(y) + 0.0) for x, y in ring)


def _checked(shape: shapely.Geometry) -> bytes:
    """Return a shape that can be used as bytes, which any number of threads can read."""
    if not shapely.is_valid(shape):
        reason = shapely.is_valid_reason(shape)
        raise InvalidQuery(f"this polygon cannot be used: {reason}; its edges must not cross each other")
    if shapely.area(shape) == 0:
        raise InvalidQuery("this polygon cannot be used: it has no area; give points that are not on one line")
    return bytes(shapely.to_wkb(shape))


def _geometry_of(found: Any) -> Any:
    if found["type"] == "FeatureCollection":
        features = found["features"]
        if len(features) != 1:
            raise InvalidQuery(f"a GeoJSON collection must hold one feature, got {len(features)}; ask one at a time")
        found = features[0]
    return found["geometry"] if found["type"] == "Feature" else found


def _polygon_of(geometry: Any) -> Polygon | MultiPolygon:
    kind, coordinates = geometry["type"], geometry["coordinates"]
    if kind == "Polygon":
        return _polygon_of_rings(coordinates)
    if kind == "MultiPolygon":
        return MultiPolygon([_polygon_of_rings(rings) for rings in coordinates])
    raise InvalidQuery(f"a GeoJSON range must be a Polygon or MultiPolygon, got {kind!r}")


def _polygon_of_rings(rings: Any) -> Polygon:
    outer, *holes = ([_without_altitude(point) for point in ring] for ring in rings)
    return Polygon(outer, holes)


def _without_altitude(point: Any) -> Point:
    x, y, *_ = point
    return x, y
