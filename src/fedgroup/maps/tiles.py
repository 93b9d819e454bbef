"""Maps as tiles for web maps: XYZ tiles in web Mercator, as PNG; colours are logarithmic, and empty places clear.

A place is painted where it is told from an empty one: its interval is on one side of 0, and its value is farther from 0
than noise moves any of all bins (`half_width_all`). Where places differ in size, colours tell values per square
kilometre, so that many records in a small place are darker than the same number in a large one.

Guarantee: a tile is made of what was released and of public bins.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.given import one_of, written
from fedgroup.maps.layers import Layer
from fedgroup.maps.pictures import Pictured, _chosen, _measured, seen
from fedgroup.maps.raster import edges_of, fill_boxes, fill_shapes
from fedgroup.questions.shown import number

if TYPE_CHECKING:
    from fedgroup.maps.private_map import Array, PrivateMap
    from fedgroup.questions.bins import Value

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

SIDE = 256
DEEPEST = 22
PER = ("place", "km2")
OPACITY = 205
_EARTH_KM = 6_371.0088
_NORTHMOST = 85.0511287798066
_UNEVEN = 2.0
"""Where one place is so many times as large as another, values are told per square kilometre."""
_RED = ((255, 237, 160), (254, 178, 76), (252, 78, 42), (189, 0, 38), (90, 0, 28))
_BLUE = ((222, 235, 247), (158, 202, 225), (66, 146, 198), (8, 81, 156), (4, 36, 84))
_STOPS = 5


@dataclass(frozen=True)
class Scale:
    """What colours mean: logarithmically from `low` to `high`, on both sides of 0 where values are `signed`.

    Levels are 1 to 255, 0 is clear; signed ones below 0 are 127 down to 1.
    """

    low: float
    high: float
    signed: bool
    per: str

    def levels(self, values: Floats) -> Bytes:
        """Return the level of every value that is painted."""
        span = math.log(self.high / self.low)
        share = np.log(np.abs(values) / self.low) / span if span else np.ones(len(values))
        share = np.clip(share, 0, 1)
        if not self.signed:
            return (1 + np.rint(254 * share)).astype(np.uint8)
        return np.where(values > 0, 128 + np.rint(127 * share), 127 - np.rint(126 * share)).astype(np.uint8)

    def values(self, levels: Bytes) -> Floats:
        """Return the value that each level stands for; NaN for what is clear."""
        level = levels.astype(float)
        if not self.signed:
            share, sign = (level - 1) / 254, np.ones(len(level))
        else:
            share = np.where(level >= 128, (level - 128) / 127, (127 - level) / 126)
            sign = np.where(level >= 128, 1.0, -1.0)
        return np.where(level > 0, sign * self.low * np.power(self.high / self.low, share), np.nan)


@dataclass(frozen=True, eq=False)
class Painting:
    """How the places of a map are painted: a level for each that is told from an empty one."""

    layer: Layer
    places: npt.NDArray[np.int64]
    levels: Bytes
    scale: Scale
    told: Pictured
    unit: str

    @cached_property
    def boxes(self) -> Floats:
        return np.ascontiguousarray(self.layer.boxes[self.places])

    @cached_property
    def edges(self) -> tuple[Floats, npt.NDArray[np.int64]] | None:
        """The edges of all places; None where they are boxes."""
        return None if self.layer.shapes is None else edges_of(self.layer.shapes[self.places])

    @cached_property
    def middles(self) -> Floats:
        """Where each place is on the square of web Mercator, from 0 to 1, from the west and from the north."""
        x, y = (self.boxes[:, 0] + self.boxes[:, 2]) / 2, (self.boxes[:, 1] + self.boxes[:, 3]) / 2
        lat = np.radians(np.clip(y, -_NORTHMOST, _NORTHMOST))
        return np.column_stack([x / 360 + 0.5, 0.5 - np.arcsinh(np.tan(lat)) / (2 * math.pi)])

    def pixels(self, z: int, x: int, y: int) -> Bytes:
        """Return the levels of a tile's pixels, from the north-west corner."""
        require_tile(z, x, y)
        tiles = 1 << z
        step = 360 / (tiles * SIDE)
        first = x * SIDE * step - 180 + step / 2
        down = (y * SIDE + np.arange(SIDE) + 0.5) / (tiles * SIDE)
        souths = -np.degrees(np.arctan(np.sinh(math.pi * (1 - 2 * down))))
        pixels = np.zeros((SIDE, SIDE), dtype=np.uint8)
        for turn in (-360.0, 0.0, 360.0):
            self._paint(pixels, (z, x, y), turn, first=first + turn, step=step, souths=souths)
        return pixels

    def png(self, z: int, x: int, y: int) -> bytes:
        """Return a tile as a PNG file."""
        return png_of(self.pixels(z, x, y), self.colours)

    @property
    def colours(self) -> Bytes:
        """Red, green, blue and opacity of every level."""
        return palette(signed=self.scale.signed)

    def legend(self) -> dict[str, Any]:
        """Return what colours mean, as JSON values."""
        stops = [{"value": value, "colour": self._hex(level)} for level, value in self._stops()]
        noise = self.told.half_all
        clear = "noise alone may explain it" if noise is None else f"within {number(noise)} of 0: noise may explain it"
        return {"unit": self.unit, "scale": "logarithmic", "stops": stops, "clear": clear, "places": len(self.places)}

    def legend_svg(self) -> str:
        """Return the legend as a picture."""
        rows = [(stop["colour"], number(stop["value"])) for stop in self.legend()["stops"]]
        drawn = "".join(
            f'<rect x="8" y="{30 + 20 * at}" width="24" height="20" fill="{colour}"/>'
            f'<text x="40" y="{45 + 20 * at}">{text}</text>'
            for at, (colour, text) in enumerate(reversed(rows))
        )
        foot = f'<text x="8" y="{52 + 20 * len(rows)}" fill="#555">clear: noise may explain it</text>'
        head = f'<text x="8" y="20" font-weight="bold">{_escaped(self.unit)}</text>'
        size = f'width="230" height="{62 + 20 * len(rows)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
            f'<rect width="100%" height="100%" fill="white"/>{head}{drawn}{foot}</svg>'
        )

    def _paint(
        self, pixels: Bytes, tile: tuple[int, int, int], turn: float, *, first: float, step: float, souths: Floats
    ) -> None:
        west, east = first - step / 2, first + (SIDE - 0.5) * step
        south, north = (-souths[-1] - step, -souths[0] + step)
        domain = self.layer.made.public_map.domain
        if domain.east < west - 1 or domain.west > east + 1:
            return  # hexagons reach a little beyond the domain
        boxes = self.boxes
        near = (boxes[:, 0] < east) & (boxes[:, 2] > west) & (boxes[:, 1] < north) & (boxes[:, 3] > south)
        chosen = np.flatnonzero(near)
        if len(chosen) == 0:
            return
        z, x, y = tile
        corner = np.array([x + turn / 360 * (1 << z), y])
        middles = np.floor((self.middles * (1 << z) - corner) * SIDE).astype(np.int64)
        if self.edges is None:
            fill_boxes(pixels, chosen, boxes, self.levels, middles, first, step, souths)
        else:
            edges, starts = self.edges
            fill_shapes(pixels, chosen, boxes, edges, starts, self.levels, middles, first, step, souths)

    def _stops(self) -> list[tuple[int, float]]:
        if len(self.places) == 0:
            return []
        ends = (1, 127, 128, 255) if self.scale.signed else (1, 255)
        levels = [level for a, b in zip(ends[::2], ends[1::2], strict=True) for level in np.linspace(a, b, _STOPS)]
        shown = np.unique(np.rint(levels).astype(np.uint8))
        return list(zip(shown.tolist(), self.scale.values(shown).tolist(), strict=True))

    def _hex(self, level: int) -> str:
        return "#" + bytes(self.colours[level, :3].tolist()).hex()


