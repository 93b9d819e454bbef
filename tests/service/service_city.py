"""A federation in one process to serve: real nodes and ledgers over a wire in memory, with owners that can break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from answering import answering
from fedgroup.epsilon import Epsilon
from fedgroup.errors import SiloUnavailable
from fedgroup.live.desk import Desk
from fedgroup.live.owner import RunningOwner
from fedgroup.live.provider import LiveProvider
from fedgroup.live.settings import LiveSettings
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.round import MaskSettings
from fedgroup.space import Box, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub
from fixed_noise import fixed_noise
from owner_keys import Keys, believed

PATIENCE_S = 60.0
"""How long what must happen may take, on a machine that has other things to do."""
MAP = PublicMap(Box(0, 0, 10, 10))
RECORDS = 40
FARE = 2.0
"""Every owner has so many records, each with this fare."""


class FragileSilo(TableSilo):
    """Records that may be away."""

    broken = False

    def snapshot(self) -> str:
        if self.broken:
            raise SiloUnavailable("the database is away")
        return super().snapshot()


@dataclass
class Owner:
    """One owner, running."""

    node: OwnerNode
    ledger: OwnerLedger
    silo: FragileSilo
    link: Any
    running: RunningOwner


@dataclass
class City:
    """Owners around (3, 3) and (7, 7), by turns, and their provider."""

    provider: LiveProvider
    hub: MemoryHub
    state: ProviderState
    folder: Path
    owners: dict[str, Owner] = field(default_factory=dict)

    def add(self, name: str, where: float, *, cap: float, comparisons: int = 0) -> None:
        rng = np.random.default_rng(len(self.owners))
        x, y = (np.clip(rng.normal(where, 0.4, RECORDS), 0, 9.99) for _ in "xy")
        records = Records(np.zeros(RECORDS, dtype=np.int64), x, y, attributes={"fare": np.full(RECORDS, FARE)})
        silo, keys, ledger = FragileSilo(records, MAP), Keys(name), OwnerLedger(self.folder / f"{name}.db")
        ledger.count_as(self.provider.settings.accounting)
        ledger.set_cap(Epsilon.of(cap))
        policy = Policy(
            modes=("trusted", "masked"),
            trusted_with=("*",),
            highest_epsilon=Epsilon.of(50),
            fewest_members=2,
            comparisons=comparisons,
        )
        node = OwnerNode(
            keys, silo, public_map=MAP, protection=Protection(), policy=policy, ledger=ledger, noise=fixed_noise(name),
            verify=believed, encode=encode,
        )  # fmt: skip
        link = self.hub.owner(name, keys.der)
        self.owners[name] = Owner(node, ledger, silo, link, answering(node, link))

    def break_silos(self) -> None:
        for owner in self.owners.values():
            owner.silo.broken = True

    def hush(self, name: str) -> None:
        """Let an owner do what it is asked for, and say nothing."""
        node = self.owners[name].node
        usual = node.prepare

        def silent(*said: Any, **named: Any) -> Any:
            usual(*said, **named)
            return []

        node.prepare = silent

    async def drop_all(self) -> None:
        """End all owners without a word."""
        for owner in self.owners.values():
            owner.link.drop()
            owner.running.close()
        while self.provider.desk.present:
            await asyncio.sleep(0.01)

    def true_count(self, query: RangeQuery) -> int:
        return sum(int(owner.silo.totals(query)["count"][0]) for owner in self.owners.values())


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def open_city(
    folder: Path,
    owners: int,
    *,
    seconds: float = PATIENCE_S,
    dropouts: float = 0.1,
    cap: float = 1e4,
    comparisons: int = 0,
    **told: Any,
) -> AsyncIterator[City]:
    """Run a federation while the context lasts; `told` are attributes, times and the usual grouping."""
    hub, state = MemoryHub(), ProviderState(folder / "provider.db")
    desk = Desk(hub.provider(), encode=encode, decode=decode, verify=believed)
    masks = MaskSettings(1, dropouts)
    settings = LiveSettings("city", MAP, Protection(), masks, cohort_size=4, seconds=seconds, **told)
    async with AsyncExitStack() as stack:
        stack.callback(state.close)
        stack.push_async_callback(ended, asyncio.create_task(desk.listen()))
        city = City(LiveProvider(desk, settings, store=state), hub, state, folder)
        for i in range(owners):
            city.add(f"owner-{i}", 3 if i % 2 else 7, cap=cap, comparisons=comparisons)
            stack.callback(city.owners[f"owner-{i}"].ledger.close)
            stack.callback(city.owners[f"owner-{i}"].running.close)
        assert await desk.until_present(owners, PATIENCE_S)
        yield city
