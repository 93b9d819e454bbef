"""A log that nobody can flood: of lines alike the first few of a minute are written, then how many were left out."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TextIO

MOST_ALIKE = 50
WINDOW_S = 60.0
"""So many lines alike are written in so many seconds."""
MOST_KNOWN = 1_000
"""Of so many kinds of lines it is known how many there were."""

_LEFT_OUT = "fedgroup_left_out"


def left_out_of(record: logging.LogRecord) -> dict[str, str]:
    """Return how many lines like this one were left out, if it tells that."""
    count = getattr(record, _LEFT_OUT, None)
    return {} if count is None else {"left_out": str(count)}


@dataclass
class _Alike:
    """Lines alike in one window: how many were written, how many not, and the last of those."""

    ends: float
    written: int = 0
    left_out: int = 0
    last: logging.LogRecord | None = None


class SparingHandler(logging.StreamHandler[TextIO]):
    """Writes the first `MOST_ALIKE` lines that are `alike` in a window, and after it one with the number left out.

    The number is told with the next line of whatever kind, or when the handler is closed.
    """

    def __init__(
        self, stream: TextIO, *, alike: Callable[[logging.LogRecord], Hashable], clock: Callable[[], float]
    ) -> None:
        super().__init__(stream)
        self._alike = alike
        self._clock = clock
        self._known: dict[Hashable, _Alike] = {}  # in the order in which their windows end

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless enough like it were written."""
        now, kind = self._clock(), self._alike(record)
        self._end(now)
        known = self._known.setdefault(kind, _Alike(now + WINDOW_S))
        if known.written < MOST_ALIKE:
            known.written += 1
            super().emit(record)
            return
        known.left_out += 1
        # without its error: that would keep alive what the program held when it was raised
        known.last = logging.makeLogRecord(record.__dict__ | {"exc_info": None})

    def close(self) -> None:
        """Tell what was left out so far, and end."""
        self.acquire()
        try:
            self._end(math.inf)
        finally:
            self.release()
        super().close()

    def _end(self, now: float) -> None:
        """Tell what was left out in windows that are over, and forget them."""
        while self._known:
            kind, oldest = next(iter(self._known.items()))
            if oldest.ends > now and len(self._known) <= MOST_KNOWN:
                return
            del self._known[kind]
            if oldest.last is not None:
                setattr(oldest.last, _LEFT_OUT, oldest.left_out)
                super().emit(oldest.last)