def painted(
    layer: Layer, *, step: int | None = None, category: Value | None = None, per: str | None = None
) -> Painting:
    """Return a map as it is painted: one step of time and one category, or all of them added up.

    `per` is place or km2: whether colours tell values, or values per square kilometre; by default the latter where one
    place is twice as large as another. Means are told as they are.
    """
    made = layer.made
    told = _shown(made, step, category)
    areas = areas_km2(layer)
    per = _per(made, areas, per)
    places = np.flatnonzero(~told.unsure & (told.values != 0))
    values = told.values[places].astype(float) / (areas[places] if per == "km2" else 1.0)
    sizes = np.abs(values)
    signed = bool(np.any(values < 0))
    low, high = (float(sizes.min()), float(sizes.max())) if len(sizes) else (1.0, 1.0)
    scale = Scale(low, high, signed, per)
    unit = _measured(made) + (" per km²" if per == "km2" else "")
    return Painting(layer, places, scale.levels(values), scale, told, unit)


def areas_km2(layer: Layer) -> Floats:
    """Return the area of every place on a sphere of the Earth's size."""
    if layer.shapes is None:
        west, south, east, north = np.radians(layer.boxes).T
        return np.asarray(_EARTH_KM**2 * (east - west) * (np.sin(north) - np.sin(south)))
    # an equal-area projection
    flat = shapely.transform(
        layer.shapes, lambda at: np.column_stack([np.radians(at[:, 0]), np.sin(np.radians(at[:, 1]))])
    )
    return _EARTH_KM**2 * np.asarray(shapely.area(flat))


