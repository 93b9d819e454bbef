"""`fedgroup experiment`."""

from __future__ import annotations

from dataclasses import fields

import pytest

SMALL = ("--owners", 20, "--min-records", 2, "--selections", 2, "--grid", "3x3")


def test_grouping_compares_graphs_algorithms_and_false_cells(fedgroup, city):
    facts = fedgroup("experiment", "grouping", "--data", city, *SMALL, "--json").json
    assert (facts["name"], facts["private"]) == ("grouping", False)
    assert {row["graph"] for row in facts["rows"]} == {"exact", "raw", "thresholded", "topcell"}
    for row in facts["rows"]:
        assert 1 <= row["groups"] <= 20
        assert 0 <= row["misplaced_share"] <= 1
    exact = [row for row in facts["rows"] if row["graph"] == "exact"]
    assert [row["false_pair_share"] for row in exact] == [0, 0]


def test_people_read_a_table(fedgroup, city):
    ran = fedgroup("experiment", "grouping", "--data", city, *SMALL)
    assert ran.code == 0
    assert "misplaced" in ran.out
    assert ran.err == ""


@pytest.mark.parametrize(
    "wrong",
    [
        ("nonsense",),
        ("all", "--repeats", 0),
        ("trust", "--owners", 10_000),
        ("trust", "--grid", "3"),
        ("grouping", "--selections", 0),
        ("grouping", "--owners", 10_000),
        ("grouping", "--grid", "3"),
        ("grouping", "--epsilon", 0),
        ("grouping", "--threshold", 1),
    ],
)
def test_what_cannot_be_measured_is_refused(fedgroup, city, wrong):
    ran = fedgroup("experiment", *wrong, "--data", city)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("fedgroup: ")


def test_data_that_is_not_there_is_refused(fedgroup, tmp_path):
    ran = fedgroup("experiment", "trust", "--data", tmp_path / "nowhere")
    assert ran.code == 2
    assert "does not exist" in ran.err


def test_grouping_needs_data(fedgroup):
    ran = fedgroup("experiment", "grouping")
    assert ran.code == 2
    assert "--data" in ran.err


def test_published_maps_are_measured_against_the_truth(fedgroup, tmp_path):
    facts = fedgroup("experiment", "published-maps", "--quick", "--out", tmp_path, "--json").json
    assert facts["private"] is False
    assert {row["noises"] for row in facts["rows"]} == {1, 142}
    assert all(0 <= row["coverage"] <= 1 and row["error"] > 0 for row in facts["rows"] if "anywhere" not in row["kind"])
    assert all(max(row["rough"], row["nothing"]) <= row["noted"] <= 1 for row in facts["rows"])
    assert any(row["nothing"] > 0.5 for row in facts["rows"] if row["kind"] == "anywhere, 200 m")
    assert "How often the 95 % interval held the truth" in (tmp_path / "published-maps.md").read_text()
    assert fedgroup("experiment", "published-maps", "--quick", "--data", tmp_path, "--out", tmp_path).code == 2


@pytest.mark.parametrize(
    ("coverage", "noted", "deviation", "outside"),
    [
        (0.95, 0, 0.01, (0, 0, 0, 0)),
        (0.995, 0, 0.003, (1, 0, 0, 0)),
        (1.0, 0, 0.0, (1, 1, 0, 0)),
        (1.0, 0.6, 0.0, (0, 0, 0, 0)),
        (0.92, 0, 0.01, (0, 0, 1, 0)),
        (0.90, 0, 0.01, (0, 0, 1, 1)),
        (0.90, 0, 0.03, (0, 0, 1, 0)),
    ],
)
def test_a_setting_is_outside_by_more_than_chance(coverage, noted, deviation, outside):
    from fedgroup.lab.experiments.published_maps import MapRow

    facts = {each.name: 0 for each in fields(MapRow)}
    row = MapRow(**facts | {"coverage": coverage, "noted": noted, "deviation": deviation, "answers": 360})
    found = [each(beyond_chance=beyond) for each in (row.too_often, row.too_seldom) for beyond in (False, True)]
    assert tuple(found) == outside


def test_every_map_is_asked_about_places_of_its_own():
    from fedgroup.lab.experiments.published_maps import scenes

    for scene in scenes(None, questions=2, maps=3, quick=True):
        asked = [about for each in scene.asked for _, about in each]
        assert len(set(asked)) == len(asked) == scene.truth.size == 3 * 2 * 11
        assert scene.truth.shape == (3, len(scene.kinds))


def test_ladders_and_trees_of_maps_are_measured_against_the_truth(fedgroup, tmp_path):
    facts = fedgroup("experiment", "ladder", "--quick", "--json").json
    assert (facts["name"], facts["private"]) == ("ladder", False)
    rows = {(row["days"], row["way"]): row for row in facts["rows"]}
    assert rows.keys() == {(days, way) for days in (7, 30) for way in ("daily", "ladder", "tree")}
    assert all(0 <= row["coverage"] <= 1 and row["error"] >= 0 for row in rows.values())
    assert rows[30, "tree"]["maps"] > rows[30, "daily"]["maps"] == 30
    assert fedgroup("experiment", "ladder", "--quick", "--data", tmp_path).code == 2
