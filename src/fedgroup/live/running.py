"""Starting live roles from their files, and stopping them in good order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import Certificate, Identity, Trust
from fedgroup.live.channels import OwnerChannel, ProviderChannels
from fedgroup.live.config import FederationTable, OwnerConfig, ProviderConfig
from fedgroup.live.desk import Desk
from fedgroup.live.expiry import Ending, Expiries, endings_of, endings_of_others
from fedgroup.live.flushing import Flushing
from fedgroup.live.ledgers import MarkedLedger, Marking, open_ledger, sole_owner
from fedgroup.live.owner import run_owner
from fedgroup.live.provider import LiveProvider
from fedgroup.live.public_log import PublicLog
from fedgroup.live.settings import agreed_on
from fedgroup.live.vouching import Vouching
from fedgroup.owner.heads import Heads
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.node_parts import OwnersSilo
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import PublicMap
from fedgroup.storage.log_file import LogFile
from fedgroup.storage.provider_state import ProviderState
from fedgroup.storage.sole_use import sole_use
from fedgroup.transport.broker import EmbeddedBroker
from fedgroup.transport.codec import decode, decode_once, encode
from fedgroup.transport.connection import BrokerAddress
from fedgroup.transport.mqtt import MqttOwnerLink, MqttProviderLink
from fedgroup.transport.topics import Topics

log = logging.getLogger("fedgroup.owner")


_USUAL = 1_024


def allow_open_files() -> None:
    """Raise this process' limit, and that of those it starts, to what the system allows it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def files_allowed() -> int:
    """Return how many files and connections this process may have open now."""
    try:
        import resource
    except ImportError:
        return _USUAL
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if allowed == resource.RLIM_INFINITY else allowed


CONNECT_SECONDS = 20.0
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104
"""Where this machine reaches a broker that listens on all addresses."""


@dataclass(frozen=True)
class _Owner:
    """An owner that is about to run."""

    node: OwnerNode
    ledger: MarkedLedger
    link: MqttOwnerLink
    channel: OwnerChannel
    vouching: Vouching
    tls: ssl.SSLContext
    certificate: Certificate
    in_thread: bool


@dataclass(frozen=True)
class RunningProvider:
    """A provider that is up, and what it keeps."""

    provider: LiveProvider
    state: ProviderState
    broker_port: int
    expiries: Expiries


@asynccontextmanager
async def running_provider(
    config: ProviderConfig, *, through: Callable[[Any], Any] = lambda link: link
) -> AsyncIterator[RunningProvider]:
    """Run broker (if it is embedded) and provider while the context lasts; port 0 takes any free one.

    A second one on the same file is refused before it touches anything. `through` may put something between its
    channels and the provider.
    """
    identity, trust = _identity(config.identity.folder, config.identity.authority, config.federation.name)
    topics, vouching = Topics(config.federation.name), Vouching(trust)
    client, server = identity.client_context(trust), identity.server_context(trust)
    async with AsyncExitStack() as stack:
        stack.enter_context(sole_use(config.state.file, of="the provider"))
        port = config.broker.port
        if config.broker.embedded:
            port = (await stack.enter_async_context(_broker(config, topics, vouching, server))).port
        stack.push_async_callback(_end, asyncio.create_task(vouching.keep_fresh([client, server])))
        link = await stack.enter_async_context(
            MqttProviderLink(topics=topics, broker=broker_address(config, port, identity, client))
        )
        state = ProviderState(config.state.file, keep_days=config.state.keep_days)
        stack.callback(state.close)
        lines = LogFile(log_file_of(config))
        stack.callback(lines.close)
        public_log = PublicLog(lines, config.settings, identity, agreed=_agreed(config.federation))
        channels = ProviderChannels(link, identity, verify_owner=vouching.verify)
        stack.push_async_callback(_end, asyncio.create_task(channels.keep_greeting()))
        desk = Desk(
            through(channels),
            encode=encode,
            decode=decode,
            verify=vouching.verify,
            agreed=_agreed(config.federation),
            known=state.owners(),
        )
        stack.push_async_callback(_end, asyncio.create_task(desk.listen()))
        if not await link.until_up(CONNECT_SECONDS):
            raise InvalidInput(f"the broker at {config.broker.host}:{port} does not answer; is it running?")
        own, known = [identity.certificate], desk.known
        expiries = Expiries(
            lambda: [*endings_of(own, [vouching.newest()]), *endings_of_others(known, vouching.newest())]
        )
        stack.push_async_callback(_end, asyncio.create_task(expiries.keep_looking()))
        _spare_the_collector(stack)
        yield RunningProvider(LiveProvider(desk, config.settings, store=state, log=public_log), state, port, expiries)


