"""A map as frames: a row for every bin, named as people name it."""

from __future__ import annotations

import geopandas as gpd
import pytest
from some_maps import some_map

import fedgroup as fg


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("grid", ["place", "row", "column", "value", "low", "high"]),
        ("hexagons", ["place", "h3", "value", "low", "high"]),
        ("districts", ["place", "name", "value", "low", "high"]),
        ("times", ["place", "row", "column", "time", "category", "value", "low", "high"]),
        ("numbers", ["place", "category", "value", "low", "high"]),
    ],
)
def test_columns_name_the_bins(name: str, columns: list[str]) -> None:
    made = some_map(name)
    frame = made.to_frame()
    assert (list(frame.columns), len(frame)) == (columns, made.bins)
    assert list(made.to_geodataframe().columns) == [*columns, "geometry"]


def test_rows_are_in_the_order_of_the_bins() -> None:
    made = some_map("times")
    frame = made.to_frame()
    grouped = frame[(frame["column"] == 1) & (frame["category"] == "other")]
    assert grouped["value"].tolist() == made.at(made.values)[1, :, 1].tolist()
    assert [f"{time:%H}" for time in grouped["time"]] == ["00", "06", "12", "18"]


def test_a_map_is_geojson_to_whoever_asks() -> None:
    made = some_map("districts")
    frame = gpd.GeoDataFrame.from_features(made.__geo_interface__)
    assert frame["value"].tolist() == made.values.tolist()
    assert frame.geometry.area.tolist() == [50.0, 49.0]


def test_a_map_to_look_around_in_shows_every_place_with_its_value() -> None:
    made = some_map("hexagons")
    shown = made.explore(tiles=None).get_root().render()
    assert all(name in shown for name in made.names())
    assert shown.count('"value"') >= made.bins


def test_an_absent_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    made = some_map("grid")
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(fg.InvalidInput, match=r"fedgroup\[maps\]"):
        made.to_frame()
