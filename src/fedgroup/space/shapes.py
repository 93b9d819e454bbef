"""Shapes that other libraries made, taken as ranges and as districts, and ranges given back as shapes.

A shape is one of shapely's, GeoJSON, a GeoPandas frame, or anything with `__geo_interface__`. What tells its coordinate
system (a frame, the old `crs` of GeoJSON) is brought to the map's, or refused with what to do; other shapes are read as
the map's own coordinates: degrees of longitude and latitude, or x and y on its plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, written
from fedgroup.space.geodesy import places_around
from fedgroup.space.places import Districts
from fedgroup.space.publicmap import PublicMap
from fedgroup.space.ranges import Circle, MultiPolygon, Polygon, Range, Rectangle, range_from_mapping

WGS84 = "EPSG:4326"
_ROUND = 64
"""A circle is drawn with so many corners."""

_KINDS = (
    "a range is a Circle, a Rectangle, a Polygon or a MultiPolygon, or a polygon of shapely, GeoJSON or GeoPandas, "
    "got {}"
)
_NO_CRS = (
    "the frame does not tell its coordinate system, and this federation is in degrees; say what it is, such as "
    "frame.set_crs('EPSG:4326') for longitude and latitude"
)
_DEGREES = (
    "the {} is in degrees ({}), and this federation is on a plane; bring it to that plane, as frame.to_crs(...) does, "
    "or open the federation in degrees (lonlat=True)"
)
_NOT_DEGREES = (
    "this federation is in degrees, and a shape from x = {} to {} and y = {} to {} is not; give longitude and "
    "latitude, such as frame.to_crs('EPSG:4326')"
)


def as_range(given: Any, public_map: PublicMap) -> Range:
    """Return the one range that was given, in the map's coordinates; holes are kept."""
    if isinstance(given, Range):
        return given
    if _is_frame(given):
        shapes = list(_on_map(given.geometry, public_map))
        if len(shapes) != 1:
            raise InvalidQuery(f"a range is one row of a frame, got {len(shapes)}; take one, or dissolve them")
        return _polygon(shapes[0], public_map)
    return _polygon(getattr(given, "geometry", given) if _is_row(given) else given, public_map)


def as_ranges(given: Any, public_map: PublicMap) -> Any:
    """Return the rows of a GeoPandas frame as ranges; anything else as it is."""
    if not _is_frame(given):
        return given
    return [_polygon(shape, public_map) for shape in _on_map(given.geometry, public_map)]


def as_districts(given: Any, public_map: PublicMap, names: Any = None) -> Districts:
    """Return districts as they are, or from polygons by their names: a dict, a GeoJSON collection, a GeoPandas frame.

    `names` are the districts' names, or where they are: a column of the frame, a property of the collection. Without it
    they are taken from `name`, else from the frame's index or the features' ids.
    """
    if isinstance(given, Districts):
        return given
    named: Iterable[tuple[Any, Any]]
    if _is_frame(given):
        named = zip(_names_of(given, names), _on_map(given.geometry, public_map), strict=True)
    elif isinstance(given, Mapping) and given.get("type") == "FeatureCollection":
        named = _named_features(given, public_map, names)
    elif isinstance(given, Mapping) and names is None:
        named = given.items()
    else:
        raise InvalidQuery(
            "districts are polygons by their names: a dict, a GeoJSON collection or a GeoPandas frame, "
            f"got {written(given)}"
        )
    listed = [(str(name), _district(str(name), shape, public_map)) for name, shape in named]
    return Districts(tuple(name for name, _ in listed), tuple(shape for _, shape in listed))


