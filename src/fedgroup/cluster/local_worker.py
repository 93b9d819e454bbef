"""How a worker on this machine starts: it leaves Ctrl-C to the process that started it."""

from __future__ import annotations

import signal


def dask_setup(_worker: object) -> None:
    """Ignore interrupts, which a terminal sends to workers too; Dask calls this in every worker that starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
