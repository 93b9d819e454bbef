"""A base map of a place: coast and water of GSHHG, names of GeoNames, in one small file."""

from __future__ import annotations

import json
from importlib import metadata

import pytest
import shapely

from fedgroup.data import basemap
from fedgroup.errors import InvalidInput
from fedgroup.space import Box

TOKYO = Box(139.47, 35.51, 139.91, 35.87)
UENO, BAY = shapely.Point(139.777, 35.714), shapely.Point(139.83, 35.57)


@pytest.fixture(scope="module")
def tokyo():
    return basemap.make_basemap(TOKYO)


def test_shores_are_those_of_the_full_resolution(tokyo):
    assert tokyo.corners > 500
    land = shapely.union_all([shape for kind, shape in tokyo.shores if kind == "land"])
    assert land.contains(UENO)
    assert not land.contains(BAY)
    assert shapely.box(*TOKYO.sides).buffer(1e-6).contains(land)


def test_places_have_names_the_largest_first(tokyo):
    names = [name for name, *_ in tokyo.names]
    assert names[0] == "Tokyo"
    assert {"Shibuya", "Kawaguchi"} <= set(names)
    assert all(TOKYO.west <= x < TOKYO.east and TOKYO.south <= y < TOKYO.north for _, x, y, _ in tokyo.names)


def test_it_is_one_small_file_that_tells_whom_to_credit(tokyo, tmp_path):
    basemap.write_basemap(tokyo, tmp_path / "tokyo.geojson")
    text = (tmp_path / "tokyo.geojson").read_text(encoding="utf-8")
    assert len(text) < 100_000
    found = json.loads(text)
    assert "GSHHG" in found["credit"]
    assert "GeoNames" in found["credit"]
    assert {each["properties"]["kind"] for each in found["features"]} <= {"land", "water", "place"}


def test_what_is_not_in_degrees_is_refused():
    with pytest.raises(InvalidInput, match="degrees"):
        basemap.make_basemap(Box(0, 0, 20_000, 20_000))


def test_without_the_data_the_extra_is_named(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    with pytest.raises(InvalidInput, match=r"fedgroup\[basemap\]"):
        basemap.make_basemap(TOKYO)