def drawn(asked: Range, *, lonlat: bool) -> shapely.Geometry:
    """Return a range as a shape; a circle becomes a polygon of 64 corners."""
    match asked:
        case Rectangle(west, south, east, north):
            return shapely.box(west, south, east, north)
        case Circle(x, y, radius) if lonlat:
            return shapely.Polygon(places_around(x, y, radius, _ROUND))
        case Circle(x, y, radius):
            return shapely.Point(x, y).buffer(radius, quad_segs=_ROUND // 4)
        case polygon:
            return polygon.shape


def geometry_of(shape: shapely.Geometry) -> dict[str, Any]:
    """Return a shape as a GeoJSON geometry."""
    return dict(getattr(shape, "__geo_interface__"))  # noqa: B009  types of shapely do not know it


def _is_frame(given: Any) -> bool:
    """Tell whether this is a frame or a series of GeoPandas, which is not imported for it."""
    return all(hasattr(given, name) for name in ("to_crs", "crs", "geometry", "iloc"))


def _is_row(given: Any) -> bool:
    """Tell whether this is one row of a frame, which has forgotten its coordinate system."""
    return hasattr(given, "iloc") and isinstance(getattr(given, "geometry", None), shapely.Geometry)


def _on_map(series: Any, public_map: PublicMap) -> Iterable[Any]:
    """Return the shapes of a series in the map's coordinates."""
    crs = series.crs
    if not public_map.lonlat:
        if crs is not None and crs.is_geographic:
            raise InvalidQuery(_DEGREES.format("frame", crs.to_string()[:40]))
        return list(series)
    if crs is None:
        raise InvalidQuery(_NO_CRS)
    try:
        return list(series.to_crs(WGS84))
    except (RuntimeError, ValueError):
        raise InvalidQuery(f"the frame's coordinates cannot be turned to {WGS84}; is its CRS right?") from None


def _polygon(given: Any, public_map: PublicMap) -> Polygon | MultiPolygon:
    """Return a bare shape as a range."""
    mapping = given if isinstance(given, Mapping) else getattr(given, "__geo_interface__", None)
    if not isinstance(mapping, Mapping) or getattr(given, "is_empty", False) is True:
        raise InvalidQuery(_KINDS.format("an empty shape" if isinstance(mapping, Mapping) else written(given)))
    _require_crs(mapping, public_map)
    found = range_from_mapping(mapping)
    west, south, east, north = found.shape.bounds
    if public_map.lonlat and not (-360 <= west <= east <= 540 and -90 <= south <= north <= 90):
        raise InvalidQuery(_NOT_DEGREES.format(*(written(side) for side in (west, east, south, north))))
    return found


def _require_crs(mapping: Mapping[str, Any], public_map: PublicMap) -> None:
    """Refuse GeoJSON that tells another coordinate system than the map's, as it could before it had only degrees."""
    crs = mapping.get("crs")
    if not isinstance(crs, Mapping):
        return
    told = crs.get("properties")
    name = str(told.get("name", "")) if isinstance(told, Mapping) else ""
    degrees = name.endswith(("CRS84", ":4326"))
    if degrees and not public_map.lonlat:
        raise InvalidQuery(_DEGREES.format("GeoJSON", name[:40]))
    if public_map.lonlat and not degrees:
        raise InvalidQuery(
            f"this federation is in degrees, and the GeoJSON is in {written(name)}; write it in longitude and latitude"
        )


def _district(name: str, given: Any, public_map: PublicMap) -> Polygon | MultiPolygon:
    match given:
        case Rectangle(west, south, east, north):
            return Polygon([(west, south), (east, south), (east, north), (west, north)])
        case Polygon() | MultiPolygon():
            return given
        case Circle():
            raise InvalidQuery(f"the district {written(name)} is a circle; districts are polygons")
    try:
        found = as_range(given, public_map)
    except InvalidQuery as error:
        raise InvalidQuery(f"the district {written(name)} cannot be used: {error}") from None
    return _district(name, found, public_map)


def _names_of(frame: Any, names: Any) -> Sequence[Any]:
    columns = list(getattr(frame, "columns", ()))
    if names is None:
        return list(frame["name"] if "name" in columns else frame.index)
    if isinstance(names, str):
        if names not in columns:
            raise InvalidQuery(f"the frame has no column {written(names)} with the names of districts")
        return list(frame[names])
    return _as_many(names, len(frame))


def _named_features(
    collection: Mapping[str, Any], public_map: PublicMap, names: Any
) -> Iterable[tuple[Any, Mapping[str, Any]]]:
    _require_crs(collection, public_map)
    features = collection.get("features")
    if not is_list(features) or not all(isinstance(each, Mapping) and "geometry" in each for each in features or ()):
        raise InvalidQuery("a GeoJSON collection of districts has a list of features with geometries")
    found = list(features or ())
    if names is not None and not isinstance(names, str):
        return zip(_as_many(names, len(found)), found, strict=True)
    called = [_name_of(each, at, names) for at, each in enumerate(found)]
    return zip(called, found, strict=True)


def _name_of(feature: Mapping[str, Any], at: int, told_in: str | None) -> Any:
    told = feature.get("properties") or {}
    if told_in is not None and told_in not in told:
        raise InvalidQuery(f"feature {at} has no property {written(told_in)} with the name of the district")
    return told[told_in] if told_in is not None else told.get("name", feature.get("id", at))


def _as_many(names: Any, count: int) -> Sequence[Any]:
    listed = list(names) if is_list(names) else []
    if len(listed) != count:
        raise InvalidQuery(f"{count} districts need {count} names, got {len(listed)}")
    return listed
