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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import Certificate, Identity, Trust
from fedgroup.identity.tls import SharedCalls
from fedgroup.live.channels import OwnerChannel, ProviderChannels
from fedgroup.live.config import FederationTable, OwnerConfig, ProviderConfig
from fedgroup.live.desk import Desk
from fedgroup.live.expiry import Ending, Expiries, endings_of, endings_of_others
from fedgroup.live.flushing import Flushing
from fedgroup.live.hosting import hosting
from fedgroup.live.ledgers import Marking, keep_sole_owner, open_ledger
from fedgroup.live.owner import RunningOwner
from fedgroup.live.pacing import Moments, paced
from fedgroup.live.provider import LiveProvider
from fedgroup.live.public_log import PublicLog
from fedgroup.live.settings import agreed_on
from fedgroup.live.vouching import Vouching
from fedgroup.live.working import Working
from fedgroup.owner.heads import Heads
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.node_parts import OwnersSilo
from fedgroup.owner.public_time import PublicTime
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import PublicMap
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.log_file import LogFile
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.storage.sole_use import sole_use
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.broker import EmbeddedBroker
from fedgroup.transport.codec import decode, decode_once, encode
from fedgroup.transport.connection import FAREWELL_S, BrokerAddress
from fedgroup.transport.joining import Joining, keepalive_s
from fedgroup.transport.mqtt import MqttOwnerLink, MqttProviderLink
from fedgroup.transport.topics import Topics

log = logging.getLogger("fedgroup.owner")


_USUAL = 1_024
_YOUNG = 50_000
"""So many new objects may there be before the collector looks at them: an answer makes some hundred, and no cycle."""


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


class Shared:
    """What owners of one process have in common: whom they believe, how they call, and when they join."""

    def __init__(self, owners: int = 1) -> None:
        self.keepalive_s = keepalive_s(owners)
        self.joining = Joining()
        self._moments: Moments | None = None
        self._known: dict[Path, tuple[Vouching, SharedCalls]] = {}
        self._named: dict[str, tuple[Vouching, SharedCalls]] = {}

    def moments(self, every_ms: float) -> Moments:
        """Return the moments, so far apart, at which messages of all owners of the process come and leave.

        Two paces are refused: one owner's letters would leave while another counts, and show for how long.
        """
        if self._moments is None:
            self._moments = Moments(every_ms / 1_000)
        if self._moments.every_s != every_ms / 1_000:
            raise InvalidInput("owners of one process answer at the same moments: say one every_ms in all their files")
        return self._moments

    def believing(self, authority: str) -> tuple[Vouching, SharedCalls]:
        """Return what owners of one authority share: they verify a certificate once for all."""
        known = self._named.get(authority)
        if known is None:
            place = Path(authority).resolve()
            if place not in self._known:
                trust = Trust.load(authority)
                self._known[place] = Vouching(trust), SharedCalls(trust)
            known = self._named[authority] = self._known[place]
        return known

    @property
    def known(self) -> list[tuple[Vouching, SharedCalls]]:
        return list(self._known.values())


@dataclass(frozen=True, slots=True)
class _Owner:
    """An owner that is about to run."""

    node: OwnerNode
    link: MqttOwnerLink
    channel: OwnerChannel
    vouching: Vouching
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
        _collect_less_often(stack)
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
        _collect_less_often(stack)
        identities = [Identity.load(config.identity.folder) for config in configs]
        flushing, working, marking, shared = Flushing(), Working(), Marking(), Shared(len(configs))
        for config, identity in zip(configs, identities, strict=True):
            shared.moments(config.pace.every_ms)  # another pace is refused before anything is opened
            _require_owner(config, identity, shared.believing(config.identity.authority)[0].trust)
            await keep_sole_owner(stack, config, holder=identity.name, new_ledger=new_ledger)
        names = [identity.name for identity in identities]
        hosted, ledgers = await stack.enter_async_context(hosting(configs, names, new_ledger=new_ledger))
        running: list[_Owner] = []
        answering: list[RunningOwner] = []
        stack.callback(flushing.close)
        stack.callback(marking.update)
        for file in hosted.files:
            marking.add(file)
        stack.push_async_callback(_end, asyncio.create_task(marking.keep_up()))
        stack.push_async_callback(_close_all, running, answering)
        for config, identity in zip(configs, identities, strict=True):
            ledger = ledgers.get(identity.name) or _own_ledger(config, identity, marking, new_ledger=new_ledger)
            owner = _owner(config, identity, ledger, port, shared=shared)
            answering.append(
                RunningOwner(
                    owner.node,
                    through(owner.channel),
                    decode=decode_once,
                    flushing=flushing,
                    working=working,
                    in_thread=owner.in_thread,
                )
            )
            running.append(owner)
            owner.link.start()
            await asyncio.sleep(0)  # those that are ready connect meanwhile
        for vouching, calls in shared.known:
            stack.push_async_callback(_end, asyncio.create_task(vouching.keep_fresh([calls.context])))
        expiries = Expiries(lambda: _endings_of_owners(running, [vouching for vouching, _ in shared.known]))
        stack.push_async_callback(_end, asyncio.create_task(expiries.keep_looking()))
        _spare_the_collector(stack)
        yield [owner.node for owner in running]


