"""`fedgroup group`."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import typer

from fedgroup.cli.main import app
from fedgroup.provider.settings import GRAPHS, GroupingSettings

FACTS = {
    "owners", "groups", "largest_group", "edges", "secure_comparisons", "pairs", "epsilon", "rho", "graph", "estimate",
    "algorithm", "grid", "threshold", "domain", "pays_off_above", "guarantee", "private", "seconds", "notes",
}  # fmt: skip


def test_topcell_is_the_default_and_says_null_where_graphs_have_more(fedgroup, city):
    facts = fedgroup("group", city, "--epsilon", 0.3, "--json").json
    assert set(facts) == FACTS
    assert facts["graph"] == "topcell"
    assert facts["grid"] == "10x10"
    assert [facts[name] for name in ("edges", "pairs", "secure_comparisons", "estimate", "algorithm")] == [None] * 5
    assert facts["owners"] == 60
    assert 1 <= facts["groups"] <= 60
    assert facts["epsilon"] == 0.3
    assert facts["domain"] == [0, 0, 20_000, 20_000]
    assert facts["private"] is True


def test_a_noisy_graph_tells_its_edges_pairs_estimate_and_algorithm(fedgroup, city):
    facts = fedgroup("group", city, "--epsilon", 0.5, "--graph", "noisy", "--grid", "4x3", "--json").json
    assert set(facts) == FACTS
    assert facts["pairs"] == 60 * 59 // 2
    assert 0 <= facts["edges"] <= facts["pairs"]
    assert (facts["estimate"], facts["algorithm"]) == ("thresholded", "greedy")
    assert (facts["grid"], facts["threshold"]) == ("4x3", 0.5)


def test_likely_groups_tell_what_was_allowed_and_what_is_expected(fedgroup, city):
    told = ("group", city, "--epsilon", 2, "--graph", "likely", "--misplaced", 0.05)
    facts = fedgroup(*told, "--json").json
    assert set(facts) == FACTS | {"misplaced_target", "misplaced_expected"}
    assert 0 <= facts["misplaced_expected"] <= facts["misplaced_target"] == 0.05
    assert "% expected, 5.0% allowed" in fedgroup(*told).out


def test_the_exact_graph_costs_nothing_and_is_not_private(fedgroup, city, ledger, spent):
    exact = ("--graph", "exact", "--evaluate", "--algorithm", "dsatur")
    facts = fedgroup("group", city, *exact, "--ledger", ledger, "--json").json
    assert (facts["epsilon"], facts["private"], spent()) == (0, False, 0)


def test_evaluate_adds_the_shares_and_takes_the_privacy(fedgroup, city):
    facts = fedgroup("group", city, "--graph", "exact", "--evaluate", "--json").json
    assert set(facts) >= FACTS | {"false_pair_share", "misplaced_share"}
    assert (facts["false_pair_share"], facts["private"]) == (0, False)


def test_a_seed_makes_groups_repeatable_and_not_private(fedgroup, city):
    first, second = (fedgroup("group", city, "--epsilon", 0.5, "--seed", 3, "--json").json for _ in range(2))
    assert first | {"seconds": 0} == second | {"seconds": 0}
    assert first["private"] is False


def test_no_group_outgrows_its_limit(fedgroup, city):
    assert fedgroup("group", city, "--epsilon", 2, "--max-group-size", 3, "--json").json["largest_group"] <= 3


def test_owners_limits_are_read_from_a_file(fedgroup, city, tmp_path):
    limits = tmp_path / "limits.csv"
    pa.csv.write_csv(pa.table({"owner": range(60), "limit": [2] * 60}), limits)
    facts = fedgroup("group", city, "--graph", "exact", "--evaluate", "--owner-limits", limits, "--json").json
    assert facts["largest_group"] == 2


def test_the_plan_names_every_owner_once(fedgroup, city, plan):
    table = pq.read_table(plan)
    assert table.column_names == ["owner", "group"]
    assert sorted(table["owner"].to_pylist()) == list(range(60))


def test_people_read_sizes_price_and_what_to_do_next(fedgroup, city):
    ran = fedgroup("group", city, "--epsilon", 0.5)
    assert ran.out.startswith("60 owners in ")
    assert "--out PLAN.parquet" in ran.out
    assert "nothing is capped" in ran.err


def test_a_file_that_cannot_be_written_costs_nothing(fedgroup, city, ledger, spent, tmp_path):
    for out in (tmp_path, tmp_path / "nowhere" / "plan.parquet"):
        ran = fedgroup("group", city, "--epsilon", 1, "--ledger", ledger, "--out", out)
        assert (ran.code, spent()) == (2, 0)


def test_a_budget_that_is_too_small_refuses_and_saves_nothing(fedgroup, city, ledger, spent, tmp_path):
    out = tmp_path / "plan.parquet"
    ran = fedgroup("group", city, "--epsilon", 1, "--ledger", ledger, "--budget", 0.5, "--out", out)
    assert (ran.code, spent(), out.exists()) == (3, 0, False)
    assert ran.err.startswith("fedgroup: ")


@pytest.mark.parametrize("graph", ["hybrid", "secure"])
def test_compared_graphs_tell_how_many_comparisons_they_made(fedgroup, city, graph):
    cost = ("--epsilon", 1) if graph == "hybrid" else ()
    facts = fedgroup("group", city, "--graph", graph, "--grid", "4x4", *cost, "--json").json
    assert 0 < facts["secure_comparisons"] <= facts["pairs"] == 60 * 59 // 2
    assert "not epsilon-DP" in facts["guarantee"]


def test_leftovers_form_masked_cohorts(fedgroup, city, tmp_path):
    out = tmp_path / "mixed.parquet"
    mixed = fedgroup(
        "group", city, "--epsilon", 1, "--leftovers", "cohort", "--cohort-size", 10, "--out", out, "--json"
    )
    alone = fedgroup("group", city, "--epsilon", 1, "--json")
    assert mixed.json["groups"] < alone.json["groups"]
    asked = fedgroup(
        "count", city, "--near", "10000,10000", "--within", 900, "--epsilon", 1, "--plan", out, "--json"
    ).json
    assert "leaders" in asked["trust"]
    assert "masks" in asked["trust"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--graph", "noisy", "--lower", 0.1), ("--graph", "hybrid", "--lower", 0.9),
        ("--graph", "hybrid", "--upper", 2), ("--graph", "hybrid", "--comparisons", -1),
        ("--graph", "hybrid", "--algorithm", "dsatur", "--comparisons", 5),
        ("--leftovers", "cohort", "--cohort-size", 1),
    ],
)  # fmt: skip
def test_settings_of_compared_graphs_that_make_no_sense_exit_2(fedgroup, city, wrong):
    assert fedgroup("group", city, "--epsilon", 1, *wrong).code == 2


def test_topcell_refuses_an_algorithm(fedgroup, city):
    assert fedgroup("group", city, "--epsilon", 1, "--algorithm", "greedy").code == 2


def test_epsilon_is_needed_unless_the_graph_is_exact(fedgroup, city):
    ran = fedgroup("group", city)
    assert ran.code == 2
    assert "needs an epsilon" in ran.err


def test_the_help_of_the_threshold_names_every_graph_that_it_affects():
    commands: Any = typer.main.get_command(app)
    options = {each.opts[0]: each.help for each in commands.commands["group"].params}
    affected = [graph for graph in GRAPHS if GroupingSettings(graph=graph).facts()["threshold"] is not None]
    assert [graph for graph in GRAPHS if re.search(rf"\b{graph}\b", options["--threshold"])] == affected
    assert affected == ["likely", "noisy", "hybrid", "secure", "exact"]


def test_a_plan_at_an_epsilon_above_10_says_what_it_is_worth(fedgroup, city):
    ran = fedgroup("group", city, "--epsilon", 11, "--json")
    assert "note: epsilon 11 protects hardly anything" in ran.err
    assert any("protects hardly anything" in note for note in ran.json["notes"])


def test_a_plan_that_cannot_pay_off_within_the_budget_says_so(fedgroup, city):
    group = ("group", city, "--epsilon", 0.9, "--grid", "2x2", "--seed", 1)
    total = fedgroup(*group, "--json").json["pays_off_above"]
    assert "ends before that" in fedgroup(*group, "--budget", 1).out
    assert total > 1.1
    assert "ends before that" not in fedgroup(*group, "--budget", 1000).out
    assert "ends before that" not in fedgroup(*group).out
