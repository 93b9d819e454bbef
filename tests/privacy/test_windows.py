"""Budgets per window: lengths, runs of windows, and what is refused."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.privacy.accounting import PURE
from fedgroup.privacy.windows import (
    FIRST,
    LAST,
    Span,
    WindowBudget,
    WindowsSpent,
    change_of_windows,
    settle_windows,
    window_length,
)

HOUR = 3_600_000_000
charges = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(0, 8), st.integers(0, 5), st.sampled_from(["some", "from", "to", "all"])),
    max_size=8,
)


def charged(said: list[tuple[int, int, int, str]]) -> tuple[WindowsSpent, Counter[int]]:
    """What was charged, and the same window by window in a part of all time that holds every change."""
    spent, plain = WindowsSpent(), Counter[int]()
    for first, length, units, where in said:
        begin = FIRST if where in ("to", "all") else first
        end = LAST if where in ("from", "all") else first + length
        spent = spent.after(begin, end, units)
        plain.update({window: units for window in range(-30, 31) if begin <= window <= end})
    return spent, plain


@settings(max_examples=60, deadline=None)
@given(charges, st.integers(1, 5), st.integers(-6, 6), st.integers(0, 8))
def test_runs_of_windows_cost_what_their_windows_do(said: list[Any], count: int, first: int, length: int) -> None:
    spent, plain = charged(said)
    assert all(spent.every + spent.at(window) == plain[window] for window in range(-20, 20))
    begins = range(first - count + 1, first + length + 1)
    most = max(sum(plain[window] for window in range(begin, begin + count)) for begin in begins)
    assert spent.most_in_a_row(count, first, first + length) == most


@settings(max_examples=60, deadline=None)
@given(charges, st.integers(1, 4), st.integers(1, 12))
def test_whatever_is_charged_no_run_of_windows_ends_above_the_cap(said: list[Any], count: int, cap: int) -> None:
    budget, spent = WindowBudget(HOUR, Epsilon(cap), count), WindowsSpent()
    for first, length, units, where in said:
        since = None if where in ("to", "all") else budget.begin_of(first)
        until = None if where in ("from", "all") else budget.begin_of(first + length + 1)
        before, cost = spent, (units, Span(since, until))
        try:
            for added in settle_windows([cost], budget=budget, before=spent, accounting=PURE):
                spent = spent.after(*added)
        except BudgetExhausted:
            assert spent == before
            assert spent.after(*budget.met_by(cost[1]), units).most_in_a_row(count, -40, 40) > cap
    assert spent.most_in_a_row(count, -40, 40) <= cap


def test_windows_are_said_by_name_or_length_and_weeks_begin_on_mondays() -> None:
    assert [window_length(each) for each in ("hour", "day", "week", "15min")] == [
        HOUR,
        24 * HOUR,
        168 * HOUR,
        HOUR // 4,
    ]
    week = WindowBudget(window_length("week"), Epsilon(1))
    noon = int(datetime(2026, 11, 16, 12, tzinfo=UTC).timestamp()) * 1_000_000  # a Monday
    assert week.window_of(noon) == week.window_of(noon - 12 * HOUR) != week.window_of(noon - 12 * HOUR - 1)
    for wrong in ("month", "0h", 3, None):
        with pytest.raises(InvalidInput, match="hour, day, week"):
            window_length(wrong)
    with pytest.raises(InvalidInput, match="needs both"):
        WindowBudget.said("day", None)
    with pytest.raises(InvalidInput, match="windows"):
        WindowBudget.said("day", 1, 0)


def test_what_is_refused_tells_the_windows_and_what_is_left() -> None:
    budget, spent = WindowBudget(HOUR, Epsilon.of(1), 24), WindowsSpent(0, ((0, 750_000_000), (1, 0)))
    cost = 300_000_000, Span(budget.begin_of(0), budget.begin_of(1))
    with pytest.raises(BudgetExhausted, match=r"0\.25 of the budget of 1 for 24 consecutive windows of 1h") as refusal:
        settle_windows([cost], budget=budget, before=spent, accounting=PURE)
    assert (refusal.value.left, refusal.value.cap) == (0.25, 1)


def test_windows_change_with_a_new_epoch_only_and_their_cap_is_raised_on_purpose() -> None:
    daily, weekly = WindowBudget(24 * HOUR, Epsilon.of(1)), WindowBudget(168 * HOUR, Epsilon.of(1))
    with pytest.raises(InvalidInput, match="while an epoch lasts"):
        change_of_windows(daily, weekly, raising=True, fresh=False)
    with pytest.raises(InvalidInput, match="raise"):
        change_of_windows(daily, WindowBudget(24 * HOUR, Epsilon.of(2)), raising=False, fresh=False)
    assert "of 1w" in change_of_windows(daily, weekly, raising=False, fresh=True)
