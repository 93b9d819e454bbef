"""A small federation in one process: real nodes, real ledgers, real messages, over a wire in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_world import PATIENCE_S, Nursery, World, until

from answering import answering
from fedgroup.epsilon import Epsilon
from fedgroup.errors import ProtocolViolation, SiloUnavailable
from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.identity.requests import LOCAL_HOSTS
from fedgroup.live.desk import Desk
from fedgroup.live.owner import RunningOwner
from fedgroup.live.provider import LiveProvider
from fedgroup.live.public_log import PublicLog
from fedgroup.live.settings import LiveSettings
from fedgroup.owner.counting import count_vectors, total_units
from fedgroup.owner.heads import UNWATCHED, Heads
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.round import MaskSettings
from fedgroup.space import Box, Grid, PublicMap
from fedgroup.storage.log_file import LogFile
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub, MemoryOwnerLink
from fixed_noise import fixed_noise
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))


@dataclass
class TableSilo:
    """Records in memory, counted as the owner's room counts them."""

    records: Records
    broken: bool = False
    changes: int = 0
    attributes: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    has_time: bool = False

    def vector(self, grid: Grid) -> np.ndarray:
        return count_vectors(self.records, grid, MAP)[0]

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        self.snapshot()
        return total_units(self.records, query, MAP)

    def snapshot(self) -> str:
        if self.broken:
            raise SiloUnavailable("the database is away")
        return str(self.changes)


@dataclass
class LiveOwner:
    """One owner: its node, its link, and what answers."""

    name: str
    node: OwnerNode
    ledger: OwnerLedger
    silo: TableSilo
    keys: Keys
    agreed: bytes = b""
    link: MemoryOwnerLink | None = None
    running: RunningOwner | None = None

    def stop(self) -> None:
        if self.running is not None:
            self.running.close()


