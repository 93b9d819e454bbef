"""One process at a time: a lock beside a file, which its process holds for as long as it lives.

Guarantee: two processes, or two users in one process, never hold the lock of one file at the same time. The system
           releases it when the process ends, however it ends: a lock file that is left behind means nothing, and stays.
           A forked child does not hold what its parent held.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedgroup.errors import InvalidInput

_HELD: set[int] = set()


class AlreadyRunning(InvalidInput):
    """Another process uses this now."""


@contextmanager
def sole_use(
    file: str | os.PathLike[str], *, of: str, remedy: str = "stop that first, or name another file"
) -> Iterator[None]:
    """Hold the lock of a file while the context lasts, or raise `AlreadyRunning`; `of` names who uses the file."""
    lock = Path(f"{os.path.realpath(file)}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InvalidInput(f"{lock} cannot be made ({error.strerror}); it keeps others from using {file}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        running = _holder(descriptor)
        os.close(descriptor)
        raise AlreadyRunning(f"{of} is already running{running}; {remedy}") from None
    _HELD.add(descriptor)
    try:
        _sign(descriptor)
        yield
    finally:
        _HELD.discard(descriptor)
        os.close(descriptor)


def _sign(descriptor: int) -> None:
    with suppress(OSError):  # on a full disk the lock holds without a name
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _holder(descriptor: int) -> str:
    """Return which process has signed; one that holds the lock for a moment only may not have yet."""
    with suppress(OSError, ValueError):
        return f" as process {int(os.pread(descriptor, 32, 0))}"
    return ""


def _forget() -> None:
    """Close what a fork copied: the parent alone holds its locks."""
    for descriptor in _HELD:
        with suppress(OSError):
            os.close(descriptor)
    _HELD.clear()


os.register_at_fork(after_in_child=_forget)
