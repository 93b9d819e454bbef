"""Tiles: every pixel shows the place that holds its middle, and nothing where noise alone may explain a value."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from PIL import Image
from some_maps import federation

import fedgroup as fg
from fedgroup.errors import InvalidQuery
from fedgroup.maps.layers import Layer
from fedgroup.maps.tiles import OPACITY, Scale, areas_km2, painted, palette

DISTRICTS = {
    "a": fg.Polygon([(4.8, 52.3), (4.9, 52.3), (4.85, 52.4)], [[(4.84, 52.32), (4.86, 52.32), (4.85, 52.35)]]),
    "b": fg.Polygon([(4.9, 52.3), (5.0, 52.3), (5.0, 52.4), (4.9, 52.4)]),
}
EVERY = {"every": "6h", "since": 0, "until": 86_400}


def made(values: Any = None, **said: Any) -> fg.PrivateMap:
    """A map in degrees; its values are those given, and intervals as wide as noise makes them."""
    found = federation(lonlat=True, seed=1).map(**{"epsilon": 1, "method": "mpc", **said})
    if values is None:
        return found
    given = np.asarray(values)
    return replace(found, values=given, low=given - 3, high=given + 3, half_width_all=10.0)


def decoded(png: bytes) -> np.ndarray[Any, Any]:
    """Red, green, blue and opacity of every pixel, as another program reads them."""
    picture = Image.open(io.BytesIO(png))
    picture.load()
    assert (picture.format, picture.size) == ("PNG", (256, 256))
    return np.asarray(picture.convert("RGBA"))


def tile_at(lon: float, lat: float, z: int) -> tuple[int, int, int]:
    y = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2
    return z, int((lon + 180) / 360 * 2**z), int(y * 2**z)


def middle(tile: tuple[int, int, int], column: int, row: int) -> tuple[float, float]:
    z, x, y = tile
    across, down = (x + (column + 0.5) / 256) / 2**z, (y + (row + 0.5) / 256) / 2**z
    return across * 360 - 180, math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * down))))


def expected(found: fg.PrivateMap, tile: tuple[int, int, int], column: int, row: int) -> float | None:
    """The value of the place that holds a pixel's middle, found by shapely; None for what is clear."""
    place = shapely.Point(middle(tile, column, row))
    held = [at for at, shape in enumerate(found.geometries()) if shapely.contains(shape, place)]
    if not held or abs(found.values[held[0]]) <= (found.half_width_all or 0):
        return None
    return float(found.values[held[0]])


MAPS = {
    "grid": lambda: made(np.geomspace(1, 1e5, 48).astype(int), grid=(8, 6)),
    "hexagons": lambda: made_like({"h3": 7}, lambda count: np.geomspace(2, 1e6, count)),
    "districts": lambda: made([50, 5_000], districts=DISTRICTS),
    "signed": lambda: made([-400.0, 30.0, 0.0, 6000.0, -50.0, 9.0], grid=(3, 2), kind="sum", attribute="fare", clip=9,
                           signed=True),
}  # fmt: skip


def made_like(said: dict[str, Any], values: Any) -> fg.PrivateMap:
    count = federation(lonlat=True, seed=1).map(epsilon=1, method="mpc", **said).bins
    return made(values(count), **said)


@pytest.mark.parametrize("name", MAPS)
def test_pixels_show_the_place_at_their_middle(name: str) -> None:
    found = MAPS[name]()
    painting = painted(Layer(found), per="place")
    scale, colours = painting.scale, palette(signed=painting.scale.signed)
    rng = np.random.default_rng(2)
    clear = 0
    for z in (11, 12, 14):
        tile = tile_at(4.873, 52.341, z)
        pixels = decoded(painting.png(*tile))
        for column, row in rng.integers(0, 256, (60, 2)).tolist():
            value = expected(found, tile, column, row)
            level = 0 if value is None else int(scale.levels(np.array([value]))[0])
            assert pixels[row, column].tolist() == colours[level].tolist(), (z, column, row, value)
            clear += value is None
    assert clear > 0 or name == "hexagons"


def test_a_level_stands_for_its_value() -> None:
    for signed in (False, True):
        scale = Scale(3.0, 7e5, signed, "place")
        values = np.geomspace(3, 7e5, 200) * (np.where(np.arange(200) % 2, 1, -1) if signed else 1)
        read = scale.values(scale.levels(values))
        share = math.log(7e5 / 3) / (126 if signed else 254)
        assert np.abs(np.log(read / values)).max() <= share / 2 + 1e-9
    assert np.isnan(scale.values(np.array([0], dtype=np.uint8)))
    assert palette(signed=True)[0, 3] == 0
    assert set(palette(signed=False)[1:, 3].tolist()) == {OPACITY}


