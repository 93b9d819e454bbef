"""`fedgroup publish` and `fedgroup read`: paid once, read for nothing, refused before anything is spent."""

from __future__ import annotations

import json

import pytest

import fedgroup as fg

CIRCLE = ("--near", "10000,10000", "--within", "1500")


@pytest.fixture
def published(fedgroup, city, tmp_path):
    out = tmp_path / "map.parquet"
    fedgroup("publish", city, "--epsilon", 2, "--records-guess", 4000, "--out", out, "--seed", 1)
    return out


def test_a_map_is_charged_once_and_found_again(fedgroup, city, tmp_path):
    said = (city, "--epsilon", 0.5, "--ledger", tmp_path / "ledger.db", "--budget", 1, "--records-guess", 4000)
    out, picture = tmp_path / "map.gpkg", tmp_path / "map.png"
    facts = fedgroup("publish", *said, "--out", out, "--picture", picture, "--json").json
    assert (facts["charged"], facts["stored"], facts["out"]) == (0.5, False, str(out))
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = fedgroup("publish", *said)
    assert "free" in again.out
    assert fedgroup("ledger", tmp_path / "ledger.db", "--json").json["spent"] == 0.5


def test_a_range_is_read_for_nothing(fedgroup, published):
    facts = fedgroup("read", published, *CIRCLE, "--json").json
    made = fg.load_map(published)
    assert isinstance(made, fg.PublishedMap)
    assert facts["value"] == made.count(fg.Circle(10_000, 10_000, 1_500)).value
    assert (facts["charged"], facts["free"]) == (0.0, True)
    assert "95 %" in fedgroup("read", published, *CIRCLE).out
    assert fedgroup("read", published, *CIRCLE, "--snap", "--json").json["uneven"] == 0


def test_hot_spots_radii_and_districts_are_read(fedgroup, published, tmp_path):
    assert len(fedgroup("read", published, "--top", 3, "--json").json["top"]) == 3
    assert "per km²" in fedgroup("read", published, "--top", 3).out
    near = ("--near", "10000,10000", "--holding", 300)
    low, high = fedgroup("read", published, *near, "--json").json["interval"]
    assert low < fedgroup("read", published, *near, "--json").json["radius"] < high
    ring = [[0, 0], [20_000, 0], [20_000, 10_000], [0, 10_000], [0, 0]]
    half = {"type": "Feature", "properties": {"name": "south"}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
    (tmp_path / "halves.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [half]}))
    (row,) = fedgroup("read", published, "--districts", tmp_path / "halves.geojson", "--json").json["districts"]
    assert row["name"] == "south"
    assert row["interval"][0] < row["value"] < row["interval"][1]


def test_publish_or_ask_is_told_before_anything_is_spent(fedgroup, city, tmp_path):
    said = (city, "--epsilon", 1, "--dry-run", "--ledger", tmp_path / "ledger.db", "--budget", 2)
    facts = fedgroup("publish", *said, "--questions", 200, "--within", 1500, "--json").json
    assert facts["publish"]
    assert facts["of_ask"] > facts["of_map"]
    assert "nothing was spent" in fedgroup("publish", *said, "--questions", 1).out
    assert fedgroup("ledger", tmp_path / "ledger.db", "--json").json["spent"] == 0


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["--near", "1,1"], "both --near"),
        (["--holding", "5"], "goes with --near"),
        ([*CIRCLE, "--since", "0"], "one time window"),
        (["--near", "90000,90000", "--within", "5"], "outside the domain"),
    ],
)
def test_what_cannot_be_read_is_refused(fedgroup, published, said, told):
    ran = fedgroup("read", published, *said)
    assert (ran.code, told in ran.err) == (2, True)


def test_a_map_of_bins_and_a_name_without_an_ending_are_refused(fedgroup, city, tmp_path):
    fedgroup("map", city, "--grid", "4x4", "--epsilon", 1, "--out", tmp_path / "bins.csv")
    assert "map of bins" in fedgroup("read", tmp_path / "bins.csv", *CIRCLE).err
    ran = fedgroup("publish", city, "--epsilon", 1, "--out", tmp_path / "map.txt", "--ledger", tmp_path / "ledger.db")
    assert ran.code == 2
    assert not (tmp_path / "ledger.db").exists()