@dataclass
class City:
    """A federation that tests can break."""

    provider: LiveProvider
    hub: MemoryHub
    state: ProviderState
    folder: Path
    owners: dict[str, LiveOwner] = field(default_factory=dict)
    revoked: dict[str, set[bytes]] = field(default_factory=dict)
    signer: Any = None

    def vouched(self, believer: str, der: bytes) -> Any:
        """Return what a certificate says, unless `revoked` tells that this party believes it no more."""
        if der in self.revoked.get(believer, ()):
            raise ProtocolViolation("revoked")
        return believed(der)

    def true_count(self, query: RangeQuery, names: Any = None) -> int:
        chosen = self.owners if names is None else names
        return sum(int(total_units(self.owners[name].silo.records, query, MAP)["count"][0]) for name in chosen)

    async def start(self, owner: LiveOwner) -> None:
        owner.link = self.hub.owner(owner.name, owner.keys.der, owner.agreed)
        owner.running = answering(owner.node, owner.link)
        self.owners[owner.name] = owner
        await asyncio.sleep(0)

    async def kill(self, name: str) -> None:
        """End an owner without a word; the provider's broker notices."""
        owner = self.owners[name]
        owner.stop()
        if owner.link is not None:
            owner.link.drop()
            await until(lambda: name not in self.provider.desk.present)

    async def add(self, name: str, *, where: tuple[float, float] = (5, 5), count: int = 40, **policy: Any) -> LiveOwner:
        cap, agreed = policy.pop("cap", 100.0), policy.get("agreed", b"")
        rng = np.random.default_rng(len(self.owners))
        x, y = (np.clip(rng.normal(c, 0.4, count), 0, 9.99) for c in where)
        records = Records(owner=np.zeros(count, dtype=np.int64), x=x, y=y)
        ledger = OwnerLedger(self.folder / f"{name}.db")
        ledger.count_as(self.provider.settings.accounting)
        ledger.set_cap(Epsilon.of(cap))
        keys, silo = Keys(name), TableSilo(records)
        owner = LiveOwner(name, self.node(keys, silo, ledger, policy), ledger, silo, keys, agreed)
        await self.start(owner)
        return owner

    def node(self, keys: Keys, silo: TableSilo, ledger: OwnerLedger, policy: dict[str, Any]) -> OwnerNode:
        defaults = {"modes": ("trusted", "masked"), "trusted_with": ("*",), "highest_epsilon": Epsilon.of(50)}
        defaults |= {"fewest_members": 2}
        agreed = policy.pop("agreed", b"")
        return OwnerNode(
            keys, silo, public_map=MAP, protection=self.provider.settings.protection,
            policy=Policy(**defaults | policy), ledger=ledger,
            noise=fixed_noise(keys.name), verify=lambda der: self.vouched(keys.name, der),
            encode=encode, agreed=agreed, heads=self.heads(ledger),
        )  # fmt: skip

    def heads(self, ledger: OwnerLedger) -> Any:
        """What an owner knows of the provider's log; nothing where there is none."""
        if self.signer is None:
            return UNWATCHED
        heads = Heads(ledger, "city")
        heads.signed_by(lambda: self.signer.certificate.tls_key)
        return heads


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.fixture
def city(tmp_path: Path) -> Callable[..., Any]:
    @asynccontextmanager
    async def opened(
        owners: int = 6,
        *,
        seconds: float = PATIENCE_S,
        dropouts: float = 0.1,
        protection: Protection = Protection(),  # noqa: B008  frozen
        accounting: Accounting = PURE,
        signer: Any = None,
        most_records: int | None = None,
        recovery: bool = True,
        cohort_size: int = 4,
        **policy: Any,
    ) -> AsyncIterator[City]:
        hub, state = MemoryHub(), ProviderState(tmp_path / "provider.db")
        desk = Desk(hub.provider(), encode=encode, decode=decode, verify=believed)
        settings = LiveSettings(
            "city", MAP, protection, MaskSettings(1, dropouts), cohort_size=cohort_size, seconds=seconds,
            accounting=accounting, most_records=most_records, recovery=recovery,
        )  # fmt: skip
        async with AsyncExitStack() as stack:
            listening = asyncio.create_task(desk.listen())
            stack.push_async_callback(_ended, listening)
            log = None
            if signer is not None:
                lines = LogFile(tmp_path / "provider.log.jsonl")
                stack.callback(lines.close)
                log = PublicLog(lines, settings, signer, agreed=b"")
            found = City(LiveProvider(desk, settings, store=state, log=log), hub, state, tmp_path, signer=signer)
            for i in range(owners):
                await found.add(f"owner-{i}", where=(3, 3) if i % 2 else (7, 7), **policy)
            assert await desk.until_present(owners, PATIENCE_S)
            try:
                yield found
            finally:
                for owner in found.owners.values():
                    owner.stop()
                    owner.ledger.close()
                state.close()

    return opened


@pytest.fixture(scope="session")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The identity of a provider that keeps a public log; `signer.folder.parent` holds its authority."""
    return _provider_in(tmp_path_factory.mktemp("provider"))


@pytest.fixture
def provider_of() -> Callable[[Path], Identity]:
    """Make a provider, and an authority of the city, in a folder."""
    return _provider_in


def _provider_in(place: Path) -> Identity:
    authority = Authority.create(place / "authority", "city")
    request = write_request(place / "provider", "provider", "provider", hosts=LOCAL_HOSTS)
    write_answer(place / "provider", authority.issue(request), Trust.load(authority.folder, stale=True))
    return Identity.load(place / "provider")


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """The process that all others of this test run come from."""
    found = Nursery()
    yield found
    found.close()


@pytest.fixture
def world_of(nursery: Nursery, tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Make a federation of real processes; whoever is alive at the end is killed."""
    made: list[World] = []

    def make(owners: int = 5, **facts: Any) -> World:
        made.append(World(tmp_path / f"federation-{len(made)}", nursery, owners, **facts))
        return made[-1]

    yield make
    for world in made:
        world.end()
