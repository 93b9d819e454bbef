"""Tasks shared out to an executor's workers, with results in order and none lost with a worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    executor: Executor, task: Callable[[Item], Result], items: Iterable[Item], *, ahead: int
) -> Iterator[Result]:
    """Yield `task(item)` of every item, in order; up to `ahead` of them are under way or waiting to be taken.

    What a worker fails to do is done by this process, which raises the error if it fails here too: a worker that dies
    costs time, not results.
    """
    waiting: deque[tuple[Future[Result], Item]] = deque()
    try:
        for item in items:
            waiting.append((_submitted(executor, task, item), item))
            if len(waiting) >= ahead:
                yield _result(task, *waiting.popleft())
        while waiting:
            yield _result(task, *waiting.popleft())
    finally:
        for future, _ in waiting:
            future.cancel()


def _submitted(executor: Executor, task: Callable[[Item], Result], item: Item) -> Future[Result]:
    try:
        return executor.submit(task, item)
    except RuntimeError as broken:
        failed: Future[Result] = Future()
        failed.set_exception(broken)
        return failed


def _result(task: Callable[[Item], Result], future: Future[Result], item: Item) -> Result:
    try:
        return future.result()
    except Exception:
        return task(item)
