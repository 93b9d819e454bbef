"""`fedgroup bench live-many --owners N`: as many live owners as one says, hosted by two processes around mosquitto.

Every owner has its own certificate, connection and ledger; the ledgers of a process are in one file
(`live/hosting.py`). Each method is asked once before it is timed: `first_s` is what that took, and masked cohorts are
formed in it. Questions and bare echoes over the same connections take turns.

heard         the fewest owners that were heard in any question that was timed
provider_mb   the most memory that the provider held, all of its process
owners_mb     the same of the processes of owners, added up
owner_kb      what of that is theirs alone at the end, for one owner: without libraries that lie in memory once for all
provider_kb   by how much what is the provider's alone grew since nobody was here, for one owner
joined_s      from the start of the processes of owners until all owners are here
..._us        processor time for one owner in one question: of the provider, the broker, and the owner itself
broker_bytes  what the broker reads and writes for one owner in one question
reply_s       when the first tenth of replies was in, the second, and so on, from the question on
alone_s       likewise, how long an echo to one owner takes while nobody else is asked
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedgroup.errors import InvalidInput, TooFewHeard
from fedgroup.lab.bench.live import missing
from fedgroup.lab.bench.measuring import BenchRow, cpu_s, moved_bytes, peak_mb, private_mb

if TYPE_CHECKING:
    from fedgroup.lab.bench.echoing import EchoingProvider
    from fedgroup.live.config import ProviderConfig
    from fedgroup.live.provider import LiveProvider
    from fedgroup.live.trial import TrialCity

__all__ = ["measure", "missing"]

OWNERS = 1_000
_QUICK = 6
_MOST = 100_000
_HOSTS = 2
_CAP = 1_000.0
_JOIN_S = 1_200.0
_MANY = 5_000
_TENTHS = 10
_ALONE = 200
"""So many owners are sent an echo by themselves."""


@dataclass(frozen=True)
class _Processes:
    """Whose processor time is told: the processes of owners, and the broker's if it has one."""

    owners: tuple[int, ...]
    broker: int | None

    def used(self) -> dict[str, float]:
        """Return the processor time of each party so far, and what the broker moved."""
        broker = 0 if self.broker is None else self.broker
        return {
            "provider": cpu_s(os.getpid()),
            "broker": cpu_s(broker),
            "owner": sum(map(cpu_s, self.owners)),
            "bytes": moved_bytes(broker),
        }


@dataclass(frozen=True)
class TimedAmongMany:
    """What one method took among many owners; `used` is for one owner in one question."""

    method: str
    ours_s: float
    echo_s: float
    first_s: float
    heard: int
    joined_s: float
    provider_mb: float
    grown_mb: float
    used: dict[str, float]
    reply_s: tuple[float, ...]
    alone_s: tuple[float, ...]


@dataclass(frozen=True)
class OwnersMemory:
    """What the processes of owners held at most, and what is theirs alone at the end."""

    peak_mb: float
    private_mb: float


def measure(*, quick: bool, owners: int = OWNERS) -> Iterator[BenchRow]:
    """Yield a row per method."""
    if not 2 <= owners <= _MOST:
        raise InvalidInput(f"the bench live-many has 2 to {_MOST:,} owners, got {owners}")
    from fedgroup.live.running import allow_open_files

    allow_open_files()
    count = _QUICK if quick else owners
    timed, held, broker = _measured(count, repeats=2 if quick else 3 if count >= _MANY else 7)
    for each in timed:
        yield _row(each, count, held, broker)


def _row(timed: TimedAmongMany, owners: int, held: OwnersMemory, broker: str) -> BenchRow:
    trips = "" if timed.method == "dp" else ", three times"
    name = "masked cohorts" if timed.method == "cohorts" else timed.method
    more = {
        "owners": owners,
        "heard": timed.heard,
        "joined_s": timed.joined_s,
        "first_s": timed.first_s,
        "provider_mb": timed.provider_mb,
        "owners_mb": held.peak_mb,
        "owner_kb": held.private_mb * 1_000 / owners,
        "provider_kb": timed.grown_mb * 1_000 / owners,
        **{f"{party}_us": timed.used[party] * 1e6 for party in ("provider", "broker", "owner")},
        "broker_bytes": timed.used["bytes"],
        "reply_s": " ".join(f"{each:.3f}" for each in timed.reply_s),
        "alone_s": " ".join(f"{each:.4f}" for each in timed.alone_s),
    }
    return BenchRow(
        f"{name}, {owners:,} hosted owners, {broker} broker",
        timed.ours_s,
        timed.provider_mb,
        f"a bare MQTT echo of as many messages over our own connections{trips}",
        timed.echo_s,
        more,
    )


