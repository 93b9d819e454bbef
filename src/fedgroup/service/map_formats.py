"""A map that was asked for over HTTP, as files that other programs read: GeoJSON, and Parquet with shapes."""

from __future__ import annotations

from typing import Any, Literal

from starlette.responses import Response

from fedgroup.maps.files import geojson_of, parquet_of
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
