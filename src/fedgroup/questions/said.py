"""From words to a question: what callers of Python, the command line and HTTP may say, refused alike where it is wrong.

Nothing is spent on a question that is refused here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery, ProtocolViolation
from fedgroup.given import number
from fedgroup.questions.bins import Categories, as_length
from fedgroup.questions.instants import When, as_instant
from fedgroup.questions.kinds import KINDS, MEASURE, either, require_kind
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.rho import Rho
from fedgroup.space import Circle, Grid, MultiPolygon, Polygon, PublicMap, Range, Rectangle
from fedgroup.space.blocks import Blocks
from fedgroup.space.places import Districts, Hexagons, Places, as_grid, is_several, require_degrees, require_on_map
from fedgroup.space.ranges import range_from_geojson
from fedgroup.space.shapes import are_numbered, as_districts, as_range

NUMBERED = (
    "districts have no column or property 'name', so they are called by their numbers; say what has their names: "
    "district_names='COLUMN', or --district-names COLUMN"
)


class Said(TypedDict, total=False):
    """What can be said about any question besides its kind, its range and its epsilon; all of it can be left out.

    method      one of `methods.METHODS`; default: fedgroup with a plan, else dp
    attribute, clip, signed, resolution
                for sum and avg: values are cut to [0, clip] ([-clip, clip] if signed) and rounded to the resolution
    since, until
                the time window [since, until)
    fresh       ask anew and pay anew, even if the same question was asked before
    rho         the price in concentrated accounting, instead of an epsilon
    """

    method: str | None
    attribute: str | None
    clip: float | None
    signed: bool
    resolution: float | None
    since: When | None
    until: When | None
    fresh: bool
    rho: float | Rho | None


class MapSaid(TypedDict, total=False):
    """What can be said about the bins of a map: one of the places, and maybe steps of time and categories.

    grid        columns and rows of cells that cover the domain
    h3          the resolution of H3 cells, in a federation in degrees
    districts   polygons by their names: a dict, a GeoJSON collection or a GeoPandas frame
    district_names
                their names, or the column or property that has them; default: name
    range       one range, cut by time or categories only
    blocks      a domain in blocks, each cut into cells (`Blocks`), as a published map has them
    every       the length of a step of time, such as 1h; it needs since and until
    by          {"attribute": ["one", "another"]}: its categories; "other" stands for all others
    """

    grid: Any
    h3: int | None
    districts: Any
    district_names: Any
    range: Any
    blocks: Any
    every: Any
    by: Any


_PLACES = ("grid", "h3", "districts", "range", "blocks")


def places_said(said: Mapping[str, Any], public_map: PublicMap) -> Places:
    """Return the places that were said in one of the ways of `MapSaid`."""
    given = {name: said[name] for name in _PLACES if said.get(name) is not None}
    if len(given) != 1:
        told = "none" if not given else " and ".join(given)
        raise InvalidQuery(f"a map has one kind of places: a grid, h3, districts or a range; got {told}")
    ((name, places),) = given.items()
    match name:
        case "grid":
            return as_grid(places, public_map.domain)
        case "h3":
            require_degrees(public_map)
            return Hexagons(places, public_map.domain)
        case "districts":
            return as_districts(places, public_map, said.get("district_names"))
        case "blocks":
            return places if isinstance(places, Blocks) else Blocks.of_said(places, public_map.domain)
        case _:
            return as_range(places, public_map)


def naming_notes(said: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what to know about the names of places: districts without any are called by their numbers."""
    given = said.get("districts")
    return () if given is None or not are_numbered(given, said.get("district_names")) else (NUMBERED,)


def require_known(said: Mapping[str, Any], kind: type, *, what: str = "a question") -> None:
    """Refuse what cannot be said: a misspelled time window would release the answer for all times."""
    unknown = ", ".join(sorted(set(said) - set(kind.__annotations__)))
    if unknown:
        raise InvalidQuery(f"{what} has no {unknown}; it has {', '.join(kind.__annotations__)}")


def question_of(kind: str, places: Any, epsilon: Epsilon, said: Mapping[str, Any], public_map: PublicMap) -> RangeQuery:
    """Return the question that was asked about a range or the places of a map, or say what is wrong with it."""
    places = places if is_several(places) else as_range(places, public_map)
    require_kind(kind)
    require_on_map(places, public_map)
    since, until, every, by = (said.get(name) for name in ("since", "until", "every", "by"))
    return RangeQuery(
        kind,
        places,
        epsilon,
        _measure(kind, said),
        None if since is None else as_instant(since, name="since"),
        None if until is None else as_instant(until, name="until"),
        None if every is None else as_length(every),
        None if by is None else by if isinstance(by, Categories) else Categories.said(by),
        None if said.get("rho") is None else Rho.of(said["rho"]),
    )


