"""Methods run on invented records for visitors: in a thread of their own, one at a time, and not too often.

How a method is run is given to the pages by whoever starts them, for it needs a whole federation in one process, and
that is out of reach of what serves. Nothing here knows the provider, its owners or anybody's budget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fedgroup.service.problems import Problem

PER_MINUTE = 30
MOST_WAITING = 8
"""How many runs may wait for their turn."""


@dataclass(frozen=True)
class Example:
    """How a method answered a question about invented records, and what it took."""

    value: float
    interval: tuple[float, float]
    exact: int
    groups: int
    noises: float
    grouping_seconds: float | None
    asking_seconds: float
    seen: str
    """What each party saw, in one line."""


@dataclass(frozen=True)
class ExampleCity:
    """An invented city to run methods on: what it is, and how each is run, by its title."""

    about: str
    run: Mapping[str, Callable[[], Example]]


class ExampleRuns:
    """Runs of methods, each when it is its turn."""

    def __init__(self, city: ExampleCity, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.city = city
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="example")
        self._waiting = 0
        self._begun: dict[str, list[float]] = {}

    async def run(self, session: str, title: str) -> Example:
        """Return how a method did, or say when the next run of this session is welcome."""
        if self._waiting >= MOST_WAITING:
            raise Problem("too-many-questions", "others are running examples; try again in a moment", retry_after=1)
        self._count(session)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self.city.run[title])
        finally:
            self._waiting -= 1

    def _count(self, session: str) -> None:
        now = self._clock()
        recent = {name: [at for at in begun if now - at < 60] for name, begun in self._begun.items()}
        self._begun = {name: begun for name, begun in recent.items() if begun}
        own = self._begun.setdefault(session, [])
        if len(own) >= PER_MINUTE:
            wait = 60 - (now - own[0])
            text = f"{PER_MINUTE} examples a minute are allowed; the next one is welcome in {wait:.0f} s"
            raise Problem("too-many-questions", text, retry_after=wait)
        own.append(now)
