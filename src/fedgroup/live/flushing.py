"""Many owners' ledgers written to disk at the same time: each waits for its own, and none for the others' turns.

Ledgers that are in one file are flushed together: one flush serves all who asked for it before it began.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from fedgroup.errors import LedgerUnavailable
from fedgroup.live.threads import Once
from fedgroup.transport.guarding import guarded

_THREADS = 8
_MOST_AT_ONCE = 16
"""How many files a thread flushes before it tells: more make fewer wake-ups, fewer make shorter waits."""


class Flushed(Protocol):
    """Something that is on disk once `flush` has returned, or as long as it is not `unflushed`."""

    @property
    def unflushed(self) -> bool: ...

    def flush(self) -> None: ...


Told = Callable[[Exception | None], None]
"""Is told that something is on disk, or why not."""


@dataclass(eq=False)
class _Disk:
    """What is flushed as one, and who waits for that."""

    file: Flushed
    shared: bool
    waiting: list[Told] = field(default_factory=list)


@dataclass(eq=False)
class _Batch:
    """What one thread is to flush."""

    disks: list[_Disk]
    once: Once = field(default_factory=Once)


class Flushing:
    """Flushes in threads what asks for it: those that ask while all threads are busy go together.

    A ledger in a file of many has that file as its `disk`. Such a file is flushed by one thread at a time: who asks
    while that goes on is served by the next flush, together with all others.

    Guarantee: who asks is told after a `flush` of the same ledger that began after it asked, or of its error; never
               twice, and never before.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="flush")
        self._waiting: dict[int, _Disk] = {}
        self._flying: set[int] = set()
        self._busy = 0
        self._soon = False

    def when_flushed(self, ledger: Flushed, told: Told) -> None:
        """Call `told` when everything that the ledger holds now is on disk: at once if it is."""
        if not ledger.unflushed:
            told(None)
            return
        disk: Flushed = getattr(ledger, "disk", ledger)
        self._waiting.setdefault(id(disk), _Disk(disk, disk is not ledger)).waiting.append(told)
        if not self._soon:
            self._soon = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._start, loop)

    def close(self) -> None:
        """End the threads; nothing may wait any more."""
        self._pool.shutdown(wait=True)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._soon = False
        while self._busy < _THREADS and (some := self._some()):
            self._busy += 1
            self._flying |= {id(each.file) for each in some if each.shared}
            batch = _Batch(some)
            try:
                self._pool.submit(self._flush, batch, loop)
            except RuntimeError:  # it lies in the pool's queue all the same: a thread may come to it yet
                if batch.once.take():
                    error = LedgerUnavailable("no thread can be started to write ledgers to disk")
                    loop.call_soon(self._told, some, [error] * len(some), loop)
                return

    def _some(self) -> list[_Disk]:
        """Return, and forget, some that wait and are not being flushed."""
        free = (name for name in self._waiting if name not in self._flying)
        return [self._waiting.pop(name) for name in list(itertools.islice(free, _MOST_AT_ONCE))]

    def _flush(self, batch: _Batch, loop: asyncio.AbstractEventLoop) -> None:
        if batch.once.take():
            errors = [_error_of(each.file) for each in batch.disks]
            loop.call_soon_threadsafe(self._told, batch.disks, errors, loop)

    def _told(self, some: Sequence[_Disk], errors: Sequence[Exception | None], loop: asyncio.AbstractEventLoop) -> None:
        self._busy -= 1
        self._flying -= {id(each.file) for each in some}
        self._start(loop)
        for each, error in zip(some, errors, strict=True):
            for told in each.waiting:
                guarded(told, error)


def _error_of(ledger: Flushed) -> Exception | None:
    try:
        ledger.flush()
    except Exception as error:
        return error
    return None
