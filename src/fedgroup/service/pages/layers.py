"""Published private maps as a page shows them: cells to colour, and free answers about any area.

Guarantee: a layer is made of what was released before. Looking at it, and asking it, costs nobody anything.

A page takes layers from whoever publishes: files of maps that an operator names (`layers_of`), and any other map that
can be cut into cells. Where a map answers ranges by itself, its own answers are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidInput
from fedgroup.maps.private_map import PrivateMap
from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.questions.kinds import KINDS
from fedgroup.space import Grid, PublicMap, Range, Rectangle
from fedgroup.space.shapes import drawn, geometry_of

Floats = npt.NDArray[np.float64]

UNEVEN = 0.8
"""v of V = v n^2 f (1 - f), by which n records of a cell are uneven: the most that was seen at any scale."""
_Z = 1.959964
_MOST_SHOWN = 50_000
"""Cells that a browser is given at most: those with the largest values."""
_WHOLE = 1e-9


@dataclass(frozen=True)
class FreeAnswer:
    """A value read off a map, its 95 % interval, and the share of the interval that cut cells make, from 0 to 1."""

    value: float
    low: float
    high: float
    cut: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """One published map of one window of time.

    `cells` has a row for every cell: west, south, east, north, value, low, high. Noise alone lifts any cell of the
    whole map above `least` with a chance of 5 % at most: what is not above is shown as empty. `count` answers a range,
    and `snap` returns the area of whole cells that is most like a range; None where that has no meaning, as for
    distinct people.
    """

    kind: str
    cells: Floats = field(repr=False)
    least: float
    owners: int
    epsilon: float
    protection: str = ""
    since: int | None = None
    until: int | None = None
    attribute: str | None = None
    count: Callable[[Range], FreeAnswer] | None = field(default=None, repr=False)
    snap: Callable[[Range], dict[str, Any] | None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.cells.ndim != 2 or self.cells.shape[1] != 7:
            raise InvalidInput("cells of a layer are rows of west, south, east, north, value, low and high")

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """The box around all cells."""
        low, high = self.cells[:, :2].min(axis=0), self.cells[:, 2:4].max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    @property
    def shown(self) -> Floats:
        """The cells that can be told from empty ones, the largest values last."""
        cells = self.cells[self.cells[:, 4] > self.least]
        chosen: Floats = cells[np.argsort(cells[:, 4], kind="stable")][-_MOST_SHOWN:]
        return chosen

    def facts(self, number: int) -> dict[str, Any]:
        """Return what a page is told about a layer before its cells."""
        times = {"since": _iso(self.since), "until": _iso(self.until)}
        told = {"number": number, "kind": self.kind, "what": _WHAT[self.kind], "attribute": self.attribute}
        return told | times | {"owners": self.owners, "epsilon": self.epsilon, "least": self.least, "asks": self.asks}

    @property
    def asks(self) -> bool:
        """Whether it answers areas."""
        return self.count is not None


_WHAT = {"count": "records", "people": "people", "sum": "sum"}


def layers_of(made: PrivateMap) -> list[Layer]:
    """Return the layers of a map over a grid: one for each step of time, its categories added up."""
    if not isinstance(made.places, Grid) or made.kind == "avg":
        raise InvalidInput("a page shows maps over a grid, of counts, people or sums")
    starts, query = made.starts(), made.query
    values = made.at(made.values).astype(float).sum(axis=2)
    noise = _Noise.of(made)
    found = []
    for step, start in enumerate(starts):
        since = query.since if query.every is None or query.since is None else query.since + step * query.every
        until = query.until if query.every is None or start is None or since is None else since + query.every
        layer = _layer(made, made.places, values[:, step], noise)
        found.append(replace(layer, since=since, until=until))
    return found


def _layer(made: PrivateMap, places: Grid, values: Floats, noise: _Noise) -> Layer:
    grid = _GridReader(places, made.public_map, values, noise)
    measure = made.query.measure
    adds_up = made.kind != "people"
    return Layer(
        kind=made.kind,
        cells=grid.cells(),
        least=noise.half_all,
        owners=made.heard,
        epsilon=made.epsilon,
        protection=made.protection,
        attribute=None if measure is None else measure.attribute,
        count=grid.count if adds_up else None,
        snap=grid.snapped if adds_up else None,
    )


@dataclass(frozen=True)
class _Noise:
    """The noise of a cell: its standard deviation, and how far it moves one cell, and any of them, in 95 %."""

    deviation: float
    half: float
    half_all: float

    @classmethod
    def of(cls, made: PrivateMap) -> _Noise:
        if made.method == "exact":
            return cls(0.0, 0.0, 0.0)
        (part,) = KINDS[made.kind].parts
        unit = 1.0 if made.query.measure is None else float(made.query.measure.step)
        law = NoiseSum(DiscreteLaplace(Fraction(made.scales[part])), made.noises * made.shape[2])
        halves = [float(law.half_width(made.confidence ** (1 / many))) * unit for many in (1, made.shape[0])]
        return cls(law.standard_deviation * unit, *halves)


@dataclass(frozen=True, eq=False)
class _GridReader:
    """Reads ranges off a grid: whole cells by their values, cut ones by the covered share of their area."""

    grid: Grid
    public_map: PublicMap
    values: Floats
    noise: _Noise

    def cells(self) -> Floats:
        """Return every cell with its sides, its value and its interval."""
        west, south = np.meshgrid(self.grid.x_edges[:-1], self.grid.y_edges[:-1])
        east, north = np.meshgrid(self.grid.x_edges[1:], self.grid.y_edges[1:])
        sides = [each.ravel() for each in (west, south, east, north)]
        return np.stack([*sides, self.values, self.values - self.noise.half, self.values + self.noise.half], axis=1)

    def count(self, asked: Range) -> FreeAnswer:
        """Return what is in a range, with an interval that holds noise and the unevenness of records in cut cells."""
        numbers, share = self._covered(asked)
        value = float(share @ self.values[numbers])
        noise = float((share**2).sum()) * self.noise.deviation**2
        near = np.maximum(self.values[numbers], self.noise.deviation)
        uneven = UNEVEN * float((share * (1 - share) * near**2).sum())
        z = max(_Z, self.noise.half / self.noise.deviation) if self.noise.deviation else _Z
        half = z * math.sqrt(noise + uneven)
        busy = uneven / max(value, self.noise.deviation, 1.0)
        return FreeAnswer(
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


def read_layers(paths: Sequence[Any]) -> tuple[Layer, ...]:
    """Return the layers of saved maps, the earliest first."""
    from fedgroup.maps.files import load_map

    found = [layer for path in paths for layer in layers_of(load_map(path))]
    return tuple(sorted(found, key=lambda layer: (layer.since is not None, layer.since or 0)))


def _iso(microseconds: int | None) -> str | None:
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")
