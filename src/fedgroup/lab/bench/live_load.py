"""The load of `fedgroup bench live`: users who ask over HTTP all at once, against bare echoes of the same load.

Every user is a client of its own that asks its next question when it has the answer to the last. The provider and its
HTTP API are a process, all users another, the owners two. The echo is a message to every owner and back over the same
connections, as many at once as there are users; nobody charges, counts or serves HTTP for it.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError
from fedgroup.lab.bench.echoing import EchoingProvider
from fedgroup.lab.bench.live_sides import (
    EPSILON,
    MESSAGE_BYTES,
    PATIENCE_S,
    PROCESSES,
    be_quiet,
    config_of,
    listening_of,
    owner_files,
    run_owners,
    until_here,
)
from fedgroup.lab.bench.mosquitto_server import free_port, mosquitto_server
from fedgroup.lab.bench.processes import Alone
from fedgroup.live.config import ProviderConfig
from fedgroup.live.running import running_provider
from fedgroup.live.trial import FEDERATION, TrialCity, make_trial
from fedgroup.space import Circle
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.topics import Topics

_CAP = 1_000.0
"""So much that no owner's budget ends before the time does."""
_ALLOWANCE = Epsilon.of(_CAP)
_PER_MINUTE = 1_000_000
_LOOK_S = 0.2


@dataclass
class Load:
    """What many did at once: how long each took, in how many seconds, and what came of those that failed."""

    lasted_s: float = 0.0
    took_s: list[float] = field(default_factory=list)
    failed: int = 0
    charged_but_unanswered: int = 0

    @property
    def a_second(self) -> float:
        return len(self.took_s) / self.lasted_s

    def quantile_s(self, share: float) -> float:
        """Return the time within which such a share was done; infinite where nothing was."""
        done = sorted(self.took_s)
        return done[math.ceil(share * len(done)) - 1] if done else math.inf


@dataclass(frozen=True)
class Loaded:
    """Questions under load beside echoes under load, and the most memory that the provider held."""

    questions: Load
    echoes: Load
    peak_mb: float


def measure_load(broker: str, *, owners: int, users: int, seconds: float, hosted: bool) -> Loaded:
    """Return what so many users got in so many seconds of a federation of so many owners.

    Where they are `hosted`, the owners of a process keep their ledgers in one file, which is flushed once for all.
    """
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        hosts = PROCESSES if hosted else 0
        trial, port = make_trial(Path(place, "trial"), owners=owners, seed=1, cap=_CAP, hosts=hosts), free_port()
        if broker == "mosquitto":
            stack.enter_context(mosquitto_server(listening_of(trial, port), Topics(FEDERATION), folder=Path(place)))
        embedded, http_port = broker == "embedded", free_port()
        tokens = _tokens(trial, users)
        for files in owner_files(trial):
            stack.callback(Alone(run_owners, files, port).stop)
        echoes = Alone(echo_on, trial, port, embedded, owners, users, seconds).result()
        provider = Alone(serve_users, trial, port, embedded, http_port)
        stack.callback(provider.stop)
        questions = Alone(ask_on, f"http://127.0.0.1:{http_port}", tokens, owners, seconds).result()
        return Loaded(questions, echoes, provider.peak_mb())


def _tokens(trial: TrialCity, users: int) -> list[str]:
    with closing(ProviderState(trial.folder / "provider.db")) as state:
        names = [f"user-{number}" for number in range(users)]
        return [state.add_user(name, allowance=_ALLOWANCE, per_minute=_PER_MINUTE) for name in names]


async def _at_once(work: Sequence[Callable[[], Awaitable[None]]], seconds: float, load: Load) -> Load:
    """Do each over and over, all at once, for so many seconds and until the last ones are done."""
    began = time.perf_counter()

    async def again(one: Callable[[], Awaitable[None]]) -> None:
        while time.perf_counter() - began < seconds:
            at = time.perf_counter()
            await one()
            load.took_s.append(time.perf_counter() - at)

    await asyncio.gather(*map(again, work))
    load.lasted_s = time.perf_counter() - began
    return load


# --- echoes -----------------------------------------------------------------------------------------------------------


def echo_on(trial: TrialCity, port: int, embedded: bool, owners: int, users: int, seconds: float) -> Load:
    """Be a provider that echoes only, so many at once, and return what they took."""
    be_quiet()
    return asyncio.run(_echo_on(config_of(trial, port, embedded=embedded), owners, users, seconds))


async def _echo_on(config: ProviderConfig, owners: int, users: int, seconds: float) -> Load:
    links: list[EchoingProvider] = []

    def through(link: Any) -> EchoingProvider:
        links.append(EchoingProvider(link))
        return links[0]

    async with running_provider(config, through=through) as running:
        await until_here(running.provider, owners)
        names = sorted(running.provider.desk.present)
        return await _at_once([lambda: links[0].echo(names, size=MESSAGE_BYTES)] * users, seconds, Load())


# --- questions --------------------------------------------------------------------------------------------------------


def serve_users(trial: TrialCity, port: int, embedded: bool, http_port: int) -> None:
    """Be a provider with its HTTP API, until the process is stopped."""
    be_quiet()
    asyncio.run(_serve(config_of(trial, port, embedded=embedded, http_port=http_port)))


async def _serve(config: ProviderConfig) -> None:
    from fedgroup.service.provider_process import serving

    async with serving(config):
        await asyncio.Event().wait()


def ask_on(url: str, tokens: Sequence[str], owners: int, seconds: float) -> Load:
    """Be all users, and return what became of their questions."""
    return asyncio.run(_ask_on(url, tokens, owners, seconds))


async def _ask_on(url: str, tokens: Sequence[str], owners: int, seconds: float) -> Load:
    from fedgroup.service.client import aconnect

    clients, load = [aconnect(url, token) for token in tokens], Load()
    try:
        await _until_served(clients[0], owners)
        return await _at_once([_asking(client, owners, load, at) for at, client in enumerate(clients)], seconds, load)
    finally:
        for client in clients:
            await client.close()


def _asking(client: Any, owners: int, load: Load, at: int) -> Callable[[], Awaitable[None]]:
    """Return what one user does over and over: ask what nobody asked before, and see to what fails."""
    places = iter(range(at, 10**9, 1_000))

    async def ask() -> None:
        key = secrets.token_hex(16)
        try:
            where = Circle(10_000 + next(places) * 1e-6, 10_000, 3_000)
            answer = await client.count(where, epsilon=float(EPSILON), method="dp", key=key)
            if answer.heard != owners:
                raise RuntimeError(f"only {answer.heard} of {owners} owners were heard")
        except FedgroupError:
            load.failed += 1
            load.charged_but_unanswered += await _was_charged(client, key)

    return ask


async def _was_charged(client: Any, key: str) -> bool:
    with suppress(FedgroupError):
        return bool((await client.asked_with(key))["epsilon"] > 0)
    return False


async def _until_served(client: Any, owners: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(FedgroupError):
                if (await client.owners())["present"] == owners:
                    return
            await asyncio.sleep(_LOOK_S)
