"""Who connects when, of the many parties of one process: a few at a time, so that every handshake is over soon.

A broker that comes back is met by all its parties at once. Handshakes that share a processor all end late, and those
that end too late are begun again. In turn, each takes as long as one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 24
"""Handshakes that one process has under way; on one core, that is a tenth of a second's work."""
_PINGS_A_SECOND = 100
_SHORTEST_S = 10
_LONGEST_S = 120


class Joining:
    """Turns to connect, in the order in which they were asked for."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until it is this party's turn; it lasts as long as the context."""
        async with self._free:
            yield


def keepalive_s(parties: int) -> int:
    """Return how often each of so many parties of a process shows that it is there: a hundred a second in all, at most.

    A process that ends takes its connections with it, and the broker knows at once. What is noticed later, where there
    are many, is a machine that vanished.
    """
    return min(_LONGEST_S, max(_SHORTEST_S, 2 * parties // _PINGS_A_SECOND))
