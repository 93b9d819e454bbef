"""A question in plain values, as it travels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages.limits import MOST_POINTS, MOST_TEXT, require
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Circle, MultiPolygon, Polygon, Range, Rectangle

Ring = list[list[float]]
"""Points as pairs of numbers."""


@dataclass(frozen=True)
class WireRange:
    """A range in plain numbers: `circle` x, y, radius; `rectangle` west, south, east, north; `polygons` rings."""

    shape: str
    numbers: list[float] = field(default_factory=list)
    polygons: list[list[Ring]] = field(default_factory=list)

    def __post_init__(self) -> None:
        lengths = {"circle": 3, "rectangle": 4, "polygons": 0}
        require(lengths.get(self.shape) == len(self.numbers), "a range has the numbers of its shape")
        require(all(map(math.isfinite, self.numbers)), "a range is made of finite numbers")
        require((self.shape == "polygons") == bool(self.polygons), "polygons have rings, other shapes have none")
        points = [point for polygon in self.polygons for ring in polygon for point in ring]
        require(len(points) <= MOST_POINTS, f"a range has at most {MOST_POINTS} points")
        require(all(len(point) == 2 for point in points), "a point is two numbers")
        require(all(polygon for polygon in self.polygons), "a polygon has an outer ring")

    @classmethod
    def of(cls, asked: Range) -> WireRange:
        """Return a range as it travels."""
        match asked:
            case Circle(x, y, radius):
                return cls("circle", [x, y, radius])
            case Rectangle(west, south, east, north):
                return cls("rectangle", [west, south, east, north])
            case Polygon():
                return cls("polygons", polygons=[_rings(asked)])
            case MultiPolygon(parts):
                return cls("polygons", polygons=[_rings(part) for part in parts])
        raise InvalidInput("a range is a circle, a rectangle, a polygon or several polygons")

    def read(self) -> Range:
        """Return the range itself, which checks the rest."""
        if self.shape == "circle":
            return Circle(*self.numbers)
        if self.shape == "rectangle":
            return Rectangle(*self.numbers)
        parts = [_polygon(rings) for rings in self.polygons]
        return parts[0] if len(parts) == 1 else MultiPolygon(parts)


@dataclass(frozen=True)
class WireQuery:
    """A question in plain values; `since` and `until` are microseconds since 1970."""

    kind: str
    range: WireRange
    epsilon_nano: int
    attribute: str | None = None
    clip: float | None = None
    signed: bool = False
    resolution: float | None = None
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        require(self.kind in KINDS, "a question is of a known kind")
        require(self.epsilon_nano > 0, "a question has an epsilon greater than 0")
        require(self.attribute is None or 0 < len(self.attribute) <= MOST_TEXT, "an attribute has a short name")

    @classmethod
    def of(cls, query: RangeQuery) -> WireQuery:
        """Return a question as it travels."""
        m = query.measure
        measured = () if m is None else (m.attribute, m.clip, m.signed, m.resolution)
        plain = cls(query.kind, WireRange.of(query.range), query.epsilon.nano, *measured)
        return plain if query.since is None and query.until is None else _within(plain, query)

    def read(self) -> RangeQuery:
        """Return the question itself, which checks the rest."""
        return self._read

    @cached_property
    def _read(self) -> RangeQuery:
        measure = None
        if self.attribute is not None and self.clip is not None:
            measure = Measure(self.attribute, self.clip, self.signed, self.resolution)
        return RangeQuery(self.kind, self.range.read(), Epsilon(self.epsilon_nano), measure, self.since, self.until)


def _rings(polygon: Polygon) -> list[Ring]:
    return [[[float(x), float(y)] for x, y in ring] for ring in (polygon.points, *polygon.holes)]


def _polygon(rings: list[Ring]) -> Polygon:
    outer, *holes = ([(x, y) for x, y in ring] for ring in rings)
    return Polygon(outer, holes)


def _within(plain: WireQuery, query: RangeQuery) -> WireQuery:
    return replace(plain, since=query.since, until=query.until)
