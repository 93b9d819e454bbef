"""`fedgroup map` and `fedgroup people`: one epsilon for all bins, files that others read, nothing spent on misuse."""

from __future__ import annotations

import json

import pytest

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


def test_districts_and_sums(fedgroup, city, tmp_path):
    shape = {"type": "Polygon", "coordinates": [[[0, 0], [9_000, 0], [9_000, 20_000], [0, 0]]]}
    feature = {"type": "Feature", "properties": {"title": "west"}, "geometry": shape}
    (tmp_path / "d.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    districts = ("--districts", tmp_path / "d.geojson", "--district-names", "title")
    ran = fedgroup("map", city, *districts, "--kind", "sum", "--attribute", "fare", "--clip", 50, "--epsilon", 1)
    assert "west: " in ran.out


def test_a_dry_run_tells_the_error_of_each_bin(fedgroup, city, tmp_path):
    out = tmp_path / "map.gpkg"
    said = ("map", city, "--grid", "8x8", "--epsilon", 1, "--dry-run", "--out", out)
    assert "count in each of 64 bins: off by" in fedgroup(*said).out
    facts = fedgroup(*said, "--json").json
    assert (facts["bins"], facts["dry_run"]) == (64, True)
    assert facts["half_width"] > 0
    assert not out.exists()


def test_evaluation_adds_the_true_values(fedgroup, city):
    facts = fedgroup("map", city, "--grid", "2x2", "--epsilon", 1, "--evaluate", "--seed", 1, "--json").json
    assert len(facts["true_values"]) == 4
    assert not facts["private"]


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
