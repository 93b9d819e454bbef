"""Bins as they are said in JSON: by requests to a service, and by what it keeps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fedgroup.errors import InvalidQuery
from fedgroup.given import written
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import places_said, question_of, range_said, some_price
from fedgroup.space import PublicMap, Range
from fedgroup.space.places import Places


def map_said(kind: str, said: Mapping[str, Any], public_map: PublicMap) -> RangeQuery:
    """Return the question about many bins that was said in JSON; a step of time is a text, or seconds."""
    every = said.get("every")
    cut = {"every": _seconds(every)} if isinstance(every, float | int) else {}
    price = some_price(said.get("epsilon"), said.get("rho"))
    return question_of(kind, _places(said, public_map), price, {**said, **cut}, public_map)


def _seconds(every: float) -> timedelta:
    try:
        return timedelta(seconds=every)
    except (OverflowError, ValueError):
        raise InvalidQuery(f"every is a length of time in seconds, got {written(every)}") from None


def _places(said: Mapping[str, Any], public_map: PublicMap) -> Places:
    ranges = {name: said.get(name) for name in ("circle", "rectangle", "polygon")}
    districts = said.get("districts")
    given = {
        "grid": said.get("grid"),
        "h3": said.get("h3"),
        "districts": None if districts is None else districts_said(districts),
        "range": range_said(**ranges, lonlat=public_map.lonlat) if any(ranges.values()) else None,
    }
    return places_said(given, public_map)


def districts_said(collection: Mapping[str, Any]) -> dict[str, Range]:
    """Return polygons by their names out of a GeoJSON collection."""
    features = collection.get("features") if collection.get("type") == "FeatureCollection" else None
    if not isinstance(features, list) or not features:
        raise InvalidQuery("districts are a GeoJSON FeatureCollection with at least one Feature")
    found: dict[str, Range] = {}
    for feature in features:
        told = feature.get("properties") if isinstance(feature, dict) else None
        name = told.get("name") if isinstance(told, dict) else None
        if not isinstance(name, str) or not name:
            raise InvalidQuery("every district has a name: a text under properties.name of its Feature")
        if name in found:
            raise InvalidQuery(f"districts need different names; {written(name)} comes twice")
        found[name] = range_said(None, None, feature, lonlat=False)
    return found
