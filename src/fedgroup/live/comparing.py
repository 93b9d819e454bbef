"""Secure comparisons of two live owners, carried by the provider: it sees sealed frames, and learns one bit."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable

import numpy as np

from fedgroup.live.desk import Desk
from fedgroup.messages.asked import Relay
from fedgroup.messages.said import Relayed
from fedgroup.secure.sign import Bits

_MOST_STEPS = 64


class Comparing:
    """Compares owners two by two over one grid, as grouping asks for it."""

    def __init__(self, desk: Desk, *, grid: tuple[int, int], threshold: float, seconds: float) -> None:
        self._desk = desk
        self._grid = grid
        self._threshold = threshold
        self._seconds = seconds
        self.refused: set[str] = set()

    def from_thread(self, names: list[str]) -> Callable[[int, int], tuple[Bits, Bits]]:
        """Return a comparison for code that runs in a thread beside this event loop."""
        loop = asyncio.get_running_loop()
        return lambda i, j: asyncio.run_coroutine_threadsafe(self.shares(names[i], names[j]), loop).result()

    async def shares(self, first: str, second: str) -> tuple[Bits, Bits]:
        """Return both sides' shares of the bit; owners that will not be compared are a "no"."""
        if self.refused.intersection((first, second)):
            return _bit(0), _bit(0)
        session = secrets.token_bytes(16)
        shares: dict[str, int] = {}
        waiting = deque([(first, b""), (second, b"")])
        for _ in range(_MOST_STEPS):
            if not waiting or len(shares) == 2:
                break
            owner, frame = waiting.popleft()
            other = second if owner == first else first
            reply = await self._step(session, owner, other, frame, first=owner == first)
            if reply is None:
                return _bit(0), _bit(0)
            waiting.extend((other, sealed) for sealed in reply.frames)
            if reply.share is not None:
                shares[owner] = reply.share
        return (_bit(shares[first]), _bit(shares[second])) if len(shares) == 2 else (_bit(0), _bit(0))

    async def _step(self, session: bytes, owner: str, other: str, frame: bytes, *, first: bool) -> Relayed | None:
        certificate = self._desk.certificates.get(other, b"")
        message = Relay(session, certificate, *self._grid, self._threshold, first, frame, self._desk.agreed)
        replies = await self._desk.ask(session, {owner: message}, (Relayed,), seconds=self._seconds)
        if owner not in replies.said:
            self.refused.add(owner)
        return replies.said.get(owner)


def _bit(value: int) -> Bits:
    return np.array([value], dtype=np.uint8)
