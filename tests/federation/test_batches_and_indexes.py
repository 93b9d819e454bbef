"""Batches of questions and saved indexes give the answers that single questions over records give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.data.indexes import load_index, save_index
from fedgroup.owner.counting import contributing
from fedgroup.owner.index import RecordIndex
from fedgroup.space import PublicMap
from fedgroup.storage.sqlite import SQLiteLedger

HUGE = 1_000_000
CIRCLES = [fg.Circle(10_000 + 100 * i, 9_000 + 50 * i, 700) for i in range(6)]


@pytest.fixture(scope="module")
def city() -> fg.Records:
    return fg.synthesize(300, seed=5)


def index_of(records: fg.Records) -> RecordIndex:
    return RecordIndex.build(records, fg.Federation(records).public_map, snapshot=records.snapshot)


@pytest.mark.parametrize("details", [{}, {"method": "cohorts"}, {"method": "mpc"}])
def test_a_batch_gives_what_single_questions_give(city: fg.Records, details: dict) -> None:
    asked = fg.Federation(city, evaluation=True)
    batch = asked.count_many(CIRCLES, epsilon=HUGE, **details)
    truth = [asked.count(circle, method="exact").value for circle in CIRCLES]
    assert [answer.value for answer in batch] == truth


def test_a_batch_is_charged_as_a_whole_or_not_at_all(city: fg.Records) -> None:
    asked = fg.Federation(city, budget=1)
    asked.count_many(CIRCLES[:3], epsilon=0.3)
    assert asked.spent == pytest.approx(0.9)
    with pytest.raises(fg.BudgetExhausted):
        asked.count_many(CIRCLES[3:], epsilon=0.1)
    assert asked.spent == pytest.approx(0.9)
    assert asked.count(CIRCLES[0], epsilon=0.3).stored


def test_a_batch_pays_for_a_plan_from_elsewhere_once(city: fg.Records) -> None:
    plan = fg.Federation(city).group(epsilon=0.5)
    asked = fg.Federation(city, budget=0.8)
    asked.count_many(CIRCLES[:3], epsilon=0.1, plan=plan)
    assert asked.spent == pytest.approx(0.8)


def test_a_batch_looks_into_its_ledger_no_more_often_than_a_smaller_one(city: fg.Records, tmp_path: Path) -> None:
    looks: list[str] = []

    class Watched(SQLiteLedger):
        def _fact(self, name: str) -> int | None:
            looks.append(name)
            return super()._fact(name)

    asked = fg.Federation(city, ledger=Watched(tmp_path / "ledger.db"))
    looks.clear()
    asked.count_many(CIRCLES[:2], epsilon=0.3)
    few = len(looks)
    asked.count_many(CIRCLES, epsilon=0.3)
    assert len(looks) == 2 * few


def test_places_of_a_map_are_no_range_of_a_batch(city: fg.Records) -> None:
    asked = fg.Federation(city)
    with pytest.raises(fg.InvalidQuery, match="a range is a Circle"):
        asked.count_many([CIRCLES[0], fg.Grid(asked.public_map.domain, 2, 2)], epsilon=0.3)
    assert asked.spent == 0


def test_a_batch_may_come_one_by_one(city: fg.Records) -> None:
    asked = fg.Federation(city)
    assert len(asked.count_many((each for each in CIRCLES), epsilon=0.3)) == len(CIRCLES)


def test_answers_do_not_change_when_the_index_takes_over(city: fg.Records) -> None:
    asked = fg.Federation(city, evaluation=True)
    answers = [asked.count(circle, epsilon=HUGE).value for circle in CIRCLES]
    assert answers == [asked.count(circle, method="exact").value for circle in CIRCLES]
    sums = [asked.sum(circle, attribute="fare", clip=40, epsilon=HUGE).value for circle in CIRCLES]
    exact = [asked.sum(circle, attribute="fare", clip=40, method="exact").value for circle in CIRCLES]
    assert np.allclose(sums, exact, atol=0.05)


def test_a_saved_index_answers_like_its_records_and_knows_stored_answers(city: fg.Records, tmp_path) -> None:
    save_index(index_of(city), tmp_path / "index")
    with fg.Federation(city, ledger=tmp_path / "ledger.db") as asked:
        first = asked.count(CIRCLES[0], epsilon=0.5)
    with fg.Federation(load_index(tmp_path / "index"), ledger=tmp_path / "ledger.db") as asked:
        again = asked.count(CIRCLES[0], epsilon=0.5)
    assert again.stored
    assert again.value == first.value
    fresh = fg.Federation(load_index(tmp_path / "index")).count(CIRCLES[1], epsilon=HUGE)
    assert fresh.value == fg.Federation(city, evaluation=True).count(CIRCLES[1], method="exact").value


def test_an_index_of_another_cut_is_refused(city: fg.Records) -> None:
    with pytest.raises(fg.InvalidInput, match="another cut"):
        fg.Federation(index_of(city), unit="owner", max_records=3)


@pytest.mark.parametrize("wrong", [{"method": "exact"}, {"repeat": 2}, {"evaluate": True}])
def test_a_batch_is_for_private_answers(city: fg.Records, wrong: dict) -> None:
    with pytest.raises(fg.InvalidQuery, match="one by one"):
        fg.Federation(city).count_many(CIRCLES, epsilon=1, **wrong)


def test_people_are_not_counted_in_an_index_that_left_records_out() -> None:
    """An owner's place may be among the records that were cut off; the table itself counts it."""
    records = fg.Records(owner=[0, 0], x=[1, 9], y=[1, 9], owners=[0])
    kept = contributing(records, PublicMap(fg.Box(0, 0, 10, 10)), most=1)
    index = RecordIndex.build(kept, PublicMap(fg.Box(0, 0, 10, 10)), most=1)
    how: Any = {"domain": fg.Box(0, 0, 10, 10), "unit": "owner", "max_records": 1, "budget": 10}
    far = fg.Circle(9, 9, 0.5)
    with fg.Federation(index, **how) as joined, pytest.raises(fg.InvalidQuery, match="people cannot be counted"):
        joined.people(far, epsilon=1)
    assert fg.Federation(records, **how | {"budget": 1e6}).people(far, epsilon=100_000).value == 1
