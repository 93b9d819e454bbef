"""What may be sent to the service, and the question it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import core_schema

from fedgroup.epsilon import HARDLY_PROTECTS, NOTHING, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.live.settings import MOST_SIDE, MPC_MOST, LiveSettings, UsualGrouping
from fedgroup.maps.publishing import Subject
from fedgroup.maps.sizing import FEWEST_CELLS, MOST_RECORDS, map_price
from fedgroup.messages.limits import MOST_TEXT, MOST_WORDS
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.concentrated import require_noise as require_drawn
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.pure_prices import pure_price
from fedgroup.privacy.release import scale_of_noise, scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions import graphs, methods
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import (
    as_invalid_query,
    question_of,
    range_said,
    said_places,
    some_price,
)
from fedgroup.questions.said_maps import map_said
from fedgroup.space import Grid
from fedgroup.space.places import FINEST_HEXAGONS


@dataclass(frozen=True)
class _Among:
    """A text out of a catalogue."""

    names: Iterable[str]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.literal_schema(list(self.names))


KindAsked = Annotated[str, _Among(KINDS)]
MethodAsked = Annotated[str, _Among(methods.PRIVATE)]
ModeAsked = Annotated[str, _Among(methods.MODES)]
GraphAsked = Annotated[str, _Among(graphs.PRIVATE)]
EstimateAsked = Annotated[str, _Among(graphs.ESTIMATES)]
AlgorithmAsked = Annotated[str, _Among(graphs.ALGORITHMS)]
LeftoversAsked = Annotated[str, _Among(graphs.LEFTOVERS)]

_POLYGON = "a GeoJSON Polygon or MultiPolygon, or a Feature with one; edges are straight in x and y"
_DISTRICTS = "a GeoJSON FeatureCollection of polygons that do not overlap, each with a property name"


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

    kind: KindAsked
    circle: CircleAsked | None = None
    rectangle: RectangleAsked | None = None
    polygon: dict[str, Any] | None = Field(None, description=_POLYGON)
    epsilon: float | None = Field(
        None, ge=1e-9, le=1_000_000, description="what the answer may cost every owner, and its user"
    )
    rho: float | None = Field(
        None, ge=1e-12, le=1_000_000, description="its price instead of an epsilon, where accounting is zcdp"
    )
    error: float | str | None = Field(
        None,
        description="instead of a price: how far off in 95 %, such as 10 or '10% of 500'; it costs what that takes "
        "beyond what a published map knows, unless fresh",
    )
    attribute: str | None = Field(None, min_length=1, max_length=MOST_TEXT, description="for sum and avg")
    clip: float | None = Field(None, gt=0, description="for sum and avg: values are cut to [0, clip]")
    signed: bool = Field(False, description="cut to [-clip, clip] instead")
    resolution: float | None = Field(None, gt=0, description="values are rounded to it; about clip / 1000 by default")
    since: str | float | None = Field(None, description="from this time on: ISO, or seconds since 1970")
    until: str | float | None = Field(None, description="before this time")
    method: MethodAsked | None = Field(None, description="fedgroup by default if there is a plan, else dp")
    fresh: bool = Field(False, description="ask anew and pay anew, even if the same was asked before")
    least_owners: int | None = Field(None, ge=1, le=1_000_000, description="refuse, for nothing, if fewer are here")
    least_share: float | None = Field(None, ge=0, le=1, description="likewise for a share of all known owners")
    dry_run: bool = Field(False, description="tell the error to expect; nothing is spent")


class MapAsked(QuestionAsked):
    """A question about many bins, for one epsilon: one of grid, h3, districts or a range, cut by time or categories.

    With `adaptive`, a map to publish instead: it is of the whole domain, finds its cells itself, and is read by
    everybody for nothing.
    """

    kind: KindAsked = "count"
    adaptive: bool = Field(False, description="publish a map: small cells where records are many, for all to read")
    records: int | None = Field(
        None, ge=1, le=MOST_RECORDS, description="adaptive: a public guess of how many there are; 20 an owner"
    )
    most_cells: int | None = Field(
        None, ge=FEWEST_CELLS, le=MOST_WORDS, description="adaptive: a cap on cells, above which all are coarser"
    )
    grid: list[Annotated[int, Field(ge=1, le=MOST_WORDS)]] | None = Field(
        None, min_length=2, max_length=2, description="columns and rows of cells that cover the domain"
    )
    h3: int | None = Field(None, ge=0, le=FINEST_HEXAGONS, description="resolution of H3 cells, if in degrees")
    districts: dict[str, Any] | None = Field(None, description=_DISTRICTS)
    every: str | float | None = Field(
        None, description="steps of time, such as 15min, 1h or 1d, or seconds; needs since and until"
    )
    by: dict[str, list[str | float]] | None = Field(
        None, description='{"attribute": ["one", "another"]}: its categories; "other" stands for all others'
    )


class PlanAsked(_Strict):
    """A new grouping of all owners that are here; every one of them is charged `epsilon`, or `rho`.

    Columns, rows, graph and leftovers are those of the provider's file where they are not said.
    """

    epsilon: float | None = Field(
        None,
        ge=1e-9,
        le=1_000_000,
        description="what grouping costs every owner, and the operator; needed unless the graph is secure",
    )
    rho: float | None = Field(
        None, ge=1e-12, le=1_000_000, description="its price instead of an epsilon, where accounting is zcdp"
    )
    columns: int | None = Field(None, ge=1, le=MOST_SIDE, description="of the grid that owners are compared on")
    rows: int | None = Field(None, ge=1, le=MOST_SIDE)
    mode: ModeAsked = "masked"
    graph: GraphAsked | None = Field(None, description="how similar owners are found")
    estimate: EstimateAsked = "thresholded"
    algorithm: AlgorithmAsked | None = None
    threshold: float = Field(0.5, ge=0, lt=1)
    false_cells: float = Field(0.1, ge=1e-9, le=4_096)
    misplaced: float = Field(0.02, ge=0, le=1)
    leftovers: LeftoversAsked | None = Field(None, description="owners that could not be placed")
    cohort_size: int = Field(50, ge=2, le=2_000)
    largest: int | None = Field(None, ge=1, le=2_000, description="the most members a group may have")
    lower: float | None = Field(None, ge=-1, le=1, description="for hybrid: a noisy similarity below it is a no")
    upper: float | None = Field(None, ge=-1, le=1, description="for hybrid: a noisy similarity above it is a yes")
    comparisons: int | None = Field(None, ge=0, description="for hybrid: at most so many; fewer make more groups")


_PLACES = {"circle", "rectangle", "polygon", "grid", "h3", "districts"}
_ALIKE = {"estimate", "algorithm", "threshold", "false_cells", "misplaced", "lower", "upper", "comparisons"}
"""What a request for a plan and the settings of a grouping call alike."""


MAP = "map"
"""The name under which a question about many bins is kept."""


def plain_question(asked: QuestionAsked, query: RangeQuery) -> dict[str, Any]:
    """Return what was asked as it is kept, with its places spelled in our own words."""
    said = asked.model_dump(exclude_defaults=True, exclude=_PLACES) | said_places(query.range)
    return {MAP: said} if isinstance(asked, MapAsked) else said


def range_query(asked: QuestionAsked, settings: LiveSettings, *, to_price: bool = False) -> RangeQuery:
    """Return the question that owners are asked, or say what is wrong with it: nothing is spent on it.

    One with an error for a price has one that is too high; it is read only by who is `to_price` it.
    """
    public_map, said = settings.public_map, asked.model_dump()
    with as_invalid_query():
        if asked.error is not None:
            if not to_price or (asked.epsilon, asked.rho) != (None, None):
                raise InvalidQuery("a question has one price: an epsilon, a rho, or an error where that can be said")
            asked = asked.model_copy(update={"epsilon": float(HARDLY_PROTECTS), "error": None})
            return range_query(asked, settings)
        if isinstance(asked, MapAsked):
            if asked.records is not None or asked.most_cells is not None:
                raise InvalidQuery("records and most_cells are for adaptive maps")
            return map_said(asked.kind, said, public_map)
        about = range_said(said["circle"], said["rectangle"], said["polygon"], lonlat=public_map.lonlat)
        return question_of(asked.kind, about, some_price(asked.epsilon, asked.rho), said, public_map)


def plain_publication(asked: MapAsked) -> dict[str, Any]:
    """Return a map to publish as it is kept."""
    return {MAP: asked.model_dump(exclude_defaults=True, exclude={"fresh", "dry_run"})}


def subject_said(asked: MapAsked, settings: LiveSettings) -> Subject:
    """Return what a map to publish is about, or say what is wrong with it: nothing is spent on it."""
    said, public_map = asked.model_dump(), settings.public_map
    if any(said[name] is not None for name in (*_PLACES, "every", "by")):
        raise InvalidQuery(
            "an adaptive map is of the whole domain, and finds its cells itself: leave out places, every and by"
        )
    with as_invalid_query():
        price = some_price(asked.epsilon, asked.rho)
        whole = question_of(asked.kind, Grid(public_map.domain, 1, 1), price, said, public_map)
        return Subject(whole.kind, whole.measure, whole.since, whole.until)


def publication_price(asked: MapAsked, settings: LiveSettings) -> Epsilon:
    """Return what a map to publish costs every owner, and its user; of a rho the most that its rounds may cost."""
    with as_invalid_query():
        if asked.error is not None:
            raise InvalidQuery("a map to publish has one price: an epsilon, or a rho")
        return map_price(asked.epsilon, asked.rho, settings.accounting)


def require_noise(query: RangeQuery, settings: LiveSettings, *, masked: bool) -> None:
    """Refuse a question whose noise owners could not draw; they would refuse it after it was charged."""
    with as_invalid_query():
        for scale in scales_of(query, settings.protection).values():
            require_drawn(scale, shared=masked)


def grid_of(asked: PlanAsked, usual: UsualGrouping) -> tuple[int, int]:
    """Return the columns and rows of the grid that owners are to be compared on."""
    return asked.columns or usual.columns, asked.rows or usual.rows


def plain_plan(asked: PlanAsked) -> dict[str, Any]:
    """Return a request for a plan as it is kept; one without a rho reads as before there were any."""
    return asked.model_dump(mode="json", exclude={"rho"} if asked.rho is None else None)


def price_of(asked: PlanAsked, settings: GroupingSettings, accounting: Accounting = PURE) -> Epsilon:
    """Return what grouping costs every owner: nothing where no noisy vectors are asked for."""
    with as_invalid_query():
        if settings.kind.vectors:
            return pure_price(asked.epsilon, asked.rho, accounting)
        if asked.rho is not None:
            pure_price(None, asked.rho, accounting)  # refused where epsilon is counted
        return NOTHING


def grouping_settings(
    asked: PlanAsked,
    usual: UsualGrouping,
    protection: Protection,
    *,
    most: int = MPC_MOST,
    accounting: Accounting = PURE,
) -> GroupingSettings:
    """Return how owners are to be grouped, or say what is wrong with it: nothing is spent on it."""
    size = asked.cohort_size if "cohort_size" in asked.model_fields_set else min(asked.cohort_size, most)
    if max(size, asked.largest or 0) > most:
        raise InvalidQuery(f"groups have at most {most} members here (mpc_most in the provider's file)")
    with as_invalid_query():
        settings = GroupingSettings(
            graph=asked.graph or usual.graph,
            limits=None if asked.largest is None else Limits(largest=asked.largest),
            leftovers=asked.leftovers or usual.leftovers,
            cohort_size=size,
            **asked.model_dump(include=_ALIKE),
        )
        if settings.kind.vectors:
            require_drawable(scale_of_noise(protection.of_histogram(), price_of(asked, settings, accounting)))
        return settings
