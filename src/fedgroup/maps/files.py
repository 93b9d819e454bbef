"""Maps as files that other programs open, and that are read back exactly: values, intervals, bins and all that is told.

    .gpkg       a GeoPackage with one layer, `map`; what is told is the layer's metadata
    .parquet    GeoParquet; what is told is the schema's metadata under `fedgroup`
    .geojson    GeoJSON; what is told is the collection's member `fedgroup`
                (in degrees, as GeoJSON has it, if the map's coordinate system is known; else you are warned)
    .csv        a table without shapes; what is told is in a file of the same name and .json

What is told is one JSON object: epsilon, who is protected, kind, method, trust, notes, and the question with its bins.
Epsilon, unit, window, promise and noise are texts of their own besides, for people who look with other programs.
Guarantee: a file holds what was released and public bins; nothing else is known here.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import shapely

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.given import path_like, written
from fedgroup.maps.about import about_in_texts
from fedgroup.maps.frames import _geopandas, columns_of, feature_collection, needed, system_of, to_geodataframe
from fedgroup.maps.private_map import PrivateMap, map_from, noise_of, told_of
from fedgroup.maps.published import published_from
from fedgroup.questions.bins import Categories
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.questions.said import places_said, range_said, said_places
from fedgroup.rho import Rho
from fedgroup.space import Box, PublicMap
from fedgroup.space.places import is_several
from fedgroup.space.shapes import geometry_of
from fedgroup.space.systems import described

if TYPE_CHECKING:
    from fedgroup.maps.private_map import Array

FORMAT = "fedgroup map"
KEY = "fedgroup"
LAYER = "map"
_VERSION = 1
_READ = ("place", "value", "low", "high", "true_value", "true_value_clipped", "noisy")
_TEXTS = ("kind", "protection", "method", "trust")
"""What a GeoPackage tells in entries of its own, for people who look into it with other tools."""
NO_DEGREES = (
    "GeoJSON is in degrees to everybody (RFC 7946), and this map is on a plane that tells no coordinate system: other "
    "programs draw it elsewhere; save it as .gpkg or .parquet, or read the records with their CRS"
)


def save(made: PrivateMap, path: str | os.PathLike[str]) -> None:
    """Write a map; the file appears whole or not at all."""
    place, ending = _named(path)
    require_writable_kind(place)
    try:
        _SAVED[ending](made, place)
    except (OSError, RuntimeError):  # GDAL's faults are the latter
        raise InvalidInput(f"{place} cannot be written; give a file in a folder that exists and is writable") from None


def load_map(path: str | os.PathLike[str]) -> PrivateMap:
    """Return a map that `PrivateMap.save` wrote, with all that was told about it."""
    place, ending = _named(path)
    if not os.path.isfile(place):
        raise InvalidInput(f"there is no file {place}")
    try:
        told, columns = _LOADED[ending](place)
        return _read_back(told, columns)
    except (LookupError, TypeError, ValueError, OSError, RuntimeError, pa.ArrowException, InvalidInput) as error:
        if isinstance(error, InvalidInput) and "pip install" in str(error):
            raise
        raise InvalidInput(f"{place} is damaged, or is no map that was saved by fedgroup") from None


def require_writable_kind(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says no kind of file that maps have, or one whose package is missing, before a map is paid."""
    _, ending = _named(path)
    if ending == ".gpkg":
        needed(_geopandas, "GeoPandas")


def geojson_of(made: PrivateMap) -> bytes:
    """Return a map as the bytes of a GeoJSON file."""
    return json.dumps(feature_collection(made, degrees=True) | {KEY: header_of(made)}, allow_nan=False).encode()