@asynccontextmanager
async def running_owners(
    configs: Sequence[OwnerConfig],
    *,
    port: int | None = None,
    new_ledger: bool = False,
    through: Callable[[Any], Any] = lambda link: link,
) -> AsyncIterator[list[OwnerNode]]:
    """Run owners while the context lasts, each as its file says; `port` stands for the broker's in all of them.

    One that another process runs already is refused. `through` may put something between a channel and its owner.
    """
    async with AsyncExitStack() as stack:
        for config in configs:
            name = Identity.load(config.identity.folder).name
            await stack.enter_async_context(sole_owner(config, holder=name, new_ledger=new_ledger))
        nodes, known, flushing, marking = [], dict[Path, Vouching](), Flushing(), Marking()
        running: list[_Owner] = []
        stack.callback(flushing.close)
        stack.callback(marking.update)
        stack.push_async_callback(_end, asyncio.create_task(marking.keep_up()))
        for config in configs:
            owner = _owner(config, port, new_ledger=new_ledger, known=known)
            marking.add(owner.ledger)
            await stack.enter_async_context(owner.link)
            answering = run_owner(
                owner.node, through(owner.channel), decode=decode_once, flushing=flushing, in_thread=owner.in_thread
            )
            for work in (answering, owner.vouching.keep_fresh([owner.tls])):
                stack.push_async_callback(_end, asyncio.create_task(work))
            nodes.append(owner.node)
            running.append(owner)
        expiries = Expiries(lambda: _endings_of_owners(running, known.values()))
        stack.push_async_callback(_end, asyncio.create_task(expiries.keep_looking()))
        _spare_the_collector(stack)
        yield nodes


def _endings_of_owners(running: Sequence[_Owner], known: Iterable[Vouching]) -> list[Ending]:
    """Return what owners depend on: their own certificates, the lists and authorities, and their provider's."""
    found = endings_of([owner.certificate for owner in running], [each.newest() for each in known])
    providers = (endings_of_others(owner.channel.provider_shown, owner.vouching.newest()) for owner in running)
    return [*found, *dict.fromkeys(ending for each in providers for ending in each)]


def open_node(
    config: OwnerConfig, *, new_ledger: bool = False, known: dict[Path, Vouching] | None = None
) -> tuple[OwnerNode, Identity, Vouching, MarkedLedger]:
    """Return an owner as its file describes it, with its ledger and its silo; `open_ledger` tells which are refused.

    Owners of one process that believe one authority verify a certificate once for all, by what is `known`.
    """
    identity, trust = _identity(config.identity.folder, config.identity.authority, config.federation.name)
    if identity.role != "owner":
        raise InvalidInput(f"{config.identity.folder} holds the certificate of a {identity.role}, not of an owner")
    facts, vouching = config.federation, Vouching(trust)
    if known is not None:
        vouching = known.setdefault(trust.folder.resolve(), vouching)
    marked = open_ledger(config, holder=identity.name, new_ledger=new_ledger)
    node = OwnerNode(
        identity,
        open_silo(config.silo, facts.public_map, protection=facts.protection),
        public_map=facts.public_map,
        protection=facts.protection,
        policy=config.policy.policy,
        ledger=marked.ledger,
        noise=SecureNoise(),
        verify=vouching.verify,
        trust=vouching.now,
        clock=time.monotonic,
        encode=encode,
        agreed=_agreed(facts),
        heads=Heads(marked.ledger, facts.name),
    )
    return node, identity, vouching, marked


