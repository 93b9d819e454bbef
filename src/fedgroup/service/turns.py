"""Who is let in: so many questions are under way at once, some wait, and more are refused before anybody is charged.

How many depends on public quantities only: how many owners a question goes to, and settings. How long owners take
depends on their records, so nothing here looks at a clock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fedgroup.service.problems import Problem

WAITING = 8
"""How many may wait for each that is under way."""
_UNPAID = 16
"""Of so many turns one is for those who can pay for nothing, and may find an answer that is there already."""
AGAIN_S = 1.0


class Turns:
    """Turns of questions, first come, first served; `at_once` tells how many there are now."""

    def __init__(self, at_once: Callable[[], int], *, waiting: int = WAITING) -> None:
        self._lanes = {
            True: _TurnLane(at_once, waiting),
            False: _TurnLane(lambda: max(1, at_once() // _UNPAID), waiting),
        }

    @asynccontextmanager
    async def taken(self, *, paid: bool) -> AsyncIterator[None]:
        """Wait for a turn and keep it while the context lasts; one too many is refused at once."""
        lane = self._lanes[paid]
        await lane.take()
        try:
            yield
        finally:
            lane.give_back()


class _TurnLane:
    """Turns of one kind."""

    def __init__(self, at_once: Callable[[], int], waiting: int) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = 0

    async def take(self) -> None:
        if self._taken < self._at_once() and not self._waiting:
            self._taken += 1
            return
        if len(self._waiting) >= self._most_waiting * self._at_once():
            text = "too many questions are under way; nothing was charged"
            raise Problem("too-busy", text, retry_after=AGAIN_S, charged=False)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was this one's turn
                self.give_back()
            raise

    def give_back(self) -> None:
        self._taken -= 1
        while self._waiting and self._taken < self._at_once():
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._taken += 1
