"""Ending in good order: Ctrl-C, SIGTERM or the end of its input ask a process to stop, and it closes what it opened."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
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


def stop_when_input_ends(stop: asyncio.Event) -> None:
    """Set an event when standard input is at its end: whoever held its other end is gone, even if it was killed."""
    loop = asyncio.get_running_loop()

    def watch() -> None:
        while os.read(0, 4096):
            pass
        with contextlib.suppress(RuntimeError):  # the loop ended first
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=watch, name="input", daemon=True).start()
