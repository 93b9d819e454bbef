"""The paths of OGC API - Features, under /ogc: all of them read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from fedgroup.service.accounts import Reader, TheService, reader
from fedgroup.service.handlers import documented
from fedgroup.service.ogc import documents
from fedgroup.service.ogc.parameters import (
    USUAL_LIMIT,
    Bbox,
    Datetime,
    Format,
    Limit,
    Offset,
    bbox_of,
    known,
    limit_of,
    offset_of,
    window_of,
)
from fedgroup.service.problems import Problem

_ALWAYS = ("unknown-token", "invalid-parameter", "too-large", "internal", "ledger-unavailable")
_OF_MAPS = documented("unknown-map", "no-crs")

router = APIRouter(prefix=documents.MOUNT, responses=documented(*_ALWAYS))

HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}


class GeoJson(JSONResponse):
    media_type = documents.GEOJSON


class OpenApi(JSONResponse):
    media_type = documents.OPENAPI


def root_of(request: Request) -> str:
    """Return how the caller names this service; a proxy that speaks HTTPS for it says so."""
    url = request.base_url
    secure = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower() == "https"
    return str(url.replace(scheme="https") if secure else url).rstrip("/")


Root = Annotated[str, Depends(root_of)]


@router.get("", dependencies=[Depends(reader), known()])
async def landing(root: Root, service: TheService, f: Format = "json") -> dict[str, Any]:  # noqa: ARG001
    """Show where programs that speak OGC API - Features begin."""
    return documents.landing(root, service.provider.settings.federation)


@router.get("/api", response_class=OpenApi, dependencies=[Depends(reader), known()])
async def description(request: Request, root: Root, f: Format = "json") -> Response:  # noqa: ARG001
    """Describe these paths to programs, as OpenAPI 3.0."""
    return OpenApi(documents.api_description(request.app.openapi(), root))


@router.get("/conformance", dependencies=[Depends(reader), known()])
async def conformance(f: Format = "json") -> dict[str, Any]:  # noqa: ARG001
    """Show which parts of the standard hold here."""
    return documents.conformance()


@router.get("/collections", dependencies=[known()])
async def collections(user: Reader, root: Root, service: TheService, f: Format = "json") -> dict[str, Any]:  # noqa: ARG001
    """Show your latest maps in degrees, a collection each, with epsilon, unit, window, promise and noise."""
    return documents.collections(root, await service.maps.listed(user))


@router.get("/collections/{map_id}", responses=_OF_MAPS, dependencies=[known()])
async def collection(
    map_id: str, user: Reader, root: Root, service: TheService, f: Format = "json"  # noqa: ARG001
) -> dict[str, Any]:  # fmt: skip
    """Show what is told about one of your maps."""
    await service.maps.layer(user, map_id)
    return documents.collection(root, await service.maps.entry(user, map_id))


@router.get(
    "/collections/{map_id}/items",
    response_class=GeoJson,
    responses=_OF_MAPS,
    dependencies=[known("limit", "offset", "bbox", "datetime")],
)
async def items(
    map_id: str,
    user: Reader,
    root: Root,
    service: TheService,
    limit: Limit = str(USUAL_LIMIT),
    offset: Offset = "0",
    bbox: Bbox = "",
    datetime: Datetime = "",
    f: Format = "json",  # noqa: ARG001
) -> Response:
    """Show the places of a map as features: those that meet a box and a time, some at a time."""
    sides, window = bbox_of(bbox), window_of(datetime)
    asked = {"limit": limit_of(limit), "offset": offset_of(offset), "bbox": bbox, "datetime": datetime}
    layer, entry = await service.maps.layer(user, map_id), await service.maps.entry(user, map_id)

    def page() -> bytes:
        return _bytes(documents.items(root, entry, layer, layer.find(sides, window), asked))

    return Response(await service.maps.looked(page), headers=HEADERS, media_type=documents.GEOJSON)


@router.get(
    "/collections/{map_id}/items/{feature_id}", response_class=GeoJson, responses=_OF_MAPS, dependencies=[known()]
)
async def item(
    map_id: str, feature_id: str, user: Reader, root: Root, service: TheService, f: Format = "json"  # noqa: ARG001
) -> Response:  # fmt: skip
    """Show one place of a map, at one step of time and of one category, as a feature."""
    layer, entry = await service.maps.layer(user, map_id), await service.maps.entry(user, map_id)
    if not re.fullmatch(r"[0-9]{1,9}", feature_id) or int(feature_id) >= layer.made.bins:
        raise Problem("unknown-map", f"this map has features 0 to {layer.made.bins - 1}")

    def found() -> bytes:
        (feature,) = layer.features(np.array([int(feature_id)]))
        return _bytes(documents.item(root, entry, feature))

    return Response(await service.maps.looked(found), headers=HEADERS, media_type=documents.GEOJSON)


def _bytes(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
