"""Where the bins of a question lie: one range, the cells of a grid or of blocks, hexagons, or named districts.

Places are public and disjoint: a record lies in one of them at most, whatever their shapes are.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, whole_number, written
from fedgroup.space.blocks import Blocks
from fedgroup.space.box import Box, Grid
from fedgroup.space.publicmap import PublicMap
from fedgroup.space.ranges import MultiPolygon, Polygon, Range, Rectangle, canonical_range

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_DISTRICTS = 20_000
FINEST_HEXAGONS = 15
MOST_HEXAGONS = 1_000_000
_NARROWEST = 7
_MOST_NEIGHBOURS = 400_000
_MOST_WORK = 2_000_000
"""Points of one district times those of another, over all pairs that seem to overlap: some seconds at the worst."""
_INTERIORS_MEET = "T********"  # as a DE-9IM pattern
SWAPPED = "; are its coordinates swapped? longitude, or x, comes first"
_SLIVER = 1e-9
"""Borders that were rounded overlap by so little of a district's area; a record there is in the first of them."""


@dataclass(frozen=True)
class Hexagons:
    """All H3 cells of one resolution that meet a domain, in the order of their ids; a few just outside it too."""

    resolution: int
    domain: Box

    def __post_init__(self) -> None:
        finest = FINEST_HEXAGONS
        whole = whole_number(self.resolution, name="h3", least=0, most=finest, refusal=InvalidQuery)
        object.__setattr__(self, "resolution", whole)
        if self.expected > MOST_HEXAGONS:
            raise InvalidQuery(
                f"about {self.expected:,.0f} H3 cells of resolution {whole} meet the domain, at most "
                f"{MOST_HEXAGONS:,} can be used; take a smaller number"
            )

    @property
    def expected(self) -> float:
        """About how many cells there are: H3 has 2 + 120 * 7^r on the Earth, and the domain has a share of it."""
        west, south, east, north = (math.radians(side) for side in self.domain.sides)
        share = (east - west) / (2 * math.pi) * (math.sin(north) - math.sin(south)) / 2
        return share * (2 + 120 * math.pow(7, self.resolution))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ids(self) -> npt.NDArray[np.uint64]:
        """The H3 ids of the cells, ascending."""
        return _cells_of(self.resolution, self.domain)

    @property
    def names(self) -> list[str]:
        """The H3 ids as they are written."""
        return [f"{each:x}" for each in self.ids.tolist()]

    def cell_of(self, lon: Floats, lat: Floats) -> Ints:
        """Return the position of each place's cell, -1 where it is none of these."""
        library = _h3()
        find, size = library.latlng_to_cell, self.resolution
        pairs = zip(lat.tolist(), lon.tolist(), strict=True)
        cell = np.fromiter((find(y, x, size) for y, x in pairs), dtype=np.uint64, count=len(lat))
        at = np.minimum(np.searchsorted(self.ids, cell), max(len(self.ids) - 1, 0))
        return np.where(self.ids[at] == cell, at, -1).astype(np.int64)

    def shapes(self) -> list[shapely.Polygon]:
        """Return the hexagons as polygons in degrees; one across the antimeridian goes on beyond 180."""
        library = _h3()
        return [shapely.Polygon(_ring(library.cell_to_boundary(each))) for each in self.ids.tolist()]