def parquet_of(made: PrivateMap) -> bytes:
    """Return a map as the bytes of a GeoParquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(_geo_table(made), sink, compression="zstd")
    return bytes(sink.getvalue())


def csv_of(made: PrivateMap) -> bytes:
    """Return the table of a map as the bytes of a CSV file."""
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(_table(made), sink)
    return bytes(sink.getvalue())


def header_of(made: PrivateMap) -> dict[str, Any]:
    """Return all that is told about a map besides its values, as JSON values."""
    about = {"format": FORMAT, "version": _VERSION, "kind": made.kind, "domain": list(made.public_map.domain.sides)}
    about |= {
        "lonlat": made.public_map.lonlat,
        "crs": made.public_map.crs,
        "question": _asked(made.query),
        "whole": _whole(columns_of(made)),
    }
    return about | about_in_texts(made) | told_of(made) | noise_of(made) | dict(made.more_facts())


# --- the question in JSON ---------------------------------------------------------------------------------------------


def _asked(query: RangeQuery) -> dict[str, Any]:
    measured = {} if query.measure is None else {"measure": asdict(query.measure)}
    by = {} if query.by is None else {"by": asdict(query.by) | {"values": list(query.by.values)}}
    times = {name: getattr(query, name) for name in ("since", "until", "every") if getattr(query, name) is not None}
    places = {"places" if is_several(query.range) else "range": said_places(query.range)}
    rho = {} if query.rho is None else {"pico_rho": query.rho.pico}
    return {"kind": query.kind, "nano_epsilon": query.epsilon.nano, **rho, **places, **measured, **times, **by}


def _question(asked: Mapping[str, Any], public_map: PublicMap) -> RangeQuery:
    measure = asked.get("measure")
    by = asked.get("by")
    if "places" in asked:
        places = places_said(asked["places"], public_map)
    else:
        said = {name: asked["range"].get(name) for name in ("circle", "rectangle", "polygon")}
        places = range_said(**said, lonlat=public_map.lonlat)
    return RangeQuery(
        asked["kind"],
        places,
        Epsilon(asked["nano_epsilon"]),
        None if measure is None else Measure(**measure),
        since=asked.get("since"),
        until=asked.get("until"),
        every=asked.get("every"),
        by=None if by is None else Categories(by["attribute"], tuple(by["values"]), by["other"]),
        rho=None if asked.get("pico_rho") is None else Rho(asked["pico_rho"]),
    )


def _read_back(told: Mapping[str, Any], columns: Mapping[str, Array]) -> PrivateMap:
    if told["format"] != FORMAT or told["version"] > _VERSION:
        raise ValueError
    public_map = PublicMap(Box(*told["domain"]), told["lonlat"], told.get("crs"))
    query = _question(told["question"], public_map)
    _, steps, categories = query.shape
    expected = np.arange(query.bins) // (steps * categories)
    if not np.array_equal(np.asarray(columns["place"]), expected):
        raise ValueError  # rows were added, taken away or moved
    typed = {name: np.asarray(of).astype(np.int64 if name in told["whole"] else float) for name, of in columns.items()}
    facts = dict(told) | {"values": typed["value"], "low": typed["low"], "high": typed["high"]}
    if "published" in told:
        published = published_from(told, public_map, cells=typed["noisy"])
        if published.blocks != query.range:
            raise ValueError  # the cells do not follow from what was released first
        return published
    made = map_from(facts, query, public_map)
    return replace(made, true_values=typed.get("true_value"), true_values_clipped=typed.get("true_value_clipped"))


def _whole(columns: Mapping[str, Array]) -> list[str]:
    """Return the names of the columns that hold whole numbers: a CSV file cannot tell 3 from 3.0."""
    return [name for name in _READ if name in columns and columns[name].dtype.kind == "i"]


# --- each kind of file ------------------------------------------------------------------------------------------------


def _save_geopackage(made: PrivateMap, place: str) -> None:
    needed(_geopandas, "GeoPandas")
    told = header_of(made)
    entries = {name: str(told.get(name, "")) for name in _TEXTS}
    entries |= about_in_texts(made) | {"notes": "; ".join(made.notes), KEY: json.dumps(told)}
    with _replacing(place) as draft, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a plane may have no CRS, and is told so
        how = {"driver": "GPKG", "engine": "pyogrio", "layer": LAYER, "dataset_options": {"VERSION": "1.3"}}
        to_geodataframe(made).to_file(draft, layer_metadata=entries, **how)


def _load_geopackage(place: str) -> tuple[Any, Mapping[str, Array]]:
    needed(_geopandas, "GeoPandas")
    import pyogrio  # type: ignore[import-untyped]

    told = json.loads(pyogrio.read_info(place, layer=LAYER)["layer_metadata"][KEY])
    frame = pyogrio.read_dataframe(place, layer=LAYER, read_geometry=False)
    return told, {name: frame[name].to_numpy() for name in _READ if name in frame}


def _save_parquet(made: PrivateMap, place: str) -> None:
    _write(place, parquet_of(made))


def _load_parquet(place: str) -> tuple[Any, Mapping[str, Array]]:
    with pq.ParquetFile(place) as file:
        told = json.loads(file.schema_arrow.metadata[KEY.encode()])
        table = file.read(columns=[name for name in _READ if name in file.schema_arrow.names])
    return told, {name: table[name].to_numpy() for name in table.column_names}


def _save_geojson(made: PrivateMap, place: str) -> None:
    _write(place, geojson_of(made))
    if system_of(made) is None:
        warnings.warn(NO_DEGREES, stacklevel=4)


def _load_geojson(place: str) -> tuple[Any, Mapping[str, Array]]:
    with open(place, encoding="utf-8") as file:
        found = json.load(file)
    rows = [each["properties"] for each in found["features"]]
    names = [name for name in _READ if name in rows[0]]
    return found[KEY], {name: _column([row[name] for row in rows]) for name in names}


def _save_csv(made: PrivateMap, place: str) -> None:
    told = json.dumps(header_of(made), allow_nan=False, indent=1).encode()
    _write(place, csv_of(made))
    _write(f"{place}.json", told)


def _load_csv(place: str) -> tuple[Any, Mapping[str, Array]]:
    with open(f"{place}.json", encoding="utf-8") as file:
        told = json.load(file)
    with open(place, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in _READ if name in rows[0]]
    return told, {name: _column([_number(row[name]) for row in rows]) for name in names}


_SAVED: dict[str, Callable[[PrivateMap, str], None]] = {
    ".gpkg": _save_geopackage,
    ".parquet": _save_parquet,
    ".geojson": _save_geojson,
    ".csv": _save_csv,
}
_LOADED: dict[str, Callable[[str], tuple[Any, Mapping[str, Array]]]] = {
    ".gpkg": _load_geopackage,
    ".parquet": _load_parquet,
    ".geojson": _load_geojson,
    ".csv": _load_csv,
}


def _named(path: str | os.PathLike[str]) -> tuple[str, str]:
    place = str(os.fspath(path_like(path, name="a map")))
    ending = os.path.splitext(place)[1].lower()
    if ending not in _SAVED:
        raise InvalidInput(f"a map is a file whose name ends in {', '.join(_SAVED)}, got {written(place)}")
    return place, ending


def _table(made: PrivateMap) -> pa.Table:
    """Return a map as an Arrow table; NaN becomes null."""
    columns = {}
    for name, column in columns_of(made).items():
        if column.dtype.kind == "M":
            columns[name] = pa.array(column).cast(pa.timestamp("us", "UTC"))
        else:
            columns[name] = pa.array(column, from_pandas=True)
    return pa.table(columns)


def _geo_table(made: PrivateMap) -> pa.Table:
    """Return a map as a table with a column of shapes, and what GeoParquet 1.0 and we tell about it."""
    table = _table(made)
    shapes = made.geometries()
    wkb = np.array(shapely.to_wkb(shapes), dtype=object)[columns_of(made)["place"]]
    about = {
        "encoding": "WKB",
        "geometry_types": sorted({geometry_of(shape)["type"] for shape in shapes}),
        "crs": _WGS84 if made.public_map.lonlat else described(made.public_map.crs),
        "bbox": [float(side) for side in shapely.total_bounds(shapes)],
    }
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": about}}
    told = {b"geo": json.dumps(geo).encode(), KEY.encode(): json.dumps(header_of(made)).encode()}
    told |= {name.encode(): text.encode() for name, text in about_in_texts(made).items()}
    return table.append_column("geometry", pa.array(wkb, pa.binary())).replace_schema_metadata(told)


_WGS84 = {
    "$schema": "https://proj.org/schemas/v0.7/projjson.schema.json",
    "type": "GeographicCRS",
    "name": "WGS 84",
    "datum": {
        "type": "GeodeticReferenceFrame",
        "name": "World Geodetic System 1984",
        "ellipsoid": {"name": "WGS 84", "semi_major_axis": 6378137, "inverse_flattening": 298.257223563},
    },
    "coordinate_system": {
        "subtype": "ellipsoidal",
        "axis": [
            {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": "degree"},
            {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": "degree"},
        ],
    },
    "id": {"authority": "EPSG", "code": 4326},
}
"""EPSG:4326 as GeoParquet has it; coordinates are longitude, latitude there, whatever the order of its axes."""


def _column(values: list[Any]) -> Array:
    return np.array([math.nan if each is None else each for each in values])


def _number(text: str) -> float | None:
    return None if not text else int(text) if text.lstrip("-").isdigit() else float(text)


def _write(place: str, content: bytes) -> None:
    with _replacing(place) as draft, open(draft, "wb") as file:
        file.write(content)


@contextlib.contextmanager
def _replacing(place: str) -> Any:
    """Yield the name of a draft beside `place`, which takes its place once all is written."""
    folder, name = os.path.split(place)
    draft = os.path.join(folder, f".{os.getpid()}.draft.{name}")
    try:
        yield draft
        os.replace(draft, place)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
