"""Coordinate systems by their names: which plane a map is on, where a frame or a file told it. They are public facts.

A name is what pyproj reads: `EPSG:28992`, or PROJJSON or WKT where a system has no number. pyproj comes with the extra
[maps]; whoever tells a system by a name alone needs it only where something is to be moved from one system to another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from fedgroup.errors import InvalidInput
from fedgroup.given import written
from fedgroup.space.box import Box

WGS84 = "EPSG:4326"
_LONGEST = 40
"""Letters of a name in a sentence about it."""


def name_of(crs: Any) -> str:
    """Return the name of one of pyproj's systems."""
    return str(crs.to_string())


def short(system: str) -> str:
    """Return a name for a sentence; one that is a description is cut."""
    return system if len(system) <= _LONGEST else f"{system[:_LONGEST]}..."


def require_system(system: Any) -> str | None:
    """Return the name of a coordinate system, or None where none is told."""
    if system is not None and not (isinstance(system, str) and system):
        raise InvalidInput(f"a coordinate system is named, such as 'EPSG:28992', got {written(system)}")
    return system


def moved(shapes: Sequence[Any], start: str, end: str) -> list[Any]:
    """Return shapes brought from one system to another, corner by corner, as GeoPandas does."""
    if start == end:
        return list(shapes)
    change = _library().Transformer.from_crs(_read(start), _read(end), always_xy=True)

    def turned(places: Any) -> Any:
        return np.column_stack(change.transform(places[:, 0], places[:, 1]))

    return [shapely.transform(shape, turned) for shape in shapes]


def described(system: str | None) -> dict[str, Any] | None:
    """Return a system in PROJJSON, as GeoParquet tells it; None where it is not known, or pyproj is not there."""
    try:
        return None if system is None else dict(json.loads(_read(system).to_json()))
    except InvalidInput:
        return None


def require_domain_in(domain: Box, system: str | None) -> None:
    """Refuse a domain that is not in the system of the records: degrees for a plane of metres, or another country's."""
    try:
        crs = None if system is None else _read(system)
    except InvalidInput:
        return  # nothing can be said about it here
    used = None if crs is None else crs.area_of_use
    if system is None or crs is None or used is None:
        return
    west, south, east, north = domain.sides
    told = f"the records are in {short(system)}, and the domain {domain.written} "
    as_degrees = used.west <= west < east <= used.east and used.south <= south < north <= used.north
    if as_degrees and not crs.is_geographic:
        raise InvalidInput(f"{told}looks like degrees; give it in the records' units, or records in degrees")
    change = _library().Transformer.from_crs(_read(WGS84), crs, always_xy=True)
    left, low, right, high = change.transform_bounds(used.west, used.south, used.east, used.north)
    # a bound that is not finite is no bound
    outside = west >= right or east <= left or south >= high or north <= low
    if outside:
        raise InvalidInput(f"{told}lies where that system is not used; give it in the records' units")


def _read(system: str) -> Any:
    library = _library()
    try:
        return library.CRS.from_user_input(system)
    except library.exceptions.CRSError:
        raise InvalidInput(f"the coordinate system {written(system)} is unknown; name another") from None


def _library() -> Any:
    try:
        import pyproj
        import pyproj.exceptions
    except ImportError:
        raise InvalidInput("other coordinate systems need pyproj: pip install 'fedgroup[maps]'") from None
    return pyproj
