"""Plans: who is in them, who is not, and that each is paid for once per ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.messages import Grouping, Partition
from fedgroup.storage.memory import MemoryLedger

DOMAIN = fg.Box(0, 0, 10, 10)
ALL = fg.Rectangle(0, 0, 10, 10)
HUGE = 1_000_000


def federation(owner: Any = (1, 2, 3), **settings: Any) -> fg.Federation:
    places = np.ones(len(owner))
    return fg.Federation(fg.Records(owner=list(owner), x=places, y=places), DOMAIN, **settings)


def plan_of(groups: dict[Any, int], *, epsilon: float = 0.25, private: bool = True) -> fg.Plan:
    labels = np.array(list(groups.values()), dtype=np.int32)
    grouping = Grouping(
        Partition(labels),
        {"grid": "2x2", "domain": [0.0, 0.0, 10.0, 10.0], "lonlat": False},
        Epsilon.of(epsilon),
        "made by a test",
        private,
    )
    return fg.Plan(np.array(list(groups)), grouping, "".join(map(str, groups.items())))


def lines(asked: fg.Federation) -> list[tuple[str, float, int | None]]:
    return [(entry.purpose, float(entry.epsilon), entry.owners) for entry in asked.ledger.entries()]


def test_a_plan_is_paid_for_when_it_is_made_and_free_afterwards() -> None:
    asked = federation(budget=1)
    plan = asked.group(epsilon=0.25, grid=(2, 2))
    assert asked.count(ALL, epsilon=0.5, plan=plan).charged == 0.5
    assert lines(asked) == [("setup", 0.25, None), ("query", 0.5, None)]


def test_a_plan_from_elsewhere_is_paid_for_once_with_the_first_question(tmp_path: Path) -> None:
    federation().group(epsilon=0.25, grid=(2, 2)).save(tmp_path / "plan.parquet")
    asked, plan = federation(), fg.Plan.load(tmp_path / "plan.parquet")
    assert asked.expect("count", ALL, epsilon=0.5, plan=plan).charge == 0.75
    first, second = (asked.count(ALL, epsilon=epsilon, plan=plan) for epsilon in (0.5, 0.4))
    assert (first.charged, first.epsilon, second.charged) == (0.75, 0.5, 0.4)
    assert lines(asked) == [("setup", 0.25, None), ("query", 0.5, None), ("query", 0.4, None)]


def test_a_plan_and_its_question_are_refused_together() -> None:
    asked, plan = federation(budget=0.7), plan_of({1: 0, 2: 0, 3: 1})
    with pytest.raises(fg.BudgetExhausted):
        asked.count(ALL, epsilon=0.5, plan=plan)
    assert lines(asked) == []
    assert asked.count(ALL, epsilon=0.45, plan=plan).charged == pytest.approx(0.7)


def test_an_unpaid_plan_that_is_refused_costs_nothing() -> None:
    asked = federation(budget=0.2)
    with pytest.raises(fg.BudgetExhausted):
        asked.group(epsilon=0.3, grid=(2, 2))
    assert lines(asked) == []


def test_groups_share_a_noise_and_owners_outside_the_plan_are_alone() -> None:
    asked = federation([1, 2, 3, 4])
    answer = asked.count(ALL, epsilon=HUGE, plan=plan_of({1: 0, 2: 0}, epsilon=1e-9), fresh=True)
    assert (answer.value, answer.groups, answer.owners, answer.method) == (4, 3, 4, "fedgroup")
    assert answer.in_group == "trusted"


def test_planned_owners_without_records_still_count() -> None:
    answer = federation([2, 3]).count(ALL, epsilon=0.5, plan=plan_of({1: 0, 2: 1, 3: 1, 4: 2}))
    assert (answer.groups, answer.owners, answer.heard, answer.missing) == (3, 4, 4, 0)


def test_only_the_planned_owners_pay_for_a_plan() -> None:
    asked = federation([1, 2, 3, 4], budget=1)
    asked.count(ALL, epsilon=0.5, plan=plan_of({1: 0, 2: 0}))
    assert lines(asked) == [("setup", 0.25, 2), ("query", 0.5, None)]
    asked.count(ALL, epsilon=0.25, plan=plan_of({3: 0, 4: 0}, epsilon=0.2))
    assert float(asked.ledger.spent()) == 1


def test_one_planned_owner_without_budget_refuses_for_all() -> None:
    asked = federation([1, 2, 3], budget=1)
    asked.count(ALL, epsilon=0.5, plan=plan_of({1: 0, 2: 0}))
    before = lines(asked)
    with pytest.raises(fg.BudgetExhausted):
        asked.count(ALL, epsilon=0.4)
    assert lines(asked) == before


def test_a_plan_that_is_not_private_makes_answers_that_are_not() -> None:
    asked = federation()
    exact = federation(evaluation=True).group(graph="exact", grid=(2, 2))
    assert not asked.count(ALL, epsilon=0.5, plan=exact).private
    assert lines(asked) == [("query", 0.5, None)]
    assert not asked.count(ALL, epsilon=0.5, plan=plan_of({1: 0, 2: 1}, private=False)).private
    assert asked.count(ALL, epsilon=0.5, plan=plan_of({1: 0, 2: 0})).private


def test_ledgers_pay_for_a_plan_each() -> None:
    plan, ledgers = plan_of({1: 0, 2: 0, 3: 0}), [MemoryLedger(), MemoryLedger()]
    for ledger in ledgers:
        assert federation(ledger=ledger).count(ALL, epsilon=0.5, plan=plan).charged == 0.75


def test_owner_ids_of_another_type_are_refused_before_any_charge() -> None:
    asked = federation(["a", "b"])
    with pytest.raises(fg.InvalidInput, match="owner ids"):
        asked.count(ALL, epsilon=0.5, plan=plan_of({1: 0, 2: 0}))
    assert lines(asked) == []


def test_a_dearer_plan_with_a_known_id_is_paid_for() -> None:
    asked = federation(budget=5)
    cheap, dear = plan_of({1: 0, 2: 0, 3: 1}, epsilon=0.001), plan_of({1: 0, 2: 0, 3: 1}, epsilon=4)
    assert cheap.id == dear.id
    asked.count(ALL, epsilon=0.1, plan=cheap)
    assert asked.count(ALL, epsilon=0.2, plan=dear).charged == pytest.approx(4.2)


def test_a_plan_of_another_domain_is_refused() -> None:
    elsewhere = fg.Federation(fg.Records(owner=[1, 2, 3], x=[1, 2, 3], y=[1, 2, 3]), fg.Box(0, 0, 11, 10))
    with pytest.raises(fg.InvalidInput, match="make one for"):
        federation().count(ALL, epsilon=0.1, plan=elsewhere.group(epsilon=0.1, grid=(2, 2)))
