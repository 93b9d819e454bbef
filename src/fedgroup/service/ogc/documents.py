"""The documents of OGC API - Features: pages of links, collections and features, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from fedgroup.maps.layers import FoundBins, Layer
from fedgroup.service.kept_maps import MapEntry

MOUNT = "/ogc"
JSON = "application/json"
GEOJSON = "application/geo+json"
OPENAPI = "application/vnd.oai.openapi+json;version=3.0"
CRS84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_GREGORIAN = "http://www.opengis.net/def/uom/ISO-8601/0/Gregorian"
_FEATURES = "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf"
CONFORMS_TO = [f"{_FEATURES}/core", f"{_FEATURES}/oas30", f"{_FEATURES}/geojson"]

_ABOUT = (
    "Private maps that you asked for. They were paid for once; reading them costs nothing. Every value is noisy, and "
    "its interval is low to high."
)


def landing(root: str, federation: str) -> dict[str, Any]:
    """Return the page where programs begin."""
    return {
        "title": f"fedgroup: maps of {federation}",
        "description": _ABOUT,
        "links": [
            _link("self", f"{root}{MOUNT}", title="this page"),
            _link("service-desc", f"{root}{MOUNT}/api", OPENAPI, title="what can be asked, for programs"),
            _link("service-doc", f"{root}/docs", "text/html", title="the same for people"),
            _link("conformance", f"{root}{MOUNT}/conformance", title="which standards hold"),
            _link("data", f"{root}{MOUNT}/collections", title="your maps"),
        ],
    }


def conformance() -> dict[str, Any]:
    return {"conformsTo": CONFORMS_TO}


def collections(root: str, entries: list[MapEntry]) -> dict[str, Any]:
    """Return all maps that can be read here; how many cannot, and why, is told too."""
    shown = [collection(root, entry) for entry in entries if entry.lonlat]
    page = {"links": [_link("self", f"{root}{MOUNT}/collections")], "collections": shown}
    left_out = len(entries) - len(shown)
    if left_out == 0:
        return page
    told = f"{left_out} of your maps are on a plane whose coordinate system nobody told: see GET /v1/maps"
    return page | {"description": told}


def collection(root: str, entry: MapEntry) -> dict[str, Any]:
    """Return what is told about a map; its member `fedgroup` has epsilon, unit, window, promise and noise."""
    told, place = entry.about, f"{root}{MOUNT}/collections/{quote(entry.id, safe='')}"
    window = [told["window"]["since"], told["window"]["until"]]
    temporal = {} if window == [None, None] else {"temporal": {"interval": [window], "trs": _GREGORIAN}}
    tiles = f"{root}/v1/maps/{quote(entry.id, safe='')}/tiles/{{z}}/{{x}}/{{y}}.png"
    return {
        "id": entry.id,
        "title": f"{told['question']}, asked {entry.at[:10]}",
        "description": f"{told['promise']}. An interval holds with {told['confidence']:.0%}.",
        "itemType": "feature",
        "extent": {"spatial": {"bbox": [entry.extent], "crs": CRS84}, **temporal},
        "crs": [CRS84],
        "fedgroup": told,
        "links": [
            _link("self", place),
            _link("items", f"{place}/items", GEOJSON, title="the features"),
            _link("alternate", f"{root}/v1/maps/{quote(entry.id, safe='')}", title="all values as JSON"),
            _link("tiles", tiles, "image/png", title="XYZ tiles in web Mercator") | {"templated": True},
        ],
    }


def items(root: str, entry: MapEntry, layer: Layer, found: FoundBins, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return one page of features; `asked` are limit, offset and what else the address said."""
    limit, offset = asked["limit"], asked["offset"]
    features = layer.features(found.page(offset, limit))
    place = f"{root}{MOUNT}/collections/{quote(entry.id, safe='')}"
    links = [_link("self", _page(place, asked), GEOJSON), _link("collection", place)]
    if offset + limit < len(found):
        links.append(_link("next", _page(place, {**asked, "offset": offset + limit}), GEOJSON))
    if offset > 0:
        links.append(_link("prev", _page(place, {**asked, "offset": max(0, offset - limit)}), GEOJSON))
    return {
        "type": "FeatureCollection",
        "timeStamp": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "numberMatched": len(found),
        "numberReturned": len(features),
        "links": links,
        "features": features,
    }


def item(root: str, entry: MapEntry, feature: dict[str, Any]) -> dict[str, Any]:
    """Return one feature."""
    place = f"{root}{MOUNT}/collections/{quote(entry.id, safe='')}"
    links = [_link("self", f"{place}/items/{feature['id']}", GEOJSON), _link("collection", place)]
    return feature | {"links": links}


def api_description(document: Mapping[str, Any], root: str) -> dict[str, Any]:
    """Return the part of the application's OpenAPI document that is about features, as OpenAPI 3.0.

    Its parameters are said in words that both versions have.
    """
    paths = {path: verbs for path, verbs in document["paths"].items() if path.startswith(MOUNT)}
    told = {path: {verb: _operation(found) for verb, found in verbs.items()} for path, verbs in paths.items()}
    schemas = document["components"]["schemas"]
    return {
        "openapi": "3.0.3",
        "info": {name: document["info"][name] for name in ("title", "version")} | {"description": _ABOUT},
        "servers": [{"url": root or "/"}],
        "paths": told,
        "components": {
            "schemas": {"ProblemShown": schemas["ProblemShown"]},
            "securitySchemes": document["components"]["securitySchemes"],
        },
    }


def _operation(operation: Mapping[str, Any]) -> dict[str, Any]:
    replies = {status: reply for status, reply in operation["responses"].items() if status != "422"}
    return {**operation, "responses": replies}


def _page(place: str, asked: Mapping[str, Any]) -> str:
    said = {name: value for name, value in asked.items() if value != ""}
    return f"{place}/items?{urlencode(said, safe=',:/')}"


def _link(rel: str, href: str, media_type: str = JSON, *, title: str | None = None) -> dict[str, Any]:
    return {"rel": rel, "href": href, "type": media_type} | ({} if title is None else {"title": title})
