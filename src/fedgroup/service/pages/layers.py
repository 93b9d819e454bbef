"""Published private maps as a page shows them: cells to colour, and free answers about any area.

Guarantee: a layer is made of what was released before. Looking at it, and asking it, costs nobody anything.

A page takes layers from whoever publishes: files of maps that an operator names (`layers_of`), and the maps that live
owners published (`published_layers`). Where a map answers ranges by itself, its own answers are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.free import NOTHING
from fedgroup.maps.intervals import GUESSED, ROUGH
from fedgroup.maps.private_map import PrivateMap, noise_in
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.shelf import newest
from fedgroup.maps.squares import squares
from fedgroup.questions.query import Measure
from fedgroup.questions.said import said_range
from fedgroup.space import Grid, PublicMap, Range, Rectangle
from fedgroup.space.shapes import drawn, geometry_of

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

UNEVEN = 0.8
"""v of V = v n^2 f (1 - f), by which n records of a cell are uneven: the most that was seen at any scale."""
_Z = 1.959964
_MOST_SHOWN = 50_000
"""Cells that a browser is given at most: those with the largest values."""
_WHOLE = 1e-9
_EVEN = 1e-6


@dataclass(frozen=True)
class AreaAnswer:
    """A value read off a map, its 95 % interval, and the share of the interval that cut cells make, from 0 to 1.

    `rough` tells that the map hardly knows how much of the cells it cuts a range holds, `guessed` that it has too few
    cells to tell how uneven they are, `nothing` that there may be nothing in it.
    """

    value: float
    low: float
    high: float
    cut: float = 0.0
    rough: bool = False
    guessed: bool = False
    nothing: bool = False


@dataclass(frozen=True, kw_only=True)
class About:
    """What a layer is of: its kind and window, and the measure of a sum. `name` finds it, `at` is when it was made.

    `asks` tells whether it answers areas.
    """

    kind: str
    epsilon: float
    name: str = ""
    at: str | None = None
    since: int | None = None
    until: int | None = None
    measure: Measure | None = None
    asks: bool = True

    @property
    def subject(self) -> tuple[Any, ...]:
        """What the newest of several is shown of."""
        return self.kind, self.measure, self.since, self.until

    def facts(self) -> dict[str, Any]:
        """Return what a page is told about a layer before it is opened."""
        measure = self.measure
        told = {"name": self.name, "kind": self.kind, "epsilon": self.epsilon, "at": self.at, "asks": self.asks}
        times = {"since": _iso(self.since), "until": _iso(self.until)}
        sum_of = {"attribute": None if measure is None else measure.attribute}
        return told | times | sum_of | {"clip": None if measure is None else measure.clip}


@dataclass(frozen=True, eq=False, kw_only=True)
class PageLayer:
    """One published map of one window of time.

    `cells` has a row for every cell: west, south, east, north, value, low, high. Noise alone lifts any cell of the
    whole map above `least` with a chance of 5 % at most: what is not above is shown as empty, unless `sure` tells
    otherwise which cells can be told from empty ones. `count` answers a range, and `snap` returns the area of whole
    cells that is most like a range; None where that has no meaning, as for distinct people. `published` is a map that
    sharpens what it says with paid answers, and compares areas; `from_afar` returns it as squares of which so many lie
    along a side, for its own cells may be too small to be seen.
    """

    kind: str
    cells: Floats = field(repr=False)
    least: float
    owners: int
    epsilon: float
    protection: str = ""
    name: str = ""
    at: str | None = None
    since: int | None = None
    until: int | None = None
    measure: Measure | None = None
    sure: Flags | None = field(default=None, repr=False)
    count: Callable[[Range], AreaAnswer] | None = field(default=None, repr=False)
    snap: Callable[[Range], dict[str, Any] | None] | None = field(default=None, repr=False)
    published: PublishedMap | None = field(default=None, repr=False)
    from_afar: Callable[[int], PageLayer] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or self.cells.shape[1] != 7:
            raise InvalidInput("cells of a layer are rows of west, south, east, north, value, low and high")

    @property
    def asks(self) -> bool:
        """Whether it answers areas."""
        return self.count is not None

    @property
    def about(self) -> About:
        """What it is of."""
        return About(**{each.name: getattr(self, each.name) for each in fields(About)})

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The box around all cells."""
        low, high = self.cells[:, :2].min(axis=0), self.cells[:, 2:4].max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    @property
    def shown(self) -> Floats:
        """The cells that can be told from empty ones, the largest values last."""
        sure = self.cells[:, 4] > self.least if self.sure is None else self.sure
        cells = self.cells[sure]
        chosen: Floats = cells[np.argsort(cells[:, 4], kind="stable")][-_MOST_SHOWN:]
        return chosen

    @property
    def even(self) -> bool:
        """Whether all cells are of one size, so that their values can be compared as they are."""
        wide, high = self.cells[:, 2] - self.cells[:, 0], self.cells[:, 3] - self.cells[:, 1]
        return bool(np.ptp(wide) < _EVEN * wide.max() and np.ptp(high) < _EVEN * high.max())

    def facts(self) -> dict[str, Any]:
        """Return what a page is told about a layer with its cells."""
        told = {"what": _WHAT[self.kind], "owners": self.owners, "least": self.least, "even": self.even}
        return (
            self.about.facts()
            | told
            | {
                "compares": self.published is not None,
                "from_afar": self.from_afar is not None,
            }
        )


