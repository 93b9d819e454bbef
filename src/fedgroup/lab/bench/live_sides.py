"""The processes of `fedgroup bench live`: owners that also echo, and a provider that takes the times."""

from __future__ import annotations

import asyncio
import itertools
import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.identity import Identity, Trust
from fedgroup.lab.bench.aiomqtt_echo import run_echoes, time_echoes
from fedgroup.lab.bench.echoing import EchoingOwner, EchoingProvider
from fedgroup.lab.bench.measuring import peak_mb
from fedgroup.lab.bench.mosquitto_server import free_port, mosquitto_server
from fedgroup.lab.bench.processes import Alone
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.provider import LiveProvider
from fedgroup.live.running import embedded_broker, running_owners, running_provider
from fedgroup.live.trial import FEDERATION, TrialCity, make_trial
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.listening import Listening
from fedgroup.transport.topics import Topics

EPSILON = Epsilon.of(0.05)
TRIPS = {"dp": 1, "cohorts": 3}
"""How often messages go out and back: a masked round asks who is there first, and takes the masks off at the end."""

PROCESSES = 2
MESSAGE_BYTES = 150
_WORD_BYTES = 8
PATIENCE_S = 120.0
_WARM = 3


@dataclass(frozen=True)
class Timed:
    """What one method took: medians of questions, of echoes, of echoes that owners kept first, and of aiomqtt's."""

    method: str
    ours_s: float
    echo_s: float
    kept_echo_s: float
    peak_mb: float
    aiomqtt_echo_s: float | None = None

    @property
    def trips(self) -> int:
        return TRIPS[self.method]


@dataclass(frozen=True)
class MapTimed:
    """What a map took: the median of maps, that of echoes as long as a vector of it, and the provider's memory."""

    method: str
    cells: int
    ours_s: float
    echo_s: float
    peak_mb: float


def measure_maps(owners: int, *, side: int, repeats: int) -> list[MapTimed]:
    """Return what maps of side x side cells took in a federation of so many owners around mosquitto."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        trial, port = make_trial(Path(place, "trial"), owners=owners, seed=1, most=10_000), free_port()
        stack.enter_context(mosquitto_server(listening_of(trial, port), Topics(FEDERATION), folder=Path(place)))
        timed: list[MapTimed] = beside(run_owners, trial, port, Alone(ask_maps, trial, port, owners, side, repeats))
        return timed


def measure_federation(owners: int, broker: str, *, repeats: int) -> list[Timed]:
    """Return what each method took in a federation of so many owners."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        trial, port = make_trial(Path(place, "trial"), owners=owners, seed=1, most=10_000), free_port()
        if broker == "mosquitto":
            stack.enter_context(mosquitto_server(listening_of(trial, port), Topics(FEDERATION), folder=Path(place)))
        embedded = broker == "embedded"
        timed: list[Timed] = beside(run_owners, trial, port, Alone(ask_owners, trial, port, embedded, owners, repeats))
        if find_spec("aiomqtt") is None:
            return timed
        if embedded:  # in a process of its own, as the other one is: a caller that is busy lets nobody in
            stack.callback(Alone(run_broker, trial, port).stop)
        names = [file.parent.name for file in trial.owners]
        echo_s = beside(run_echoes, trial, port, Alone(time_echoes, trial, port, names, MESSAGE_BYTES, repeats))
        return [replace(each, aiomqtt_echo_s=each.trips * echo_s) for each in timed]


def beside(run: Callable[[Sequence[Path], int], None], trial: TrialCity, port: int, measuring: Alone) -> Any:
    """Run owners beside a process that measures, and return what that one found."""
    with ExitStack() as stack:
        stack.callback(measuring.stop)
        for files in owner_files(trial):
            stack.callback(Alone(run, files, port).stop)
        return measuring.result()


def owner_files(trial: TrialCity) -> list[list[Path]]:
    """Return the owners' files, those of each process together."""
    return [trial.owners[at::PROCESSES] for at in range(PROCESSES)]


def be_quiet() -> None:
    """Say nothing of connections: the broker comes later than owners and leaves earlier."""
    logging.getLogger().addHandler(logging.NullHandler())


def listening_of(trial: TrialCity, port: int) -> Listening:
    """Return where a trial federation's mosquitto listens, with which files."""
    identity, trust = Identity.load(trial.folder / "provider"), Trust.load(trial.folder / "authority")
    files = (trust.authority_file, identity.certificate_file, identity.key_file, trust.revoked_file)
    return Listening("127.0.0.1", port, *files)


def run_broker(trial: TrialCity, port: int) -> None:
    """Be a trial federation's own broker, and nothing else, until the process is stopped."""
    be_quiet()
    asyncio.run(_run_broker(config_of(trial, port, embedded=True)))


