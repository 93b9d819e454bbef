"""The owners of a trial federation as processes of their own, several owners in each.

Each hangs on a pipe that only this process holds: however this process ends, the pipe does too, and so do the owners.
One that ends by itself, or is killed, is started again.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fedgroup.transport.backoff import Backoff

log = logging.getLogger("fedgroup.up")

_RUN = "from fedgroup.cli.main import main; main()"
_PATIENCE_S = 10.0
_SETTLED_S = 30.0
"""A process that lasted so long was a good one: the next is started soon."""


class _OwnerProcess:
    """A process with some owners, one after the other."""

    def __init__(self, files: Sequence[Path], port: int) -> None:
        self._files = files
        self._port = port
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._process = await _started(self._files, self._port)
        self._keeper = asyncio.create_task(self._keep_running(self._process))

    async def stop(self) -> None:
        """End the process that runs, and start none any more."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            process.terminate()
        await _ended(process)

    async def _keep_running(self, process: asyncio.subprocess.Process) -> None:
        loop, backoff, attempt = asyncio.get_running_loop(), Backoff(), 0
        while True:
            began = loop.time()
            await process.wait()
            attempt = 0 if loop.time() - began > _SETTLED_S else attempt + 1
            wait_s = backoff.wait_s(self._files[0].parent.name, attempt)
            log.warning("%s ended unasked; started again in %.1f s", _named(self._files), wait_s)
            await asyncio.sleep(wait_s)
            process = self._process = await _started(self._files, self._port)


@asynccontextmanager
async def owner_processes(files: Sequence[Path], *, port: int, processes: int) -> AsyncIterator[None]:
    """Run owners, spread over some processes, while the context lasts; a process that ends is started again."""
    shares = [files[start::processes] for start in range(min(processes, len(files)))]
    running = [_OwnerProcess(share, port) for share in shares]
    try:
        for each in running:
            await each.start()
        yield
    finally:
        await asyncio.gather(*(each.stop() for each in running))


def _named(files: Sequence[Path]) -> str:
    names = [file.parent.name for file in files]
    return f"the process of {names[0]}" + (f" and {len(names) - 1} others" if len(names) > 1 else "")


async def _started(files: Sequence[Path], port: int) -> asyncio.subprocess.Process:
    named = [word for file in files for word in ("--config", str(file))]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", _RUN, "owner", *named, "--broker-port", str(port), "--new-ledger",
        "--log-level", "warning", "--until-input-ends",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


async def _ended(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _PATIENCE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