_WHAT = {"count": "records", "people": "people", "sum": "sum"}


def layers_of(made: PrivateMap) -> list[PageLayer]:
    """Return the layers of a map: of one over a grid one for each step of time, its categories added up."""
    if isinstance(made, PublishedMap):
        return [published_layer(made)]
    if not isinstance(made.places, Grid) or made.kind == "avg":
        raise InvalidInput("a page shows maps over a grid, of counts, people or sums")
    starts, query = made.starts(), made.query
    values = made.at(made.values).astype(float).sum(axis=2)
    noise = _CellNoise.of(made)
    found = []
    for step, start in enumerate(starts):
        since = query.since if query.every is None or query.since is None else query.since + step * query.every
        until = query.until if query.every is None or start is None or since is None else since + query.every
        grid = _GridReader(made.places, made.public_map, values[:, step], noise)
        found.append(replace(_grid_layer(made, grid), since=since, until=until))
    return found


def published_layer(made: PublishedMap, *, name: str = "") -> PageLayer:
    """Return the layer of a map that was published: its cells are as they came out, its answers are its own."""
    layer = PageLayer(
        cells=np.stack([*made.blocks.boxes, made.values, made.low, made.high], axis=1).astype(float),
        least=made.threshold,
        sure=made.shown,
        count=lambda asked: _read_off(made, asked),
        snap=lambda asked: _snapped(made, asked),
        published=made,
        **_told(made),
    )
    layer = replace(layer, name=name, since=made.query.since, until=made.query.until)
    return replace(layer, from_afar=lambda side: _from_afar(layer, made, side))


def _from_afar(layer: PageLayer, made: PublishedMap, side: int) -> PageLayer:
    found = squares(made, side)
    low = found.values - found.half_widths
    ends = (low if made.signed else np.maximum(low, 0.0), found.values + found.half_widths)
    cells = np.stack([*found.boxes, found.values, *ends], axis=1)
    return replace(layer, cells=cells, sure=found.sure, least=found.least)


def _told(made: PrivateMap) -> dict[str, Any]:
    told = {"kind": made.kind, "owners": made.heard, "epsilon": made.epsilon, "protection": made.protection}
    return told | {"at": made.asked_at, "measure": made.query.measure}


def _grid_layer(made: PrivateMap, grid: _GridReader) -> PageLayer:
    adds_up = made.kind != "people"
    return PageLayer(
        cells=grid.cells(),
        least=grid.noise.half_all,
        count=grid.count if adds_up else None,
        snap=grid.snapped if adds_up else None,
        **_told(made),
    )


def _read_off(made: PublishedMap, asked: Range) -> AreaAnswer:
    found = made.count(asked)
    low, high = found.interval
    whole = found.noise**2 + found.uneven**2
    cut = found.uneven**2 / whole if whole else 0.0
    noted = {"rough": ROUGH in found.notes, "guessed": GUESSED in found.notes, "nothing": NOTHING in found.notes}
    return AreaAnswer(found.value or 0.0, low, high, cut, **noted)


def _snapped(made: PublishedMap, asked: Range) -> dict[str, Any] | None:
    """Return the whole cells of which a range covers at least half, as an area; None if there are none."""
    try:
        shape = made.snap(asked)
    except InvalidQuery:
        return None
    box = shapely.box(*shape.shape.bounds)
    if isinstance(asked, Rectangle) and math.isclose(shape.shape.area, box.area):
        return said_range(Rectangle(*shape.shape.bounds))
    return said_range(shape)


