"""Time that stands still while anybody has something to do, and jumps to the next deadline when nobody has.

Parties of one process answer in no time at all then, however busy the machine is: a deadline passes only where somebody
is silent, and whatever was to happen before it has happened. Work in threads of the loop's executor is waited for.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from fedgroup.transport.inbox import Pulse

T = TypeVar("T")


def in_driven_time(story: Coroutine[Any, Any, T]) -> T:
    """Run a story to its end in an event loop whose time is driven, and return its result."""
    with asyncio.Runner(loop_factory=DrivenLoop) as runner, pytest.MonkeyPatch.context() as driven:
        driven.setattr(Pulse, "now", staticmethod(runner.get_loop().time))
        return runner.run(story)


class DrivenLoop(asyncio.SelectorEventLoop):
    """An event loop that waits for threads and sockets, and never for a clock."""

    def __init__(self) -> None:
        self._now = 0.0
        self._threads = 0
        super().__init__(_Drive(self))

    def time(self) -> float:
        return self._now

    def stand_still(self, seconds: float) -> None:
        """Let time pass in which this loop does not run."""
        self._now += seconds

    def run_in_executor(self, *work: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        self._threads += 1
        done = super().run_in_executor(*work)
        done.add_done_callback(self._thread_ended)
        return done

    def _thread_ended(self, _: asyncio.Future[Any]) -> None:
        self._threads -= 1


class _Drive(selectors.DefaultSelector):
    """Tells a loop of what came; where it would wait, the loop's time jumps instead."""

    def __init__(self, loop: DrivenLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or self._loop._threads:
            return super().select(timeout if timeout == 0 else None)
        found = super().select(0)
        if not found:
            self._loop._now += max(timeout, 0.0)
        return found
