"""A map as a layer of features: those in a box and a window of time are found, and only those of one page are made.

Guarantee: a feature is made of what was released and of public bins; true values of an evaluation are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.maps.about import step_windows, written_time
from fedgroup.maps.frames import _json_values, columns_of
from fedgroup.maps.pictures import Pictured
from fedgroup.space import Grid
from fedgroup.space.shapes import geometry_of

if TYPE_CHECKING:
    from fedgroup.maps.private_map import Array, PrivateMap

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Sides = tuple[float, float, float, float]
"""West, south, east, north."""
Window = tuple[datetime | None, datetime | None]
"""From a time to a time, both included; None is open."""

_TURNS = (-720.0, -360.0, 0.0, 360.0, 720.0)
_SAME = 1e-9
"""A shape is its own box if their areas differ by less than this share."""


@dataclass(frozen=True)
class FoundBins:
    """The bins that were looked for: all categories of some steps of some places, in the order of the map's values."""

    places: Ints
    steps: Ints
    shape: tuple[int, int, int]

    def __len__(self) -> int:
        return len(self.places) * len(self.steps) * self.shape[2]

    def page(self, offset: int, limit: int) -> Ints:
        """Return the numbers of so many bins, after the first `offset` of those found."""
        steps, categories = len(self.steps), self.shape[2]
        at = np.arange(min(offset, len(self)), min(offset + limit, len(self)))
        place, step = self.places[at // (steps * categories or 1)], self.steps[at // categories % (steps or 1)]
        found: Ints = (place * self.shape[1] + step) * categories + at % categories
        return found


@dataclass(frozen=True, eq=False)
class Layer:
    """A map, and what is needed to find and to draw its places; it is worked out once, when it is first needed."""

    made: PrivateMap

    @cached_property
    def boxes(self) -> Floats:
        """West, south, east and north of every place, a row each."""
        match self.made.places:
            case Grid() as grid:
                west, south = np.meshgrid(grid.x_edges[:-1], grid.y_edges[:-1])
                east, north = np.meshgrid(grid.x_edges[1:], grid.y_edges[1:])
                return np.column_stack([side.ravel() for side in (west, south, east, north)])
            case _:
                return self._drawn[0]

    @property
    def shapes(self) -> Array | None:
        """The shapes of all places; None where all of them are boxes."""
        return None if isinstance(self.made.places, Grid) else self._drawn[1]

    @cached_property
    def columns(self) -> dict[str, Array]:
        """What is told of every bin, by name: see `frames.columns_of`; and whether it is told from an empty one."""
        made = self.made
        columns = {name: of for name, of in columns_of(made).items() if name != "true_value"}
        if made.shape[0] > 1 and not {"row", "h3", "name"} & set(columns):
            names = np.array(made.names(), dtype=object)[columns["place"]]
            columns = {"place": columns.pop("place"), "name": names} | columns
        return columns | {"told_apart": told_apart(made)}

    @cached_property
    def windows(self) -> list[Window]:
        """When each step of time begins and ends."""
        return list(step_windows(self.made))

    def find(self, sides: Sides | None = None, window: Window | None = None) -> FoundBins:
        """Return the bins whose place meets a box and whose step meets a window of time; a map of all times does.

        A box on a lon/lat map may go on beyond 180 degrees.
        """
        places, steps, _ = self.made.shape
        found = np.arange(places) if sides is None else self._meeting(sides)
        chosen = [at for at in range(steps) if window is None or _meet(self.windows[at], window)]
        return FoundBins(found, np.array(chosen, dtype=np.int64), self.made.shape)

    def features(self, bins: Ints) -> list[dict[str, Any]]:
        """Return bins as GeoJSON features; the number of a bin is its id."""
        columns = {name: _json_values(column[bins]) for name, column in self.columns.items()}
        if "time" in columns:
            steps, categories = self.made.shape[1:]
            ends = [written_time(self.windows[at][1]) for at in (bins // categories % steps).tolist()]
            columns = _after(columns, "time", {"time_end": ends})
        rows = zip(*columns.values(), strict=True)
        told = [dict(zip(columns, row, strict=True)) for row in rows]
        return [
            {"type": "Feature", "id": at, "geometry": self.geometry(each["place"]), "properties": each}
            for at, each in zip(bins.tolist(), told, strict=True)
        ]

    def geometry(self, place: int) -> dict[str, Any]:
        """Return the shape of a place as GeoJSON has it: in degrees, cut where the antimeridian crosses it."""
        west, south, east, north = self.boxes[place].tolist()
        if self.made.public_map.lonlat and not -180 <= west <= east <= 180:
            return geometry_of(on_earth(self.shape(place)))
        if self.shapes is None:
            ring = ((west, south), (east, south), (east, north), (west, north), (west, south))
            return {"type": "Polygon", "coordinates": (ring,)}
        return geometry_of(self.shapes[place])

    def shape(self, place: int) -> shapely.Geometry:
        """Return the shape of a place, as its map has it."""
        found: shapely.Geometry = shapely.box(*self.boxes[place]) if self.shapes is None else self.shapes[place]
        return found

    @cached_property
    def _drawn(self) -> tuple[Floats, Array | None]:
        shapes = np.array(self.made.geometries(), dtype=object)
        boxes = shapely.bounds(shapes)
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        return boxes, None if np.allclose(shapely.area(shapes), areas, rtol=_SAME, atol=0) else shapes

    @cached_property
    def _reach(self) -> tuple[float, float]:
        return float(self.boxes[:, 0].min()), float(self.boxes[:, 2].max())

    def _meeting(self, sides: Sides) -> Ints:
        """Return the places that share a point with a box."""
        boxes, met = self.boxes, np.zeros(len(self.boxes), dtype=np.bool_)
        least, most = self._reach
        for turn in _TURNS if self.made.public_map.lonlat else (0.0,):
            west, south, east, north = sides[0] + turn, sides[1], sides[2] + turn, sides[3]
            if west > most or east < least:
                continue
            near = (boxes[:, 0] <= east) & (boxes[:, 2] >= west) & (boxes[:, 1] <= north) & (boxes[:, 3] >= south)
            if self.shapes is not None:
                at = np.flatnonzero(near)
                near[at] = shapely.intersects(self.shapes[at], shapely.box(west, south, east, north))
            met |= near
        return np.flatnonzero(met)


def told_apart(made: PrivateMap) -> Array:
    """Tell for every bin whether its value is more than noise makes of an empty one, in the whole map."""
    half = made.half_width_all
    sure: Array = ~Pictured(made.values, made.low, made.high, half, half, signed=made.signed).unsure
    return sure


def on_earth(shape: shapely.Geometry) -> shapely.Geometry:
    """Return a shape with all its longitudes between -180 and 180: what lies beyond is cut off and moved by a turn."""
    parts = []
    for turn in _TURNS:
        part = shapely.intersection(shape, shapely.box(-180 - turn, -90, 180 - turn, 90))
        if shapely.area(part) > 0:
            parts.append(shapely.transform(part, _moved(turn)))
    return shapely.union_all(parts) if parts else shape


def _moved(turn: float) -> Callable[[Floats], Floats]:
    return lambda at: at + np.array([turn, 0.0])


def extent_of(made: PrivateMap) -> list[float]:
    """Return the sides of a map's domain in degrees; west is above east where it holds the antimeridian."""
    west, south, east, north = made.public_map.domain.sides
    if east - west >= 360:
        return [-180.0, south, 180.0, north]
    return [_degrees(west), south, _degrees(east) if _degrees(east) != -180 else 180.0, north]


def _degrees(lon: float) -> float:
    return lon if -180 <= lon <= 180 else (lon + 180) % 360 - 180


def _meet(step: Window, window: Window) -> bool:
    """Tell whether a half-open step of time and a closed window share a moment; None is open."""
    begins, ends = step
    since, until = window
    return (until is None or begins is None or begins <= until) and (since is None or ends is None or since < ends)


def _after(columns: dict[str, Any], name: str, more: dict[str, Sequence[Any]]) -> dict[str, Any]:
    names = list(columns)
    at = names.index(name) + 1
    return {each: columns[each] for each in names[:at]} | more | {each: columns[each] for each in names[at:]}
