"""Ending in good order: Ctrl-C and SIGTERM ask a process to stop, and it closes what it opened."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """Return an event that Ctrl-C or SIGTERM sets; a second Ctrl-C ends the process at once."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def asked() -> None:
        stop.set()
        for number in before:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in before:
        loop.add_signal_handler(number, asked)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
