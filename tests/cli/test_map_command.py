"""`fedgroup map` and `fedgroup people`: one epsilon for all bins, files that others read, nothing spent on misuse."""

from __future__ import annotations

import json

import geopandas as gpd
import pytest
import shapely

import fedgroup as fg

MANY = ["--epsilon", "1000000", "--json"]


@pytest.fixture
def taxis(tmp_path):
    """Two companies: one car has 1,000 records in one cell, another is in all four cells."""
    rows = ["owner,subject,x,y,kind,time"]
    rows += [f"acme,loyal,1,1,{'bus' if at % 2 else 'taxi'},{at}" for at in range(1000)]
    rows += [f"acme,driver,{x},{y},bus,7000" for x in (1, 9) for y in (1, 9)]
    rows += ["best,loyal,9,9,taxi,3"]
    path = tmp_path / "taxis.csv"
    path.write_text("\n".join(rows))
    return path


def test_a_person_with_a_thousand_records_counts_once(fedgroup, taxis):
    said = (taxis, "--domain", "0,0,10,10", *MANY)
    facts = fedgroup("map", *said, "--grid", "2x2", "--kind", "people").json
    assert (facts["values"], facts["shape"]) == ([2, 1, 1, 2], [4, 1, 1])
    assert fedgroup("people", *said, "--rectangle", "0,0,5,5").json["value"] == 2
    assert fedgroup("count", *said, "--rectangle", "0,0,5,5").json["value"] == 1001


def test_a_subject_is_protected_in_so_many_bins(fedgroup, taxis):
    said = (taxis, "--domain", "0,0,10,10", *MANY, "--grid", "2x2", "--kind", "people", "--unit", "subject")
    facts = fedgroup("map", *said, "--max-records", 5000, "--max-bins", 2, "--subject", "subject").json
    assert sum(facts["values"]) == 4
    assert facts["protection"] == "one subject of 5000 records in 2 bins, add-remove"
    assert fedgroup("map", *said, "--max-records", 5).code == 2


