"""Where the federation plays: the agreed domain, on a plane or in degrees of longitude and latitude."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.space import geodesy
from fedgroup.space.box import Box, Grid
from fedgroup.space.ranges import Circle, MultiPolygon, Polygon, Range, Rectangle

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PublicMap:
    """The public rectangle that all parties agreed on before any record was seen.

    With `lonlat`, places are degrees on WGS84 and radii metres; a domain across the antimeridian is written with an
    east side above 180 (177,-20,182,-15), and longitudes are read modulo 360.
    """

    domain: Box
    lonlat: bool = False

    def __post_init__(self) -> None:
        west, south, east, north = self.domain.sides
        if self.lonlat and not (-360 <= west < east <= 540 and east - west <= 360 and -90 <= south < north <= 90):
            raise InvalidInput(
                f"a lon/lat domain lies within 360 degrees of longitude and -90..90 of latitude, got {self.domain.sides}"
            )

    def grid(self, columns: int, rows: int) -> Grid:
        """Return the domain cut into cells; on a lon/lat map they are equal in degrees."""
        return Grid(self.domain, columns, rows)

    def place(self, x: Floats) -> Floats:
        """Return x coordinates as this map writes them: longitudes wrapped to start at the domain's west side."""
        return wrapped(x, self.domain.west) if self.lonlat else x

    def inside(self, x: Floats, y: Floats) -> Bools:
        """Tell for each place whether it lies in the domain."""
        return self.domain.contains(self.place(x), y)

    def contains(self, asked: Range, x: Floats, y: Floats) -> Bools:
        """Tell for each place whether it lies in the range."""
        match asked:
            case Circle() if self.lonlat:
                return geodesy.nearer_than(x, y, asked.x, asked.y, asked.radius)
            case Circle():
                return (x - asked.x) ** 2 + (y - asked.y) ** 2 < asked.radius**2
            case Rectangle():
                return asked.box.contains(wrapped(x, asked.west) if self.lonlat else x, y)
            case _:
                return self._in_polygon(asked, x, y)

    def require_reachable(self, asked: Range) -> None:
        """Refuse a range that shares no place with the domain: its answer is 0, known without asking."""
        if self.lonlat and isinstance(asked, Circle):
            self._require_circle_on_earth(asked)
        if not self._may_touch(asked):
            raise InvalidQuery(
                f"the range lies outside the domain {self.domain.sides}; ask about a place inside it "
                "(nothing was spent)"
            )

    def _in_polygon(self, asked: Polygon | MultiPolygon, x: Floats, y: Floats) -> Bools:
        west, south, east, north = asked.shape.bounds
        x = wrapped(x, west) if self.lonlat else x
        result = np.zeros(len(x), dtype=np.bool_)
        near = np.flatnonzero((x > west) & (x < east) & (y > south) & (y < north))
        shapely.prepare(asked.shape)
        result[near] = shapely.contains_xy(asked.shape, x[near], y[near])
        return result

    def _require_circle_on_earth(self, asked: Circle) -> None:
        if not (-90 <= asked.y <= 90 and -360 <= asked.x <= 540):
            raise InvalidQuery(f"a circle's centre is longitude,latitude in degrees, got {asked.x},{asked.y}")
        if asked.radius > geodesy.LARGEST_RADIUS_M:
            raise InvalidQuery(
                f"a circle on the Earth has a radius of at most {geodesy.LARGEST_RADIUS_M:,.0f} m, got {asked.radius:g}; "
                "ask for a rectangle instead"
            )

    def _may_touch(self, asked: Range) -> bool:
        match asked:
            case Circle() if self.lonlat:
                return geodesy.distance_to_box_at_least(asked.x, asked.y, *self.domain.sides) < asked.radius
            case Circle():
                dx = max(self.domain.west - asked.x, asked.x - self.domain.east, 0.0)
                dy = max(self.domain.south - asked.y, asked.y - self.domain.north, 0.0)
                return dx**2 + dy**2 < asked.radius**2
            case Rectangle():
                shape: shapely.Geometry = shapely.box(asked.west, asked.south, asked.east, asked.north)
            case _:
                shape = asked.shape
        turns = (-720, -360, 0, 360, 720) if self.lonlat else (0,)
        west, south, east, north = self.domain.sides
        return any(_overlap(shapely.box(west + turn, south, east + turn, north), shape) for turn in turns)


def wrapped(lon: Floats, west: float) -> Floats:
    """Return longitudes moved by whole turns into [west, west + 360); those already there keep their exact value."""
    if ((lon >= west) & (lon < west + 360.0)).all():
        return lon
    moved = lon - 360.0 * np.floor((lon - west) / 360.0)
    moved = np.where(moved >= west + 360.0, west, moved)
    return np.where((lon >= west) & (lon < west + 360.0), lon, np.maximum(moved, west))


def _overlap(a: shapely.Geometry, b: shapely.Geometry) -> bool:
    return bool(shapely.area(shapely.intersection(a, b)) > 0)
