"""Publishing in one process: charged as a whole before anything is counted, read for nothing, sharpened."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "maps"))
import numpy as np
from published_maps import MIDDLE, federation, records

import fedgroup as fg
from fedgroup.errors import BudgetExhausted, InvalidInput, InvalidQuery
from fedgroup.maps.shelf import cost_together
from fedgroup.user.pricing import error_said


def test_a_map_is_charged_its_epsilon_and_its_three_questions_are_lines() -> None:
    joined = federation()
    made = joined.publish(epsilon=1, records=8_000)
    assert joined.spent == made.charged == 1
    lines = joined.ledger.entries()
    assert [float(line.epsilon) for line in lines] == [0.0625, 0.1875, 0.75]
    assert "published map" in lines[-1].question


def test_who_cannot_pay_the_whole_pays_nothing() -> None:
    joined = federation(settings={"seed": 1, "budget": 0.9})
    with pytest.raises(BudgetExhausted):
        joined.publish(epsilon=1, records=8_000)
    assert joined.spent == 0


def test_the_same_map_again_is_free_and_a_fresh_one_is_not() -> None:
    joined = federation()
    first = joined.publish(epsilon=1, records=8_000)
    again = joined.publish(epsilon=1, records=8_000)
    assert again.stored
    assert joined.spent == 1
    assert again.count(MIDDLE).value == first.count(MIDDLE).value
    joined.publish(epsilon=1, records=8_000, fresh=True)
    assert joined.spent == 2
    assert len(joined.maps) == 2


def test_a_map_in_a_ledger_outlives_its_federation(tmp_path: Path) -> None:
    settings = {"ledger": tmp_path / "ledger.db"}
    with federation(settings=settings) as joined:
        first = joined.publish(epsilon=1, records=8_000)
    with federation(settings=settings) as joined:
        assert np.array_equal(joined.publish(epsilon=1, records=8_000).values, first.values)
        assert joined.spent == 1


def test_the_method_of_the_fewest_noises_is_taken_unless_one_is_said() -> None:
    joined = federation()
    assert joined.publish(epsilon=1, records=8_000).method == "mpc"
    assert joined.publish(epsilon=1, records=8_000, method="dp").noises == 100
    plan = joined.group(epsilon=0.3)
    assert joined.publish(epsilon=1, records=8_000, plan=plan).method == "fedgroup"


def test_nobody_says_how_many_records_there_are_and_the_map_says_what_it_took() -> None:
    made = federation().publish(epsilon=1)
    assert any("2,000 records" in note for note in made.notes)


def test_answers_are_read_from_the_map_when_asked_to() -> None:
    joined = federation()
    with pytest.raises(InvalidQuery, match="publish one"):
        joined.count(MIDDLE, from_map=True)
    made = joined.publish(epsilon=1, records=8_000)
    assert joined.count(MIDDLE, from_map=True).value == made.count(MIDDLE).value
    assert joined.spent == 1
    with pytest.raises(InvalidQuery, match="one price"):
        joined.count(MIDDLE, from_map=True, epsilon=1)


def test_what_the_map_answers_well_enough_is_not_charged() -> None:
    joined = federation()
    joined.publish(epsilon=1, records=8_000)
    assert joined.count(MIDDLE, error=500).charged == 0
    assert joined.spent == 1


def test_sharpening_costs_less_than_asking_alone() -> None:
    joined, alone = federation(), federation()
    free = joined.publish(epsilon=1, records=8_000).count(MIDDLE)
    error = 0.8 * free.half_width
    sharp = joined.count(MIDDLE, error=error)
    asked = alone.count(MIDDLE, error=error, method="mpc")
    assert 0 < sharp.charged < 0.8 * asked.charged
    low, high = sharp.interval
    assert (high - low) / 2 <= 1.25 * error
    x, y = records().x, records().y
    assert low <= int(((x - 10_000) ** 2 + (y - 10_000) ** 2 < 1_500**2).sum()) <= high


def test_an_epsilon_always_asks() -> None:
    joined = federation()
    joined.publish(epsilon=1, records=8_000)
    assert joined.count(MIDDLE, epsilon=0.25).charged == 0.25


def test_people_are_published_by_their_first_place() -> None:
    joined = federation(settings={"seed": 1, "unit": "owner", "max_records": 80, "max_bins": 1})
    made = joined.publish(kind="people", epsilon=2, records=100)
    low, high = made.total().interval
    assert low <= 100 <= high
    assert any("first place" in note for note in made.notes)
    with pytest.raises(InvalidQuery, match="first place"):
        federation().publish(kind="people", epsilon=1)


def test_windows_stand_side_by_side_and_their_cost_is_told() -> None:
    joined = federation(time=np.arange(8_000))
    early = joined.publish(epsilon=0.5, records=4_000, until=4_000)
    late = joined.publish(epsilon=0.5, records=4_000, since=4_000)
    whole = joined.publish(epsilon=0.25, records=8_000)
    again = joined.publish(epsilon=0.5, records=4_000, since=4_000, fresh=True)
    assert joined.maps.newest("count", since=late.query.since) is again
    assert joined.maps.current == (early, again, whole)
    assert joined.maps.together == 1.25
    assert cost_together([early, late]) == 0.5
    rerun = replace(early, charged=0.75)  # a round of it was paid for twice
    assert cost_together([rerun, late]) == 0.75
    assert joined.count(MIDDLE, from_map=True, until=4_000).value == early.count(MIDDLE).value
    assert joined.spent == 1.75


def test_a_map_for_subjects_costs_all_windows_together() -> None:
    joined = federation(time=np.arange(8_000), settings={"seed": 1, "unit": "owner", "max_records": 80})
    joined.publish(epsilon=0.5, records=4_000, until=4_000)
    joined.publish(epsilon=0.5, records=4_000, since=4_000)
    assert joined.maps.together == 1.0


def test_a_loaded_map_serves_a_federation_again(tmp_path: Path) -> None:
    federation().publish(epsilon=1, records=8_000).save(tmp_path / "map.parquet")
    joined = federation()
    loaded = fg.load_map(tmp_path / "map.parquet")
    joined.take_map(loaded)
    assert joined.count(MIDDLE, from_map=True).value == loaded.count(MIDDLE).value  # type: ignore[attr-defined]


def test_a_plan_tells_cost_and_error_before_anything_is_spent() -> None:
    joined = federation(settings={"seed": 1, "budget": 0.5})
    plan = joined.plan_map(epsilon=1, records=8_000)
    assert (plan.charge, plan.left, plan.affordable) == (1.0, 0.5, False)
    told = plan.against_asking(50, 1_500)
    assert told.publish
    assert told.of_ask > told.of_map
    assert not plan.against_asking(1, 1_500).publish
    assert joined.spent == 0


def test_a_forecast_like_an_earlier_map_foretells_its_errors() -> None:
    joined = federation()
    made = joined.publish(epsilon=1, records=8_000)
    told = joined.plan_map(epsilon=1, records=8_000).forecast(MIDDLE, like=made)
    assert told.noise == pytest.approx(made.count(MIDDLE).noise, rel=0.3)
    assert told.value == pytest.approx(made.count(MIDDLE).value, rel=0.3)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"epsilon": 0}, "greater than 0"),
        ({"epsilon": 1, "records": 0}, "records"),
        ({"epsilon": 1, "most_cells": 5}, "most_cells"),
        ({"epsilon": 1, "method": "exact"}, "private methods"),
        ({"epsilon": 1, "kind": "avg", "attribute": "fare", "clip": 2}, "publish sum and count"),
        ({"epsilon": 1, "grid": (2, 2)}, "has no grid"),
        ({"epsilon": 1, "since": 3}, "no time column"),
    ],
)
def test_what_cannot_be_published_is_refused_and_nothing_is_spent(said: dict[str, object], told: str) -> None:
    joined = federation(attributes={"fare": np.ones(8_000)})
    with pytest.raises(InvalidInput, match=told):
        joined.publish(**said)
    assert joined.spent == 0


def test_a_share_of_what_a_map_expects_is_a_price_and_of_nothing_is_not() -> None:
    pick = np.random.default_rng(3)
    records = fg.Records(pick.integers(0, 40, 4_000), pick.uniform(0, 50, 4_000), pick.uniform(0, 100, 4_000))
    with fg.Federation(records, fg.Box(0, 0, 100, 100), seed=1) as federation:
        west = fg.Rectangle(0, 0, 50, 100)
        with pytest.raises(InvalidQuery, match="a guess of it"):
            federation.count(west, error="1%")
        federation.publish(epsilon=0.01, records=4_000, method="mpc")
        answer = federation.count(west, error="1%", method="mpc")
        assert answer.charged > 0
        low, high = answer.interval
        assert high - low < 0.03 * 4_000
        assert federation.count(west, error="200%").charged == 0
    assert error_said("10%", expected=50) == 5
    for nothing in (None, 0.0, -3.0):
        with pytest.raises(InvalidQuery, match="a guess of it"):
            error_said("10 %", expected=nothing)


def test_people_are_not_read_from_a_map_that_counts_them_at_their_first_place_only() -> None:
    people = {"unit": "owner", "max_records": 20, "max_bins": 1, "budget": 20, "seed": 3}
    with fg.Federation(fg.synthesize(owners=200, seed=2), **people) as federation:
        federation.publish(kind="people", epsilon=5, records=200)
        asked = federation.people(fg.Circle(10_000, 10_000, 4_000), error=200, method="mpc")
        assert asked.charged > 0
        assert federation.ask("people", fg.Circle(10_000, 10_000, 4_000), from_map=True).charged == 0


def test_a_map_is_published_for_a_rho_that_it_does_not_exceed() -> None:
    joined = federation(settings={"seed": 1, "budget": 4, "delta": 1e-6, "accounting": "zcdp"})
    before, plan = joined.left_rho, joined.plan_map(rho=0.125, records=8_000)
    made = joined.publish(rho=0.125, records=8_000)
    assert 0.124999999 < made.rho <= 0.125
    assert made.rho == plan.rho == pytest.approx(before - joined.left_rho, abs=1e-15)
    assert 0.64 < made.epsilon < 0.65  # its three rounds cost less than one release of it
    assert made.total().rho == joined.publish(rho=0.125, records=8_000).rho == made.rho
    assert joined.plan_map(rho=joined.left_rho).affordable
    assert not joined.plan_map(rho=joined.left_rho + 1e-9).affordable
    with pytest.raises(InvalidQuery, match="one price"):
        joined.publish(rho=0.125, epsilon=1)


def test_where_epsilon_is_counted_neither_maps_nor_plans_have_a_rho() -> None:
    joined = federation(settings={"seed": 1, "budget": 2})
    for release in (lambda: joined.publish(rho=0.125), lambda: joined.group(rho=0.125)):
        with pytest.raises(InvalidInput, match="counts pure epsilon"):
            release()
    assert (joined.spent, joined.publish(epsilon=1, records=8_000).rho) == (0, None)
