"""Results come in order, few at a time, and none is lost with a worker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from fedgroup.cluster.ordered import in_order

PATIENCE_S = 60.0


class Overtaken:
    """Gives a number back; even ones only after the odd one behind them was given back."""

    def __init__(self, count: int) -> None:
        self._given = [threading.Event() for _ in range(count)]

    def __call__(self, number: int) -> int:
        if number % 2 == 0:
            assert self._given[number + 1].wait(PATIENCE_S)
        self._given[number].set()
        return number


def given_back(number: int) -> int:
    return number


def only_here(number: int) -> int:
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("the worker died")
    return -number


class Lazy(Executor):
    """Does nothing before it is asked for a result, and counts what it was given and what was cancelled."""

    def __init__(self) -> None:
        self.given: list[Future[Any]] = []

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.result = lambda timeout=None: task(*arguments)
        self.given.append(future)
        return future


def test_results_come_in_the_order_of_items() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(in_order(pool, Overtaken(20), range(20), ahead=8)) == list(range(20))


def test_only_a_few_are_under_way() -> None:
    lazy = Lazy()
    seen = [len(lazy.given) - taken for taken, _ in enumerate(in_order(lazy, given_back, range(10), ahead=3))]
    assert seen == [3] * 8 + [2, 1]


def test_what_nobody_takes_any_more_is_cancelled() -> None:
    lazy = Lazy()
    results = in_order(lazy, given_back, range(10), ahead=4)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert [future.cancelled() for future in lazy.given] == [False, True, True, True]


def test_what_workers_fail_to_do_is_done_here() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert list(in_order(pool, only_here, range(5), ahead=2)) == [0, -1, -2, -3, -4]


def test_an_executor_that_was_shut_down_costs_no_result() -> None:
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    assert list(in_order(pool, given_back, range(5), ahead=2)) == list(range(5))


def test_what_fails_here_too_is_raised() -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError):
        list(in_order(pool, lambda number: 1 // number, range(5), ahead=2))
