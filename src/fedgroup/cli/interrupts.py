"""Ctrl-C: one line and exit code 130, wherever it comes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
TEXT = "fedgroup: interrupted"

_COMPILER = ("llvmlite", "numba")


@contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl-C end the process even while kernels are compiled.

    The compiler calls back from C: an exception raised there is lost, or tears down what C still uses. Nothing of ours
    is half done at that moment, so the process may end at once. Everywhere else Ctrl-C is a KeyboardInterrupt.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(_signal: int, frame: FrameType | None) -> NoReturn:
    if not _compiling(frame):
        raise KeyboardInterrupt
    from fedgroup.cli.output import talk

    talk.show_cursor()
    print(TEXT, file=sys.stderr, flush=True)  # noqa: T201
    os._exit(INTERRUPTED)


def _compiling(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).split(".")[0] in _COMPILER:
            return True
        frame = frame.f_back
    return False