def _endings_of_owners(running: Sequence[_Owner], known: Iterable[Vouching]) -> list[Ending]:
    """Return what owners depend on: their own certificates, the lists and authorities, and their provider's."""
    found = endings_of([owner.certificate for owner in running], [each.newest() for each in known])
    providers = (endings_of_others(owner.channel.provider_shown, owner.vouching.newest()) for owner in running)
    return [*found, *dict.fromkeys(ending for each in providers for ending in each)]


def _own_ledger(config: OwnerConfig, identity: Identity, marking: Marking, *, new_ledger: bool) -> OwnerLedger:
    marked = open_ledger(config, holder=identity.name, new_ledger=new_ledger)
    marking.add(marked)
    return marked.ledger


def open_node(
    config: OwnerConfig, identity: Identity, ledger: OwnerLedger | HostedLedger, *, vouching: Vouching
) -> OwnerNode:
    """Return an owner as its file describes it, with its ledger and its silo.

    Owners of one process that believe one authority share `vouching`, and verify a certificate once for all.
    """
    facts, policy = config.federation, config.policy.policy
    public = PublicTime(time.monotonic, every_s=config.pace.every_ms / 1_000)  # as its moments are, by its loop's clock
    return OwnerNode(
        identity,
        open_silo(config.silo, facts.public_map, protection=facts.protection),
        public_map=facts.public_map,
        protection=facts.protection,
        policy=replace(policy, now=None if policy.now is None else public.standing(policy.now)),
        ledger=ledger,
        noise=SecureNoise(),
        verify=vouching.verify,
        trust=vouching.now,
        clock=public,
        encode=encode,
        agreed=_agreed(facts),
        heads=Heads(ledger, facts.name),
    )


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


def _owner(
    config: OwnerConfig,
    identity: Identity,
    ledger: OwnerLedger | HostedLedger,
    port: int | None,
    *,
    shared: Shared,
) -> _Owner:
    vouching, calls = shared.believing(config.identity.authority)
    node = open_node(config, identity, ledger, vouching=vouching)
    tls = calls.by(identity.certificate_file, identity.key_file)
    where = config.broker.port if port is None else port
    address = BrokerAddress(config.broker.host, where, tls, keepalive_s=shared.keepalive_s)
    agreed = _agreed(config.federation)
    link = MqttOwnerLink(
        identity.name,
        topics=Topics(config.federation.name),
        broker=address,
        certificate=identity.certificate.der,
        agreed=agreed,
        backoff=Backoff(spread_s=config.broker.spread_seconds),
        joining=shared.joining,
    )
    channel = OwnerChannel(
        paced(link, shared.moments(config.pace.every_ms)),
        identity,
        agreed=agreed,
        verify_provider=lambda der: vouching.verify(der, "provider"),
        most_records=node.policy.most_records,
    )
    node.heads.signed_by(lambda: _providers_key(channel, vouching))
    return _Owner(node, link, channel, vouching, identity.certificate, config.silo.get("kind") != "records")


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
    _require_one_federation(authority, trust, federation)
    trust.verify(identity.certificate.der, role=identity.role)
    return identity, trust


def _require_owner(config: OwnerConfig, identity: Identity, trust: Trust) -> None:
    """Refuse an identity that is not that of an owner whom the authority in its file vouches for."""
    _require_one_federation(config.identity.authority, trust, config.federation.name)
    trust.verify(identity.certificate.der, role=identity.role)
    if identity.role != "owner":
        raise InvalidInput(f"{config.identity.folder} holds the certificate of a {identity.role}, not of an owner")


def _require_one_federation(authority: str, trust: Trust, federation: str) -> None:
    if trust.federation != federation:
        raise InvalidInput(f"{authority} is the authority of {trust.federation!r}, not of {federation!r}")


def _collect_less_often(stack: AsyncExitStack) -> None:
    """Let the garbage collector look less often, for it holds up answers and whoever joins."""
    usual = gc.get_threshold()
    stack.callback(gc.set_threshold, *usual)
    gc.set_threshold(_YOUNG, *usual[1:])


def _spare_the_collector(stack: AsyncExitStack) -> None:
    """Let the garbage collector leave alone what is there now: to look through it again and again holds answers up."""
    gc.collect()
    gc.freeze()
    stack.callback(gc.unfreeze)


async def _close_all(running: Sequence[_Owner], answering: Sequence[RunningOwner]) -> None:
    """Let one owner after the other answer no more, and take leave: of a broker that hangs, one waits for all."""
    patience_s = FAREWELL_S

    async def leave(owner: _Owner) -> None:
        nonlocal patience_s
        if not await owner.link.close(within_s=patience_s):
            patience_s = 0.0

    async with AsyncExitStack() as stack:
        for owner, its in zip(running, answering, strict=True):
            stack.push_async_callback(leave, owner)
            stack.callback(its.close)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