async def _run_broker(config: ProviderConfig) -> None:
    async with embedded_broker(config):
        await asyncio.Event().wait()


def run_owners(files: Sequence[Path], port: int) -> None:
    """Run some owners in this process until it is stopped."""
    be_quiet()
    asyncio.run(_run_owners(files, port))


async def _run_owners(files: Sequence[Path], port: int) -> None:
    configs, places = [read_config(file, OwnerConfig) for file in files], iter(files)

    def through(link: Any) -> EchoingOwner:
        return EchoingOwner(link, file=next(places).with_name("echoes.db"))

    async with running_owners(configs, port=port, new_ledger=True, through=through):
        await asyncio.Event().wait()


def ask_owners(trial: TrialCity, port: int, embedded: bool, owners: int, repeats: int) -> list[Timed]:
    """Be the provider: ask by every method, echo in between, and return what both took."""
    be_quiet()
    return asyncio.run(_ask_owners(config_of(trial, port, embedded=embedded), owners, repeats))


def ask_maps(trial: TrialCity, port: int, owners: int, side: int, repeats: int) -> list[MapTimed]:
    """Be the provider: ask for maps, echo in between, and return what both took."""
    be_quiet()
    return asyncio.run(_ask_maps(config_of(trial, port, embedded=False), owners, side, repeats))


async def _ask_maps(config: ProviderConfig, owners: int, side: int, repeats: int) -> list[MapTimed]:
    links: list[EchoingProvider] = []

    def through(link: Any) -> EchoingProvider:
        links.append(EchoingProvider(link))
        return links[0]

    async with running_provider(config, through=through) as running:
        await until_here(running.provider, owners)
        return [await _map_timed(method, running.provider, links[0], side, repeats) for method in ("dp", "mpc")]


async def _map_timed(method: str, provider: LiveProvider, link: EchoingProvider, side: int, repeats: int) -> MapTimed:
    names = sorted(provider.desk.present)
    query = RangeQuery("count", provider.settings.public_map.grid(side, side), EPSILON)

    async def ask() -> None:
        made = await provider.map(query, method=method, fresh=True)
        if made.heard != len(names):
            raise RuntimeError(f"only {made.heard} of {len(names)} owners were heard")

    async def echo() -> None:
        await link.echo(names, size=_WORD_BYTES * side * side, kept=False)

    times = [[await _seconds(each) for each in (ask(), echo())] for _ in range(1 + repeats)]
    ours, bare = (statistics.median(column) for column in zip(*times[1:], strict=True))
    return MapTimed(method, side * side, ours, bare, peak_mb())


def config_of(trial: TrialCity, port: int, *, embedded: bool, http_port: int = 0) -> ProviderConfig:
    """Return a trial provider's file with these ports."""
    from msgspec import structs

    config = read_config(trial.provider, ProviderConfig)
    broker = structs.replace(config.broker, port=port, embedded=embedded)
    return structs.replace(config, broker=broker, http=structs.replace(config.http, port=http_port))


async def _ask_owners(config: ProviderConfig, owners: int, repeats: int) -> list[Timed]:
    links: list[EchoingProvider] = []

    def through(link: Any) -> EchoingProvider:
        links.append(EchoingProvider(link))
        return links[0]

    async with running_provider(config, through=through) as running:
        await until_here(running.provider, owners)
        return [await _timed(method, running.provider, links[0], repeats) for method in TRIPS]


async def until_here(provider: LiveProvider, owners: int) -> None:
    """Wait until so many owners are here."""
    if not await provider.desk.until_present(owners, PATIENCE_S):
        raise RuntimeError(f"only {len(provider.desk.present)} of {owners} owners came up")


async def _timed(method: str, provider: LiveProvider, link: EchoingProvider, repeats: int) -> Timed:
    names, trips = sorted(provider.desk.present), TRIPS[method]

    async def ask() -> None:
        answer = await provider.ask(next(_QUESTIONS), method=method)
        if answer.heard != len(names):
            raise RuntimeError(f"only {answer.heard} of {len(names)} owners were heard")

    async def echo(kept: bool) -> None:
        for trip in range(trips):  # what is charged leaves in the first one, or in the second of several
            await link.echo(names, size=MESSAGE_BYTES, kept=kept and trip == min(1, trips - 1))

    times = [[await _seconds(each) for each in (ask(), echo(False), echo(True))] for _ in range(_WARM + repeats)]
    ours, bare, kept = (statistics.median(column) for column in zip(*times[_WARM:], strict=True))
    return Timed(method, ours, bare, kept, peak_mb())


async def _seconds(work: Coroutine[Any, Any, None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


_QUESTIONS = (RangeQuery("count", Circle(10_000 + n, 10_000, 3_000), EPSILON) for n in itertools.count())


def next_question() -> RangeQuery:
    """Return a question that was not asked before."""
    return next(_QUESTIONS)
