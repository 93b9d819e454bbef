"""Shapes that other libraries made, taken as ranges and as districts, and ranges given back as shapes.

A shape is one of shapely's, GeoJSON, a GeoPandas frame, or anything with `__geo_interface__`. What tells its coordinate
system (a frame, the old `crs` of GeoJSON) is brought to the map's, or refused with what to do; other shapes are read as
the map's own coordinates: degrees of longitude and latitude, or x and y on its plane. A plane whose system nobody told
(`PublicMap.crs`) takes projected shapes as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, written
from fedgroup.space.geodesy import places_around
from fedgroup.space.places import SWAPPED, Districts
from fedgroup.space.publicmap import PublicMap
from fedgroup.space.ranges import Circle, MultiPolygon, Polygon, Range, Rectangle, range_from_mapping
from fedgroup.space.systems import WGS84, moved, name_of, short

_ROUND = 64
"""A circle is drawn with so many corners."""

_KINDS = (
    "a range is a Circle, a Rectangle, a Polygon or a MultiPolygon, or a polygon of shapely, GeoJSON or GeoPandas, "
    "got {}"
)
_NO_CRS = (
    "the frame does not tell its coordinate system, and this federation is in {}; say what it is, such as "
    "frame.set_crs('EPSG:4326') for longitude and latitude"
)
_LIKE_DEGREES = (
    "this federation is in {}, and the shape looks like degrees; give it in that system, or in a frame that tells its "
    "own"
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
        return _row(shapes[0], 0, public_map)
    return _polygon(getattr(given, "geometry", given) if _is_row(given) else given, public_map)


def as_ranges(given: Any, public_map: PublicMap) -> Any:
    """Return the rows of a GeoPandas frame as ranges; anything else as it is."""
    if not _is_frame(given):
        return given
    return [_row(shape, at, public_map) for at, shape in enumerate(_on_map(given.geometry, public_map))]


def as_districts(given: Any, public_map: PublicMap, names: Any = None) -> Districts:
    """Return districts as they are, or from polygons by their names: a dict, a GeoJSON collection, a GeoPandas frame.

    `names` are the districts' names, or where they are: a column of the frame, a property of the collection. Without it
    they are taken from `name`, else from the frame's index or the features' ids.
    """
    if isinstance(given, Districts):
        return given
    named: Iterable[tuple[Any, Any]]
    system = None
    if _is_frame(given):
        named = zip(_names_of(given, names), _on_map(given.geometry, public_map), strict=True)
    elif isinstance(given, Mapping) and given.get("type") == "FeatureCollection":
        system = _told_system(given, public_map)
        named = _named_features(given, names)
    elif isinstance(given, Mapping) and names is None:
        named = given.items()
    else:
        raise InvalidQuery(
            "districts are polygons by their names: a dict, a GeoJSON collection or a GeoPandas frame, "
            f"got {written(given)}"
        )
    listed = [(str(name), _district(str(name), shape, public_map, system)) for name, shape in named]
    return Districts(tuple(name for name, _ in listed), tuple(shape for _, shape in listed))


def are_numbered(given: Any, names: Any = None) -> bool:
    """Tell whether districts are called by their numbers, as nothing that was given has their names."""
    if names is not None or isinstance(given, Districts):
        return False
    if _is_frame(given):
        return "name" not in getattr(given, "columns", ()) and not all(isinstance(each, str) for each in given.index)
    if not isinstance(given, Mapping) or given.get("type") != "FeatureCollection":
        return False
    unnamed = (each for each in given["features"] if "name" not in (each.get("properties") or {}))
    return any(str(each.get("id", 0)).isdigit() for each in unnamed)


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
    crs, system = series.crs, WGS84 if public_map.lonlat else public_map.crs
    if system is None:
        if crs is not None and crs.is_geographic:
            raise InvalidQuery(_DEGREES.format("frame", short(name_of(crs))))
        return list(series)
    if crs is None:
        raise InvalidQuery(_NO_CRS.format("degrees" if public_map.lonlat else short(system)))
    try:
        return list(series.to_crs(system))
    except (RuntimeError, ValueError):
        raise InvalidQuery(f"the frame's coordinates cannot be turned to {short(system)}; is its CRS right?") from None


def _row(shape: Any, at: int, public_map: PublicMap) -> Polygon | MultiPolygon:
    if shape is None:
        raise InvalidQuery(f"row {at} of the frame has no geometry; leave it out")
    return _polygon(shape, public_map)


def _polygon(given: Any, public_map: PublicMap, *, system: str | None = None) -> Polygon | MultiPolygon:
    """Return a bare shape as a range; one that is told to be in another `system` is brought to the map's."""
    mapping = given if isinstance(given, Mapping) else getattr(given, "__geo_interface__", None)
    if not isinstance(mapping, Mapping) or getattr(given, "is_empty", False) is True:
        raise InvalidQuery(_KINDS.format("an empty shape" if isinstance(mapping, Mapping) else written(given)))
    system = _told_system(mapping, public_map) or system
    found = range_from_mapping(mapping)
    if system is not None and public_map.crs is not None:
        found = range_from_mapping(geometry_of(moved([found.shape], system, public_map.crs)[0]))
    west, south, east, north = found.shape.bounds
    far = not shapely.box(*public_map.domain.sides).intersects(shapely.box(west, south, east, north))
    if public_map.crs is not None and far and -180 <= west < east <= 180 and -90 <= south < north <= 90:
        raise InvalidQuery(_LIKE_DEGREES.format(short(public_map.crs)))
    if public_map.lonlat and not (-360 <= west <= east <= 540 and -90 <= south <= north <= 90):
        told = _NOT_DEGREES.format(*(written(side) for side in (west, east, south, north)))
        raise InvalidQuery(told + (SWAPPED if -360 <= south <= north <= 540 and -90 <= west <= east <= 90 else ""))
    return found


