"""Starting live roles from their files, and stopping them in good order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import Identity, Trust
from fedgroup.live.config import OwnerConfig, ProviderConfig
from fedgroup.live.desk import Desk
from fedgroup.live.owner import run_owner
from fedgroup.live.provider import LiveProvider
from fedgroup.owner.node import OwnerNode, Silo
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.space import PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.broker import EmbeddedBroker
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.connection import BrokerAddress
from fedgroup.transport.listening import Listening
from fedgroup.transport.mqtt import MqttOwnerLink, MqttProviderLink
from fedgroup.transport.topics import Topics

CONNECT_SECONDS = 20.0


@dataclass(frozen=True)
class RunningProvider:
    """A provider that is up, and what it keeps."""

    provider: LiveProvider
    state: ProviderState
    broker_port: int


@asynccontextmanager
async def running_provider(config: ProviderConfig) -> AsyncIterator[RunningProvider]:
    """Run broker (if it is embedded) and provider while the context lasts; port 0 takes any free one."""
    identity, trust = _identity(config.identity.folder, config.identity.authority, config.federation.name)
    topics = Topics(config.federation.name)
    async with AsyncExitStack() as stack:
        port = config.broker.port
        if config.broker.embedded:
            port = (await stack.enter_async_context(_broker(config, identity, trust, topics))).port
        address = BrokerAddress(config.broker.host, port, identity.client_context(trust))
        link = await stack.enter_async_context(MqttProviderLink(topics=topics, broker=address))
        state = ProviderState(config.state.file)
        stack.callback(state.close)
        desk = Desk(link, encode=encode, decode=decode, verify=verifier(trust))
        stack.push_async_callback(_end, asyncio.create_task(desk.listen()))
        if not await link.until_up(CONNECT_SECONDS):
            raise InvalidInput(f"the broker at {config.broker.host}:{port} does not answer; is it running?")
        yield RunningProvider(LiveProvider(desk, config.settings, store=state), state, port)


@asynccontextmanager
async def running_owners(configs: Sequence[OwnerConfig], *, port: int | None = None) -> AsyncIterator[list[OwnerNode]]:
    """Run owners while the context lasts, each as its file says; `port` stands for the broker's in all of them."""
    async with AsyncExitStack() as stack:
        nodes = []
        for config in configs:
            node, link, threaded = _owner(config, port)
            await stack.enter_async_context(link)
            task = asyncio.create_task(run_owner(node, link, decode=decode, in_thread=threaded))
            stack.push_async_callback(_end, task)
            nodes.append(node)
        yield nodes


def open_node(config: OwnerConfig) -> tuple[OwnerNode, Identity, Trust]:
    """Return an owner as its file describes it, with its ledger and its silo."""
    identity, trust = _identity(config.identity.folder, config.identity.authority, config.federation.name)
    if identity.role != "owner":
        raise InvalidInput(f"{config.identity.folder} holds the certificate of a {identity.role}, not of an owner")
    facts = config.federation
    ledger = OwnerLedger(config.ledger.file)
    ledger.set_cap(Epsilon.of(config.ledger.cap, name="cap"))
    node = OwnerNode(
        identity,
        open_silo(config.silo, facts.public_map, max_records=facts.max_records),
        public_map=facts.public_map,
        protection=facts.protection,
        policy=config.policy.policy,
        ledger=ledger,
        noise=SecureNoise(),
        verify=verifier(trust),
        encode=encode,
    )
    return node, identity, trust


def open_silo(settings: dict[str, Any], public_map: PublicMap, *, max_records: int | None) -> Silo:
    """Return an owner's silo; `kind = "records"` reads a table into memory once, all others ask a database."""
    if settings.get("kind") == "records":
        from fedgroup.data.files import read

        if set(settings) != {"kind", "path"}:
            raise InvalidInput('a silo of the kind "records" has a path, and nothing else')
        return TableSilo(read(Path(settings["path"])), public_map, max_records=max_records)
    from fedgroup.silos import open_silo as open_database

    database: Silo = open_database(settings, public_map, max_records=max_records)
    return database


def verifier(trust: Trust) -> Callable[[bytes], Any]:
    """Return the function that verifies owners' certificates by the newest list of revocations."""
    newest = [trust]

    def verify(der: bytes) -> Any:
        newest[0] = newest[0].current()
        return newest[0].verify(der)

    return verify


def _owner(config: OwnerConfig, port: int | None) -> tuple[OwnerNode, MqttOwnerLink, bool]:
    node, identity, trust = open_node(config)
    tls = identity.client_context(trust)
    address = BrokerAddress(config.broker.host, config.broker.port if port is None else port, tls)
    link = MqttOwnerLink(
        identity.name, topics=Topics(config.federation.name), broker=address, certificate=identity.certificate.der
    )
    return node, link, config.silo.get("kind") != "records"


def _broker(config: ProviderConfig, identity: Identity, trust: Trust, topics: Topics) -> EmbeddedBroker:
    listening = Listening(
        config.broker.host,
        config.broker.port,
        authority=trust.authority_file,
        certificate=identity.certificate_file,
        key=identity.key_file,
        revoked=trust.revoked_file,
    )

    def identify(der: bytes) -> tuple[str, str]:
        with suppress(ProtocolViolation):
            return "owner", trust.current().verify(der).name
        return "provider", trust.current().verify(der, role="provider").name

    return EmbeddedBroker(listening, topics, identify=identify)


def _identity(folder: str, authority: str, federation: str) -> tuple[Identity, Trust]:
    identity, trust = Identity.load(folder), Trust.load(authority)
    if trust.federation != federation:
        raise InvalidInput(f"{authority} is the authority of {trust.federation!r}, not of {federation!r}")
    trust.verify(identity.certificate.der, role=identity.role)
    return identity, trust


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
