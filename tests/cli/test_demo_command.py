"""`fedgroup demo`, with a village instead of a city."""

from __future__ import annotations

PNG = b"\x89PNG"


def test_the_demo_asks_with_every_method_publishes_a_map_and_draws(fedgroup, tmp_path):
    facts = fedgroup("demo", "--owners", 60, "--out", tmp_path / "pictures", "--json").json
    ours = ("FG topcell", "FG noisy", "FG masked", "FG mixed", "cohorts")
    methods = ("DP", *ours, "MPC", "FG-C", "FG-ExC")
    asked = {(row["method"], row["epsilon"]) for row in facts["rows"]}
    assert asked == {(method, epsilon) for method in methods for epsilon in (0.2, 0.3, 0.4, 0.5)}
    assert all(row["groups"] == 60 for row in facts["rows"] if row["method"] == "DP")
    assert all(row["mean_absolute_error"] > 0 for row in facts["rows"])
    assert facts["private"] is False
    pictures = sorted((tmp_path / "pictures").iterdir())
    assert sorted(facts["pictures"]) == [str(path) for path in pictures]
    drawn = ["city.png", "error.png", "private-map.png"]
    assert [(path.name, path.read_bytes()[:4]) for path in pictures] == [(name, PNG) for name in drawn]
    free = facts["free"]
    assert len(free) == 10
    assert sum(row["low"] <= row["true_value"] <= row["high"] for row in free) >= 7
    assert all(row["would_cost"] > 0 for row in free)


def test_people_read_a_table_and_commands_to_copy(fedgroup, tmp_path, monkeypatch):
    monkeypatch.setattr("fedgroup.lab.experiments.demo.REPEATS", 2)
    monkeypatch.setattr("fedgroup.lab.experiments.demo.METHODS", _two_methods())
    ran = fedgroup("demo", "--owners", 30, "--out", tmp_path)
    assert ran.code == 0
    assert "MAE" in ran.out
    assert "for nothing" in ran.out
    next_command = "  fedgroup count city.parquet --near 10000,10000 --within 500 --epsilon 0.3 --plan plan.parquet"
    assert next_command in ran.out.splitlines()
    assert ran.err == ""


def test_a_folder_that_cannot_be_made_is_refused_at_once(fedgroup, city):
    ran = fedgroup("demo", "--owners", 10, "--out", city)
    assert (ran.code, ran.out) == (2, "")
    assert "--out" in ran.err


def test_a_city_without_owners_is_refused(fedgroup, tmp_path):
    assert fedgroup("demo", "--owners", 0, "--out", tmp_path).code == 2


def _two_methods():
    from fedgroup.lab.experiments.demo import METHODS

    return METHODS[:2]
