"""What may be sent to the service, and the question it stands for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery, ProtocolViolation
from fedgroup.live.config import MOST_SIDE
from fedgroup.live.settings import MPC_MOST, LiveSettings, UsualGrouping
from fedgroup.messages import Kind, Measure, RangeQuery
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.times import as_instant
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.release import scale_of_noise, scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.shares import require_shareable
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.settings import GroupingSettings
from fedgroup.service.calls import said_range
from fedgroup.space import Circle, PublicMap, Range, Rectangle
from fedgroup.space.ranges import range_from_geojson

_MEASURE = ("attribute", "clip", "signed", "resolution")
_POLYGON = "a GeoJSON Polygon or MultiPolygon, or a Feature with one; edges are straight in x and y"


class _Strict(BaseModel):
    """Nothing unknown, nothing converted, no NaN."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class CircleAsked(_Strict):
    """The places nearer than `radius` to (x, y); x, y are longitude, latitude and the radius metres on such a map."""

    x: float
    y: float
    radius: float = Field(gt=0)


class RectangleAsked(_Strict):
    """The places in [west, east) x [south, north)."""

    west: float
    south: float
    east: float
    north: float
    across_antimeridian: bool = Field(
        False, description="in degrees: it goes east from west over 180 degrees to east, which is less than west"
    )


class QuestionAsked(_Strict):
    """A question about one range: a circle, a rectangle or a polygon, in the coordinates of the federation's map."""

    kind: Kind
    circle: CircleAsked | None = None
    rectangle: RectangleAsked | None = None
    polygon: dict[str, Any] | None = Field(None, description=_POLYGON)
    epsilon: float = Field(ge=1e-9, le=1_000_000, description="what the answer may cost every owner, and its user")
    attribute: str | None = Field(None, min_length=1, max_length=MOST_TEXT, description="for sum and avg")
    clip: float | None = Field(None, gt=0, description="for sum and avg: values are cut to [0, clip]")
    signed: bool = Field(False, description="cut to [-clip, clip] instead")
    resolution: float | None = Field(None, gt=0, description="values are rounded to it; about clip / 1000 by default")
    since: str | float | None = Field(None, description="from this time on: ISO, or seconds since 1970")
    until: str | float | None = Field(None, description="before this time")
    method: Literal["dp", "fedgroup", "cohorts", "mpc"] | None = Field(
        None, description="fedgroup by default if there is a plan, else dp"
    )
    fresh: bool = Field(False, description="ask anew and pay anew, even if the same was asked before")
    least_owners: int | None = Field(None, ge=1, le=1_000_000, description="refuse, for nothing, if fewer are here")
    least_share: float | None = Field(None, ge=0, le=1, description="likewise for a share of all known owners")
    dry_run: bool = Field(False, description="tell the error to expect; nothing is spent")


class PlanAsked(_Strict):
    """A new grouping of all owners that are here; every one of them is charged `epsilon`.

    Columns, rows, graph and leftovers are those of the provider's file where they are not said.
    """

    epsilon: float = Field(ge=1e-9, le=1_000_000, description="what grouping costs every owner, and the operator")
    columns: int | None = Field(None, ge=1, le=MOST_SIDE, description="of the grid that owners are compared on")
    rows: int | None = Field(None, ge=1, le=MOST_SIDE)
    mode: Literal["masked", "trusted"] = "masked"
    graph: Literal["topcell", "likely", "noisy"] | None = Field(None, description="how similar owners are found")
    estimate: Literal["thresholded", "debiased", "raw"] = "thresholded"
    algorithm: Literal["greedy", "dsatur", "cliques"] | None = None
    threshold: float = Field(0.5, ge=0, lt=1)
    false_cells: float = Field(0.1, ge=1e-9, le=4_096)
    misplaced: float = Field(0.02, ge=0, le=1)
    leftovers: Literal["alone", "cohort"] | None = Field(None, description="owners that could not be placed")
    cohort_size: int = Field(50, ge=2, le=2_000)
    largest: int | None = Field(None, ge=1, le=2_000, description="the most members a group may have")


def plain_question(asked: QuestionAsked, query: RangeQuery) -> dict[str, Any]:
    """Return what was asked as it is kept, with the range spelled in our own words."""
    said = asked.model_dump(exclude_defaults=True, exclude={"circle", "rectangle", "polygon"})
    return said | said_range(query.range)


