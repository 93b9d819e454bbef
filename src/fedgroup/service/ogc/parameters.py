"""What may be said in the address of a request for features, read strictly; what is wrong is status 400, as OGC has it.

Parameters are taken as texts and described to programs as what they stand for.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from fedgroup.maps.layers import Sides, Window
from fedgroup.service.problems import Problem

USUAL_LIMIT = 100
MOST_LIMIT = 2_000
MOST_NUMBER = 999_999_999
_BBOX = "west,south,east,north in degrees; west above east goes over the antimeridian"
_TIMES = "a time, or an interval such as 2026-01-05T00:00:00Z/.."
_LONGEST = 200


def _said(description: str, **schema: Any) -> Any:
    return Query(description=description, json_schema_extra=schema)


_WHOLE: dict[str, Any] = {"type": "integer", "maximum": MOST_NUMBER}
_SIDES: dict[str, Any] = {"type": "array", "minItems": 4, "maxItems": 6, "items": {"type": "number"}}

Limit = Annotated[str, _said(f"at most so many features, and at most {MOST_LIMIT}", **_WHOLE, minimum=1)]
Offset = Annotated[str, _said("leave so many out first", **_WHOLE, minimum=0)]
Bbox = Annotated[str, Query(description=_BBOX, json_schema_extra=_SIDES)]
Datetime = Annotated[str, _said(_TIMES)]
Format = Annotated[str, _said("json is all there is", enum=["json", "geojson"])]


def known(*names: str) -> Any:
    """Return a check that refuses parameters of other names."""

    async def require_known(request: Request) -> None:
        unknown = sorted(set(request.query_params) - {*names, "f"})
        if unknown:
            raise _wrong(f"there is no parameter {unknown[0][:40]!r} here; there are {', '.join([*names, 'f'])}")
        if request.query_params.get("f", "json") not in ("json", "geojson"):
            raise _wrong("f is json")

    return Depends(require_known)


def limit_of(text: str) -> int:
    """Return how many features are wanted; more than the most is not refused."""
    return min(_whole(text, "limit", least=1), MOST_LIMIT)


def offset_of(text: str) -> int:
    return _whole(text, "offset", least=0)


def bbox_of(text: str) -> Sides | None:
    """Return the sides of a box, the eastern one beyond 180 where it goes over the antimeridian; None for none."""
    if not text:
        return None
    parts = [_number(part) for part in text.split(",")] if len(text) <= _LONGEST else []
    if len(parts) == 6:  # heights are not looked at
        parts = [*parts[:2], *parts[3:5]]
    if len(parts) != 4 or not all(math.isfinite(part) for part in parts):
        raise _wrong(f"bbox is {_BBOX}")
    west, south, east, north = parts
    if not (-540 <= west <= 540 and -540 <= east <= 540 and -90 <= south <= north <= 90):
        raise _wrong("bbox has longitudes from -180 to 180, latitudes from -90 to 90, and south is not above north")
    return west, south, east if west <= east else east + 360, north


def window_of(text: str) -> Window | None:
    """Return a window of time, both ends included; None for none."""
    if not text:
        return None
    ends = text.split("/")
    if len(text) > _LONGEST or len(ends) > 2 or (len(ends) == 1 and ends[0] == ".."):
        raise _wrong(f"datetime is {_TIMES}")
    since, until = (_time(end) for end in (ends[0], ends[-1]))
    if since is not None and until is not None and since > until:
        raise _wrong("datetime goes from an earlier to a later time")
    return since, until


def _whole(text: str, name: str, *, least: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
        raise _wrong(f"{name} is a whole number from {least} to {MOST_NUMBER}")
    return int(text)


def _number(text: str) -> float:
    return float(text) if re.fullmatch(r"\s*[-+]?[0-9.]+([eE][-+]?[0-9]{1,3})?\s*", text) and _reads(text) else math.nan


def _reads(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _time(text: str) -> datetime | None:
    if text in ("", ".."):
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise _wrong(f"datetime is {_TIMES}") from None


def _wrong(text: str) -> Problem:
    return Problem("invalid-parameter", text)
