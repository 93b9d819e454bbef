"""Waits grow, end at a bound, and differ between owners."""

from __future__ import annotations

from fedgroup.transport.backoff import Backoff

BACKOFF = Backoff(first_s=0.25, most_s=15)


def test_waits_double_up_to_a_bound() -> None:
    for attempt in range(40):
        whole = min(15, 0.25 * 2**attempt)
        assert whole / 2 <= BACKOFF.wait_s("ann", attempt) <= whole


def test_a_thousand_owners_do_not_come_back_at_once() -> None:
    waits = sorted(BACKOFF.wait_s(f"owner-{number}", 3) for number in range(1_000))
    busiest = max(sum(start <= wait < start + 0.1 for wait in waits) for start in waits)
    assert busiest < 200  # 100 on average in a tenth of a second, over a second


def test_no_number_of_attempts_is_too_large() -> None:
    assert 7.5 <= BACKOFF.wait_s("ann", 10**6) <= 15


def test_who_lost_a_broker_of_many_thousands_comes_back_spread_over_the_time_that_is_said() -> None:
    spread = Backoff(first_s=0.25, most_s=15, spread_s=40)
    waits = [spread.wait_s(f"owner-{number}", 0) for number in range(1_000)]
    busiest = max(sum(start <= wait < start + 1 for wait in waits) for start in waits)
    assert 39 < max(waits) < 41
    assert busiest < 75  # 25 on average in a second
    assert [spread.wait_s("ann", attempt) for attempt in (1, 5)] == [BACKOFF.wait_s("ann", each) for each in (1, 5)]