@dataclass(frozen=True)
class Districts:
    """Named polygons that do not overlap; a place on a border, or in a sliver of two, is in the first that has it.

    That they do not overlap is looked at (`checked`) for who asks: it may take long, and no promise rests on it, for a
    place is in one district whether or not they do.
    """

    names: tuple[str, ...]
    shapes_of: tuple[Polygon | MultiPolygon, ...] = field(repr=False)
    checked: InitVar[bool] = True

    def __post_init__(self, checked: bool) -> None:
        if not 1 <= len(self.names) <= MOST_DISTRICTS:
            raise InvalidQuery(f"a map has 1 to {MOST_DISTRICTS:,} districts, got {len(self.names)}")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidQuery(f"districts need different names; {written(twice)} comes twice")
        if checked:
            self._require_apart()

    @classmethod
    def of(cls, named: Mapping[str, Any]) -> Districts:
        """Return districts from ranges by their names."""
        if not isinstance(named, Mapping) or not all(
            isinstance(each, Polygon | MultiPolygon) for each in named.values()
        ):
            raise InvalidQuery(f"districts are polygons by their names, got {written(named)}")
        return cls(tuple(map(str, named)), tuple(named.values()))

    def __len__(self) -> int:
        return len(self.names)

    def cell_of(self, public_map: PublicMap, x: Floats, y: Floats) -> Ints:
        """Return the position of each place's district, -1 where it is in none."""
        found = np.full(len(x), -1, dtype=np.int64)
        for at, shape in enumerate(self.shapes_of):
            open_still = np.flatnonzero(found < 0)
            found[open_still[public_map.contains(shape, x[open_still], y[open_still])]] = at
        return found

    def shapes(self) -> list[shapely.Geometry]:
        return [each.shape for each in self.shapes_of]

    def _require_apart(self) -> None:
        shapes = self.shapes()
        points = shapely.get_num_coordinates(shapes)
        work = 0
        for one, other in _neighbours(shapes):
            if not shapely.relate_pattern(shapes[one], shapes[other], _INTERIORS_MEET):
                continue
            names = f"{written(self.names[one])} and {written(self.names[other])}"
            work += int(points[one] * points[other])
            if work > _MOST_WORK:
                told = f"districts must not overlap, but {names} seem to: simplify their borders, or leave one out"
                raise InvalidQuery(f"{told}; nothing was spent")
            shared = shapely.area(shapely.intersection(shapes[one], shapes[other]))
            if shared > _SLIVER * min(shapely.area(shapes[one]), shapely.area(shapes[other])):
                raise InvalidQuery(f"districts must not overlap, but {names} do; nothing was spent")