def some_epsilon(epsilon: float | Epsilon | None) -> Epsilon:
    """Return an epsilon that noise can be calibrated to."""
    if epsilon is None:
        raise InvalidQuery("a private answer needs an epsilon, such as 0.3")
    cost = Epsilon.of(epsilon)
    if cost == NOTHING:
        raise InvalidQuery("epsilon must be greater than 0, got 0")
    return cost


def some_price(epsilon: float | Epsilon | None, rho: float | Rho | None) -> Epsilon:
    """Return the epsilon of a price that was said in one way; of a rho the largest that costs no more."""
    if rho is None:
        return some_epsilon(epsilon)
    if epsilon is not None:
        raise InvalidQuery("a question has one price: an epsilon, or a rho")
    return Rho.of(rho).pure


@contextmanager
def as_invalid_query() -> Iterator[None]:
    """Say of whatever is wrong with a question that it is the question."""
    try:
        yield
    except InvalidQuery:
        raise
    except (InvalidInput, ProtocolViolation) as error:
        raise InvalidQuery(str(error)) from None


def is_said(value: Any) -> bool:
    """Tell whether something was said at all; 0 was: it is a time."""
    return value is not None and value is not False


def _measure(kind: str, said: Mapping[str, Any]) -> Measure | None:
    if not KINDS[kind].measured:
        if any(is_said(said.get(name)) for name in MEASURE):
            others = either([name for name, other in KINDS.items() if other.measured])
            raise InvalidQuery(f"{kind} takes none of {', '.join(MEASURE)}; ask for {others}")
        return None
    attribute, clip, resolution = said.get("attribute"), said.get("clip"), said.get("resolution")
    if attribute is None or clip is None:
        raise InvalidQuery(f"{kind} needs an attribute and a clip, the largest value a record may contribute")
    return Measure(
        attribute,
        # one spelling of a number, so that repeated questions are recognised
        number(clip, name="clip", refusal=InvalidQuery),
        said.get("signed", False),
        None if resolution is None else number(resolution, name="resolution", refusal=InvalidQuery),
    )


# --- ranges in JSON ---------------------------------------------------------------------------------------------------


def said_range(asked: Range) -> dict[str, Any]:
    """Return a range as it is said in JSON; polygons are GeoJSON."""
    match asked:
        case Circle(x, y, radius):
            return {"circle": {"x": x, "y": y, "radius": radius}}
        case Rectangle(west, south, east, north):
            return {"rectangle": {"west": west, "south": south, "east": east, "north": north}}
        case Polygon():
            return {"polygon": {"type": "Polygon", "coordinates": _rings(asked)}}
        case MultiPolygon(parts):
            return {"polygon": {"type": "MultiPolygon", "coordinates": [_rings(part) for part in parts]}}
    raise InvalidQuery("a range is a Circle, a Rectangle, a Polygon or a MultiPolygon")


def said_places(places: Places) -> dict[str, Any]:
    """Return places as they are said in JSON; districts are a GeoJSON collection of named features."""
    match places:
        case Grid(_, columns, rows):
            return {"grid": [columns, rows]}
        case Hexagons(resolution):
            return {"h3": resolution}
        case Blocks() as blocks:
            return {"blocks": blocks.said()}
        case Districts(names, shapes):
            features = [
                {"type": "Feature", "properties": {"name": name}, "geometry": said_range(shape)["polygon"]}
                for name, shape in zip(names, shapes, strict=True)
            ]
            return {"districts": {"type": "FeatureCollection", "features": features}}
        case _:
            return said_range(places)


def range_said(
    circle: Mapping[str, float] | None,
    rectangle: Mapping[str, Any] | None,
    polygon: Mapping[str, Any] | None,
    *,
    lonlat: bool,
) -> Range:
    """Return the one range that was said in JSON."""
    if [circle, rectangle, polygon].count(None) != 2:
        raise InvalidQuery("ask about one range: a circle, a rectangle or a polygon")
    if circle is not None:
        return Circle(**circle)
    if rectangle is not None:
        sides = [rectangle[side] for side in ("west", "south", "east", "north")]
        if not rectangle.get("across_antimeridian"):
            return Rectangle(*sides)
        if not lonlat:
            raise InvalidQuery("across_antimeridian is for federations in degrees")
        return Rectangle.across_antimeridian(*sides)
    try:
        return range_from_geojson(json.dumps(polygon))
    except RecursionError:
        raise InvalidQuery("this is not a GeoJSON polygon: it is nested too deep") from None


def _rings(polygon: Polygon) -> list[list[list[float]]]:
    return [_closed(ring) for ring in (polygon.points, *polygon.holes)]


def _closed(ring: Sequence[tuple[float, float]]) -> list[list[float]]:
    points = [[x, y] for x, y in ring]
    return points if points[0] == points[-1] else [*points, points[0]]
