"""A federation that counts rho: prices, ledgers, answers, maps and prices in accuracy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.errors import BudgetExhausted, InvalidInput, InvalidQuery
from fedgroup.privacy.zcdp import epsilon_of
from fedgroup.questions.answers import answer_facts
from fedgroup.rho import Delta, Rho

DOMAIN = fg.Box(0, 0, 100, 100)
MIDDLE = fg.Circle(50, 50, 30)
DELTA = 1e-6


def city(people: int = 3_000, owners: int = 60) -> fg.Records:
    rng = np.random.default_rng(5)
    at = {name: rng.uniform(0, 100, people) for name in ("x", "y")}
    fare = {"fare": rng.uniform(0, 40, people)}
    return fg.Records(owner=rng.integers(0, owners, people), **at, attributes=fare, owners=range(owners))


def opened(**said) -> fg.Federation:
    return fg.Federation(city(), DOMAIN, **{"budget": 1, "delta": DELTA, "accounting": "zcdp"} | said)


def test_a_budget_with_a_delta_is_counted_in_rho() -> None:
    federation = opened()
    assert federation.left_rho == 0.024355957194
    assert (federation.spent, federation.left) == (0.0, 0.220707757)
    answer = federation.count(MIDDLE, rho=1e-3)
    assert (answer.rho, answer.epsilon) == (1e-3, float(epsilon_of(Rho.of(1e-3), Delta.of(DELTA))))
    assert answer.delta == DELTA
    assert federation.left_rho == pytest.approx(0.023355957194, abs=1e-15)
    facts = answer_facts(answer)
    assert (facts["epsilon"], facts["rho"], facts["delta"]) == (answer.epsilon, 1e-3, DELTA)


def test_an_answer_for_an_epsilon_is_pure_and_counts_half_its_square() -> None:
    federation = opened()
    answer = federation.count(MIDDLE, epsilon=0.1)
    assert (answer.epsilon, answer.charged, answer.rho, answer.delta) == (0.1, 0.1, 0.005, 0.0)
    assert federation.left_rho == pytest.approx(0.019355957194, abs=1e-15)


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_the_same_question_asked_often_counts_every_answer_and_no_more(kept: str, tmp_path: Path) -> None:
    ledger = None if kept == "memory" else tmp_path / "ledger.db"
    federation, rho = opened(seed=1, per="day", window_budget=1, ledger=ledger), Rho.of("0.01125")
    expected = federation.expect("count", MIDDLE, epsilon=0.05, repeat=9)
    answer = federation.count(MIDDLE, epsilon=0.05, repeat=9)
    assert answer.rho == expected.rho == float(rho)
    assert federation.ledger.entries()[-1].rho == rho
    assert answer.charged == expected.charge == 0.15
    assert (answer.epsilon, federation.ledger.windows_spent().every) == (0.45, rho.pico)
    assert federation.left_rho == pytest.approx(0.024355957194 - 0.01125, abs=1e-15)


def test_pure_epsilon_stays_as_it_was_and_takes_no_rho() -> None:
    federation = fg.Federation(city(), DOMAIN, budget=1)
    assert federation.left_rho is None
    answer = federation.count(MIDDLE, epsilon=0.1)
    assert (answer.rho, answer.delta, federation.left, federation.spent) == (None, 0.0, 0.9, 0.1)
    with pytest.raises(InvalidInput, match="--accounting zcdp"):
        federation.count(MIDDLE, rho=1e-3)
    assert federation.left == 0.9


@pytest.mark.parametrize("method", ["dp", "cohorts", "mpc"])
@pytest.mark.parametrize("kind", ["count", "people", "sum", "avg"])
def test_every_method_and_kind_answers_for_a_rho(method: str, kind: str) -> None:
    federation = opened(budget=20, seed=1)
    measured = {"attribute": "fare", "clip": 40} if kind in ("sum", "avg") else {}
    asked = {"rho": 0.5, "method": method, "cohort_size": 20, "evaluate": True, **measured}
    answer = federation.ask(kind, MIDDLE, **asked)
    low, high = answer.interval
    assert low <= answer.true_value_clipped <= high
    expected = federation.expect(kind, MIDDLE, rho=0.5, method=method, cohort_size=20, **measured)
    if kind != "avg":
        assert high - low == pytest.approx(2 * expected.errors[kind].half_width, abs=1e-6)
    assert (expected.rho, expected.delta) == (0.5, answer.delta)


@pytest.mark.parametrize("in_group", ["trusted", "masked"])
def test_groups_of_a_plan_answer_maps_for_a_rho(in_group: str) -> None:
    federation = opened(budget=50, seed=2)
    plan = federation.group(rho=2, grid=(2, 2))
    assert plan.epsilon == 2.0
    made = federation.map(grid=(3, 3), rho=0.5, plan=plan, in_group=in_group, evaluate=True)
    assert (np.abs(made.values - made.true_values) <= made.half_width_all).all()
    assert (made.rho, made.kind) == (0.5, "count")


@pytest.mark.filterwarnings("ignore:GeoJSON is in degrees")
@pytest.mark.parametrize("ending", ["gpkg", "parquet", "geojson", "csv"])
def test_a_map_for_a_rho_is_read_back_with_its_price(ending: str, tmp_path: Path) -> None:
    made = opened().map(grid=(3, 3), rho=1e-3, method="mpc")
    made.save(tmp_path / f"map.{ending}")
    read = fg.load_map(tmp_path / f"map.{ending}")
    assert (read.rho, read.delta, read.epsilon, read.query) == (made.rho, made.delta, made.epsilon, made.query)
    assert read.values.tolist() == made.values.tolist()


def test_intervals_for_a_rho_hold_as_often_as_they_say() -> None:
    federation = opened(budget=1_000_000, seed=3, delta=1e-9)
    answers = federation.count(MIDDLE, rho=0.02, method="cohorts", cohort_size=30, repeat=600, evaluate=True)
    half = (answers.interval[1] - answers.interval[0]) / 2
    held = sum(abs(value - answers.true_value) <= half for value in answers.values)
    assert 545 <= held <= 593  # 95 % of 600, give or take four and a half standard deviations


def test_many_answers_are_sharper_than_under_pure_epsilon() -> None:
    week = 168
    pure = fg.Federation(city(), DOMAIN, budget=1).expect("count", MIDDLE, epsilon=1 / week, method="mpc")
    rho = opened().left_rho / week
    concentrated = opened().expect("count", MIDDLE, rho=rho, method="mpc")
    ratio = pure.errors["count"].standard_deviation / concentrated.errors["count"].standard_deviation
    assert 3.9 < ratio < 4.2


def test_a_person_in_many_bins_costs_the_root_of_them() -> None:
    people = opened(unit="owner", max_records=50, max_bins=64)
    one, many = (
        people.expect_map(kind="people", grid=grid, rho=1e-3).errors["people"].standard_deviation
        for grid in ((1, 1), (8, 8))
    )
    assert many / one == pytest.approx(8, rel=1e-6)


def test_the_last_of_a_rho_can_be_spent_and_no_more() -> None:
    federation = opened()
    left = federation.left_rho
    with pytest.raises(BudgetExhausted, match="this asks for rho"):
        federation.count(MIDDLE, rho=left + 1e-12)
    federation.count(MIDDLE, rho=left)
    assert (federation.left_rho, federation.spent) == (0.0, 1.0)
    with pytest.raises(BudgetExhausted):
        federation.count(MIDDLE, epsilon=1e-9)


def test_the_same_question_for_the_same_rho_is_free_again() -> None:
    federation = opened()
    first = federation.count(MIDDLE, rho=1e-3)
    again = federation.count(MIDDLE, rho=1e-3)
    other = federation.count(MIDDLE, rho=2e-3)
    assert (again.stored, again.value, other.stored) == (True, first.value, False)


def test_a_ledger_file_keeps_its_accounting(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with opened(ledger=file) as federation:
        federation.count(MIDDLE, rho=1e-3)
        left = federation.left_rho
    with fg.Federation(city(), DOMAIN, ledger=file) as federation:
        assert federation.left_rho == left
    for said in ({"accounting": "pure"}, {"accounting": "zcdp", "delta": 1e-7}):
        with pytest.raises(InvalidInput, match="for its life"):
            fg.Federation(city(), DOMAIN, ledger=file, **said)


def test_a_pure_ledger_moves_on_purpose_and_keeps_what_was_spent(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with fg.Federation(city(), DOMAIN, budget=2, ledger=file) as federation:
        federation.count(MIDDLE, epsilon=0.3)
        federation.count(MIDDLE, epsilon=0.1)
    said = {"budget": 2, "accounting": "zcdp", "delta": DELTA, "ledger": file}
    with pytest.raises(InvalidInput, match="raise_budget"):
        fg.Federation(city(), DOMAIN, **said)
    fresh = opened(budget=2).left_rho
    with fg.Federation(city(), DOMAIN, **said, raise_budget=True) as federation:
        assert fresh - federation.left_rho == pytest.approx(0.4**2 / 2, abs=1e-11)


@pytest.mark.parametrize(
    "said", [{"accounting": "zcdp"}, {"delta": 1e-6}, {"accounting": "pure", "delta": 1e-6}, {"accounting": "rdp"},
             {"accounting": "zcdp", "delta": 1}, {"accounting": "zcdp", "delta": "no"}],
)  # fmt: skip
def test_nonsense_is_refused(said: dict) -> None:
    with pytest.raises(InvalidInput):
        fg.Federation(city(), DOMAIN, budget=1, **said)


@pytest.mark.parametrize(
    "price", [{"rho": 0}, {"rho": -1}, {"rho": "x"}, {"rho": 1e-3, "epsilon": 0.1}, {}, {"error": 5, "rho": 1e-3},
              {"error": 0}, {"error": "10%"}, {"error": "x"}, {"error": True}],
)  # fmt: skip
def test_one_price_is_needed(price: dict) -> None:
    with pytest.raises(InvalidInput):
        opened().count(MIDDLE, **price)


def test_other_sources_of_noise_refuse_a_rho_before_it_is_charged() -> None:
    federation = opened(noise=fg.FloatingPointLaplace(1))
    with pytest.raises(InvalidInput, match="floating-point"):
        federation.count(MIDDLE, rho=1e-3)
    assert federation.spent == 0


# --- a price in accuracy ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accounting", [{}, {"accounting": "zcdp", "delta": DELTA}])
@pytest.mark.parametrize("method", ["dp", "mpc"])
def test_an_error_is_priced_as_low_as_it_can_be(accounting: dict, method: str) -> None:
    federation = fg.Federation(city(), DOMAIN, budget=5, **accounting)
    answer = federation.count(MIDDLE, error=200, method=method)
    low, high = answer.interval
    assert high - low <= 400
    price = {"rho": answer.rho * 0.97} if answer.delta else {"epsilon": answer.epsilon * 0.97}
    assert federation.expect("count", MIDDLE, method=method, **price).errors["count"].half_width > 200


def test_the_better_noise_is_taken_for_an_error() -> None:
    """Few noises in an interval of 95 %: a Laplace noise is cheaper where it is wide, a Gaussian one elsewhere."""
    federation = opened(budget=5)
    answer = federation.count(MIDDLE, error=200, method="mpc")
    laplace = fg.Federation(city(), DOMAIN, budget=5).count(MIDDLE, error=200, method="mpc")
    assert answer.rho <= laplace.epsilon**2 / 2


def test_the_cheapest_method_that_trusts_nobody_is_taken_for_an_error() -> None:
    federation = opened(budget=5)
    assert federation.count(MIDDLE, error=200).method == "mpc"
    alone = fg.Federation(city(owners=1), DOMAIN, budget=5)
    assert alone.count(MIDDLE, error=200).noises == 1
    with opened(budget=50, seed=1) as planned:
        plan = planned.group(epsilon=2, grid=(1, 1), threshold=0.0)
        assert plan.groups == 1
        assert planned.count(MIDDLE, error=200, plan=plan).method == "fedgroup"


def test_a_share_of_a_guess_is_an_error_too() -> None:
    federation = opened(budget=5)
    assert federation.count(MIDDLE, error="10% of 2000", method="mpc").interval == pytest.approx(
        federation.count(MIDDLE, error=200, method="mpc").interval
    )


def test_an_error_that_no_budget_could_buy_is_refused() -> None:
    federation = opened()
    with pytest.raises(InvalidQuery, match="no budget could make the answer as sharp as 1"):
        federation.count(MIDDLE, error=1)
    with pytest.raises(InvalidQuery, match="a mean"):
        federation.avg(MIDDLE, attribute="fare", clip=40, error=1)
    assert federation.spent == 0
