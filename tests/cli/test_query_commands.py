"""`fedgroup count`, `sum` and `avg`."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from fedgroup.data.files import read

CIRCLE = ("--near", "10000,10000", "--within", "3000")
FARE = ("--attribute", "fare", "--clip", "50")
EXACT = ("--method", "exact", "--evaluate")
CONTRACT = {
    "value", "interval", "confidence", "epsilon", "method", "in_group", "groups", "owners", "heard", "missing",
    "private", "seconds",
}  # fmt: skip


@pytest.fixture
def degrees(tmp_path):
    """Two texts as owners, in degrees, one of them 700 m from the other."""
    path = tmp_path / "degrees.csv"
    pa.csv.write_csv(pa.table({"user": ["a", "b"], "lon": [13.4, 13.41], "lat": [52.5, 52.5]}), path)
    return path


@pytest.mark.parametrize(("kind", "measure"), [("count", ()), ("sum", FARE), ("avg", FARE)])
def test_json_has_every_field_of_the_contract(fedgroup, city, kind, measure):
    facts = fedgroup(kind, city, *CIRCLE, *measure, "--epsilon", 0.3, "--json").json
    assert set(facts) >= CONTRACT
    assert not {"values", "true_value"} & set(facts)
    assert facts["interval"][0] <= facts["value"] <= facts["interval"][1]
    assert [facts[name] for name in ("confidence", "epsilon", "method", "in_group")] == [0.95, 0.3, "dp", None]
    assert [facts[name] for name in ("groups", "owners", "heard", "missing")] == [60, 60, 60, 0]
    assert facts["private"] is True
    assert facts["seconds"] >= 0


def test_a_count_is_a_whole_number(fedgroup, city):
    facts = fedgroup("count", city, *CIRCLE, "--epsilon", 0.3, "--json").json
    assert all(isinstance(number, int) for number in (facts["value"], *facts["interval"]))


@pytest.mark.parametrize(("kind", "measure"), [("count", ()), ("sum", FARE), ("avg", FARE)])
def test_exact_costs_nothing_and_its_interval_is_its_value(fedgroup, city, kind, measure):
    facts = fedgroup(kind, city, *CIRCLE, *measure, *EXACT, "--json").json
    assert facts["interval"] == [facts["value"]] * 2
    assert (facts["epsilon"], facts["private"]) == (0, False)


def test_exact_counts_the_records_in_the_circle(fedgroup, city):
    records = read(city)
    inside = np.hypot(records.x - 10_000, records.y - 10_000) < 3000
    assert fedgroup("count", city, *CIRCLE, *EXACT, "--json").json["value"] == inside.sum()


def test_rectangles_and_polygons_ask_the_same_question(fedgroup, city, tmp_path):
    shape = tmp_path / "shape.geojson"
    ring = [[0, 0], [9000, 0], [9000, 9000], [0, 9000], [0, 0]]
    shape.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    by_sides = fedgroup("count", city, "--rectangle", "0,0,9000,9000", *EXACT, "--json").json
    by_shape = fedgroup("count", city, "--polygon", shape, *EXACT, "--json").json
    assert by_sides["value"] == by_shape["value"] > 0


def test_times_cut_the_records_into_two_parts(fedgroup, city):
    def counted(*when):
        return fedgroup("count", city, *CIRCLE, *EXACT, "--json", *when).json["value"]

    noon = "2026-01-15T12:00"
    before, after = counted("--until", noon), counted("--since", noon)
    assert 0 < before < counted() == before + after


def test_a_seed_makes_the_value_repeatable_and_not_private(fedgroup, city):
    first, second, other = (
        fedgroup("count", city, *CIRCLE, "--epsilon", 0.01, "--seed", seed, "--json").json for seed in (5, 5, 6)
    )
    assert first["value"] == second["value"] != other["value"]
    assert first["private"] is False


def test_evaluate_adds_the_true_value_and_takes_the_privacy(fedgroup, city):
    facts = fedgroup("count", city, *CIRCLE, "--epsilon", 0.3, "--evaluate", "--json").json
    exact = fedgroup("count", city, *CIRCLE, *EXACT, "--json").json
    assert facts["true_value"] == exact["value"]
    assert facts["private"] is False


def test_the_mean_of_nothing_is_null_and_its_true_value_too(fedgroup, city):
    nothing = ("--near", "10000,10000", "--within", "1e-9")
    facts = fedgroup("avg", city, *nothing, *FARE, *EXACT, "--json").json
    assert (facts["value"], facts["true_value"]) == (None, None)


def test_repeat_gives_that_many_values_and_the_price_of_all(fedgroup, city, ledger, spent):
    facts = fedgroup("count", city, *CIRCLE, "--epsilon", 0.3, "--repeat", 5, "--ledger", ledger, "--json").json
    assert len(facts["values"]) == 5
    assert len(set(facts["values"])) > 1
    assert facts["value"] == facts["values"][0]
    assert (facts["epsilon"], facts["private"], spent()) == (1.5, False, 1.5)


def test_repeat_once_is_still_a_fresh_answer_for_evaluation(fedgroup, city, ledger, spent):
    ask = ("count", city, *CIRCLE, "--epsilon", 0.25, "--ledger", ledger, "--repeat", 1, "--json")
    facts = [fedgroup(*ask).json for _ in range(2)]
    assert [len(f["values"]) for f in facts] == [1, 1]
    assert [f["private"] for f in facts] == [False, False]
    assert spent() == 0.5


def test_a_dry_run_tells_the_error_and_spends_nothing(fedgroup, city, ledger, spent):
    ask = ("count", city, *CIRCLE, "--epsilon", 0.3, "--ledger", ledger, "--budget", 1, "--dry-run")
    facts = fedgroup(*ask, "--json").json
    assert facts["expected_error"] > 0
    assert (facts["charge"], facts["left"], facts["affordable"], spent()) == (0.3, 1, True, 0)
    assert "nothing was spent" in fedgroup(*ask).out


def test_the_same_question_is_answered_from_the_ledger_for_nothing(fedgroup, city, ledger, spent):
    ask = ("count", city, *CIRCLE, "--epsilon", 0.3, "--ledger", ledger, "--json")
    first, second = fedgroup(*ask).json, fedgroup(*ask).json
    assert second["value"] == first["value"]
    assert (second["stored"], spent()) == (True, 0.3)
    assert fedgroup(*ask, "--fresh").json["stored"] is False
    assert spent() == 0.6


def test_an_exhausted_budget_refuses_with_3_and_spends_nothing(fedgroup, city, ledger, spent):
    ask = ("count", city, *CIRCLE, "--ledger", ledger, "--budget", 0.5)
    assert fedgroup(*ask, "--epsilon", 0.4).code == 0
    ran = fedgroup(*ask, "--epsilon", 0.2, "--json")
    assert (ran.code, ran.out, spent()) == (3, "", 0.4)
    assert ran.err.startswith("fedgroup: ")
    assert ran.err.count("\n") == 1


def test_a_plan_needs_fewer_noises_and_pays_its_setup_once(fedgroup, city, plan, ledger, spent):
    ask = ("count", city, *CIRCLE, "--plan", plan, "--ledger", ledger, "--json")
    facts = fedgroup(*ask, "--epsilon", 0.5).json
    assert (facts["method"], facts["in_group"], facts["owners"]) == ("fedgroup", "trusted", 60)
    assert facts["groups"] == len(set(pq.read_table(plan)["group"].to_pylist())) < 60
    assert (facts["epsilon"], facts["charged"], spent()) == (0.5, 2.5, 2.5)
    fedgroup(*ask, "--epsilon", 0.25)
    assert spent() == 2.75


def test_an_answer_by_a_plan_that_is_not_private_is_not_private(fedgroup, city, tmp_path):
    plan = tmp_path / "exact.parquet"
    fedgroup("group", city, "--graph", "exact", "--evaluate", "--out", plan)
    assert fedgroup("count", city, *CIRCLE, "--epsilon", 1, "--plan", plan, "--json").json["private"] is False


def test_a_plan_of_another_type_of_ids_is_refused(fedgroup, degrees, plan):
    where = ("--domain", "13,52,14,53", "--near", "13.4,52.5", "--within", 9)
    ran = fedgroup("count", degrees, *where, "--epsilon", 1, "--plan", plan)
    assert ran.code == 2
    assert "owner ids" in ran.err


def test_fedgroup_without_a_plan_is_refused(fedgroup, city):
    ran = fedgroup("count", city, *CIRCLE, "--epsilon", 1, "--method", "fedgroup")
    assert ran.code == 2
    assert "needs a plan" in ran.err


@pytest.mark.parametrize("how", [("--method", "cohorts", "--cohort-size", 20), ("--method", "mpc")])
def test_masked_methods_need_no_plan(fedgroup, city, how):
    facts = fedgroup("count", city, *CIRCLE, "--epsilon", 1, *how, "--json").json
    assert (facts["method"], facts["in_group"], facts["groups"]) == (how[1], "masked", 3 if how[1] == "cohorts" else 1)
    assert facts["private"]
    assert "masks" in facts["trust"]


def test_groups_of_a_plan_can_be_masked(fedgroup, city, plan):
    facts = fedgroup("count", city, *CIRCLE, "--epsilon", 1, "--plan", plan, "--in-group", "masked", "--json").json
    assert (facts["method"], facts["in_group"], facts["heard"]) == ("fedgroup", "masked", 60)


@pytest.mark.parametrize("wrong", [("--cohort-size", 0), ("--colluders", 0), ("--dropouts", 1), ("--dropouts", -0.1)])
def test_masked_terms_that_make_no_sense_exit_2(fedgroup, city, wrong):
    assert fedgroup("count", city, *CIRCLE, "--epsilon", 1, "--method", "cohorts", *wrong).code == 2


def test_some_owners_are_drawn_as_the_contract_says(fedgroup, city):
    records = read(city)
    many = np.flatnonzero(np.bincount(records.code, minlength=60) >= 10)
    drawn = np.random.default_rng(4).choice(many, 20, replace=False)
    inside = np.hypot(records.x - 10_000, records.y - 10_000) < 3000
    some = ("--owners", 20, "--min-records", 10, "--seed", 4)
    facts = fedgroup("count", city, *CIRCLE, *some, "--epsilon", 1, "--evaluate", "--json").json
    assert (facts["owners"], facts["groups"], facts["private"]) == (20, 20, False)
    assert facts["true_value"] == (inside & np.isin(records.code, drawn)).sum()


def test_lon_and_lat_mean_degrees_and_metres_unless_planar(fedgroup, degrees):
    def counted(within, *planar):
        where = ("--domain", "13,52,14,53", "--near", "13.4,52.5", "--within", within)
        return fedgroup("count", degrees, *where, *EXACT, "--json", *planar).json["value"]

    assert (counted(600), counted(700)) == (1, 2)
    assert (counted(0.005, "--planar"), counted(0.02, "--planar")) == (1, 2)


def test_a_domain_is_needed_where_the_file_states_none(fedgroup, degrees):
    ran = fedgroup("count", degrees, "--near", "13.4,52.5", "--within", 9, "--epsilon", 1)
    assert ran.code == 2
    assert "--domain" in ran.err


def test_numbers_below_zero_need_no_special_spelling(fedgroup, tmp_path):
    west = tmp_path / "west.csv"
    pa.csv.write_csv(pa.table({"user": ["a"], "lon": [-74.0], "lat": [40.7]}), west)
    where = ("--domain", "-75,40,-73,41", "--near", "-74,40.7", "--within", 9)
    assert fedgroup("count", west, *where, *EXACT, "--json").json["value"] == 1


def test_protecting_owners_makes_the_noise_as_much_larger(fedgroup, city):
    dry = ("count", city, *CIRCLE, "--epsilon", 1, "--dry-run", "--json")
    one, ten = fedgroup(*dry).json, fedgroup(*dry, "--unit", "owner", "--max-records", 10).json
    assert ten["expected_error"] == pytest.approx(10 * one["expected_error"], rel=0.1)


def test_people_read_the_value_the_price_and_whom_they_trust(fedgroup, city):
    ran = fedgroup("count", city, *CIRCLE, "--epsilon", 0.3)
    assert "95 %" in ran.out
    assert "epsilon 0.3" in ran.out
    assert "nobody is trusted" in ran.out
    assert [line[:6] for line in ran.err.splitlines()] == ["note: ", "note: "]


def test_a_budget_without_a_ledger_says_how_long_it_holds(fedgroup, city):
    assert "this command only" in fedgroup("count", city, *CIRCLE, "--epsilon", 0.3, "--budget", 1).err


@pytest.mark.parametrize("kind", ["sum", "avg"])
def test_sum_and_avg_tell_the_true_value_of_the_data_and_the_one_after_clipping(fedgroup, city, kind):
    low = ("--attribute", "fare", "--clip", "5", "--epsilon", 1, "--evaluate")
    records = read(city)
    fares = records.attributes["fare"][np.hypot(records.x - 10_000, records.y - 10_000) < 3000]
    facts = fedgroup(kind, city, *CIRCLE, *low, "--json").json
    said = fedgroup(kind, city, *CIRCLE, *low).out
    of = {"sum": np.nansum, "avg": np.nanmean}[kind]
    assert facts["true_value"] == pytest.approx(of(fares))
    assert facts["true_value_clipped"] == pytest.approx(of(np.clip(fares, 0, 5)), rel=1e-3)
    assert facts["true_value_clipped"] < facts["true_value"]
    assert re.search(r"true value: \S+; after clipping, which noise is added to: \S+\n", said)


def test_repeated_answers_tell_their_mean_absolute_error_where_they_are_evaluated(fedgroup, city):
    ask = ("count", city, *CIRCLE, "--epsilon", 0.1, "--seed", 3, "--repeat", 8)
    facts = fedgroup(*ask, "--evaluate", "--json").json
    errors = [abs(value - facts["true_value"]) for value in facts["values"]]
    assert facts["mean_absolute_error"] == pytest.approx(sum(errors) / 8)
    assert "mean absolute error of 8 answers: " in fedgroup(*ask, "--evaluate").out
    assert "mean_absolute_error" not in fedgroup(*ask, "--json").json


@pytest.mark.parametrize(("epsilon", "told"), [(10, False), (10.5, True)])
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_an_epsilon_above_10_is_warned_of(fedgroup, city, epsilon, told, dry):
    ran = fedgroup("count", city, *CIRCLE, "--epsilon", epsilon, *dry, "--json")
    assert ("note: epsilon 10.5 protects hardly anything" in ran.err) is told
    assert dry or any("protects hardly anything" in note for note in ran.json["notes"]) is told


def test_an_epsilon_below_a_nano_is_refused_and_not_rounded_up(fedgroup, city, ledger, spent):
    ran = fedgroup("count", city, *CIRCLE, "--epsilon", 1e-10, "--ledger", ledger)
    assert (ran.code, ran.out, spent()) == (2, "", 0)
    assert ran.err == "fedgroup: epsilon must be at least 1e-9, the smallest amount that can be charged, got 1e-10\n"


def test_an_average_over_few_records_explains_itself(fedgroup, city):
    few = ("--near", "10000,10000", "--within", "50", *FARE, "--epsilon", 0.1)
    ran = fedgroup("avg", city, *few)
    assert "the noisy count is" in ran.err
    assert "ask about a larger range, or with a larger epsilon" in ran.err


def test_a_rectangle_with_west_beyond_east_is_refused_unless_it_crosses_the_antimeridian(fedgroup, degrees):
    ask = ("count", degrees, "--domain", "-180,-90,180,90", "--method", "exact", "--evaluate", "--json")
    swapped = fedgroup(*ask, "--rectangle", "14,52,13,53")
    assert (swapped.code, swapped.out) == (2, "")
    assert "got 14,52,13,53; if it crosses the antimeridian, say --across-antimeridian" in swapped.err
    assert fedgroup(*ask, "--rectangle", "14,52,13,53", "--across-antimeridian").json["value"] == 0
    assert fedgroup(*ask, "--rectangle", "14,52,13.405,53", "--across-antimeridian").json["value"] == 1


def test_subjects_are_counted_and_protected_as_people(fedgroup, tmp_path):
    cars = tmp_path / "cars.csv"
    cars.write_text("owner,car,x,y\n" + "".join(f"{i % 2},{i % 6},{i % 7},1\n" for i in range(60)))
    where = ("--domain", "0,0,9,9", "--rectangle", "0,0,9,9", "--evaluate", "--method", "exact")
    protected = ("--subject", "car", "--unit", "subject", "--max-records", 4, "--max-bins", 2)
    assert fedgroup("people", cars, *where, *protected, "--json").json["value"] == 6
    assert fedgroup("count", cars, *where, *protected, "--json").json["value"] == 24
    refused = fedgroup("people", cars, *where, "--subject", "bike")
    assert (refused.code, "there is no column 'bike'" in refused.err) == (2, True)
