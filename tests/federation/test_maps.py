"""One question with many bins: one price, every method the same sums, and nothing spent on what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedgroup as fg

DOMAIN = fg.Box(0, 0, 10, 10)
HUGE = 1_000_000
METHODS = ["dp", "fedgroup", "cohorts", "mpc"]


def records(**more: Any) -> fg.Records:
    """Six owners with four records each, at four times, of two kinds."""
    code = np.arange(24) % 6
    return fg.Records(
        owner=code,
        x=np.arange(24) * 0.4 + 0.1,
        y=(np.arange(24) * 7 % 10) + 0.5,
        owners=range(6),
        attributes={"fare": np.arange(24) * 0.5},
        time=np.arange(24) * 3_600,
        texts={"kind": ["taxi" if at % 3 else "bus" for at in range(24)]},
        **more,
    )


def federation(**settings: Any) -> fg.Federation:
    return fg.Federation(records(), DOMAIN, **settings)


def details(joined: fg.Federation, method: str, in_group: str = "trusted") -> dict[str, Any]:
    if method != "fedgroup":
        return {"method": method}
    plan = joined.group(epsilon=HUGE, grid=(2, 2))
    return {"method": method, "plan": plan, "in_group": in_group}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "said",
    [
        {"grid": (4, 3)},
        {"grid": (2, 2), "every": "6h", "since": 0, "until": 86_400},
        {"grid": (2, 1), "by": {"kind": ["bus", "taxi"]}},
        {"range": fg.Circle(5, 5, 4), "by": {"fare": [0, 0.5, "other"]}},
        {"districts": {"west": fg.Polygon([(0, 0), (5, 0), (5, 10), (0, 10)])}, "kind": "people"},
        {"grid": (3, 3), "kind": "sum", "attribute": "fare", "clip": 20},
        {"grid": (3, 3), "kind": "avg", "attribute": "fare", "clip": 20},
    ],
    ids=lambda said: " ".join(said),
)
def test_every_method_adds_up_to_the_exact_map(method: str, said: dict[str, Any]) -> None:
    joined = federation(evaluation=True)
    made = joined.map(epsilon=HUGE, **said, **details(joined, method))
    truth = joined.map(method="exact", **said)
    np.testing.assert_allclose(made.values, truth.values, rtol=0, atol=1e-9)
    assert made.shape == truth.shape
    assert (made.heard, made.missing) == (6, 0)


def test_masked_and_mixed_plans_add_up_too() -> None:
    joined = federation(evaluation=True)
    truth = joined.map(grid=(4, 3), method="exact").values
    plan = joined.group(epsilon=HUGE, grid=(2, 2), leftovers="cohort")
    for in_group in ("trusted", "masked"):
        made = joined.map(grid=(4, 3), epsilon=HUGE, plan=plan, in_group=in_group)
        assert np.array_equal(made.values, truth)


def test_a_map_of_one_bin_is_the_count_of_a_range() -> None:
    joined = federation()
    circle = fg.Circle(5, 5, 3)
    assert joined.map(range=circle, epsilon=HUGE).values.tolist() == [joined.count(circle, epsilon=HUGE).value]


def test_one_epsilon_pays_for_the_whole_map() -> None:
    joined = federation(budget=1)
    made = joined.map(grid=(32, 32), epsilon=0.4)
    assert (joined.spent, made.charged, made.epsilon) == (0.4, 0.4, 0.4)
    with pytest.raises(fg.BudgetExhausted):
        joined.map(grid=(1, 2), epsilon=0.7)
    assert joined.spent == 0.4


def test_the_same_map_again_is_free_and_the_same(tmp_path: Path) -> None:
    first = federation(ledger=tmp_path / "ledger.db").map(grid=(4, 4), epsilon=0.5)
    joined = federation(ledger=tmp_path / "ledger.db")
    again = joined.map(grid=(4, 4), epsilon=0.5)
    assert (again.stored, again.charged, joined.spent) == (True, 0, 0.5)
    assert np.array_equal(again.intervals, first.intervals)
    assert again.half_width_all == first.half_width_all
    assert not joined.map(grid=(4, 4), epsilon=0.5, by={"kind": ["bus"]}).stored


def test_a_person_with_a_thousand_records_in_a_cell_counts_once() -> None:
    many = fg.Records(
        owner=np.zeros(1_003, int), x=np.full(1_003, 1.0), y=np.full(1_003, 1.0), owners=[0],
        subject=["a"] * 1_000 + ["b", "b", "c"],
    )  # fmt: skip
    joined = fg.Federation(many, DOMAIN)
    assert joined.map(grid=(5, 5), kind="people", epsilon=HUGE).values.sum() == 3
    assert joined.people(fg.Circle(1, 1, 1), epsilon=HUGE).value == 3


def test_the_same_id_at_two_owners_is_two_people() -> None:
    both = fg.Records(owner=[1, 2], x=[1, 1], y=[1, 1], subject=["a", "a"])
    answer = fg.Federation(both, DOMAIN).people(fg.Circle(1, 1, 1), epsilon=HUGE)
    assert answer.value == 2
    assert any("two owners" in note for note in answer.notes)


def test_a_subject_counts_in_its_first_bins_in_the_tables_order() -> None:
    walk = fg.Records(owner=[0] * 5, x=[9, 1, 9, 5, 1], y=[1] * 5, subject=["a"] * 5)
    joined = fg.Federation(walk, DOMAIN, unit="subject", max_records=1, max_bins=2)
    made = joined.map(grid=(3, 1), kind="people", epsilon=HUGE)
    assert made.values.tolist() == [1, 0, 1]
    assert any("first 2 of the bins" in note for note in made.notes)
    assert joined.map(grid=(3, 1), epsilon=HUGE).values.tolist() == [0, 0, 1]  # of its records the first alone


def test_noise_of_people_is_calibrated_to_bins_and_of_records_to_records() -> None:
    cars = records(subject=np.arange(24) // 6)
    joined = fg.Federation(cars, DOMAIN, unit="subject", max_records=5, max_bins=3)
    scales = {
        kind: joined.map(grid=(4, 4), kind=kind, epsilon=1).scales for kind in ("count", "people")
    }  # fmt: skip
    assert scales == {"count": {"count": 5.0}, "people": {"people": 3.0}}


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({}, "one kind of places"),
        ({"grid": (2, 2), "h3": 5}, "one kind of places"),
        ({"grid": (2, 2, 2)}, "pair of columns and rows"),
        ({"grid": (0, 2)}, "at least 1x1"),
        ({"grid": (2_000, 2_000)}, "at most 1,000,000"),
        ({"grid": (500, 500), "every": "1s", "since": 0, "until": 100}, "at most 1,000,000 bins"),
        ({"h3": 8}, "federations in degrees"),
        ({"grid": (2, 2), "every": "0h", "since": 0, "until": 10}, "every is a length"),
        ({"grid": (2, 2), "every": 0, "since": 0, "until": 10}, "every is a length"),
        ({"grid": (2, 2), "every": "1h"}, "since and until"),
        ({"grid": (2, 2), "every": "999999999999999w", "since": 0, "until": 10}, "at most as long as the window"),
        ({"grid": (2, 2), "by": {"colour": ["red"]}}, "no column of texts 'colour'"),
        ({"grid": (2, 2), "by": {"kind": []}}, "1 to 10,000 categories"),
        ({"grid": (2, 2), "by": {"kind": ["bus", "bus"]}}, "must be different"),
        ({"grid": (2, 2), "by": {"kind": ["bus", 1]}}, "all texts or all numbers"),
        ({"grid": (2, 2), "by": ["kind"]}, "categories are said as"),
        ({"grid": (2, 2), "kind": "median"}, "a question is"),
        ({"grid": (2, 2), "kind": "sum"}, "needs an attribute"),
        ({"grid": (2, 2), "columns": 3}, "a map has no columns"),
        ({"grid": (2, 2), "repeat": 2}, "once at a time"),
        ({"districts": {"a": fg.Polygon([(0, 0), (5, 0), (0, 5)]), "b": fg.Polygon([(1, 1), (5, 0), (0, 5)])}},
         "'a' and 'b' do"),
        ({"districts": {"far": fg.Polygon([(50, 50), (55, 50), (50, 55)])}}, "'far' lies outside"),
        ({"districts": {}}, "1 to 20,000 districts"),
        ({"districts": "wards"}, "polygons by their names"),
    ],
)  # fmt: skip
def test_bad_bins_are_refused_before_anything_is_spent(said: dict[str, Any], fault: str) -> None:
    joined = federation(budget=1)
    with pytest.raises(fg.InvalidInput, match=fault):
        joined.map(epsilon=0.5, **said)
    assert joined.spent == 0


def test_a_map_of_people_at_unit_subject_needs_to_know_in_how_many_bins_one_counts() -> None:
    joined = fg.Federation(records(), DOMAIN, unit="subject", max_records=3, budget=1)
    with pytest.raises(fg.InvalidInput, match="max_bins"):
        joined.map(grid=(2, 2), kind="people", epsilon=0.5)
    assert joined.spent == 0
    assert joined.people(fg.Circle(5, 5, 3), epsilon=0.5).charged == 0.5  # one bin needs no such bound


def test_the_expected_error_of_every_bin_is_told_for_nothing() -> None:
    joined = federation(budget=1)
    expected = joined.expect_map(grid=(8, 8), epsilon=0.5, method="dp")
    made = joined.map(grid=(8, 8), epsilon=0.5, method="dp")
    assert expected.charge == 0.5
    assert (made.high - made.low)[0] / 2 == expected.errors["count"].half_width
    assert joined.spent == 0.5


def test_true_values_are_for_evaluation() -> None:
    with pytest.raises(fg.InvalidInput, match="not private"):
        federation().map(grid=(2, 2), epsilon=1, evaluate=True)
    made = federation(evaluation=True).map(grid=(2, 2), epsilon=1, evaluate=True)
    assert made.true_values is not None
    assert (made.true_values.sum(), made.private) == (24, False)
