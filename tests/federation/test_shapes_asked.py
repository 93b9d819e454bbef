"""A data scientist's shapes can be asked about as they are, and a wrong one costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

import fedgroup as fg

DOMAIN = fg.Box(4.8, 52.3, 5.0, 52.4)
PARK = shapely.Polygon(
    [(4.82, 52.31), (4.98, 52.31), (4.98, 52.39), (4.82, 52.39)], [[(4.88, 52.33), (4.92, 52.33), (4.92, 52.37)]]
)
HUGE = 1_000_000


def places() -> gpd.GeoDataFrame:
    rng = np.random.default_rng(1)
    many = 400
    points = gpd.points_from_xy(rng.uniform(4.8, 5.0, many), rng.uniform(52.3, 52.4, many))
    columns = {"owner": np.arange(many) % 7, "fare": rng.uniform(1, 9, many)}
    return gpd.GeoDataFrame(columns, geometry=points, crs="EPSG:4326")


def federation(**settings: Any) -> fg.Federation:
    return fg.Federation(fg.Records.from_frame(places(), owners=range(7)), DOMAIN, **settings)


def parks() -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame({"name": ["park"]}, geometry=[PARK], crs="EPSG:4326")


def test_every_kind_counts_what_geopandas_joins() -> None:
    joined = places().sjoin(parks())
    asked = federation()
    for given in (PARK, parks(), parks().to_crs("EPSG:28992"), parks().geometry, PARK.__geo_interface__):
        assert asked.count(given, epsilon=HUGE, fresh=True).value == len(joined)
    assert asked.people(parks(), epsilon=HUGE).value == joined["owner"].nunique()
    total = asked.sum(PARK, attribute="fare", clip=10, epsilon=HUGE).value
    assert total == pytest.approx(joined["fare"].sum(), abs=1)
    assert [answer.value for answer in asked.count_many(parks(), epsilon=HUGE)] == [len(joined)]
    assert asked.expect("count", PARK, epsilon=1).charge == 1
    assert asked.map(range=parks(), epsilon=HUGE).values.tolist() == [len(joined)]


def test_districts_of_a_frame_are_joined_as_geopandas_does() -> None:
    quarters = [shapely.box(x, y, x + 0.1, y + 0.05) for x in (4.8, 4.9) for y in (52.3, 52.35)]
    districts = gpd.GeoDataFrame({"quarter": list("abcd")}, geometry=quarters, crs="EPSG:4326")
    made = federation().map(districts=districts.to_crs(28992), district_names="quarter", epsilon=HUGE)
    expected = places().sjoin(districts)["quarter"].value_counts()
    assert dict(zip(made.names(), made.values.tolist(), strict=True)) == expected.to_dict()


@pytest.mark.parametrize(
    "said",
    [
        {"range": parks().set_crs(None, allow_override=True)},
        {"range": shapely.box(0, 0, 900, 900)},
        {"districts": {"a": PARK, "b": PARK}},
        {"districts": parks(), "district_names": "title"},
        {"grid": (4, 4), "by": {"colour": ["red"]}},
        {"grid": (2_000, 2_000)},
        {"grid": (4, 4), "every": "0h", "since": 0, "until": 10},
        {"grid": (4, 4), "h3": 7},
        {"h3": 16},
    ],
    ids=lambda said: " ".join(said),
)
def test_bad_bins_cost_nothing(said: dict[str, Any]) -> None:
    asked = federation(budget=1)
    with pytest.raises(fg.InvalidInput):
        asked.map(epsilon=1, **said)
    assert asked.spent == 0


def test_a_map_cannot_be_asked_as_one_range() -> None:
    asked = federation(budget=1)
    with pytest.raises(fg.InvalidQuery, match="a range is"):
        asked.count(fg.Grid(DOMAIN, 2, 2), epsilon=1)
    assert asked.spent == 0


def test_degrees_on_a_plane_are_refused() -> None:
    records = fg.Records.from_frame(places(), owners=range(7))
    with pytest.raises(fg.InvalidInput, match="in degrees"):
        fg.Federation(records, fg.Box(0, 0, 20_000, 20_000), lonlat=False)
    with pytest.raises(fg.InvalidInput, match="lon/lat domain"):
        fg.Federation(records, fg.Box(0, 0, 20_000, 20_000))


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:4258", "EPSG:28992"])
@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_geoparquet_is_read_by_its_crs(crs: str, encoding: str, tmp_path: Path) -> None:
    frame = places().to_crs(crs)
    frame.to_parquet(tmp_path / "p.parquet", geometry_encoding=encoding)
    read = fg.read(tmp_path / "p.parquet", owners=range(7))
    expected = fg.Records.from_frame(frame, owners=range(7))
    assert read.lonlat == expected.lonlat == (crs != "EPSG:28992")
    assert np.array_equal(read.x, expected.x)
    assert np.array_equal(read.y, expected.y)
    assert sorted(read.attributes) == ["fare"]


@pytest.mark.parametrize(
    ("crs", "planar", "told"), [(None, False, "coordinate system"), ("EPSG:4326", True, "degrees, which are no plane")]
)
def test_geoparquet_without_a_plain_reading_is_refused(crs: Any, planar: bool, told: str, tmp_path: Path) -> None:
    places().set_crs(crs, allow_override=True).to_parquet(tmp_path / "p.parquet")
    with pytest.raises(fg.InvalidInput, match=told):
        fg.read(tmp_path / "p.parquet", planar=planar)


def test_geoparquet_of_a_plane_is_read_when_that_is_said(tmp_path: Path) -> None:
    places().set_crs(None, allow_override=True).to_parquet(tmp_path / "p.parquet")
    assert not fg.read(tmp_path / "p.parquet", planar=True).lonlat


def test_geoparquet_of_areas_is_refused(tmp_path: Path) -> None:
    gpd.GeoDataFrame({"owner": [1]}, geometry=[PARK], crs=4326).to_parquet(tmp_path / "p.parquet")
    with pytest.raises(fg.InvalidInput, match="not points"):
        fg.read(tmp_path / "p.parquet")