def range_query(asked: QuestionAsked, settings: LiveSettings) -> RangeQuery:
    """Return the question that owners are asked, or say what is wrong with it: nothing is spent on it."""
    with _as_invalid_query():
        query = RangeQuery(
            asked.kind,
            _range(asked, settings.public_map),
            Epsilon.of(asked.epsilon),
            _measure(asked),
            None if asked.since is None else as_instant(asked.since, name="since"),
            None if asked.until is None else as_instant(asked.until, name="until"),
        )
        settings.public_map.require_reachable(query.range)
        WireQuery.of(query)
        return query


def require_noise(query: RangeQuery, settings: LiveSettings, *, masked: bool) -> None:
    """Refuse a question whose noise owners could not draw; they would refuse it after it was charged."""
    with _as_invalid_query():
        for scale in scales_of(query, settings.protection).values():
            require_shareable(scale, 1) if masked else require_drawable(scale)


def grid_of(asked: PlanAsked, usual: UsualGrouping) -> tuple[int, int]:
    """Return the columns and rows of the grid that owners are to be compared on."""
    return asked.columns or usual.columns, asked.rows or usual.rows


def grouping_settings(
    asked: PlanAsked, usual: UsualGrouping, protection: Protection, *, most: int = MPC_MOST
) -> GroupingSettings:
    """Return how owners are to be grouped, or say what is wrong with it: nothing is spent on it."""
    size = asked.cohort_size if "cohort_size" in asked.model_fields_set else min(asked.cohort_size, most)
    if max(size, asked.largest or 0) > most:
        raise InvalidQuery(f"groups have at most {most} members here (mpc_most in the provider's file)")
    with _as_invalid_query():
        require_drawable(scale_of_noise(protection.of_histogram(), Epsilon.of(asked.epsilon)))
        return GroupingSettings(
            graph=asked.graph or usual.graph,
            estimate=asked.estimate,
            algorithm=asked.algorithm,
            threshold=asked.threshold,
            false_cells=asked.false_cells,
            misplaced=asked.misplaced,
            limits=None if asked.largest is None else Limits(largest=asked.largest),
            leftovers=asked.leftovers or usual.leftovers,
            cohort_size=size,
        )


def _range(asked: QuestionAsked, public_map: PublicMap) -> Range:
    if [asked.circle, asked.rectangle, asked.polygon].count(None) != 2:
        raise InvalidQuery("ask about one range: a circle, a rectangle or a polygon")
    if asked.circle is not None:
        return Circle(asked.circle.x, asked.circle.y, asked.circle.radius)
    if asked.rectangle is not None:
        return _rectangle(asked.rectangle, public_map)
    return range_from_geojson(_text(asked.polygon))


def _rectangle(asked: RectangleAsked, public_map: PublicMap) -> Rectangle:
    if not asked.across_antimeridian:
        return Rectangle(asked.west, asked.south, asked.east, asked.north)
    if not public_map.lonlat:
        raise InvalidQuery("across_antimeridian is for federations in degrees")
    return Rectangle.across_antimeridian(asked.west, asked.south, asked.east, asked.north)


def _text(polygon: dict[str, Any] | None) -> str:
    try:
        return json.dumps(polygon)
    except RecursionError:
        raise InvalidQuery("this is not a GeoJSON polygon: it is nested too deep") from None


def _measure(asked: QuestionAsked) -> Measure | None:
    if asked.kind == "count":
        if any(getattr(asked, name) for name in _MEASURE):
            raise InvalidQuery(f"count takes none of {', '.join(_MEASURE)}; ask for sum or avg")
        return None
    if asked.attribute is None or asked.clip is None:
        raise InvalidQuery(f"{asked.kind} needs an attribute and a clip, the largest value a record may contribute")
    return Measure(asked.attribute, asked.clip, asked.signed, asked.resolution)


@contextmanager
def _as_invalid_query() -> Iterator[None]:
    """Say of whatever is wrong with a question that it is the question."""
    try:
        yield
    except InvalidQuery:
        raise
    except (InvalidInput, ProtocolViolation) as error:
        raise InvalidQuery(str(error)) from None
