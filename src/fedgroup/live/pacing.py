"""Public moments at which an owner begins what it was asked and says what it made: times of answers tell nothing.

A period of some milliseconds is public. What arrived is handed on at the next whole multiple of it, by the clock of the
event loop, and what is said leaves at the next multiple after it was ready. So the time of a reply is a multiple that
follows from the time of the question, unless the work on all that arrived within one period takes longer than a period.

Guarantee: who sees when messages to and from the owners of a process come and leave learns, while the work on what came
           within any one period is done and on disk within the next, when they came, and nothing else. The work on a
           lone message that takes longer tells how many periods it took.
Proof:     docs/guarantees.md#times-of-answers
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from fedgroup.transport.inbox import Pulse

EVERY_MS = 10.0
"""Milliseconds between two moments, unless an owner's file says otherwise."""
_MOST_HELD = 256
_MOST_HELD_BYTES = 4 << 20
"""How many letters, and bytes of them, wait for their moment before whoever sends more has to wait too."""
_TURNS = 4
"""So many turns of the event loop are left to those that send at a moment before anybody begins to work at it."""


class Link(Protocol):
    """One end of a wire."""

    @property
    def waited_s(self) -> float: ...

    async def send(self, to: str, payload: bytes) -> None: ...

    def received(self) -> AsyncIterator[tuple[str, bytes]]: ...


class Moments:
    """The whole multiples of a period, for all owners of an event loop: at each, first letters leave, then work begins.

    One timer serves all of them. It is set only while somebody waits.
    """

    def __init__(self, every_s: float) -> None:
        self.every_s = every_s
        self._leaving: list[Callable[[], None]] = []
        self._beginning: list[asyncio.Future[None]] = []
        self._awaited = False
        self.begun_at = -math.inf
        """When work was last let begin, by the loop's time: what was to leave before it has left."""

    async def come(self) -> None:
        """Wait until work may begin at the next moment."""
        begin: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._beginning.append(begin)
        self._await()
        await begin

    def call_at_next(self, leave: Callable[[], None]) -> None:
        """Call something at the next moment, before anybody begins to work at it."""
        self._leaving.append(leave)
        self._await()

    def first_since(self, moment_s: float) -> float:
        """Return the first moment that is not before this time of the loop."""
        return self.every_s * math.ceil(moment_s / self.every_s)

    def _await(self) -> None:
        if not self._awaited:
            self._awaited = True
            loop = asyncio.get_running_loop()
            loop.call_at(self.every_s * (math.floor(loop.time() / self.every_s) + 1), self._has_come, loop)

    def _has_come(self, loop: asyncio.AbstractEventLoop) -> None:
        self._awaited = False
        leaving, self._leaving = self._leaving, []
        beginning, self._beginning = self._beginning, []
        for leave in leaving:
            leave()
        self._let_begin(loop, beginning, _TURNS)

    def _let_begin(self, loop: asyncio.AbstractEventLoop, beginning: list[asyncio.Future[None]], turns: int) -> None:
        if turns:
            loop.call_soon(self._let_begin, loop, beginning, turns - 1)
            return
        self.begun_at = loop.time()
        for begin in beginning:
            if not begin.done():  # cancelled: its owner is stopping
                begin.set_result(None)


def paced(link: Link, moments: Moments) -> Link:
    """Return a link on which messages come and leave at these moments; without a period, the link as it is."""
    return PacedLink(link, moments) if moments.every_s else link


class PacedLink:
    """A link on which messages come and leave at public moments only.

    Letters leave in their order. Those that wait when the event loop ends are lost, as those of a lost connection are.
    """

    def __init__(self, link: Link, moments: Moments) -> None:
        self._link = link
        self._moments = moments
        self._held: list[tuple[str, bytes]] = []
        self._held_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._sending: asyncio.Task[None] | None = None
        self._kept_s = 0.0

    @property
    def every_s(self) -> float:
        return self._moments.every_s

    @property
    def waited_s(self) -> float:
        """How long the message received last had waited, that it waited for its moment included."""
        return self._link.waited_s + self._kept_s

    async def send(self, to: str, payload: bytes) -> None:
        """Let a letter leave at the next moment; who sends many waits until there is room for more."""
        await self._room.wait()
        if not self._held:
            self._moments.call_at_next(self._leave)
        self._held.append((to, payload))
        self._held_bytes += len(payload)
        if len(self._held) >= _MOST_HELD or self._held_bytes >= _MOST_HELD_BYTES:
            self._room.clear()

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (sender, payload) until the link is closed, each at the first moment after it came, or later."""
        loop = asyncio.get_running_loop()
        async for sender, payload in self._link.received():
            taken_at = Pulse.now()
            # not by the clock alone: a moment that is over may not have been served, and letters wait for it
            if self._moments.first_since(loop.time() - self._link.waited_s) > self._moments.begun_at:
                await self._moments.come()
            self._kept_s = Pulse.now() - taken_at
            yield sender, payload

    def _leave(self) -> None:
        """Send what is ready; while what left before is still on its way, at a later moment."""
        if self._sending is not None and not self._sending.done():
            self._moments.call_at_next(self._leave)
            return
        ready, self._held, self._held_bytes = self._held, [], 0
        self._room.set()
        self._sending = asyncio.create_task(self._send(ready))

    async def _send(self, letters: list[tuple[str, bytes]]) -> None:
        for to, payload in letters:
            await self._link.send(to, payload)
