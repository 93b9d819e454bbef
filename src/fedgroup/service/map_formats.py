"""A map that was asked for over HTTP, as files that other programs read: GeoJSON, and Parquet with shapes."""

from __future__ import annotations

import io
import json
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from starlette.responses import Response

from fedgroup.maps.private_map import PrivateMap
from fedgroup.service.calls import map_read
from fedgroup.service.requests import MAP
from fedgroup.storage.provider_state import Question

GEOJSON = "application/geo+json"
PARQUET = "application/vnd.apache.parquet"
Format = Literal["json", "geojson", "parquet"]

FORMATS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the map",
        "content": {
            GEOJSON: {"schema": {"type": "object"}},
            PARQUET: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
"""For the OpenAPI document."""


def shaped(question: Question, chosen: Format) -> Response:
    """Return the map of a question as a file."""
    made = map_read({**(question.answer or {}), "request": question.request[MAP]})
    content = geojson_of(made) if chosen == "geojson" else parquet_of(made)
    name = f"{question.id}.{chosen}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, headers=headers, media_type=GEOJSON if chosen == "geojson" else PARQUET)


def columns_of(made: PrivateMap) -> dict[str, Any]:
    """Return the columns of a map's table, with a row for every bin."""
    places, steps, categories = made.shape
    place = np.repeat(np.arange(places), steps * categories)
    columns: dict[str, Any] = {"name": np.array(made.names(), dtype=object)[place]}
    if made.query.every is not None:
        starts = [start and start.isoformat() for start in made.starts()]
        columns["time"] = np.tile(np.repeat(np.array(starts, dtype=object), categories), places)
    if made.query.by is not None:
        columns["category"] = np.tile(np.array([str(each) for each in made.categories()], dtype=object), places * steps)
    return columns | {"value": made.values, "low": made.low, "high": made.high}


def geojson_of(made: PrivateMap) -> bytes:
    """Return a map as GeoJSON: a feature for every bin, null where there is no mean."""
    columns = {name: _plain(column) for name, column in columns_of(made).items()}
    shapes = [json.loads(each) for each in shapely.to_geojson(made.geometries())]
    each = len(made) // len(shapes)
    features = [
        {
            "type": "Feature",
            "geometry": shapes[at // each],
            "properties": {name: column[at] for name, column in columns.items()},
        }
        for at in range(len(made))
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, allow_nan=False).encode()


def parquet_of(made: PrivateMap) -> bytes:
    """Return a map as Parquet, with shapes as GeoParquet where GeoPandas is installed."""
    sink, columns = io.BytesIO(), columns_of(made)
    try:
        import geopandas
    except ImportError:
        pq.write_table(pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()}), sink)
        return sink.getvalue()
    shapes = made.geometries()
    geometry = np.repeat(np.array(shapes, dtype=object), len(made) // len(shapes))
    crs = "EPSG:4326" if made.public_map.lonlat else None
    geopandas.GeoDataFrame(columns, geometry=geometry, crs=crs).to_parquet(sink)
    return sink.getvalue()


def _plain(column: Any) -> list[Any]:
    return [None if each != each else each for each in column.tolist()]
