"""Messages that arrived and wait to be taken, in order, never many more than a bound, in number and in bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from fedgroup.transport.pulse import Pulse

MOST_WAITING = 20_000
"""Several answers of each of a thousand owners."""

MOST_WAITING_BYTES = 64 << 20
"""The vectors of a thousand owners; 64 of the longest messages there can be."""


class Inbox:
    """A queue that says when it is full and when there is room again, and ends when it is closed.

    `waited_s` is how long the message taken last may have waited, here and before it was read.
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
        self.waited_s = 0.0
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
        while True:
            while self._waiting:
                yield self._take()
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()

    def _take(self) -> tuple[str, bytes]:
        sender, payload, arrived = self._waiting.popleft()
        self.waited_s = Pulse.now() - arrived
        self._bytes -= len(payload)
        if self._full and len(self._waiting) <= self._most // 2 and self._bytes <= self._most_bytes // 2:
            self._full = False
            self._when_room()
        return sender, payload
