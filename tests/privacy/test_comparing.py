"""One way of comparing an epoch, and at most so many comparisons in all of its plans."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from fedgroup.errors import ComparisonsExhausted, InvalidInput
from fedgroup.privacy.comparing import Compared, Comparing, allowed_comparisons


def wanted(**said: Any) -> Comparing:
    return Comparing("a grid", "plan", 100, "one record, add-remove", **said)


def before(*plans: tuple[int, int | None]) -> list[Compared]:
    return [Compared("a grid", count, cap) for count, cap in plans]


@pytest.mark.parametrize(("said", "plans", "allowed"), [
    ({}, [], 100), ({}, [(500, None)], 100), ({"cap": 30}, [], 30), ({"cap": 300}, [], 100), ({"cap": 0}, [], 0),
    ({"cap": 30}, [(20, None)], 10), ({}, [(20, 30)], 10), ({"cap": 25}, [(20, 30)], 5),
    ({"cap": 90, "raising": True}, [(20, 30)], 70), ({}, [(5, 90), (5, 30)], 20), ({"cap": 0}, [(20, 30)], 0),
    ({"needs_all": True}, [(20, None)], 100), ({"needs_all": True}, [(20, 120)], 100),
])  # fmt: skip
def test_a_plan_gets_what_is_left_of_the_epoch(said: dict[str, Any], plans: list[Any], allowed: int) -> None:
    assert allowed_comparisons(wanted(**said), before(*plans)) == allowed


@pytest.mark.parametrize(("said", "plans"), [
    ({}, [(30, 30)]), ({"cap": 20}, [(25, 30)]), ({"cap": 30}, [(20, 30), (10, None)]), ({}, [(5, 0)]),
    ({"needs_all": True}, [(20, 119)]),
])  # fmt: skip
def test_a_plan_without_comparisons_left_is_refused(said: dict[str, Any], plans: list[Any]) -> None:
    with pytest.raises(ComparisonsExhausted) as refusal:
        allowed_comparisons(wanted(**said), before(*plans))
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (again.exit_code, str(again)) == (3, str(refusal.value))


def test_a_cap_is_raised_on_purpose_only() -> None:
    with pytest.raises(InvalidInput, match="--raise-budget"):
        allowed_comparisons(wanted(cap=31), before((20, 30)))


def test_an_evaluation_is_counted_and_binds_nobody() -> None:
    trial = wanted(evaluation=True, cap=3)
    assert allowed_comparisons(trial, [Compared("another grid", 5, 5)]) == 100
    assert trial.reserved(100) == Compared("a grid", 100, None)
