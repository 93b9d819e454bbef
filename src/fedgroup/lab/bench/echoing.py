"""A bare echo on the very links that owners answer through: what the same messages take when nobody does anything.

A *kept* echo is written to an SQLite file of the owner's own, durably, before it is sent back: no owner that charges
first can be faster.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fedgroup.transport.links import Hear
from fedgroup.transport.topics import PROVIDER

_PATIENCE_S = 60.0
_BARE, _KEPT = b"echo bare", b"echo kept"


class EchoingOwner:
    """An owner's link that sends back what is for no owner, and passes on the rest."""

    def __init__(self, link: Any, *, file: Path | None = None) -> None:
        """Without a `file`, echoes are not kept, whatever they ask for."""
        self._link = link
        self._kept = None if file is None else sqlite3.connect(file, isolation_level=None)
        if self._kept is not None:
            self._kept.execute("PRAGMA journal_mode = WAL")
            self._kept.execute("PRAGMA synchronous = FULL")
            self._kept.execute("CREATE TABLE IF NOT EXISTS kept (message BLOB)")

    def listen(self, hear: Hear) -> None:
        """Hand on what is for the owner."""

        def heard(sender: str, payloads: Sequence[bytes], came_at: float) -> None:
            echoes = [each for each in payloads if each.startswith((_BARE, _KEPT))]
            if not echoes:
                hear(sender, payloads, came_at)
                return
            if self._kept is not None:
                self._kept.executemany("INSERT INTO kept VALUES (?)", [(e,) for e in echoes if e.startswith(_KEPT)])
            self._link.say([(PROVIDER, each) for each in echoes])
            hear(sender, [each for each in payloads if each not in echoes], came_at)

        self._link.listen(heard)

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Send as the link does."""
        self._link.say(messages)

    def when_left(self, call: Callable[[], None]) -> None:
        """Call as the link does."""
        self._link.when_left(call)

    def hold(self) -> None:
        """Read nothing more, as the link does."""
        self._link.hold()

    def go_on(self) -> None:
        """Read again, as the link does."""
        self._link.go_on()


class EchoingProvider:
    """A provider's link that counts echoes, and passes on the rest."""

    def __init__(self, link: Any) -> None:
        self._link = link
        self._numbers = itertools.count()
        self._awaited: dict[bytes, tuple[int, asyncio.Event]] = {}
        self.heard_at: list[float] | None = None
        """When each message came that is not an echo; noted where somebody wants to know."""

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send as the link does."""
        await self._link.send_many(messages)

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield what is for the provider."""
        async for owner, payload in self._link.received():
            if payload.startswith((_BARE, _KEPT)):
                self._count(payload)
            else:
                if self.heard_at is not None:
                    self.heard_at.append(time.perf_counter())
                yield owner, payload

    async def echo(self, owners: Sequence[str], *, size: int, kept: bool = False) -> None:
        """Send every owner a message of so many bytes, and wait until all came back; many may do so at once."""
        message = ((_KEPT if kept else _BARE) + b" %d " % next(self._numbers)).ljust(size)
        all_in = asyncio.Event()
        self._awaited[message] = len(owners), all_in
        await self._link.send_many((owner, message) for owner in owners)
        await asyncio.wait_for(all_in.wait(), _PATIENCE_S)

    def _count(self, message: bytes) -> None:
        awaited, all_in = self._awaited.pop(message)
        if awaited == 1:
            all_in.set()
        else:
            self._awaited[message] = awaited - 1, all_in