def test_what_noise_may_explain_in_the_whole_map_is_clear() -> None:
    found = made([9, 10, 11, 400], grid=(2, 2))
    assert painted(Layer(found)).places.tolist() == [2, 3]
    wide = replace(found, low=found.values - 50, high=found.values + 50)
    assert painted(Layer(wide)).places.tolist() == [3]
    assert painted(Layer(replace(found, half_width_all=None))).places.tolist() == [0, 1, 2, 3]


def test_an_empty_map_is_clear_everywhere() -> None:
    painting = painted(Layer(made([0, 1, -2, 3], grid=(2, 2))))
    assert decoded(painting.png(0, 0, 0))[:, :, 3].max() == 0
    assert painting.legend()["stops"] == []
    assert painting.legend_svg().startswith("<svg")


def test_small_places_are_seen_from_afar_and_the_largest_wins() -> None:
    values = np.full(64 * 64, 20)
    values[2_000] = 90_000
    painting = painted(Layer(made(values, grid=(64, 64))))
    tile = tile_at(4.9, 52.35, 4)
    assert painting.pixels(*tile).max() == 255
    assert decoded(painting.png(*tile))[:, :, 3].any()


def test_colours_are_per_square_kilometre_where_places_differ() -> None:
    found = made([1_000, 1_000], districts=DISTRICTS)
    painting = painted(Layer(found))
    areas = areas_km2(Layer(found))
    assert (painting.scale.per, painting.unit) == ("km2", "records per km²")
    assert painting.scale.high == pytest.approx(1_000 / areas.min())
    # 0.1 degrees by 0.1 degrees at 52.35 degrees north
    assert areas[1] == pytest.approx(6.80 * 11.12, rel=0.01)
    assert painted(Layer(made([20, 30, 40, 50], grid=(2, 2)))).scale.per == "place"
    with pytest.raises(InvalidQuery, match="place or km2"):
        painted(Layer(found), per="acre")


def test_steps_and_categories_are_chosen_or_added_up() -> None:
    found = made(np.arange(16) * 100, grid=(2, 1), **EVERY, by={"kind": ["bus", "other"]})
    one = painted(Layer(found), step=1, category="bus")
    assert one.told.values.tolist() == [200, 1000]
    assert painted(Layer(found)).told.values.tolist() == [2800, 9200]
    means = made(np.arange(8.0) + 1, grid=(2, 1), **EVERY, kind="avg", attribute="fare", clip=9)
    with pytest.raises(InvalidQuery, match="means do not add up"):
        painted(Layer(means))


def test_a_map_over_the_antimeridian_is_on_both_sides() -> None:
    rng = np.random.default_rng(1)
    records = fg.Records(
        owner=np.arange(400) % 8, x=rng.uniform(177, 182, 400), y=rng.uniform(-20, -15, 400), lonlat=True
    )
    found = fg.Federation(records, fg.Box(177, -20, 182, -15)).map(grid=(5, 5), epsilon=50, method="mpc")
    painting = painted(Layer(found), per="place")
    west, east = (painting.pixels(6, x, 35) > 0 for x in (63, 0))
    assert west[:, :80].sum() == 0  # 177 degrees is at pixel 120 of the tile
    assert west[:, 160:].mean() > 0.5
    assert east[:, :80].mean() > 0.5
    assert east[:, 100:].sum() == 0


@pytest.mark.parametrize("tile", [(-1, 0, 0), (23, 0, 0), (3, 8, 0), (3, 0, 8), (3, -1, 0)])
def test_what_is_no_tile_is_refused(tile: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidQuery, match="zoom from 0 to 22"):
        painted(Layer(made([20, 30, 40, 50], grid=(2, 2)))).png(*tile)


def test_the_deepest_tile_is_one_colour() -> None:
    painting = painted(Layer(made([20, 30, 40, 50], grid=(2, 2))))
    assert np.unique(painting.pixels(*tile_at(4.87, 52.33, 22))).tolist() == [1]


def test_the_legend_names_colours_that_are_painted() -> None:
    found = made([20, 300, 4_000, 50_000], grid=(2, 2))
    painting = painted(Layer(found))
    legend = painting.legend()
    assert [stop["value"] for stop in legend["stops"]][::4] == pytest.approx([20, 50_000])
    assert legend["clear"] == "within 10 of 0: noise may explain it"
    colour = decoded(painting.png(*tile_at(4.95, 52.37, 14)))[0, 0, :3]
    assert legend["stops"][-1]["colour"] == "#" + bytes(colour.tolist()).hex()
    assert ">50,000<" in painting.legend_svg()
