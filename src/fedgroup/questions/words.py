"""Questions in words, as ledgers show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fedgroup.questions.kinds import KINDS
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.remembered import remembered
from fedgroup.space import Circle, Grid, MultiPolygon, Polygon, Rectangle
from fedgroup.space.blocks import Blocks
from fedgroup.space.places import Districts, Hexagons

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = 1e15
"""Below it, whole numbers are written out."""
_ROUND_BYTES = 4

UNCOVERED = "the interval does not cover that"
"""How notes end that tell what an interval does not."""


def question(query: RangeQuery) -> str:
    """Return the question in words, as ledgers show it; they are found once for one question."""
    return remembered(query, "words", lambda: _words(query))


def _words(query: RangeQuery) -> str:
    of = "" if query.measure is None else f" {query.measure.attribute} ({_clip(query.measure)})"
    return f"{KINDS[query.kind].of}{of} {_where(query)}{_when(query)}{_by(query)}"


def round_name(round_id: bytes) -> str:
    """Return the first letters of a round's id: enough to find it in a ledger and in two logs."""
    return round_id[:_ROUND_BYTES].hex()


def _exact(number: float) -> str:
    """Return a number to its last digit: the shortest text that is read as the same number again."""
    value = float(number)
    return str(int(value)) if value.is_integer() and abs(value) < _WHOLE else repr(value)


def _when(query: RangeQuery) -> str:
    since = "" if query.since is None else f" from {_time(query.since)}"
    every = "" if query.every is None else f" in {query.shape[1]} steps of {_exact(query.every / 1e6)} s"
    return since + ("" if query.until is None else f" until {_time(query.until)}") + every


def _by(query: RangeQuery) -> str:
    return "" if query.by is None else f" by {len(query.by)} values of {query.by.attribute}"


def _time(microseconds: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return f"{microseconds} us"


def _clip(measure: Measure) -> str:
    low, high = measure.bounds
    return f"cut to {_exact(low)}..{_exact(high)} in steps of {_exact(measure.step_value)}"


def _where(query: RangeQuery) -> str:
    match query.range:
        case Circle(x, y, radius):
            return f"within {_exact(radius)} of {_exact(x)},{_exact(y)}"
        case Rectangle(west, south, east, north):
            return f"in the rectangle {','.join(_exact(side) for side in (west, south, east, north))}"
        case Polygon(points):
            return f"in a polygon of {len(points)} points"
        case MultiPolygon(parts):
            return f"in {len(parts)} polygon{'' if len(parts) == 1 else 's'}"
        case Grid(_, columns, rows):
            return f"in {columns}x{rows} cells"
        case Hexagons(resolution) as cells:
            return f"in {len(cells)} H3 cells of resolution {resolution}"
        case Districts(names):
            return f"in {len(names)} district{'' if len(names) == 1 else 's'}"
        case Blocks() as blocks:
            return f"in {len(blocks)} cells of {blocks.side}x{blocks.side} blocks"
