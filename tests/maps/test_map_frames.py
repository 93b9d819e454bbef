"""A map as frames: a row for every bin, named as people name it."""

from __future__ import annotations

import geopandas as gpd
import pytest
from some_maps import federation, some_map

import fedgroup as fg


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("grid", ["place", "row", "column", "value", "low", "high"]),
        ("hexagons", ["place", "h3", "value", "low", "high"]),
        ("districts", ["place", "name", "value", "low", "high"]),
        ("times", ["place", "row", "column", "time", "end", "category", "value", "low", "high"]),
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


def test_a_short_last_step_ends_with_the_window() -> None:
    made = federation(seed=1).map(grid=(2, 1), epsilon=1, every="9h", since=0, until=86_400)
    assert [f"{at:%d %H}" for at in made.ends() if at] == ["01 09", "01 18", "02 00"]
    frame = made.to_frame()
    assert (frame["end"] - frame["time"]).dt.total_seconds().tolist()[:3] == [9 * 3600, 9 * 3600, 6 * 3600]
    assert some_map("grid").ends() == [None]


def test_values_are_laid_out_by_places_steps_and_categories_or_refused() -> None:
    made = some_map("times")
    assert made.at(made.low).shape == (2, 4, 2)
    for wrong in (made.values[:3], 0, made.at(made.values)):
        with pytest.raises(fg.InvalidQuery, match="at takes one value a bin"):
            made.at(wrong)


@pytest.mark.parametrize("name", ["grid", "districts", "means"])
def test_a_map_prints_in_one_short_line(name: str) -> None:
    shown = repr(some_map(name))
    assert len(shown) < 250
    assert f"{some_map(name).bins} bins" in shown


def test_people_and_means_of_several_steps_are_not_added_up() -> None:
    made = federation(seed=1).map(grid=(2, 1), kind="people", epsilon=1, every="12h", since=0, until=86_400)
    with pytest.raises(fg.InvalidQuery, match="people do not add up: who is in several"):
        made.of_places()
    assert some_map("districts").of_places().tolist() == some_map("districts").values.tolist()


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
