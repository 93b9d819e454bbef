"""The owners of a trial federation as processes of their own, several owners in each.

Each hangs on a pipe that only this process holds: however this process ends, the pipe does too, and so do the owners.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

_RUN = "from fedgroup.cli.main import main; main()"
_PATIENCE_S = 10.0


@asynccontextmanager
async def owner_processes(files: Sequence[Path], *, port: int, processes: int) -> AsyncIterator[list[int]]:
    """Start owners, spread over some processes, and yield these processes' ids; stop them afterwards."""
    shares = [files[start::processes] for start in range(min(processes, len(files)))]
    started = [await _start(share, port) for share in shares]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            if process.returncode is None:
                process.terminate()
        await asyncio.gather(*(_ended(process) for process in started))


async def _start(files: Sequence[Path], port: int) -> asyncio.subprocess.Process:
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
