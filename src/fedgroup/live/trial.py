"""A whole federation in one folder, on a synthetic city: certificates, files and records, for trying it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.identity import Authority, Role, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.live.samples import owner_text, provider_text
from fedgroup.owner.records import Records
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.topics import PROVIDER

if TYPE_CHECKING:
    import pyarrow as pa

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
    """Run owners, spread over some processes, while the context lasts; a process that ends is started again.

    Each hangs on a pipe that only this process holds: however this process ends, the pipe does too, and so do they.
    """
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


FEDERATION = "trial"
MOST_OWNERS = 500
HOSTS = ("localhost", "127.0.0.1")
WEEK = (1_767_571_200, 1_768_176_000)
"""All records are of one week, in seconds since 1970: from Monday 2026-01-05 until before Monday 2026-01-12, UTC."""
_SILO = 'kind = "records"\npath = "records.parquet"'
_SHARED = """\
file = "../../hosts/{host}/ledgers.db"
shared = true
mark = "../../hosts/{host}.mark"\
"""
_OFFERED = """\
attributes = ["fare"]                 # for users, here only: what can be summed; all else is refused uncharged
times = true                          # likewise: records have times, from 2026-01-05 until before 2026-01-12
"""


@dataclass(frozen=True)
class TrialCity:
    """Where a trial federation's files are."""

    folder: Path

    @property
    def provider(self) -> Path:
        return self.folder / "provider.toml"

    @property
    def owners(self) -> list[Path]:
        return sorted(self.folder.glob("owners/*/owner.toml"))


def make_trial(
    folder: Path,
    *,
    owners: int,
    seed: int,
    http_port: int = 0,
    records_per_owner: int = 40,
    most: int = MOST_OWNERS,
    cap: float = 10.0,
    hosts: int = 0,
) -> TrialCity:
    """Write a new trial federation into a folder; one that is there already is used as it is.

    `cap` is the most epsilon that every owner spends. With so many `hosts`, each keeps the ledgers of its owners in one
    file; owner i is on host i modulo their number.
    """
    # who is only told of a trial takes 50 MB less than who makes one
    from fedgroup.data.synthetic import synthesize

    if not 2 <= owners <= most:
        raise InvalidInput(f"a trial federation has 2 to {most} owners, got {owners}")
    trial = TrialCity(folder)
    if trial.provider.exists():
        return trial
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    city = synthesize(owners, records_per_owner=records_per_owner, seed=seed)
    domain = city.domain
    if domain is None:
        raise InvalidInput("a synthetic city states its domain")
    facts: dict[str, Any] = {
        "federation": FEDERATION,
        "domain": ", ".join(f"{side:g}" for side in domain.sides),
        "host": "127.0.0.1",
    }
    authority = Authority.create(folder / "authority", FEDERATION)
    trust = Trust.load(folder / "authority")
    _issue(authority, trust, folder / "provider", PROVIDER, "provider")
    for host in range(hosts):
        (folder / "hosts" / f"{host}").mkdir(parents=True, mode=0o700)
    for number in range(owners):
        place = folder / "owners" / f"owner-{number:03d}"
        ledger = {"ledger": _SHARED.format(host=number % hosts)} if hosts else {}
        _write_owner(place, city, number, authority, trust, facts | {"cap": cap} | ledger)
    trial.provider.write_text(
        provider_text(
            file="provider.toml",
            lonlat=False,
            port=0,
            http_port=http_port,
            folder="provider",
            authority="authority",
            offered=_OFFERED,
            **facts,
        )
    )
    return trial


def _write_owner(
    place: Path, city: Records, number: int, authority: Authority, trust: Trust, facts: dict[str, Any]
) -> None:
    import pyarrow.parquet as pq

    _issue(authority, trust, place / "identity", place.name, "owner")
    pq.write_table(_table_of(place.name, city, np.flatnonzero(city.code == number)), place / "records.parquet")
    (place / "owner.toml").write_text(
        owner_text(
            file="owner.toml", lonlat=False, port=0, silo=_SILO, folder="identity", authority="../../authority", **facts
        )
    )


def _table_of(owner: str, city: Records, rows: npt.NDArray[np.int64]) -> pa.Table:
    """Return an owner's records; the city's weeks are laid over one another."""
    import pyarrow as pa

    if city.time is None:
        raise InvalidInput("a synthetic city has times")
    first, end = (second * 1_000_000 for second in WEEK)
    time = first + (city.time[rows] - first) % (end - first)
    columns = {"x": city.x[rows], "y": city.y[rows], "fare": city.attributes["fare"][rows]}
    return pa.table({"owner": [owner] * len(rows), **columns, "time": pa.array(time).cast(pa.timestamp("us", "UTC"))})


def _issue(authority: Authority, trust: Trust, folder: Path, name: str, role: Role) -> None:
    request = write_request(folder, name, role, hosts=HOSTS if role == "provider" else ())
    write_answer(folder, authority.issue(request), trust)
