"""Layers: pages of features add up to the map, whatever its places are, and only what is on a page is made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from some_maps import SAID, federation, some_map

import fedgroup as fg
from fedgroup.maps.layers import FoundBins, Layer, extent_of, on_earth
from fedgroup.maps.private_map import PrivateMap
from fedgroup.maps.tiles import painted

QUARTERS = [(4.8, 52.3, 4.9, 52.35), (4.9, 52.3, 5.0, 52.35), (4.8, 52.35, 4.9, 52.4)]
SMALL = [(4.9 + dx, 52.35 + dy, 4.95 + dx, 52.375 + dy) for dy in (0, 0.025) for dx in (0, 0.05)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Uneven(PrivateMap):
    """A map whose places are of a kind that nobody here knows: three quarters, and the last one in four."""

    @property
    def places(self) -> Any:
        return object()

    def geometries(self) -> list[shapely.Geometry]:
        return [shapely.box(*sides) for sides in QUARTERS + SMALL]

    def names(self) -> list[str]:
        return [f"cell {at}" for at in range(7)]


def uneven() -> Uneven:
    made = federation(lonlat=True, seed=1).map(grid=(7, 1), epsilon=1, method="mpc")
    values = np.array([40, 50, 60, 400, 90, 1, 300])
    facts = vars(made) | {"values": values, "low": values - 5, "high": values + 5, "half_width_all": 30.0}
    return Uneven(**{name: facts[name] for name in PrivateMap.__dataclass_fields__})


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("limit", [1, 5, 1_000])
def test_pages_add_up_to_the_map(name: str, limit: int) -> None:
    made = some_map(name)
    layer = Layer(made)
    found, features = layer.find(), []
    for offset in range(0, len(found), limit):
        features += layer.features(found.page(offset, limit))
    assert [each["id"] for each in features] == list(range(made.bins))
    told = [each["properties"]["value"] for each in features]
    assert told == [None if value != value else value for value in made.values.tolist()]
    shapes = made.geometries()
    for each in features:
        assert shapely.geometry.shape(each["geometry"]).equals(shapes[each["properties"]["place"]])


def test_places_of_any_kind_are_a_layer() -> None:
    layer = Layer(uneven())
    assert layer.shapes is None  # all are boxes, so that no shapes are kept
    named = layer.features(np.array([3]))[0]["properties"]
    assert (named["name"], named["value"], named["told_apart"]) == ("cell 3", 400, True)
    assert layer.find((4.92, 52.36, 4.93, 52.37)).page(0, 9).tolist() == [3]
    painting = painted(layer)
    assert (painting.scale.per, painting.places.tolist()) == ("km2", [0, 1, 2, 3, 4, 6])
    levels = dict(zip(painting.places.tolist(), painting.levels.tolist(), strict=True))
    assert levels[4] > levels[2] > levels[0]  # 90 in a small cell are more than 60 in one that is four times as large


@given(
    places=st.lists(st.integers(0, 30), unique=True, max_size=8).map(sorted),
    steps=st.lists(st.integers(0, 3), unique=True, max_size=4).map(sorted),
    categories=st.integers(1, 3),
    limit=st.integers(1, 7),
)
def test_every_bin_that_was_found_is_on_one_page(
    places: list[int], steps: list[int], categories: int, limit: int
) -> None:
    found = FoundBins(np.array(places, dtype=np.int64), np.array(steps, dtype=np.int64), (31, 4, categories))
    paged = [at for offset in range(0, len(found), limit) for at in found.page(offset, limit).tolist()]
    assert paged == [(p * 4 + s) * categories + c for p in places for s in steps for c in range(categories)]
    assert found.page(len(found) + 3, limit).tolist() == []


def test_only_the_features_of_a_page_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, made = Layer(some_map("hexagons")), []
    usual = Layer.geometry
    monkeypatch.setattr(Layer, "geometry", lambda self, place: made.append(place) or usual(self, place))
    layer.features(layer.find().page(2, 3))
    assert made == [2, 3, 4]


def test_true_values_are_not_told() -> None:
    assert "true_value" not in Layer(some_map("grid", evaluate=True)).features(np.array([0]))[0]["properties"]


def test_a_map_of_all_times_meets_every_time() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert len(Layer(some_map("grid")).find(window=(at, at))) == 12
    assert len(Layer(some_map("times")).find(window=(at, None))) == 0


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ((4.8, 52.3, 5.0, 52.4), [4.8, 52.3, 5.0, 52.4]),
        ((177, -20, 182, -15), [177, -20, -178, -15]),
        ((-182, 0, -178, 1), [178, 0, -178, 1]),
        ((170, 0, 180, 1), [170, 0, 180, 1]),
        ((0, -90, 360, 90), [-180, -90, 180, 90]),
    ],
)
def test_an_extent_is_told_between_180_degrees(domain: Any, expected: list[float]) -> None:
    records = fg.Records(owner=[0, 1], x=[domain[0] + 0.1] * 2, y=[(domain[1] + domain[3]) / 2] * 2, lonlat=True)
    made = fg.Federation(records, fg.Box(*domain)).map(grid=(2, 1), epsilon=1, method="dp")
    assert extent_of(made) == expected


def test_shapes_beyond_180_degrees_are_cut_and_keep_their_area() -> None:
    cut: Any = on_earth(shapely.box(178, 0, 183, 2))
    assert (cut.geom_type, cut.area, cut.bounds) == ("MultiPolygon", 10, (-180, 0, 180, 2))
    moved: Any = on_earth(shapely.box(-200, 0, -190, 1))
    assert moved.bounds == (160, 0, 170, 1)