def open_silo(settings: dict[str, Any], public_map: PublicMap, *, protection: Protection) -> OwnersSilo:
    """Return an owner's silo, cut as all agreed; `kind = "records"` is a table that is read when its owner starts."""
    if settings.get("kind") == "records":
        from fedgroup.data.files import read_own

        if set(settings) != {"kind", "path"}:
            raise InvalidInput('a silo of the kind "records" has a path, and nothing else')
        return TableSilo(read_own(Path(settings["path"])), public_map, protection=protection)
    from fedgroup.silos import open_silo as open_database

    database: OwnersSilo = open_database(settings, public_map, protection=protection)
    return database


def _owner(config: OwnerConfig, port: int | None, *, new_ledger: bool, known: dict[Path, Vouching]) -> _Owner:
    node, identity, vouching, ledger = open_node(config, new_ledger=new_ledger, known=known)
    tls = identity.client_context(vouching.trust)
    address = BrokerAddress(config.broker.host, config.broker.port if port is None else port, tls)
    agreed = _agreed(config.federation)
    link = MqttOwnerLink(
        identity.name,
        topics=Topics(config.federation.name),
        broker=address,
        certificate=identity.certificate.der,
        agreed=agreed,
    )
    channel = OwnerChannel(
        link,
        identity,
        agreed=agreed,
        verify_provider=lambda der: vouching.verify(der, "provider"),
        most_records=node.policy.most_records,
    )
    node.heads.signed_by(lambda: _providers_key(channel, vouching))
    return _Owner(
        node, ledger, link, channel, vouching, tls, identity.certificate, config.silo.get("kind") != "records"
    )


def _providers_key(channel: OwnerChannel, vouching: Vouching) -> bytes | None:
    """Return the key that the provider signs with, by the certificate that it showed; None before it did."""
    shown = channel.provider_shown.values()
    return next((vouching.verify(der, "provider").tls_key for der in shown), None)


def log_file_of(config: ProviderConfig) -> Path:
    """Return the file of the provider's public log, beside its own file."""
    return Path(config.state.file).with_suffix(".log.jsonl")


def embedded_broker(config: ProviderConfig) -> EmbeddedBroker:
    """Return the broker that a provider's file describes, for who wants it without the provider."""
    identity, trust = _identity(config.identity.folder, config.identity.authority, config.federation.name)
    return _broker(config, Topics(config.federation.name), Vouching(trust), identity.server_context(trust))


def broker_address(config: ProviderConfig, port: int, identity: Identity, tls: ssl.SSLContext) -> BrokerAddress:
    """Return where the provider finds the broker; its own shows its own certificate, and may listen everywhere."""
    if not config.broker.embedded:
        return BrokerAddress(config.broker.host, port, tls)
    host = _HERE.get(config.broker.host, config.broker.host)
    return BrokerAddress(host, port, tls, named=identity.certificate.hosts[0])


def _broker(config: ProviderConfig, topics: Topics, vouching: Vouching, tls: ssl.SSLContext) -> EmbeddedBroker:
    def identify(der: bytes) -> tuple[str, str]:
        with suppress(ProtocolViolation):
            return "owner", vouching.verify(der).name
        return "provider", vouching.verify(der, "provider").name

    return EmbeddedBroker(topics, bind=config.broker.host, port=config.broker.port, tls=tls, identify=identify)


def _agreed(facts: FederationTable) -> bytes:
    return agreed_on(facts.name, facts.public_map, facts.protection, facts.counted)


def _identity(folder: str, authority: str, federation: str) -> tuple[Identity, Trust]:
    identity, trust = Identity.load(folder), Trust.load(authority)
    if trust.federation != federation:
        raise InvalidInput(f"{authority} is the authority of {trust.federation!r}, not of {federation!r}")
    trust.verify(identity.certificate.der, role=identity.role)
    return identity, trust


def _spare_the_collector(stack: AsyncExitStack) -> None:
    """Let the garbage collector leave alone what is there now: to look through it again and again holds answers up."""
    gc.collect()
    gc.freeze()
    stack.callback(gc.unfreeze)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
