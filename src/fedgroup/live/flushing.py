"""Many owners' ledgers written to disk at the same time: each waits for its own, and none for the others' turns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from fedgroup.errors import LedgerUnavailable

_THREADS = 8
_MOST_AT_ONCE = 16
"""How many ledgers a thread flushes before it tells: more make fewer wake-ups, fewer make shorter waits."""


class Flushed(Protocol):
    """Something that is on disk once `flush` has returned, or as long as it is not `unflushed`."""

    @property
    def unflushed(self) -> bool: ...

    def flush(self) -> None: ...


class Flushing:
    """Flushes in threads what asks for it: those that ask while all threads are busy go together.

    Guarantee: `flushed` returns after a `flush` of the same ledger that began after it was called, or raises its error.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="flush")
        self._waiting: list[tuple[Flushed, asyncio.Future[None]]] = []
        self._busy = 0
        self._soon = False

    async def flushed(self, ledger: Flushed) -> None:
        """Return when everything that the ledger was told is on disk."""
        if not ledger.unflushed:
            return
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((ledger, done))
        if not self._soon:
            self._soon = True
            loop.call_soon(self._start, loop)
        await done

    def close(self) -> None:
        """End the threads; nothing may wait any more."""
        self._pool.shutdown(wait=True)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._soon = False
        while self._waiting and self._busy < _THREADS:
            some, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            self._busy += 1
            try:
                self._pool.submit(self._flush, some, loop)
            except RuntimeError:
                error = LedgerUnavailable("no thread can be started to write ledgers to disk")
                loop.call_soon(self._told, [done for _, done in some], [error] * len(some), loop)
                return

    def _flush(self, some: Sequence[tuple[Flushed, asyncio.Future[None]]], loop: asyncio.AbstractEventLoop) -> None:
        errors = [_error_of(ledger) for ledger, _ in some]
        loop.call_soon_threadsafe(self._told, [done for _, done in some], errors, loop)

    def _told(
        self,
        waiting: Sequence[asyncio.Future[None]],
        errors: Sequence[Exception | None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._busy -= 1
        for done, error in zip(waiting, errors, strict=True):
            if done.done():  # cancelled: its owner is stopping
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
        self._start(loop)


def _error_of(ledger: Flushed) -> Exception | None:
    try:
        ledger.flush()
    except Exception as error:
        return error
    return None