def test_one_epsilon_pays_for_the_whole_map(fedgroup, city, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    said = ("--epsilon", 0.5, "--ledger", ledger, "--budget", 1, "--json")
    facts = fedgroup("map", city, "--grid", "32x32", *said).json
    assert (len(facts["values"]), facts["charged"]) == (1024, 0.5)
    assert fedgroup("map", city, "--grid", "32x32", *said).json["stored"]
    assert fedgroup("ledger", ledger, "--json").json["spent"] == 0.5


def test_steps_and_categories_are_bins_too(fedgroup, taxis):
    said = (taxis, "--domain", "0,0,10,10", *MANY, "--grid", "1x1")
    window = ("--since", 0, "--until", 7200, "--every", "1h")
    facts = fedgroup("map", *said, *window, "--by", "kind=bus,other").json
    assert (facts["shape"], facts["values"]) == ([1, 2, 2], [500, 501, 4, 0])


@pytest.mark.parametrize("ending", ["gpkg", "parquet", "geojson", "csv"])
def test_a_map_goes_into_a_file(fedgroup, city, tmp_path, ending):
    out = tmp_path / f"map.{ending}"
    facts = fedgroup("map", city, "--grid", "4x4", "--epsilon", 1, "--out", out, "--json").json
    assert (fg.load_map(out).values.tolist(), facts["out"]) == (facts["values"], str(out))


def test_a_map_is_drawn_and_told(fedgroup, city, tmp_path):
    ran = fedgroup("map", city, "--grid", "4x4", "--epsilon", 1, "--picture", tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert "16 bins: 16 places" in ran.out
    assert "all of them by at most" in ran.out
    assert "protected is one record, add-remove" in ran.out


def test_districts_and_sums(fedgroup, city, tmp_path):
    shape = {"type": "Polygon", "coordinates": [[[0, 0], [9_000, 0], [9_000, 20_000], [0, 0]]]}
    feature = {"type": "Feature", "properties": {"title": "west"}, "geometry": shape}
    (tmp_path / "d.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    districts = ("--districts", tmp_path / "d.geojson", "--district-names", "title")
    ran = fedgroup("map", city, *districts, "--kind", "sum", "--attribute", "fare", "--clip", 50, "--epsilon", 1)
    assert "west: " in ran.out


@pytest.mark.parametrize("ending", ["gpkg", "parquet", "fgb"])
def test_districts_are_read_from_other_files(fedgroup, city, tmp_path, ending):
    shapes = [shapely.box(0, 0, 9_000, 20_000), shapely.box(9_000, 0, 20_000, 20_000)]
    frame = gpd.GeoDataFrame({"title": ["west", "east"]}, geometry=shapes, crs="EPSG:3857")
    path = tmp_path / f"d.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_file(path)
    said = ("map", city, "--districts", path, *MANY)
    facts = fedgroup(*said, "--district-names", "title").json
    assert sorted(facts["names"]) == ["east", "west"]
    assert "called by their numbers" in fedgroup(*said).err
    path.write_bytes(b"nothing")
    assert "cannot be read; give GeoJSON, GeoPackage or GeoParquet" in fedgroup(*said).err


def test_geojson_of_a_plane_is_written_with_a_warning(fedgroup, city, tmp_path):
    ran = fedgroup("map", city, "--grid", "2x2", "--epsilon", 1, "--out", tmp_path / "map.geojson")
    assert (ran.code, "note: GeoJSON is in degrees to everybody" in ran.err) == (0, True)


def test_a_dry_run_tells_the_error_of_each_bin(fedgroup, city, tmp_path):
    out = tmp_path / "map.gpkg"
    said = ("map", city, "--grid", "8x8", "--epsilon", 1, "--dry-run", "--out", out)
    assert "count in each of 64 bins: off by" in fedgroup(*said).out
    facts = fedgroup(*said, "--json").json
    assert (facts["bins"], facts["dry_run"]) == (64, True)
    assert facts["half_width"] > 0
    assert not out.exists()


def test_evaluation_adds_the_true_values(fedgroup, city):
    said = ("map", city, "--grid", "2x2", "--epsilon", 1, "--evaluate", "--seed", 1, "--unit", "owner")
    facts = fedgroup(*said, "--max-records", 3, "--json").json
    assert (sum(facts["true_values"]), sum(facts["true_values_clipped"])) == (len(fg.read(city)), 180)
    assert not facts["private"]
    ran = fedgroup(*said, "--max-records", 3)
    largest = facts["values"].index(max(facts["values"]))
    true, cut = (facts[name][largest] for name in ("true_values", "true_values_clipped"))
    assert f"true: {true}, after clipping {cut}" in ran.out
    assert "mean absolute error of the bins: " in ran.out
    assert "true" not in fedgroup("map", city, "--grid", "2x2", "--epsilon", 1).out


def test_bins_are_named_in_json(fedgroup, taxis):
    said = (taxis, "--domain", "0,0,10,10", *MANY, "--grid", "2x1", "--since", 0, "--until", 5400, "--every", "1h")
    facts = fedgroup("map", *said, "--by", "kind=bus,other").json
    assert (facts["names"], facts["by"], facts["categories"]) == (["0-0", "0-1"], "kind", ["bus", "other"])
    assert facts["starts"] == ["1970-01-01T00:00:00+00:00", "1970-01-01T01:00:00+00:00"]
    assert facts["ends"] == ["1970-01-01T01:00:00+00:00", "1970-01-01T01:30:00+00:00"]
    plain = fedgroup("map", taxis, "--domain", "0,0,10,10", *MANY, "--grid", "2x1").json
    assert (plain["starts"], plain["ends"], plain["categories"]) == (None, None, None)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", "one kind of places"),
        ("--grid 4x4 --h3 7", "one kind of places"),
        ("--grid 4by4", "--grid takes"),
        ("--h3 7", "H3 cells are for federations in degrees"),
        ("--grid 4x4 --every 0h --since 0 --until 10", "every is a length of time"),
        ("--grid 4x4 --every 1h", "since and until"),
        ("--grid 4x4 --by colour=red", "no column of texts 'colour'"),
        ("--grid 4x4 --by colour", "--by takes"),
        ("--grid 4000x4000", "at most"),
        ("--districts nowhere.geojson", "cannot be read"),
        ("--grid 4x4 --kind median", "a question is"),
        ("--grid 4x4 --kind sum", "needs an attribute"),
        ("--grid 4x4 --out map.shp", "a map is a file"),
        ("--grid 4x4 --out nowhere/map.gpkg", "cannot be written"),
        ("--grid 4x4 --picture map.bmp", "a picture is a file"),
    ],
)
def test_what_cannot_be_mapped_costs_nothing(fedgroup, city, ledger, spent, said, told):
    ran = fedgroup("map", city, *said.split(), "--epsilon", 1, "--ledger", ledger, "--budget", 1)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert spent() == 0
