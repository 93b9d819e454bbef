"""The ranges a question can name. All leave their boundary out, except that a rectangle keeps its west and south
sides, so that neighbouring rectangles share no place."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.space.box import Box

Point = tuple[float, float]


@dataclass(frozen=True)
class Circle:
    """The places nearer than `radius` to (x, y): a place at exactly that distance is outside.

    On a plane the radius has the unit of x and y; on a lon/lat map it is in metres.
    """

    x: float
    y: float
    radius: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.x) and math.isfinite(self.y)):
            raise InvalidQuery(f"a circle's centre needs two finite numbers, got {self.x},{self.y}")
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise InvalidQuery(f"a circle's radius must be a number greater than 0, got {self.radius}")


@dataclass(frozen=True)
class Rectangle:
    """The places in [west, east) x [south, north)."""

    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(side) for side in (self.west, self.south, self.east, self.north)):
            raise InvalidQuery("a rectangle needs four finite numbers west, south, east, north")
        if not (self.west < self.east and self.south < self.north):
            raise InvalidQuery(
                f"a rectangle needs west < east and south < north, "
                f"got {self.west},{self.south},{self.east},{self.north}"
            )

    @property
    def box(self) -> Box:
        return Box(self.west, self.south, self.east, self.north)


@dataclass(frozen=True)
class Polygon:
    """The places inside the ring `points` and outside the rings `holes`; edges are straight in x and y."""

    points: Sequence[Point]
    holes: Sequence[Sequence[Point]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _ring(self.points))
        object.__setattr__(self, "holes", tuple(_ring(hole) for hole in self.holes))
        _require_valid(self.shape)

    @cached_property
    def shape(self) -> shapely.Polygon:
        """The polygon as shapely knows it."""
        return shapely.Polygon(self.points, self.holes)


@dataclass(frozen=True)
class MultiPolygon:
    """The places inside any of several polygons that do not overlap."""

    parts: tuple[Polygon, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InvalidQuery("a multipolygon needs at least one polygon, got none")
        _require_valid(self.shape)

    @cached_property
    def shape(self) -> shapely.MultiPolygon:
        """The polygons as shapely knows them."""
        return shapely.MultiPolygon([part.shape for part in self.parts])


Range = Circle | Rectangle | Polygon | MultiPolygon


def range_from_geojson(text: str) -> Polygon | MultiPolygon:
    """Return the polygon in a GeoJSON geometry, feature, or collection of one feature."""
    try:
        found = json.loads(text)
        return _polygon_of(_geometry_of(found))
    except (json.JSONDecodeError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise InvalidQuery("this is not a GeoJSON polygon; give a Polygon, a MultiPolygon or a Feature with one") from None


def canonical_range(asked: Range) -> list[Any]:
    """Return one JSON value for all spellings of the same range, so that repeated questions are recognised."""
    match asked:
        case Circle(x, y, radius):
            return ["circle", float(x), float(y), float(radius)]
        case Rectangle(west, south, east, north):
            return ["rectangle", float(west), float(south), float(east), float(north)]
        case _:
            return ["polygon", shapely.normalize(shapely.MultiPolygon(asked.shape.geoms if isinstance(asked, MultiPolygon) else [asked.shape])).wkb_hex]


def _ring(points: Sequence[Point]) -> tuple[Point, ...]:
    try:
        ring = tuple((float(x), float(y)) for x, y in points)
    except (TypeError, ValueError):
        raise InvalidQuery("a polygon's ring is a list of points (x, y)") from None
    if len(set(ring)) < 3:
        raise InvalidQuery(f"a polygon's ring needs at least 3 different points, got {len(set(ring))}")
    if not np.isfinite(ring).all():
        raise InvalidQuery("a polygon's points need finite numbers")
    return ring


def _require_valid(shape: shapely.Geometry) -> None:
    if not shapely.is_valid(shape) or shapely.area(shape) == 0:
        reason = shapely.is_valid_reason(shape) if not shapely.is_valid(shape) else "it has no area"
        raise InvalidQuery(f"this polygon cannot be used: {reason}; its edges must not cross each other")


def _geometry_of(found: Any) -> Any:
    if found["type"] == "FeatureCollection":
        (found,) = found["features"] if len(found["features"]) == 1 else (None,)
    return found["geometry"] if found["type"] == "Feature" else found


def _polygon_of(geometry: Any) -> Polygon | MultiPolygon:
    rings = geometry["coordinates"]
    if geometry["type"] == "Polygon":
        return Polygon(_flat(rings[0]), [_flat(ring) for ring in rings[1:]])
    if geometry["type"] == "MultiPolygon":
        return MultiPolygon(tuple(Polygon(_flat(part[0]), [_flat(ring) for ring in part[1:]]) for part in rings))
    raise InvalidQuery(f"a GeoJSON range must be a Polygon or MultiPolygon, got {geometry['type']!r}")


def _flat(ring: Any) -> list[Point]:
    """Drop altitudes, which GeoJSON allows."""
    return [(point[0], point[1]) for point in ring]