def _measured(owners: int, *, repeats: int) -> tuple[list[TimedAmongMany], OwnersMemory, str]:
    from fedgroup.lab.bench.live_sides import listening_of
    from fedgroup.lab.bench.mosquitto_server import free_port, mosquitto_server, program
    from fedgroup.lab.bench.processes import Alone
    from fedgroup.live.trial import FEDERATION, make_trial
    from fedgroup.transport.topics import Topics

    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder, hosts = Path(place, "trial"), min(_HOSTS, owners)
        trial = make_trial(folder, owners=owners, seed=1, most=_MOST, cap=_CAP, hosts=hosts)
        port, broker = free_port(), None
        if program() is not None:
            broker = stack.enter_context(
                mosquitto_server(listening_of(trial, port), Topics(FEDERATION), folder=Path(place))
            )
        # owner i keeps its ledger with host i modulo their number, whatever the names sort to
        files = sorted(trial.owners, key=lambda file: int(file.parent.name.rpartition("-")[2]))
        began = time.time()
        running = [Alone(run_hosted, files[at::hosts], port) for at in range(hosts)]
        for each in running:
            stack.callback(each.stop)
        processes = _Processes(tuple(each.pid for each in running), broker)
        asking = Alone(ask_many, trial, port, processes, owners, repeats, began)
        stack.callback(asking.stop)
        timed: list[TimedAmongMany] = asking.result()
        held = OwnersMemory(sum(each.peak_mb() for each in running), sum(each.private_mb() for each in running))
        return timed, held, "embedded" if broker is None else "mosquitto"


def run_hosted(files: Sequence[Path], port: int) -> None:
    """Run some owners in this process until it is stopped; they send echoes back, too."""
    from fedgroup.lab.bench.live_sides import be_quiet

    be_quiet()
    asyncio.run(_run_hosted(files, port))


async def _run_hosted(files: Sequence[Path], port: int) -> None:
    from fedgroup.lab.bench.echoing import EchoingOwner
    from fedgroup.live.config import OwnerConfig, read_config
    from fedgroup.live.running import running_owners

    configs = [read_config(file, OwnerConfig) for file in files]
    async with running_owners(configs, port=port, new_ledger=True, through=EchoingOwner):
        await asyncio.Event().wait()


def ask_many(
    trial: TrialCity, port: int, processes: _Processes, owners: int, repeats: int, began: float
) -> list[TimedAmongMany]:
    """Be the provider: ask by every method, echo in between, and return what both took."""
    from fedgroup.lab.bench.live_sides import be_quiet, config_of

    be_quiet()
    config = config_of(trial, port, embedded=processes.broker is None)
    return asyncio.run(_ask_many(config, processes, owners, repeats, began))


async def _ask_many(
    config: ProviderConfig, processes: _Processes, owners: int, repeats: int, began: float
) -> list[TimedAmongMany]:
    from fedgroup.lab.bench.echoing import EchoingProvider
    from fedgroup.live.running import running_provider

    links: list[EchoingProvider] = []

    def through(link: Any) -> EchoingProvider:
        links.append(EchoingProvider(link))
        return links[0]

    alone_mb = private_mb()
    async with running_provider(config, through=through) as running:
        if not await running.provider.desk.until_present(owners, _JOIN_S):
            raise RuntimeError(f"only {len(running.provider.desk.present)} of {owners} owners came up")
        asking = _Asking(running.provider, links[0], processes, time.time() - began, alone_mb)
        return [await asking.timed(method, repeats) for method in ("dp", "cohorts")]


@dataclass(frozen=True)
class _Asking:
    """A provider that is asked, and what is looked at meanwhile."""

    provider: LiveProvider
    link: EchoingProvider
    processes: _Processes
    joined_s: float
    alone_mb: float

    async def timed(self, method: str, repeats: int) -> TimedAmongMany:
        """Return what questions by one method take, and echoes in between."""
        from fedgroup.lab.bench.live_sides import MESSAGE_BYTES, TRIPS

        names = sorted(self.provider.desk.present)
        first_s, _ = await self._asked(method)
        ours, echoes, heard = list[float](), list[float](), list[int]()
        used: list[dict[str, float]] = []
        replies: list[float] = []
        for _ in range(repeats):
            self.link.heard_at = []
            before, began = self.processes.used(), time.perf_counter()
            took_s, count = await self._asked(method)
            after = self.processes.used()
            used.append({party: (after[party] - before[party]) / len(names) for party in after})
            replies += [at - began for at in self.link.heard_at]
            ours.append(took_s)
            heard.append(count)
            began = time.perf_counter()
            for _ in range(TRIPS[method]):
                await self.link.echo(names, size=MESSAGE_BYTES)
            echoes.append(time.perf_counter() - began)
        mean = {party: statistics.fmean(each[party] for each in used) for party in used[0]}
        return TimedAmongMany(
            method,
            statistics.median(ours),
            statistics.median(echoes),
            first_s,
            min(heard),
            self.joined_s,
            peak_mb(),
            private_mb() - self.alone_mb,
            mean,
            _tenths(replies),
            _tenths([await self._alone(name) for name in names[:_ALONE]]),
        )

    async def _alone(self, name: str) -> float:
        """Return how long an echo to one owner takes."""
        from fedgroup.lab.bench.live_sides import MESSAGE_BYTES

        began = time.perf_counter()
        await self.link.echo([name], size=MESSAGE_BYTES)
        return time.perf_counter() - began

    async def _asked(self, method: str) -> tuple[float, int]:
        """Return how long a question took, and how many owners were heard."""
        from fedgroup.lab.bench.live_sides import next_question

        began = time.perf_counter()
        try:
            heard = (await self.provider.ask(next_question(), method=method)).heard
        except TooFewHeard:
            heard = 0
        return time.perf_counter() - began, heard


def _tenths(times: Sequence[float]) -> tuple[float, ...]:
    """Return within which time each further tenth was in."""
    ordered = sorted(times)
    ends = (len(ordered) * each // _TENTHS for each in range(1, _TENTHS + 1))
    return tuple(ordered[max(0, end - 1)] for end in ends) if ordered else ()
