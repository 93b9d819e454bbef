"""A question in plain values, as it travels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages.cells_from import CellsFrom
from fedgroup.messages.limits import (
    MOST_DISTRICT_POINTS,
    MOST_NAMES_BYTES,
    MOST_POINTS,
    MOST_TEXT,
    MOST_WORDS,
    require,
)
from fedgroup.questions.bins import Categories
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.remembered import remembered
from fedgroup.rho import LARGEST, PICO, Rho
from fedgroup.space import Box, Circle, Grid, MultiPolygon, Polygon, Rectangle
from fedgroup.space.blocks import DEEPEST, HIGHEST, Blocks
from fedgroup.space.places import Districts, Hexagons, Places

Ring = list[list[float]]
"""Points as pairs of numbers."""

_LATEST = 1 << 62
"""Microseconds: differences of times fit 64 bits."""
_LENGTHS = {"circle": 3, "rectangle": 4, "polygons": 0, "grid": 2, "h3": 1, "districts": 0, "blocks": 1}


@dataclass(frozen=True)
class WireRange:
    """One range or many places, in plain numbers.

    `circle` x, y, radius; `rectangle` west, south, east, north; `polygons` rings; `grid` columns, rows of the agreed
    domain; `h3` a resolution; `districts` a name for each, with its polygons in `parts_of`; `blocks` a level, and how
    often each block is cut: four bits each in `depths`, the lower ones first.
    """

    shape: str
    numbers: list[float] = field(default_factory=list)
    polygons: list[list[Ring]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    parts_of: list[int] = field(default_factory=list)
    depths: bytes = b""

    def __post_init__(self) -> None:
        require(_LENGTHS.get(self.shape) == len(self.numbers), "a range has the numbers of its shape")
        require(all(map(math.isfinite, self.numbers)), "a range is made of finite numbers")
        drawn = self.shape in ("polygons", "districts")
        require(drawn == bool(self.polygons), "polygons have rings, other shapes have none")
        points = [point for polygon in self.polygons for ring in polygon for point in ring]
        most = MOST_DISTRICT_POINTS if self.shape == "districts" else MOST_POINTS
        require(len(points) <= most, f"a range has at most {most} points")
        require(all(len(point) == 2 for point in points), "a point is two numbers")
        require(all(math.isfinite(x) and math.isfinite(y) for x, y in points), "a range is made of finite numbers")
        require(all(polygon for polygon in self.polygons), "a polygon has an outer ring")
        require((self.shape == "districts") == bool(self.names), "districts have names, other shapes have none")
        require(len(self.names) == len(self.parts_of), "a district has a name and polygons")
        require(min(self.parts_of, default=1) >= 1, "a district has a polygon")
        require(not self.names or sum(self.parts_of) == len(self.polygons), "a polygon is of one district")
        require(all(0 < len(name) <= MOST_TEXT for name in self.names), "a district has a short name")
        _require_short(self.names)
        if self.shape == "blocks":
            level = _whole(self.numbers[0])
            require(0 <= level <= HIGHEST, f"blocks have a level of 0 to {HIGHEST}")
            require(len(self.depths) == max(1, 4**level // 2), "every block is cut so often")
            deepest = max(max(pair & 15, pair >> 4) for pair in self.depths)
            require(deepest <= DEEPEST, f"a block is cut up to {DEEPEST} times")
        else:
            require(not self.depths, "blocks are cut, other shapes are not")

    @classmethod
    def of(cls, asked: Places) -> WireRange:
        """Return places as they travel."""
        match asked:
            case Circle(x, y, radius):
                return cls("circle", [x, y, radius])
            case Rectangle(west, south, east, north):
                return cls("rectangle", [west, south, east, north])
            case Polygon() | MultiPolygon():
                return cls("polygons", polygons=_polygons(asked))
            case Grid(_, columns, rows):
                return cls("grid", [float(columns), float(rows)])
            case Hexagons(resolution):
                return cls("h3", [float(resolution)])
            case Blocks(_, level, depths):
                return cls("blocks", [float(level)], depths=_packed(depths))
            case Districts(names, shapes):
                drawn = [_polygons(shape) for shape in shapes]
                parts = [len(each) for each in drawn]
                return cls(
                    "districts", polygons=[one for each in drawn for one in each], names=list(names), parts_of=parts
                )
        raise InvalidInput("a range is a circle, a rectangle, a polygon or several polygons")

    def read(self, domain: Box) -> Places:
        """Return the places themselves, which check the rest; cells are those of the agreed domain."""
        match self.shape:
            case "circle":
                return Circle(*self.numbers)
            case "rectangle":
                return Rectangle(*self.numbers)
            case "grid":
                return Grid(domain, *map(_whole, self.numbers))
            case "h3":
                cells = Hexagons(_whole(self.numbers[0]), domain)
                require(cells.expected <= 2 * MOST_WORDS, f"a live map has at most {MOST_WORDS} bins")
                return cells
            case "blocks":
                level = _whole(self.numbers[0])
                return Blocks(domain, level, _unpacked(self.depths, 4**level))
            case "districts":
                rest = iter(self.polygons)
                # whether they overlap was looked at by who asks; a place is in one of them in any case
                shapes = tuple(_shape([next(rest) for _ in range(n)]) for n in self.parts_of)
                return Districts(tuple(self.names), shapes, checked=False)
        return _shape(self.polygons)


@dataclass(frozen=True)
class WireQuery:
    """A question in plain values; `since`, `until` and `every` are microseconds, the first two since 1970.

    `cells_from` tells what the blocks of a published map follow from.
    """

    kind: str
    range: WireRange
    epsilon_nano: int
    attribute: str | None = None
    clip: float | None = None
    signed: bool = False
    resolution: float | None = None
    since: int | None = None
    until: int | None = None
    every: int | None = None
    by: str | None = None
    values: list[str | float] = field(default_factory=list)
    other: bool = False
    rho_pico: int | None = None
    cells_from: CellsFrom | None = None

    def __post_init__(self) -> None:
        blocks = self.range.shape == "blocks"
        require(blocks or self.cells_from is None, "blocks follow from earlier answers, other shapes do not")
        require(self.kind in KINDS, "a question is of a known kind")
        require(self.epsilon_nano > 0, "a question has an epsilon greater than 0")
        _require_price(self.epsilon_nano, self.rho_pico)
        require(self.attribute is None or 0 < len(self.attribute) <= MOST_TEXT, "an attribute has a short name")
        times = (self.since, self.until, self.every)
        require(all(time is None or abs(time) < _LATEST for time in times), "a time lies within some 100,000 years")
        require(self.by is None or 0 < len(self.by) <= MOST_TEXT, "an attribute has a short name")
        require((self.by is not None) == bool(self.values), "categories are values of an attribute")
        numbers = [self.clip, self.resolution, *(value for value in self.values if not isinstance(value, str))]
        finite = all(number is None or math.isfinite(number) for number in numbers)
        require(finite, "a question is made of finite numbers")
        texts = [value for value in self.values if isinstance(value, str)]
        require(all(len(text) <= MOST_TEXT for text in texts), "a category has a short name")
        _require_short(texts)

    @classmethod
    def of(cls, query: RangeQuery) -> WireQuery:
        """Return a question as it travels."""
        m, by = query.measure, query.by
        measured = () if m is None else (m.attribute, m.clip, m.signed, m.resolution)
        plain = cls(query.kind, WireRange.of(query.range), query.epsilon.nano, *measured)
        cut: dict[str, Any] = {} if by is None else {"by": by.attribute, "values": list(by.values), "other": by.other}
        rho = None if query.rho is None else query.rho.pico
        said = replace(plain, since=query.since, until=query.until, every=query.every, rho_pico=rho, **cut)
        _require_few(query)
        return said

    @property
    def is_range(self) -> bool:
        """Whether it is about one range and one time window."""
        places = self.range.shape in ("grid", "h3", "districts", "blocks")
        return not places and self.every is None and self.by is None

    def read(self, domain: Box) -> RangeQuery:
        """Return the question itself, which checks the rest; it is read once for one domain."""
        return remembered(self, "read", lambda: self._read(domain), given=domain)

    def _read(self, domain: Box) -> RangeQuery:
        measure = None
        if self.attribute is not None and self.clip is not None:
            measure = Measure(self.attribute, self.clip, self.signed, self.resolution)
        query = RangeQuery(
            self.kind,
            self.range.read(domain),
            Epsilon(self.epsilon_nano),
            measure,
            self.since,
            self.until,
            self.every,
            None if self.by is None else Categories(self.by, tuple(self.values), self.other),
            None if self.rho_pico is None else Rho(self.rho_pico),
        )
        _require_few(query)
        return query


def _require_few(query: RangeQuery) -> None:
    """Refuse more bins than fit an answer; a mean takes two numbers a bin."""
    most = MOST_WORDS // len(query.parts)
    require(query.bins <= most, f"a live map of this kind has at most {most} bins, got {query.bins}")


def _require_price(epsilon_nano: int, rho_pico: int | None) -> None:
    """Refuse a rho whose epsilon is another one than it comes to: who reads only one of them must not be misled."""
    if rho_pico is not None:
        require(0 < rho_pico <= LARGEST * PICO, "a rho is greater than 0, and not too large to be counted")
        require(Rho(rho_pico).pure.nano == epsilon_nano, "a question for a rho has the epsilon that costs as much")


def _require_short(names: list[str]) -> None:
    """Refuse names that would make a question longer than a message."""
    long = sum(len(name.encode(errors="replace")) for name in names) > MOST_NAMES_BYTES
    require(not long, f"names of districts or categories take at most {MOST_NAMES_BYTES} bytes in all")


def _polygons(shape: Polygon | MultiPolygon) -> list[list[Ring]]:
    return [_rings(part) for part in ([shape] if isinstance(shape, Polygon) else shape.parts)]


def _shape(polygons: list[list[Ring]]) -> Polygon | MultiPolygon:
    parts = [_polygon(rings) for rings in polygons]
    return parts[0] if len(parts) == 1 else MultiPolygon(parts)


def _packed(depths: bytes) -> bytes:
    """Return two depths a byte."""
    padded = depths + bytes(len(depths) % 2)
    return bytes(low | high << 4 for low, high in zip(padded[::2], padded[1::2], strict=True))


def _unpacked(pairs: bytes, blocks: int) -> bytes:
    depths = bytes(half for pair in pairs for half in (pair & 15, pair >> 4))
    require(not any(depths[blocks:]), "every block is cut so often")
    return depths[:blocks]


def _whole(number: float) -> int:
    require(number.is_integer(), "cells are counted in whole numbers")
    return int(number)


def _rings(polygon: Polygon) -> list[Ring]:
    return [[[float(x), float(y)] for x, y in ring] for ring in (polygon.points, *polygon.holes)]


def _polygon(rings: list[Ring]) -> Polygon:
    outer, *holes = ([(x, y) for x, y in ring] for ring in rings)
    return Polygon(outer, holes)
