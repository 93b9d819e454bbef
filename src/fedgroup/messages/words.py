"""Questions in words, as ledgers show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fedgroup.messages.values import Measure, RangeQuery
from fedgroup.space import Circle, MultiPolygon, Polygon, Rectangle

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def question(query: RangeQuery) -> str:
    """Return the question in words, as ledgers show it."""
    what = {"count": "count", "sum": "sum of", "avg": "mean of"}[query.kind]
    of = "" if query.measure is None else f" {query.measure.attribute} ({_clip(query.measure)})"
    return f"{what}{of} {_where(query)}{_when(query)}"


def _when(query: RangeQuery) -> str:
    since = "" if query.since is None else f" from {_time(query.since)}"
    return since + ("" if query.until is None else f" until {_time(query.until)}")


def _time(microseconds: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{microseconds} us"


def _clip(measure: Measure) -> str:
    low, high = measure.bounds
    return f"cut to {low:g}..{high:g} in steps of {measure.step_value:g}"


def _where(query: RangeQuery) -> str:
    match query.range:
        case Circle(x, y, radius):
            return f"within {radius:g} of {x:.12g},{y:.12g}"
        case Rectangle(west, south, east, north):
            return f"in the rectangle {west:.12g},{south:.12g},{east:.12g},{north:.12g}"
        case Polygon(points):
            return f"in a polygon of {len(points)} points"
        case MultiPolygon(parts):
            return f"in {len(parts)} polygon{'' if len(parts) == 1 else 's'}"