def _neighbours(shapes: list[shapely.Geometry]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of shapes whose boxes meet, or refuse districts of which too many do."""
    tree, found = shapely.STRtree(shapes), 0
    for one, shape in enumerate(shapes):
        near = tree.query(shape)
        found += len(near)
        if found > _MOST_NEIGHBOURS:
            raise InvalidQuery(
                "so many districts lie so close to each other that they cannot be told apart; take fewer"
            )
        yield from ((one, int(other)) for other in near if one < other)


Several = Grid | Hexagons | Districts | Blocks
Places = Range | Several


def is_several(places: Any) -> TypeGuard[Several]:
    """Tell places of a map from one range."""
    return isinstance(places, Several)


def smallest_of(places: Several) -> list[Range]:
    """Return ranges among which the smallest of some places is."""
    match places:
        case Grid():
            # all columns are equally wide; in degrees a row is the narrower the nearer it is to a pole
            west, east = places.x_edges[:2].tolist()
            ends = (places.y_edges[:2].tolist(), places.y_edges[-2:].tolist())
            return [Rectangle(west, south, east, north) for south, north in ends]
        case Hexagons():
            # they grow and shrink smoothly over the Earth, so the smallest by area are the narrowest, too
            library = _h3()
            smallest = sorted(places.ids.tolist(), key=library.cell_area)[:_NARROWEST]
            return [Polygon(_ring(library.cell_to_boundary(each))) for each in smallest]
        case Districts():
            return list(places.shapes_of)
        case Blocks():
            return _smallest_cells(places)


def how_many(places: Places) -> int:
    """Return how many bins places have."""
    match places:
        case Grid():
            return places.cells
        case Hexagons() | Districts() | Blocks():
            return len(places)
        case _:
            return 1


def bin_of(places: Places, public_map: PublicMap, x: Floats, y: Floats) -> Ints:
    """Return the bin of each place, -1 for those in none."""
    match places:
        case Grid() | Blocks():
            return places.cell_of(public_map.place(x), y)
        case Hexagons():
            return places.cell_of(x, y)
        case Districts():
            return places.cell_of(public_map, x, y)
        case _:
            return np.where(public_map.contains(places, x, y), 0, -1)


def require_degrees(public_map: PublicMap) -> None:
    """Refuse H3 cells on a plane."""
    if not public_map.lonlat:
        raise InvalidQuery("H3 cells are for federations in degrees; use a grid or districts on a plane")


def require_on_map(places: Places, public_map: PublicMap) -> None:
    """Refuse places that share nothing with the domain, or that the map cannot have."""
    match places:
        case Grid() | Blocks():
            if places.box != public_map.domain:
                raise InvalidQuery(f"the grid of a map covers the domain {public_map.domain.written}")
        case Hexagons():
            require_degrees(public_map)
            if places.domain != public_map.domain:
                raise InvalidQuery(f"the cells of a map cover the domain {public_map.domain.written}")
        case Districts():
            for name, shape in zip(places.names, places.shapes_of, strict=True):
                _require_reachable(name, shape, public_map)
        case _:
            public_map.require_reachable(places)


def canonical_places(places: Places) -> list[Any]:
    """Return one JSON value for all spellings of the same places."""
    match places:
        case Grid():
            return ["grid", places.columns, places.rows]
        case Hexagons():
            return ["h3", places.resolution]
        case Blocks():
            return ["blocks", places.level, hashlib.sha256(places.depths).hexdigest()]
        case Districts():
            return ["districts", list(places.names), [canonical_range(shape) for shape in places.shapes_of]]
        case _:
            return canonical_range(places)


def _smallest_cells(blocks: Blocks) -> list[Range]:
    """Return the deepest cells, one in each row of blocks that has some: in degrees they narrow to a pole."""
    deepest = np.flatnonzero(blocks.depth == blocks.depth.max())
    _, first = np.unique(deepest // blocks.side, return_index=True)
    cells = blocks.offsets[deepest[first]]
    ends = cells[[0, -1]] if len(cells) > 1 else cells
    return [Rectangle(*(float(side[cell]) for side in blocks.boxes)) for cell in ends.tolist()]


def grid_shapes(grid: Grid) -> list[shapely.Geometry]:
    """Return the cells of a grid as polygons, row by row from the south-west."""
    west, south = np.meshgrid(grid.x_edges[:-1], grid.y_edges[:-1])
    east, north = np.meshgrid(grid.x_edges[1:], grid.y_edges[1:])
    return list(shapely.box(west.ravel(), south.ravel(), east.ravel(), north.ravel()))


def as_grid(given: Any, domain: Box) -> Grid:
    """Return a grid of the domain from a pair of columns and rows, or as it is."""
    if isinstance(given, Grid):
        return given
    pair = tuple(given) if is_list(given) else ()
    if len(pair) != 2:
        raise InvalidQuery(f"a grid is a pair of columns and rows, such as (64, 64), got {written(given)}")
    return Grid(domain, *pair)


def _require_reachable(name: str, shape: Polygon | MultiPolygon, public_map: PublicMap) -> None:
    try:
        public_map.require_reachable(shape)
    except InvalidQuery:
        west, south, east, north = shape.shape.bounds
        turned = shapely.box(south, west, north, east)
        swapped = SWAPPED if turned.intersects(shapely.box(*public_map.domain.sides)) else "; leave it out"
        raise InvalidQuery(
            f"the district {written(name)} lies outside the domain {public_map.domain.written}{swapped}; nothing was "
            "spent"
        ) from None


@lru_cache(maxsize=16)
def _cells_of(resolution: int, domain: Box) -> npt.NDArray[np.uint64]:
    """Return the ids of the H3 cells whose own boxes meet the domain, ascending: a few more than meet it."""
    library = _h3()
    west, south, east, north = domain.sides
    found: set[int] = set()
    # H3 reads a box that is wider than half the Earth as the rest of it
    for low, high in _pieces(west, east):
        corners = [(south, low), (south, high), (north, high), (north, low)]
        shape = library.LatLngPoly([(lat, _degrees(lon)) for lat, lon in corners])
        found |= set(library.h3shape_to_cells_experimental(shape, resolution, contain="bbox_overlap"))
    ids = np.array(sorted(found), dtype=np.uint64)
    ids.flags.writeable = False
    return ids


def _h3() -> Any:
    try:
        import h3.api.basic_int as library  # type: ignore[import-untyped]
    except ImportError:
        raise InvalidQuery("H3 cells need the package h3: pip install 'fedgroup[maps]'") from None
    return library


def _pieces(west: float, east: float) -> list[tuple[float, float]]:
    """Return a range of longitudes in pieces of at most 120 degrees."""
    steps = max(1, int(np.ceil((east - west) / 120)))
    edges = np.linspace(west, east, steps + 1).tolist()
    return list(itertools.pairwise(edges))


def _degrees(lon: float) -> float:
    return (lon + 180) % 360 - 180 if not -180 <= lon <= 180 else lon


def _ring(boundary: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a ring as x, y; where it jumps over the antimeridian its western points are moved by a turn."""
    points = [(lon, lat) for lat, lon in boundary]
    if max(lon for lon, _ in points) - min(lon for lon, _ in points) > 180:
        points = [(lon + 360 if lon < 0 else lon, lat) for lon, lat in points]
    return points
