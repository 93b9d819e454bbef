"""Work in processes of its own, so that its memory and its processor time are its own too."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from fedgroup.lab.bench.measuring import peak_mb, private_mb

_SPAWN = multiprocessing.get_context("spawn")


class Alone:
    """A call that runs in a fresh process."""

    def __init__(self, work: Callable[..., Any], *arguments: Any) -> None:
        self._result, theirs = _SPAWN.Pipe(duplex=False)
        self._process = _SPAWN.Process(target=_send_result, args=(theirs, work, arguments), daemon=True)
        self._process.start()
        theirs.close()

    def result(self) -> Any:
        """Wait for the call and return what it returned."""
        try:
            result = self._result.recv()
        except EOFError:
            raise RuntimeError("a process of the bench ended without a result; its complaint is above") from None
        finally:
            self._process.join()
        return result

    @property
    def pid(self) -> int:
        """The process' id."""
        assert self._process.pid is not None  # noqa: S101  it was started
        return self._process.pid

    def peak_mb(self) -> float:
        """Return the most memory that the process has held so far; it must run."""
        return peak_mb(self._process.pid)

    def private_mb(self) -> float:
        """Return the memory that is the process' alone now; it must run."""
        return private_mb(self._process.pid)

    def stop(self) -> None:
        """End the process if it still runs; nobody wants its result any more."""
        self._process.terminate()
        self._process.join()


def _send_result(results: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    # An interrupt reaches the whole group; the parent answers it and takes this process along.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    results.send(work(*arguments))
