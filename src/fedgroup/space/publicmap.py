"""Where the federation plays: the agreed domain, on a plane or in degrees of longitude and latitude."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.given import written, yes_or_no
from fedgroup.space import geodesy
from fedgroup.space.box import Box, Grid
from fedgroup.space.ranges import Circle, MultiPolygon, Polygon, Range, Rectangle
from fedgroup.space.systems import require_system

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_INTERIORS_MEET = "T********"  # as a DE-9IM pattern


@dataclass(frozen=True)
class PublicMap:
    """The public rectangle that all parties agreed on before any record was seen.

    With `lonlat`, places are degrees on WGS84 and radii metres; a domain across the antimeridian is written with an
    east side above 180 (177,-20,182,-15), and longitudes are read modulo 360. `crs` names the system of a plane, where
    it is known: shapes that tell another are brought to it. Two maps are the same whether or not they know its name.
    """

    domain: Box
    lonlat: bool = False
    crs: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Box):
            example = "fg.Box(0, 0, 20_000, 20_000)"
            raise InvalidInput(f"a domain is a Box, such as {example}, got {written(self.domain)}")
        yes_or_no(self.lonlat, name="lonlat")
        if require_system(self.crs) is not None and self.lonlat:
            raise InvalidInput("a map in degrees is in WGS84; a coordinate system is named for a plane only")
        west, south, east, north = self.domain.sides
        if self.lonlat and not (-360 <= west < east <= 540 and east - west <= 360 and -90 <= south < north <= 90):
            raise InvalidInput(
                "a lon/lat domain spans at most 360 degrees of longitude, between -360 and 540, "
                f"and latitudes between -90 and 90, got {self.domain.written}"
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
                with np.errstate(over="ignore"):
                    return (x - asked.x) ** 2 + (y - asked.y) ** 2 < asked.radius**2
            case Rectangle():
                return asked.box.contains(wrapped(x, asked.west) if self.lonlat else x, y)
            case _:
                return self._in_polygon(asked, x, y)

    def require_reachable(self, asked: Range) -> None:
        """Refuse a range that shares no place with the domain: its answer is 0, known without asking."""
        if self.lonlat:
            _require_on_earth(asked)
        if not self._may_touch(asked):
            order = " (longitude comes first)" if self.lonlat else ""
            raise InvalidQuery(
                f"the range lies outside the domain {self.domain.written}; ask about a place inside it{order}; "
                "nothing was spent"
            )

    def _in_polygon(self, asked: Polygon | MultiPolygon, x: Floats, y: Floats) -> Bools:
        shape = asked.shape
        west, _, east, _ = shape.bounds
        if not self.lonlat:
            return _within(shape, x, y)
        first = wrapped(x, west)
        result = _within(shape, first, y)
        for turn in range(1, math.ceil((east - west) / 360)):
            result |= _within(shape, first + 360 * turn, y)
        return result

    def _may_touch(self, asked: Range) -> bool:
        west, south, east, north = self.domain.sides
        turns = (-720, -360, 0, 360, 720) if self.lonlat else (0,)
        match asked:
            case Circle() if self.lonlat:
                return geodesy.distance_to_box_at_least(asked.x, asked.y, *self.domain.sides) < asked.radius
            case Circle():
                dx = max(west - asked.x, asked.x - east, 0.0)
                dy = max(south - asked.y, asked.y - north, 0.0)
                return dx**2 + dy**2 < asked.radius**2
            case Rectangle():
                beside = asked.north <= south or north <= asked.south
                return not beside and any(asked.west < east + turn and west + turn < asked.east for turn in turns)
            case _:
                domains = (shapely.box(west + turn, south, east + turn, north) for turn in turns)
                shape = asked.shape
                return any(shapely.relate_pattern(domain, shape, _INTERIORS_MEET) for domain in domains)


def wrapped(lon: Floats, west: float) -> Floats:
    """Return longitudes moved by whole turns into [west, west + 360); those already there keep their exact value."""
    there = (lon >= west) & (lon < west + 360.0)
    if there.all():
        return lon
    moved = lon - 360.0 * np.floor((lon - west) / 360.0)
    return np.where(there, lon, np.clip(moved, west, np.nextafter(west + 360.0, west)))


def _within(shape: shapely.Polygon | shapely.MultiPolygon, x: Floats, y: Floats) -> Bools:
    """Tell for each place whether it lies in the interior; only places in the bounding box are looked at.

    Requires:  no other thread uses the shape: it is prepared, and its index is built by the first place.
    """
    west, south, east, north = shape.bounds
    result = np.zeros(len(x), dtype=np.bool_)
    near = np.flatnonzero((x > west) & (x < east) & (y > south) & (y < north))
    shapely.prepare(shape)
    result[near] = shapely.contains_xy(shape, x[near], y[near])
    return result


def _require_on_earth(asked: Range) -> None:
    match asked:
        case Circle():
            west = east = asked.x
            _require_circle_on_earth(asked)
        case Rectangle():
            west, east = asked.west, asked.east
        case _:
            west, _, east, _ = asked.shape.bounds
    if not (west >= -360 and east <= 540):
        raise InvalidQuery(
            f"longitudes of a range lie between -360 and 540 degrees, got {written(west)} to {written(east)}"
        )


def _require_circle_on_earth(asked: Circle) -> None:
    if not -90 <= asked.y <= 90:
        raise InvalidQuery(
            f"the centre of a circle is longitude,latitude in degrees, got {written(asked.x)},{written(asked.y)}"
        )
    if asked.radius > geodesy.LARGEST_RADIUS_M:
        raise InvalidQuery(
            f"a circle on the Earth has a radius of at most {geodesy.LARGEST_RADIUS_M:,.0f} m, "
            f"got {written(asked.radius)}; ask for a rectangle instead"
        )