@dataclass(frozen=True)
class _CellNoise:
    """The noise of a cell: its standard deviation, and how far it moves one cell, and any of them, in 95 %."""

    deviation: float
    half: float
    half_all: float

    @classmethod
    def of(cls, made: PrivateMap) -> _CellNoise:
        if made.method == "exact":
            return cls(0.0, 0.0, 0.0)
        unit = 1.0 if made.query.measure is None else float(made.query.measure.step)
        law = noise_in(made, made.shape[2])
        halves = [float(law.half_width(made.confidence ** (1 / many))) * unit for many in (1, made.shape[0])]
        return cls(law.standard_deviation * unit, *halves)


@dataclass(frozen=True, eq=False)
class _GridReader:
    """Reads ranges off a grid: whole cells by their values, cut ones by the covered share of their area."""

    grid: Grid
    public_map: PublicMap
    values: Floats
    noise: _CellNoise

    def cells(self) -> Floats:
        """Return every cell with its sides, its value and its interval."""
        west, south = np.meshgrid(self.grid.x_edges[:-1], self.grid.y_edges[:-1])
        east, north = np.meshgrid(self.grid.x_edges[1:], self.grid.y_edges[1:])
        sides = [each.ravel() for each in (west, south, east, north)]
        return np.stack([*sides, self.values, self.values - self.noise.half, self.values + self.noise.half], axis=1)

    def count(self, asked: Range) -> AreaAnswer:
        """Return what is in a range, with an interval that holds noise and the unevenness of records in cut cells."""
        numbers, share = self._covered(asked)
        value = float(share @ self.values[numbers])
        noise = float((share**2).sum()) * self.noise.deviation**2
        near = np.maximum(self.values[numbers], self.noise.deviation)
        uneven = UNEVEN * float((share * (1 - share) * near**2).sum())
        z = max(_Z, self.noise.half / self.noise.deviation) if self.noise.deviation else _Z
        half = z * math.sqrt(noise + uneven)
        busy = uneven / max(value, self.noise.deviation, 1.0)
        return AreaAnswer(
            value, value - half, value + half + busy, uneven / (noise + uneven) if noise + uneven else 0.0
        )

    def snapped(self, asked: Range) -> dict[str, Any] | None:
        """Return the whole cells of which a range covers at least half, as an area; None if there are none."""
        numbers, share = self._covered(asked)
        whole = numbers[share >= 0.5]
        if not len(whole):
            return None
        shape = shapely.union_all(shapely.box(*self.cells()[whole, :4].T))
        if isinstance(asked, Rectangle):
            return {"rectangle": dict(zip(("west", "south", "east", "north"), shape.bounds, strict=True))}
        return {"polygon": geometry_of(shape)}

    def _covered(self, asked: Range) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the cells that a range meets, and the share of each that it covers."""
        shape = drawn(asked, lonlat=self.public_map.lonlat)
        west, south, east, north = shapely.bounds(shape).tolist()
        columns = _met(self.grid.x_edges, west, east)
        rows = _met(self.grid.y_edges, south, north)
        numbers = (rows[:, None] * self.grid.columns + columns).ravel()
        boxes = shapely.box(*self.cells()[numbers, :4].T)
        part: Floats = np.asarray(shapely.area(shapely.intersection(boxes, shape))) / shapely.area(boxes)
        share: Floats = np.where(part > 1 - _WHOLE, 1.0, part)
        return numbers[share > _WHOLE], share[share > _WHOLE]


def _met(edges: Floats, low: float, high: float) -> npt.NDArray[np.int64]:
    first, last = np.searchsorted(edges, [low, high], side="right") - 1
    return np.arange(max(first, 0), min(last, len(edges) - 2) + 1)


def read_layers(paths: Sequence[Any]) -> tuple[PageLayer, ...]:
    """Return the layers of saved maps, the earliest first."""
    from fedgroup.maps.files import load_map

    found = [layer for path in paths for layer in layers_of(load_map(path))]
    return tuple(sorted(found, key=lambda layer: _in_time(layer.about)))


@dataclass(frozen=True)
class PublishedShelf:
    """The maps that are shown, and all that were paid for; `whole` unless there are more, which are older."""

    shown: Sequence[About]
    paid: Sequence[About]
    whole: bool = True


def newest_of(every: Iterable[About]) -> list[About]:
    """Return the newest of each kind and window, given the newest last, the earliest window first; see `newest`."""
    alike: dict[Any, list[tuple[About, float]]] = {}
    for about in every:
        alike.setdefault(about.subject, []).append((about, about.epsilon))
    return sorted(filter(None, map(newest, alike.values())), key=_in_time)


def _in_time(about: About) -> tuple[bool, int, int]:
    """Return what layers are sorted by: all times first, then the earliest window, then the shortest."""
    return about.since is not None, about.since or 0, about.until or 0


def _iso(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
