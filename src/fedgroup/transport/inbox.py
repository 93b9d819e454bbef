"""Messages that arrived and wait to be taken, in order, never many more than a bound, in number and in bytes."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable

BEAT_S = 0.25
_GAP_S = 2 * BEAT_S
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where there is such a clock."""


class Pulse:
    """Since when a message may have lain about: a process that was busy, stopped or asleep reads it late. Use `of`.

    A pulse beats while its event loop runs. Where it did not beat, nothing was read: what is read next may have come at
    any moment since the last beat.
    """

    def __init__(self) -> None:
        self._last = self.now()
        self._gap_since: float | None = None

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Pulse:
        """Return the pulse of a loop, which beats from the first time on that somebody asks."""
        pulse = _PULSES.get(loop)
        if pulse is None:
            pulse = _PULSES[loop] = cls()
            pulse._beat(loop)
        return pulse

    @staticmethod
    def now() -> float:
        return time.clock_gettime(_CLOCK)

    def earliest(self) -> float:
        """Return the earliest moment at which what is read now may have come."""
        now = self.now()
        if now - self._last >= _GAP_S:
            return self._last
        return now if self._gap_since is None else self._gap_since

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        now = self.now()
        # a late beat may come before what waited is read: until the next one in time, all of that is late too
        self._gap_since = self._last if now - self._last >= _GAP_S else None
        self._last = now
        loop.call_later(BEAT_S, self._beat, loop)


_PULSES: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Pulse] = weakref.WeakKeyDictionary()


MOST_WAITING = 20_000
"""Several answers of each of a thousand owners."""

MOST_WAITING_BYTES = 64 << 20
"""The vectors of a thousand owners; 64 of the longest messages there can be."""


class Inbox:
    """A queue that says when it is full and when there is room again, and ends when it is closed.

    `came_at` is the earliest moment, by `Pulse.now`, at which the message taken last may have come.
    """

    def __init__(
        self,
        *,
        most: int = MOST_WAITING,
        most_bytes: int = MOST_WAITING_BYTES,
        when_full: Callable[[], None] = lambda: None,
        when_room: Callable[[], None] = lambda: None,
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._when_full = when_full
        self._when_room = when_room
        self._waiting: deque[tuple[str, bytes, float]] = deque()
        self._pulse: Pulse | None = None
        self.came_at = 0.0
        self._bytes = 0
        self._news = asyncio.Event()
        self._full = False
        self._closed = False

    @property
    def full(self) -> bool:
        """Whether the sender should hold back, until half of what waits is taken."""
        return self._full

    def put(self, sender: str, payload: bytes) -> None:
        """Add a message to the end."""
        if self._pulse is None:
            self._pulse = Pulse.of(asyncio.get_running_loop())
        self._waiting.append((sender, payload, self._pulse.earliest()))
        self._bytes += len(payload)
        self._news.set()
        if not self._full and (len(self._waiting) >= self._most or self._bytes >= self._most_bytes):
            self._full = True
            self._when_full()

    def close(self) -> None:
        """End: what waits can still be taken, and then there is no more."""
        self._closed = True
        self._news.set()

    async def taken(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield messages as they come, until the inbox is closed."""
        while await self.until_any():
            yield self.take()

    async def until_any(self) -> bool:
        """Wait until a message waits; tell whether one does, or the inbox was closed before."""
        while not self._waiting and not self._closed:
            self._news.clear()
            await self._news.wait()
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> tuple[str, bytes]:
        """Take the next message; there must be one."""
        sender, payload, self.came_at = self._waiting.popleft()
        self._bytes -= len(payload)
        if self._full and len(self._waiting) <= self._most // 2 and self._bytes <= self._most_bytes // 2:
            self._full = False
            self._when_room()
        return sender, payload
