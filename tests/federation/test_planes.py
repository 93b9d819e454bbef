"""A plane's coordinate system is remembered: shapes of others are brought to it, maps are given back in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

import fedgroup as fg
from fedgroup.data.indexes import load_index, save_index
from fedgroup.owner.index import RecordIndex
from fedgroup.space import PublicMap

RD = "EPSG:28992"
"""Metres on a plane, in the Netherlands."""
DOMAIN = fg.Box(110_000, 475_000, 130_000, 495_000)
HUGE = 1_000_000
NAMES = {"name": ["south-west", "north-east"]}
QUARTERS = gpd.GeoDataFrame(
    NAMES, geometry=[shapely.box(110_000, 475_000, 120_000, 485_000), shapely.box(120_000, 485_000, 130_000, 495_000)],
    crs=RD,
)  # fmt: skip


def places() -> gpd.GeoDataFrame:
    rng = np.random.default_rng(1)
    points = gpd.points_from_xy(rng.uniform(110_000, 130_000, 300), rng.uniform(475_000, 495_000, 300))
    return gpd.GeoDataFrame({"owner": np.arange(300) % 5}, geometry=points, crs=RD)


def federation(**settings: Any) -> fg.Federation:
    return fg.Federation(fg.Records.from_frame(places(), owners=range(5)), DOMAIN, **settings)


@pytest.mark.parametrize("crs", [RD, "EPSG:4326", "EPSG:32631", "EPSG:3857"])
def test_districts_and_ranges_in_any_system_are_brought_to_the_plane(crs: str) -> None:
    joined, there = federation(), QUARTERS.to_crs(crs)
    expected = [len(places().clip(shape)) for shape in QUARTERS.geometry]
    made = joined.map(districts=there, epsilon=HUGE)
    assert made.values.tolist() == expected
    assert joined.count(there.geometry.iloc[:1], epsilon=HUGE).value == expected[0]
    assert [answer.value for answer in joined.count_many(there, epsilon=HUGE)] == expected


def test_geojson_that_tells_its_system_is_brought_to_the_plane() -> None:
    told = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    collection = QUARTERS.to_crs(4326).__geo_interface__ | {"crs": told}
    made = federation().map(districts=collection, epsilon=HUGE)
    assert made.values.tolist() == federation().map(districts=QUARTERS, epsilon=HUGE).values.tolist()


def test_a_frame_that_tells_nothing_and_degrees_that_do_not_say_so_are_refused() -> None:
    joined = federation(budget=1)
    for wrong, told in (
        (QUARTERS.set_crs(None, allow_override=True), f"does not tell its coordinate system.*in {RD}"),
        (shapely.box(4.7, 52.3, 4.9, 52.4), f"in {RD}, and the shape looks like degrees"),
    ):
        with pytest.raises(fg.InvalidQuery, match=told):
            joined.map(range=wrong if isinstance(wrong, shapely.Geometry) else wrong.iloc[:1], epsilon=1)
    assert joined.spent == 0


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        (fg.Box(4.7, 52.3, 4.9, 52.4), "looks like degrees"),
        (fg.Box(0, 0, 20_000, 20_000), "lies where that system is not used"),
        (fg.Box(-9e6, 475_000, -8e6, 495_000), "lies where that system is not used"),
    ],
)
def test_a_domain_in_other_units_than_the_records_is_refused(domain: fg.Box, told: str) -> None:
    with pytest.raises(fg.InvalidInput, match=f"the records are in {RD}, and the domain .*{told}"):
        fg.Federation(fg.Records.from_frame(places()), domain)
    web = fg.Records.from_frame(places().to_crs(3857))
    with pytest.raises(fg.InvalidInput, match="looks like degrees"):
        fg.Federation(web, fg.Box(4.7, 52.3, 4.9, 52.4))
    with pytest.raises(fg.InvalidInput, match="which is a plane"):
        fg.Federation(web, fg.Box(4.7, 52.3, 4.9, 52.4), lonlat=True)


def test_records_know_their_system_however_they_are_read(tmp_path: Path) -> None:
    frame = places()
    frame.to_parquet(tmp_path / "p.parquet")
    records = fg.read(tmp_path / "p.parquet")
    assert (records.crs, fg.Records.from_frame(frame).crs) == (RD, RD)
    assert records.keep(np.arange(3)).crs == RD
    index = RecordIndex.build(records, PublicMap(DOMAIN, crs=RD))
    save_index(index, tmp_path / "index")
    assert fg.Federation(load_index(tmp_path / "index")).public_map.crs == RD
    assert fg.Records.from_frame(frame.to_crs(4326)).crs is None


def test_a_map_is_given_back_in_its_system(tmp_path: Path) -> None:
    made = federation(seed=1).map(grid=(4, 4), epsilon=1)
    assert made.to_geodataframe().crs == RD
    for ending in ("gpkg", "parquet"):
        path = tmp_path / f"map.{ending}"
        made.save(path)
        frame = gpd.read_parquet(path) if ending == "parquet" else gpd.read_file(path)
        assert frame.crs == RD
        assert frame.total_bounds.tolist() == list(DOMAIN.sides)
        assert fg.load_map(path).public_map.crs == RD


def test_geojson_of_a_known_plane_is_in_degrees_and_of_an_unknown_one_warns(tmp_path: Path) -> None:
    made = federation(seed=1).map(grid=(4, 4), epsilon=1)
    made.save(tmp_path / "map.geojson")
    west, south, east, north = gpd.read_file(tmp_path / "map.geojson").total_bounds
    assert (round(west, 1), round(south, 1), round(east, 1), round(north, 1)) == (4.7, 52.3, 5.0, 52.4)
    assert "crs" not in json.loads((tmp_path / "map.geojson").read_text())
    again = fg.load_map(tmp_path / "map.geojson")
    assert (again.values.tolist(), again.public_map.domain) == (made.values.tolist(), DOMAIN)
    plain = fg.Federation(fg.Records(owner=[1], x=[1], y=[1]), fg.Box(0, 0, 9, 9)).map(grid=(2, 2), epsilon=1)
    with pytest.warns(UserWarning, match="GeoJSON is in degrees to everybody"):
        plain.save(tmp_path / "plain.geojson")
    assert fg.load_map(tmp_path / "plain.geojson").values.tolist() == plain.values.tolist()


def test_a_known_plane_is_looked_around_in_where_it_is() -> None:
    shown = federation(seed=1).map(grid=(2, 2), epsilon=1).explore(tiles=None)
    (south, west), (north, east) = shown.get_bounds()
    assert 52.2 < south < north < 52.5
    assert 4.6 < west < east < 5.1


def test_a_question_is_the_same_whether_or_not_the_systems_name_is_known(tmp_path: Path) -> None:
    frame = places()
    named = fg.Federation(fg.Records.from_frame(frame, owners=range(5)), DOMAIN, ledger=tmp_path / "ledger.db")
    circle = fg.Circle(120_000, 485_000, 900)
    first = named.count(circle, epsilon=0.5)
    unnamed = fg.Records.from_frame(frame.set_crs(None, allow_override=True), owners=range(5), planar=True)
    again = fg.Federation(unnamed, DOMAIN, ledger=tmp_path / "ledger.db").count(circle, epsilon=0.5)
    assert (again.stored, again.value) == (True, first.value)
