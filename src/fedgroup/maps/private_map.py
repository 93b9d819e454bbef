"""A map as its user gets it: a noisy value in every bin, how far noise may have moved it, and what the bins are.

Guarantee: everything here is made of what was released and of public bins. It costs nothing and can be done for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.questions.answers import Told
from fedgroup.questions.bins import Value
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle, Grid, PublicMap, Rectangle
from fedgroup.space.geodesy import places_around
from fedgroup.space.places import Districts, Hexagons, Places, grid_shapes

Array = npt.NDArray[Any]

MOST_STORED = 100_000
"""The bins of maps that are kept for whoever asks the same again."""

_ARRAYS = ("values", "low", "high")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROUND = 64
"""A circle is drawn with so many corners."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateMap(Told):
    """The answer to a question with many bins; `values`, `low` and `high` have one entry a bin.

    An interval [low, high] holds its own bin's value with `confidence`; values plus and minus `half_width_all` hold
    all of them at once with that confidence (None for means). `scales` are those of the noise of each part, in whole
    units; every bin holds `noises` such noises. `true_values` are for evaluation.
    """

    query: RangeQuery
    public_map: PublicMap
    values: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    half_width_all: float | None
    scales: Mapping[str, float]
    true_values: Array | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        return self.query.kind

    @property
    def bins(self) -> int:
        return self.query.bins

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many places, steps of time and categories there are."""
        return self.query.shape

    @property
    def places(self) -> Places:
        return self.query.range

    @property
    def intervals(self) -> Array:
        """The interval of every bin, a row each."""
        return np.stack([self.low, self.high], axis=1)

    def __len__(self) -> int:
        return self.bins

    def names(self) -> list[str]:
        """Return the name of every place: an H3 id, a district's name, or row and column of a cell."""
        match self.places:
            case Hexagons() as hexagons:
                return hexagons.names
            case Districts() as districts:
                return list(districts.names)
            case Grid() as grid:
                return [f"{row}-{column}" for row in range(grid.rows) for column in range(grid.columns)]
            case _:
                return ["range"]

    def geometries(self) -> list[shapely.Geometry]:
        """Return the shape of every place."""
        match self.places:
            case Grid() as grid:
                return grid_shapes(grid)
            case Hexagons() | Districts() as several:
                return list(several.shapes())
            case Rectangle(west, south, east, north):
                return [shapely.box(west, south, east, north)]
            case Circle(x, y, radius):
                return [_disc(x, y, radius, lonlat=self.public_map.lonlat)]
            case polygon:
                return [polygon.shape]

    def starts(self) -> list[datetime | None]:
        """Return when every step of time begins; one None where no steps were asked for."""
        query = self.query
        if query.every is None or query.since is None:
            return [None if query.since is None else _time(query.since)]
        return [_time(query.since + at * query.every) for at in range(self.shape[1])]

    def categories(self) -> list[Value | None]:
        """Return every category; one None where none were asked for."""
        return [None] if self.query.by is None else list(self.query.by.names)

    def at(self, values: Array) -> Array:
        """Return values of the bins as an array of places, steps of time and categories."""
        return values.reshape(self.shape)

    def of_places(self) -> Array:
        """Return the value of every place, steps of time and categories added up; means have no such sum."""
        summed: Array = self.at(self.values).sum(axis=(1, 2))
        return summed


def told_of(private_map: Told) -> dict[str, Any]:
    """Return what is told with an answer, as JSON values."""
    facts = {each.name: getattr(private_map, each.name) for each in fields(Told)}
    return facts | {"notes": list(private_map.notes), "refused": dict(private_map.refused)}


def map_facts(made: PrivateMap) -> dict[str, Any]:
    """Return a map as JSON values, without its bins, which its question has."""
    arrays = {name: [None if each != each else each for each in getattr(made, name).tolist()] for name in _ARRAYS}
    return told_of(made) | arrays | {"half_width_all": made.half_width_all, "scales": dict(made.scales)}


def map_from(facts: Mapping[str, Any], query: RangeQuery, public_map: PublicMap, **changed: Any) -> PrivateMap:
    """Return a map from JSON values, with some of them `changed`; what a newer party tells besides is left out."""
    told = {each.name: facts[each.name] for each in fields(Told) if each.name in facts}
    arrays = {name: np.array([np.nan if each is None else each for each in facts[name]]) for name in _ARRAYS}
    told |= {"notes": tuple(told.get("notes", ()))} | changed
    facts = {"half_width_all": facts["half_width_all"], "scales": dict(facts["scales"])} | arrays | told
    return PrivateMap(query=query, public_map=public_map, **facts)


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _disc(x: float, y: float, radius: float, *, lonlat: bool) -> shapely.Geometry:
    if not lonlat:
        return shapely.Point(x, y).buffer(radius, quad_segs=_ROUND // 4)
    return shapely.Polygon(places_around(x, y, radius, _ROUND))
