"""Budgets per window of time, in one process: a series costs every window once, and what has no time costs all."""

from __future__ import annotations

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import NANO
from fedgroup.errors import BudgetExhausted

DAY = "2026-03-{:02}T00:00"
HERE = fg.Circle(50, 50, 60)


def week(**said: object) -> fg.Federation:
    """Fifty owners with some records on each of seven days."""
    pick = np.random.default_rng(5)
    days = pick.integers(2, 9, 400)
    records = fg.Records(
        pick.integers(0, 50, 400), pick.uniform(0, 100, 400), pick.uniform(0, 100, 400),
        time=[DAY.format(day) for day in days], subject=pick.integers(0, 3, 400),
    )  # fmt: skip
    return fg.Federation(records, fg.Box(0, 0, 100, 100), per="day", window_budget=1, **said)


def spent(federation: fg.Federation, day: int) -> float:
    """What a day of March 2026 was charged."""
    budget, found = federation.ledger.window_budget, federation.ledger.windows_spent()
    assert budget is not None
    begin = int(np.datetime64(DAY.format(day), "us").astype(np.int64))
    return (found.every + found.at(budget.window_of(begin))) / NANO


def test_a_series_charges_each_of_its_windows_once_and_a_question_those_it_meets() -> None:
    with week(budget=10) as federation:
        federation.map(grid=(4, 4), epsilon=0.5, since=DAY.format(2), until=DAY.format(9), every="1d")
        assert [spent(federation, day) for day in (1, 2, 8, 9)] == [0, 0.5, 0.5, 0]
        federation.count(HERE, epsilon=0.3, since="2026-03-03T12:00", until="2026-03-04T00:01")
        assert [spent(federation, day) for day in (2, 3, 4, 5)] == [0.5, 0.8, 0.8, 0.5]
        federation.count(HERE, epsilon=0.2)
        federation.count(HERE, epsilon=0.1, since=DAY.format(8))
        assert [spent(federation, day) for day in (1, 3, 8, 20)] == pytest.approx([0.2, 1.0, 0.8, 0.3])
        assert federation.spent == pytest.approx(1.1)


def test_a_window_that_is_spent_refuses_whatever_meets_it_and_others_do_not() -> None:
    with week(budget=10) as federation:
        federation.count(HERE, epsilon=0.9, since=DAY.format(3), until=DAY.format(4))
        before = federation.spent, len(federation.ledger.entries())
        for said in ({}, {"since": DAY.format(3), "until": DAY.format(5)}, {"until": DAY.format(5)}):
            with pytest.raises(BudgetExhausted, match="window of 1d"):
                federation.count(HERE, epsilon=0.2, **said)
        with pytest.raises(BudgetExhausted, match="window of 1d"):
            federation.group(epsilon=0.2, grid=(2, 2))
        with pytest.raises(BudgetExhausted, match="window of 1d"):
            federation.publish(epsilon=0.2, since=DAY.format(2), until=DAY.format(6))
        assert before == (federation.spent, len(federation.ledger.entries()))
        federation.count(HERE, epsilon=1, since=DAY.format(4), until=DAY.format(5))


@pytest.mark.parametrize("counted", [{}, {"accounting": "zcdp", "delta": 1e-6}])
@pytest.mark.parametrize("unit", ["record", "owner"])
def test_what_is_told_to_be_left_in_windows_can_be_spent_there_and_no_more(counted: dict, unit: str) -> None:
    cut = {} if unit == "record" else {"unit": "owner", "max_records": 10}
    with week(budget=10, windows=3, **counted, **cut) as federation:
        federation.count(HERE, epsilon=0.1, since=DAY.format(3), until=DAY.format(4))
        told = {}
        for day in (3, 5, 7):
            told[day] = federation.left_in(DAY.format(day), DAY.format(day + 1))
            said = {"epsilon": told[day], "since": DAY.format(day), "until": DAY.format(day + 1)}
            assert federation.expect("count", HERE, **said).affordable
            dearer = federation.expect("count", HERE, **said | {"epsilon": told[day] + 1e-8})
            assert (dearer.affordable, dearer.left_in_windows) == (False, told[day])
            with pytest.raises(BudgetExhausted, match="windows of 1d"):
                federation.count(HERE, **said | {"epsilon": told[day] + 1e-8})
        assert (told[3] == told[5] < told[7]) == (unit == "record")
        federation.count(HERE, epsilon=told[3], since=DAY.format(3), until=DAY.format(4), fresh=True)
        assert federation.left_in(DAY.format(5), DAY.format(6)) < 1e-4
        assert federation.left_in() <= federation.left_in(DAY.format(5), DAY.format(6)) < federation.left
        assert "3 consecutive windows of 1d" in str(federation.windows_left)


def test_without_a_budget_of_windows_a_time_has_what_is_left_in_all() -> None:
    with fg.Federation(fg.synthesize(owners=20, seed=1), budget=2) as federation:
        assert (federation.windows_left, federation.left_in(DAY.format(3))) == (None, 2)
    with fg.Federation(fg.synthesize(owners=20, seed=1)) as federation:
        assert federation.left_in(DAY.format(3), DAY.format(4)) is None


def test_consecutive_windows_share_a_budget() -> None:
    with week(windows=3) as federation:
        for day in (2, 4):
            federation.count(HERE, epsilon=0.5, since=DAY.format(day), until=DAY.format(day + 1))
        with pytest.raises(BudgetExhausted, match="3 consecutive windows"):
            federation.count(HERE, epsilon=0.1, since=DAY.format(3), until=DAY.format(4))
        federation.count(HERE, epsilon=0.5, since=DAY.format(7), until=DAY.format(8))


def test_people_are_charged_by_windows_and_records_of_subjects_in_all() -> None:
    with week(unit="subject", max_records=5, max_bins=2) as federation:
        day = {"since": DAY.format(2), "until": DAY.format(3)}
        federation.people(HERE, epsilon=0.25, **day)
        assert [spent(federation, at) for at in (2, 3)] == [0.25, 0]
        federation.count(HERE, epsilon=0.25, **day)
        assert [spent(federation, at) for at in (2, 3)] == [0.5, 0.25]
        federation.map(kind="people", grid=(2, 2), epsilon=0.1, since=DAY.format(4), until=DAY.format(6))
        assert [spent(federation, at) for at in (3, 4, 5)] == [0.25, 0.45, 0.45]


def test_rho_is_counted_in_windows_too() -> None:
    with week(budget=2, accounting="zcdp", delta=1e-6) as federation:
        federation.map(grid=(4, 4), rho=0.01, since=DAY.format(2), until=DAY.format(9), every="1d")
        found = federation.ledger.windows_spent().spread()
        assert [units for _, _, units in found] == [10**10]
