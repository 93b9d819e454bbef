"""A map as its user gets it: a noisy value in every bin, how far noise may have moved it, and what the bins are.

Guarantee: everything here is made of what was released and of public bins. It costs nothing and can be done for ever.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.given import written
from fedgroup.privacy.concentrated_law import ConcentratedSum
from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.questions.answers import Told
from fedgroup.questions.bins import Value
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.words import question
from fedgroup.space import Grid, PublicMap
from fedgroup.space.blocks import Blocks
from fedgroup.space.places import Districts, Hexagons, Places, grid_shapes
from fedgroup.space.shapes import drawn

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Array = npt.NDArray[Any]

MOST_STORED = 100_000
"""The bins of maps that are kept for whoever asks the same again."""

_ARRAYS = ("values", "low", "high")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateMap(Told):
    """The answer to a question with many bins; `values`, `low` and `high` have one entry a bin.

    An interval [low, high] holds its own bin's value with `confidence`; values plus and minus `half_width_all` hold
    all of them at once with that confidence (None for means). `scales` are those of the noise of each part, in whole
    units; every bin holds `noises` such noises. `protection` says in words who is protected. For evaluation,
    `true_values` are what the data say, `true_values_clipped` the same after clipping, rounding and cuts, which is what
    noise is added to. `id` is the map's name at the service that was asked for it.
    """

    query: RangeQuery
    public_map: PublicMap
    values: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    half_width_all: float | None
    scales: Mapping[str, float]
    protection: str = ""
    true_values: Array | None = field(default=None, repr=False)
    true_values_clipped: Array | None = field(default=None, repr=False)
    id: str | None = None

    @property
    def kind(self) -> str:
        return self.query.kind

    @property
    def bins(self) -> int:
        return self.query.bins

    @property
    def signed(self) -> bool:
        """Whether true values may be below 0."""
        return self.query.measure is not None and self.query.measure.signed

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

    def __repr__(self) -> str:
        said = f"{question(self.query)}, {self.bins} bins, epsilon {self.epsilon:g} by {self.method}"
        all_bins = "" if self.half_width_all is None else f", all within {self.half_width_all:g}"
        return f"<PrivateMap of the {said}{all_bins}; .values, .intervals, .to_frame(), .plot()>"

    def names(self) -> list[str]:
        """Return the name of every place: an H3 id, a district's name, or row and column of a cell."""
        match self.places:
            case Hexagons() | Blocks() as named:
                return named.names
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
            case Hexagons() | Districts() | Blocks() as several:
                return list(several.shapes())
            case one_range:
                return [drawn(one_range, lonlat=self.public_map.lonlat)]

    def starts(self) -> list[datetime | None]:
        """Return when every step of time begins; one None where no steps were asked for."""
        query = self.query
        if query.every is None or query.since is None:
            return [None if query.since is None else _time(query.since)]
        return [_time(query.since + at * query.every) for at in range(self.shape[1])]

    def ends(self) -> list[datetime | None]:
        """Return when every step of time is over; the last may be shorter than the others: it ends with the window."""
        query = self.query
        if query.every is None or query.since is None or query.until is None:
            return [None if query.until is None else _time(query.until)]
        return [_time(min(query.since + (at + 1) * query.every, query.until)) for at in range(self.shape[1])]

    def categories(self) -> list[Value | None]:
        """Return every category; one None where none were asked for."""
        return [None] if self.query.by is None else list(self.query.by.names)

    def at(self, values: Array) -> Array:
        """Return values of the bins, such as `values` or `low`, as an array of places, steps of time and categories."""
        found = np.asarray(values)
        if found.shape != (self.bins,):
            raise InvalidQuery(
                f"at takes one value a bin, such as made.at(made.values), {self.bins} here, and returns them by place, "
                f"step and category; got {found.size if found.ndim else written(values)}"
            )
        return found.reshape(self.shape)

    def of_places(self) -> Array:
        """Return the value of every place, steps of time and categories added up; means and people do not add up."""
        self.require_summable()
        summed: Array = self.at(self.values).sum(axis=(1, 2))
        return summed

    @property
    def adds_up(self) -> bool:
        """Whether the bins of a place can be added up; of means and of people they cannot, if there are several."""
        return self.shape[1] * self.shape[2] == 1 or self.kind in ("count", "sum")

    def require_summable(self) -> None:
        """Refuse to add up what has no such sum."""
        if not self.adds_up:
            twice = ": who is in several steps or categories is counted in each" if self.kind == "people" else ""
            kind = "people" if self.kind == "people" else "means"
            raise InvalidQuery(f"{kind} do not add up{twice}; choose one step and one category, as plot(step=0) does")

    def more_columns(self) -> Mapping[str, Array]:
        """Return what a table of this map has besides the usual; see `PublishedMap`."""
        return {}

    def more_facts(self) -> Mapping[str, Any]:
        """Return what is told of this map besides the usual, as JSON values; see `PublishedMap`."""
        return {}

    # --- what others read, see or open ----------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with a row for every bin; see `frames.columns_of` for its columns."""
        from fedgroup.maps.frames import to_frame

        return to_frame(self)

    def to_geodataframe(self) -> Any:
        """Return a GeoPandas frame with a row and a shape for every bin: EPSG:4326 in degrees, else the plane's CRS."""
        from fedgroup.maps.frames import to_geodataframe

        return to_geodataframe(self)

    def plot(self, ax: Axes | None = None, *, step: int | None = None, category: Value | None = None) -> Axes:
        """Draw the map with matplotlib and return its axes; what noise alone may explain is grey and hatched.

        Steps of time and categories are added up, unless a `step` (0 is the first) or a `category` is chosen; means and
        people do not add up, so choose one. What no interval covers, such as people beyond `max_bins`, is told below.
        """
        from fedgroup.maps.pictures import plot

        return plot(self, ax, step=step, category=category)

    def explore(
        self, *, step: int | None = None, category: Value | None = None, tiles: str | None = "OpenStreetMap"
    ) -> Any:
        """Return a folium map to look around in, in a notebook or a browser (`save("map.html")`).

        The browser fetches `tiles` of the place from outside, and folium's scripts; None: no tiles.
        """
        from fedgroup.maps.frames import explore

        return explore(self, step=step, category=category, tiles=tiles)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map as .gpkg, .parquet (GeoParquet), .geojson or .csv, with all that is told about it."""
        from fedgroup.maps.files import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> PrivateMap:
        """Return a map that was saved."""
        from fedgroup.maps.files import load_map

        return load_map(path)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The bins as a GeoJSON collection, a feature each."""
        from fedgroup.maps.frames import feature_collection

        return feature_collection(self)

    def _repr_html_(self) -> str:
        from fedgroup.maps.pictures import map_html

        return map_html(self)


