"""`fedgroup index`: a saved index serves as DATA."""

from __future__ import annotations

CIRCLE = ("--near", "10000,10000", "--within", 3000)
EXACT = ("--method", "exact", "--evaluate")


def test_a_saved_index_answers_like_its_file(fedgroup, city, tmp_path):
    made = fedgroup("index", city, tmp_path / "city.index", "--json").json
    assert made["owners"] == 60
    exact = [fedgroup("count", data, *CIRCLE, *EXACT, "--json").json for data in (city, tmp_path / "city.index")]
    assert exact[0]["value"] == exact[1]["value"]
    grouped = fedgroup("group", tmp_path / "city.index", "--epsilon", 1, "--json").json
    assert grouped["owners"] == 60


def test_an_index_is_never_overwritten(fedgroup, city, tmp_path):
    fedgroup("index", city, tmp_path / "city.index")
    assert fedgroup("index", city, tmp_path / "city.index").code == 2
