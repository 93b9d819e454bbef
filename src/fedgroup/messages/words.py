"""Questions in words, as ledgers show them."""

from __future__ import annotations

from fedgroup.messages.values import Measure, RangeQuery
from fedgroup.space import Circle, MultiPolygon, Polygon, Rectangle


def question(query: RangeQuery) -> str:
    """Return the question in words, as ledgers show it."""
    what = {"count": "count", "sum": "sum of", "avg": "mean of"}[query.kind]
    of = "" if query.measure is None else f" {query.measure.attribute} ({_clip(query.measure)})"
    when = "" if query.since is None and query.until is None else f" from {query.since} until {query.until} us"
    return f"{what}{of} {_where(query)}{when}"


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
            return f"in {len(parts)} polygons"