def noise_in(made: PrivateMap, bins: int) -> NoiseSum | ConcentratedSum:
    """Return the law of the noise in so many bins together, in whole units.

    Where the price was a rho, some of it may be Gaussian and some Skellam; its variance is then the largest that the
    map's own intervals allow.
    """
    (part,) = made.query.parts
    if made.query.rho is None:
        return NoiseSum(DiscreteLaplace(Fraction(made.scales[part])), made.noises * bins)
    return ConcentratedSum(Fraction(1), 0.0, skellam=_most_variance(made) * bins)


def _most_variance(made: PrivateMap) -> float:
    """Return the largest variance of a bin's noise, in whole units, of which no interval would be wider than it is."""
    step = 1.0 if made.query.measure is None else float(made.query.measure.step)
    found = [(float(made.high[0] - made.low[0]) / 2 / step, made.confidence)]
    if made.half_width_all is not None:
        found.append((made.half_width_all / step, made.confidence ** (1 / made.bins)))
    return min(((half + 0.5) / NormalDist().inv_cdf((1 + confidence) / 2)) ** 2 for half, confidence in found)


def told_of(private_map: Told) -> dict[str, Any]:
    """Return what is told with an answer, as JSON values."""
    facts = {each.name: getattr(private_map, each.name) for each in fields(Told)}
    return facts | {"notes": list(private_map.notes), "refused": dict(private_map.refused)}


def map_facts(made: PrivateMap) -> dict[str, Any]:
    """Return a map as JSON values, without its bins, which its question has."""
    return told_of(made) | {name: _json(getattr(made, name)) for name in _ARRAYS} | noise_of(made)


def bins_of(made: PrivateMap) -> dict[str, Any]:
    """Return what the bins of a map are, as JSON values: their shape, and the names of all that they are made of.

    `starts` and `ends` of steps, and `categories`, are None where there are none.
    """
    times = {"starts": made.starts(), "ends": made.ends()} if made.query.every is not None else {}
    told = {name: [None if at is None else at.isoformat() for at in times[name]] for name in times}
    categories = None if made.query.by is None else made.categories()
    bins = {"shape": list(made.shape), "names": made.names(), "starts": None, "ends": None}
    return bins | told | {"by": None if made.query.by is None else made.query.by.attribute, "categories": categories}


def truths_of(made: PrivateMap) -> dict[str, Any]:
    """Return what a map can be compared with, for evaluation, as JSON values; nothing where it was not asked for."""
    truths = {"true_values": made.true_values, "true_values_clipped": made.true_values_clipped}
    return {name: _json(values) for name, values in truths.items() if values is not None}


def noise_of(made: PrivateMap) -> dict[str, Any]:
    """Return how far noise moves a map and whom it protects, as JSON values."""
    noise = {"half_width_all": made.half_width_all, "scales": dict(made.scales)}
    return noise | ({"protection": made.protection} if made.protection else {})


def map_from(facts: Mapping[str, Any], query: RangeQuery, public_map: PublicMap, **changed: Any) -> PrivateMap:
    """Return a map from JSON values, with some of them `changed`; what a newer party tells besides is left out."""
    told = {each.name: facts[each.name] for each in fields(Told) if each.name in facts}
    arrays = {name: np.array([np.nan if each is None else each for each in facts[name]]) for name in _ARRAYS}
    told |= {"notes": tuple(told.get("notes", ()))} | changed
    noise = {"half_width_all": facts["half_width_all"], "scales": dict(facts["scales"])}
    facts = noise | {"protection": facts.get("protection", "")} | arrays | told
    return PrivateMap(query=query, public_map=public_map, **facts)


def _json(values: Array) -> list[Any]:
    return [None if each != each else each for each in values.tolist()]


def _time(microseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:  # before the year 1
        return None