def _told_system(mapping: Mapping[str, Any], public_map: PublicMap) -> str | None:
    """Return the system that GeoJSON tells, as it could before it had only degrees, to be brought to the map's plane.

    Where that cannot be done, another than the map's is refused.
    """
    crs = mapping.get("crs")
    if not isinstance(crs, Mapping):
        return None
    told = crs.get("properties")
    name = str(told.get("name", "")) if isinstance(told, Mapping) else ""
    if public_map.crs is not None and name:
        return name
    degrees = name.endswith(("CRS84", ":4326"))
    if degrees and not public_map.lonlat:
        raise InvalidQuery(_DEGREES.format("GeoJSON", name[:40]))
    if public_map.lonlat and not degrees:
        raise InvalidQuery(
            f"this federation is in degrees, and the GeoJSON is in {written(name)}; write it in longitude and latitude"
        )
    return None


def _district(name: str, given: Any, public_map: PublicMap, system: str | None) -> Polygon | MultiPolygon:
    match given:
        case Rectangle(west, south, east, north):
            return Polygon([(west, south), (east, south), (east, north), (west, north)])
        case Polygon() | MultiPolygon():
            return given
        case Circle():
            raise InvalidQuery(f"the district {written(name)} is a circle; districts are polygons")
        case None | {"geometry": None}:
            raise InvalidQuery(f"the district {written(name)} has no geometry; leave it out")
    try:
        found = _polygon(given, public_map, system=system) if system is not None else as_range(given, public_map)
    except InvalidQuery as error:
        raise InvalidQuery(f"the district {written(name)} cannot be used: {error}") from None
    return _district(name, found, public_map, None)


def _names_of(frame: Any, names: Any) -> Sequence[Any]:
    columns = list(getattr(frame, "columns", ()))
    if names is None:
        return list(frame["name"] if "name" in columns else frame.index)
    if isinstance(names, str):
        if names not in columns:
            raise InvalidQuery(f"the frame has no column {written(names)} with the names of districts")
        return list(frame[names])
    return _as_many(names, len(frame))


def _named_features(collection: Mapping[str, Any], names: Any) -> Iterable[tuple[Any, Mapping[str, Any]]]:
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
