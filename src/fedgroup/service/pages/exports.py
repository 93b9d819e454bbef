"""A user's own questions as files: GeoJSON, CSV with shapes, and GeoPackage."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import shapely
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fedgroup.questions.said import range_said
from fedgroup.service.pages.login import to_login
from fedgroup.service.pages.told import AREAS, area_text
from fedgroup.service.pages.visits import Door, SignedOut
from fedgroup.space.shapes import drawn, geometry_of
from fedgroup.space.systems import WGS84
from fedgroup.storage.provider_state import Question

EXPORTED = 10_000
COLUMNS = ("id", "at", "state", "kind", "area", "attribute", "epsilon", "method", "value", "low", "high", "heard",
           "missing", "charged", "stored", "clip", "absent", "since", "until")  # fmt: skip
_FORMULA = ("=", "+", "-", "@")
_TEXTS = {"id", "at", "state", "kind", "area", "attribute", "method", "since", "until"}


def formats() -> list[str]:
    """Return the kinds of files that can be made here: GeoPackage needs GeoPandas."""
    return ["geojson", "csv", *(["gpkg"] if find_spec("geopandas") and find_spec("pyogrio") else [])]


def add_exports(app: FastAPI, door: Door) -> None:
    """Add the paths under which users get their own questions as files."""
    lonlat = door.service.provider.settings.public_map.lonlat
    made: dict[str, tuple[Callable[[Sequence[Question]], str | bytes], str]] = {
        "csv": (lambda found: as_csv(found, lonlat=lonlat), "text/csv"),
        "geojson": (lambda found: as_geojson(found, lonlat=lonlat), "application/geo+json"),
        "gpkg": (lambda found: as_geopackage(found, lonlat=lonlat), "application/geopackage+sqlite3"),
    }
    for kind in formats():
        app.add_api_route(f"/history.{kind}", _export(door, kind, *made[kind]), include_in_schema=False)


def _export(
    door: Door, kind: str, write: Callable[[Sequence[Question]], str | bytes], media_type: str
) -> Callable[[Request], Any]:
    async def export(request: Request) -> Response:
        visit = await door.visit(request)
        if visit is None:
            return to_login(request)
        try:
            questions = await visit.history(EXPORTED)
        except SignedOut:
            return to_login(request)
        content = await asyncio.to_thread(write, questions)
        headers = {"Content-Disposition": f'attachment; filename="questions.{kind}"', "Cache-Control": "no-store"}
        reply = PlainTextResponse if isinstance(content, str) else Response
        return reply(content, headers=headers, media_type=media_type)

    return export


def as_csv(questions: Sequence[Question], *, lonlat: bool = False) -> str:
    """Return questions and their answers as CSV, shapes as WKT; no text in it is a formula to a spreadsheet."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow([*COLUMNS, "geometry"])
    for question in questions:
        facts = [_plain(value) for value in exported(question).values()]
        shape = shape_of(question.request, lonlat=lonlat)
        rows.writerow([*facts, "" if shape is None else shapely.to_wkt(shape, rounding_precision=7)])
    return out.getvalue()


def as_geojson(questions: Sequence[Question], *, lonlat: bool) -> str:
    """Return questions and their answers as a GeoJSON collection; on a plane its coordinates are the plane's."""
    features = []
    for question in questions:
        shape = shape_of(question.request, lonlat=lonlat)
        geometry = None if shape is None else geometry_of(shape)
        features.append({"type": "Feature", "properties": exported(question), "geometry": geometry})
    return json.dumps({"type": "FeatureCollection", "features": features}, allow_nan=False)


def as_geopackage(questions: Sequence[Question], *, lonlat: bool) -> bytes:
    """Return questions and their answers as the bytes of a GeoPackage with one layer."""
    import geopandas
    import pandas

    rows = [exported(question) for question in questions]
    columns = {
        name: pandas.Series([row[name] for row in rows], dtype="object" if name in _TEXTS else "float64")
        for name in COLUMNS
    }
    shapes = [shape_of(question.request, lonlat=lonlat) for question in questions]
    frame = geopandas.GeoDataFrame(columns, geometry=shapes, crs=WGS84 if lonlat else None)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a plane has no CRS, and is told so
        path = Path(folder) / "questions.gpkg"
        how = {"driver": "GPKG", "engine": "pyogrio", "layer": "questions", "dataset_options": {"VERSION": "1.3"}}
        frame.to_file(path, geometry_type="Unknown", **how)
        return path.read_bytes()


def shape_of(request: Mapping[str, Any], *, lonlat: bool) -> shapely.Geometry | None:
    """Return the area of a question as a shape; a circle becomes a polygon."""
    said = {name: request.get(name) for name in AREAS}
    if not any(said.values()):
        return None
    return drawn(range_said(**said, lonlat=lonlat), lonlat=lonlat)


def exported(question: Question) -> dict[str, Any]:
    """Return what is told about a question, column by column."""
    request, answer = question.request, question.answer or {}
    low, high = answer.get("interval") or (None, None)
    facts = [
        question.id, question.at, question.state, request.get("kind"), area_text(request), request.get("attribute"),
        request.get("epsilon"), answer.get("method", request.get("method")), answer.get("value"), low, high,
        answer.get("heard"), answer.get("missing"), float(question.epsilon), answer.get("stored"),
        request.get("clip"), answer.get("absent"), request.get("since"), request.get("until"),
    ]  # fmt: skip
    return dict(zip(COLUMNS, facts, strict=True))


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
