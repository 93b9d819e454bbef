"""The grouping of `fedgroup bench live`: live owners compared by the hybrid graph, against as many bare echoes.

A comparison travels from owner to provider to the other owner; the grouping's rounds are those of all its waves, in
which every owner that is compared gets one message and sends one. The reference is an echo of all owners for each.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.lab.bench.echoing import EchoingOwner, EchoingProvider
from fedgroup.lab.bench.live_sides import MESSAGE_BYTES, be_quiet, beside, config_of, listening_of, until_here
from fedgroup.lab.bench.measuring import peak_mb
from fedgroup.lab.bench.mosquitto_server import free_port, mosquitto_server
from fedgroup.lab.bench.processes import Alone
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.running import running_owners, running_provider
from fedgroup.live.trial import FEDERATION, TrialCity, make_trial
from fedgroup.provider.settings import GroupingSettings
from fedgroup.transport.topics import Topics

_EPSILON = Epsilon.of(0.3)
_GRID = (5, 5)
_COMPARISONS = 10_000
"""So many an owner takes part in that the cap ends no grouping."""
_ECHOES = 5


@dataclass(frozen=True)
class GroupingTimed:
    """What a live grouping by comparisons took: seconds, rounds, comparisons, groups, and a bare echo."""

    ours_s: float
    rounds: int
    comparisons: int
    groups: int
    echo_s: float
    peak_mb: float


def measure_grouping(owners: int) -> GroupingTimed:
    """Return what it took to group so many live owners around mosquitto."""
    with tempfile.TemporaryDirectory() as place:
        trial, port = make_trial(Path(place, "trial"), owners=owners, seed=1, most=10_000), free_port()
        with mosquitto_server(listening_of(trial, port), Topics(FEDERATION), folder=Path(place)):
            timed: GroupingTimed = beside(run_comparable, trial, port, Alone(group_owners, trial, port, owners))
            return timed


def run_comparable(files: Sequence[Path], port: int) -> None:
    """Run some owners that agreed to be compared, until the process is stopped."""
    be_quiet()
    asyncio.run(_run_comparable(files, port))


async def _run_comparable(files: Sequence[Path], port: int) -> None:
    from msgspec import structs

    found = [read_config(file, OwnerConfig) for file in files]
    configs = [structs.replace(each, policy=structs.replace(each.policy, comparisons=_COMPARISONS)) for each in found]
    places = iter(files)

    def through(link: Any) -> EchoingOwner:
        return EchoingOwner(link, file=next(places).with_name("echoes.db"))

    async with running_owners(configs, port=port, new_ledger=True, through=through):
        await asyncio.Event().wait()


def group_owners(trial: TrialCity, port: int, owners: int) -> GroupingTimed:
    """Be the provider: group all owners once, and return what that took."""
    be_quiet()
    return asyncio.run(_group_owners(config_of(trial, port, embedded=False), owners))


class _Rounds(logging.Handler):
    """Keeps how many rounds the grouping said it took."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.rounds = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.rounds = max(self.rounds, getattr(record, "rounds", 0))


async def _group_owners(config: ProviderConfig, owners: int) -> GroupingTimed:
    links: list[EchoingProvider] = []

    def through(link: Any) -> EchoingProvider:
        links.append(EchoingProvider(link))
        return links[0]

    counted = _Rounds()
    log = logging.getLogger("fedgroup.provider")
    log.setLevel(logging.INFO)
    log.addHandler(counted)
    async with running_provider(config, through=through) as running:
        await until_here(running.provider, owners)
        names = sorted(running.provider.desk.present)
        began = time.perf_counter()
        plan = await running.provider.regroup(GroupingSettings(graph="hybrid"), epsilon=_EPSILON, grid=_GRID)
        ours_s = time.perf_counter() - began
        echo_s = statistics.median([await _echo_s(links[0], names) for _ in range(_ECHOES)])
        made = int(str(plan.settings["comparisons"]))
        return GroupingTimed(ours_s, counted.rounds, made, len(plan.groups), echo_s, peak_mb())


async def _echo_s(link: EchoingProvider, names: Sequence[str]) -> float:
    began = time.perf_counter()
    await link.echo(names, size=MESSAGE_BYTES)
    return time.perf_counter() - began