def category_said(made: PrivateMap, text: str) -> Value:
    """Return the category that was said as a text."""
    for each in made.categories():
        if each is not None and text in (str(each), each if isinstance(each, str) else written(each)):
            return each
    raise InvalidQuery(f"the map has no category {written(text)}")


def require_tile(z: int, x: int, y: int) -> None:
    """Refuse what is no tile."""
    if not (0 <= z <= DEEPEST and 0 <= x < 1 << z and 0 <= y < 1 << z):
        raise InvalidQuery(f"a tile has a zoom from 0 to {DEEPEST}, and x and y from 0 to 2^zoom - 1")


def palette(*, signed: bool) -> Bytes:
    """Return red, green, blue and opacity of all levels."""
    colours = np.concatenate([_ramp(_BLUE, 127)[::-1], _ramp(_RED, 128)]) if signed else _ramp(_RED, 255)
    table = np.zeros((256, 4), dtype=np.uint8)
    table[1:, :3], table[1:, 3] = colours, OPACITY
    return table


def png_of(levels: Bytes, colours: Bytes) -> bytes:
    """Return levels as a PNG file with a palette."""
    high, wide = levels.shape
    rows = np.zeros((high, wide + 1), dtype=np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = levels
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", wide, high, 8, 3, 0, 0, 0),
        b"PLTE": colours[:, :3].tobytes(),
        b"tRNS": colours[:, 3].tobytes(),
        b"IDAT": zlib.compress(rows.tobytes(), 6),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in parts.items())


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _ramp(colours: tuple[tuple[int, int, int], ...], count: int) -> Array:
    at, given = np.linspace(0, 1, count), np.linspace(0, 1, len(colours))
    parts = [np.interp(at, given, [colour[part] for colour in colours]) for part in range(3)]
    return np.rint(np.column_stack(parts)).astype(np.uint8)


def _shown(made: PrivateMap, step: int | None, category: Value | None) -> Pictured:
    """Return a value for every place; what noise may explain is told by the half-width of the whole map."""
    steps, categories = _chosen(made, step, category)
    values, low, high = (made.at(each)[:, steps][:, :, categories] for each in (made.values, made.low, made.high))
    if values.shape[1] * values.shape[2] > 1:
        return seen(made, step=step, category=category)
    half = made.half_width_all
    return Pictured(values[:, 0, 0], low[:, 0, 0], high[:, 0, 0], half, half, signed=made.signed)


def _per(made: PrivateMap, areas: Floats, per: str | None) -> str:
    if per is not None:
        one_of(per, PER, name="per", refusal=InvalidQuery)
    if made.kind == "avg":
        if per == "km2":
            raise InvalidQuery("means are not told per square kilometre")
        return "place"
    if per is None:
        return "km2" if areas.max() > _UNEVEN * areas.min() else "place"
    return per


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
