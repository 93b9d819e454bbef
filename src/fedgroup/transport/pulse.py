"""Since when a message may have lain about: a process that was busy, stopped or asleep reads it late.

A pulse beats while its event loop runs. Where it did not beat, nothing was read: what is read next may have come at any
moment since the last beat.
"""

from __future__ import annotations

import asyncio
import time
import weakref

BEAT_S = 0.25
_GAP_S = 2 * BEAT_S
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where there is such a clock."""


class Pulse:
    """The beats of one event loop; use `of`."""

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
