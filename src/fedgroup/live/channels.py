"""Links on which only the provider and the owners are heard, whoever runs the broker; see `secure/channel.py`.

An owner that comes shows its certificate openly. The provider says Hello to it, and takes it for here once it has
greeted back under that certificate. An owner greets whoever says Hello, and obeys only who then seals under the
certificate of the federation's provider. Letters between owners pass as they are: they are sealed by themselves.
What is said to one party at the same time goes in one frame.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

from fedgroup.errors import FedgroupError, ProtocolViolation
from fedgroup.live.packs import packed, unpacked
from fedgroup.messages.said import Presence
from fedgroup.secure.channel import (
    FRAME,
    GREETING,
    HELLO,
    KEY_BYTES,
    Session,
    binding,
    owners_side,
    providers_side,
    session_of,
)
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.links import MOST_MESSAGE, Hear, OwnerLink
from fedgroup.transport.topics import PROVIDER

log = logging.getLogger("fedgroup.wire")

AGAIN_S = 2.0
"""How often the provider says Hello to an owner that has not greeted back."""
_GREETED_A_SECOND = 250
"""Where more are awaited than greet in that time on a busy machine, each is given longer before it is said again."""

_SLACK_S = 0.1
_UNSAID: tuple[OwnerKey | None, float] = (None, 0.0)

_MOST_OFFERED = 4
"""Sessions that an owner greeted in and has heard nothing in yet; the oldest is forgotten."""

Verify = Callable[[bytes], Any]
"""Returns a certificate that holds now, or raises."""


class Identified(Protocol):
    """A party's own certificate and exchange key."""

    @property
    def owner_key(self) -> OwnerKey: ...

    @property
    def certificate(self) -> Any: ...


class OwnerChannel:
    """An owner's link: what it hands on as the provider's was sealed by the provider of its federation.

    Guarantee: nobody without the provider's key is heard as the provider, and only the provider reads what is sent
               to it. Hellos that lead to nothing leave the session in use alone.
    """

    __slots__ = ("_agreed", "_hear", "_identity", "_link", "_most_records", "_offered", "_said", "_used", "_verify")

    def __init__(
        self,
        link: OwnerLink,
        identity: Identified,
        *,
        agreed: bytes,
        verify_provider: Verify,
        most_records: int | None = None,
    ) -> None:
        """`verify_provider` returns a provider's certificate that holds now, or raises.

        `most_records` is what the owner's policy says of itself.
        """
        self._link = link
        self._identity = identity
        self._agreed = agreed
        self._most_records = most_records
        self._verify = verify_provider
        self._used: tuple[Session, bytes] | None = None
        self._offered: dict[bytes, tuple[Session, bytes]] = {}
        self._hear: Hear | None = None
        self._said: list[tuple[str, bytes]] = []

    @property
    def provider_shown(self) -> dict[str, bytes]:
        """The certificate of the provider that was heard last, under its name; none before that."""
        return {} if self._used is None else {PROVIDER: self._used[1]}

    def listen(self, hear: Hear) -> None:
        """Call `hear` for the messages of every frame from now on; what does not open is dropped."""
        self._hear = hear
        self._link.listen(self._take)

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Send messages: to other owners each as it is, and first; to the provider sealed, short ones together.

        Those to the provider are lost before it has said Hello. What is said until the link lets it leave goes
        together: when each was ready does not show.
        """
        if messages and not self._said:
            self._said += messages
            self._link.say(self._leaving())
        else:
            self._said += messages

    def _leaving(self) -> Iterator[tuple[str, bytes]]:
        """Yield all that was said by now, as it leaves."""
        said, self._said = self._said, []
        for to, payload in said:
            if to != PROVIDER:
                yield to, payload
        for pack in packed(payload for to, payload in said if to == PROVIDER):
            sealed = self.sealed(pack)
            if sealed is not None:
                yield PROVIDER, sealed

    def when_left(self, call: Callable[[], None]) -> None:
        """Call something once all that was said has left."""
        self._link.when_left(call)

    def hold(self) -> None:
        """Read nothing more until `go_on` was called as often."""
        self._link.hold()

    def go_on(self) -> None:
        """Read again, unless somebody else holds."""
        self._link.go_on()

    def _take(self, sender: str, payloads: Sequence[bytes], came_at: float) -> None:
        for each in payloads:
            opened = [each] if sender != PROVIDER else self._opened(each)
            if opened and self._hear is not None:
                self._hear(sender, opened, came_at)

    def _opened(self, frame: bytes) -> list[bytes]:
        """Return what the provider said in a frame, which may be nothing but Hello."""
        try:
            if frame.startswith(HELLO):
                self._link.say([(PROVIDER, self.greeting(frame))])
                return []
            return unpacked(self.opened(frame))
        except FedgroupError:
            log.warning("a message was refused", extra={"party": self._identity.certificate.name})
            return []

    def sealed(self, payload: bytes) -> bytes | None:
        """Return a frame for the provider; None before it has said anything in a session."""
        return None if self._used is None else self._used[0].seal(payload)

    def greeting(self, hello: bytes) -> bytes:
        """Return what is said to who says Hello with the provider's certificate."""
        providers_fresh, der = hello[len(HELLO) : len(HELLO) + KEY_BYTES], hello[len(HELLO) + KEY_BYTES :]
        own, fresh, provider = self._identity.certificate, OwnerKey.fresh(), self._verified(der)
        session = owners_side(
            self._identity.owner_key,
            fresh,
            provider=provider.exchange_key,
            providers_fresh=providers_fresh,
            bound=_bound(own.federation, der, own.der),
        )
        self._offered = dict(list(self._offered.items())[-_MOST_OFFERED + 1 :]) | {
            session.id: (session, provider.der)  # its verified copy, which owners of one process share
        }
        here = Presence(own.name, True, own.der, agreed=self._agreed, most_records=self._most_records)
        return GREETING + fresh.public + session.seal(encode(here))

    def opened(self, frame: bytes) -> bytes:
        """Return what the provider sealed, or raise `ProtocolViolation`."""
        name = session_of(frame)
        session, der = self._offered.get(name) or self._used or (None, b"")
        if session is None:
            raise ProtocolViolation("a frame is of a session that was greeted in")
        self._verified(der)
        opened = session.open(frame)
        if name in self._offered:  # heard in it for the first time: whoever said Hello holds the provider's key
            self._used, self._offered = self._offered[name], {}
        return opened

    def _verified(self, der: bytes) -> Any:
        found = self._verify(der)
        if found.name != PROVIDER:
            raise ProtocolViolation("only the provider asks")
        return found


class ProviderChannels:
    """The provider's link: what it yields as an owner's was sealed by that owner.

    Guarantee: an owner is here when it has greeted back under its certificate, and what is heard as an owner's, it
               said. That an owner is gone is the broker's word: it could as well carry nothing.
    """

    def __init__(self, link: Any, identity: Identified, *, verify_owner: Verify) -> None:
        self._link = link
        self._identity = identity
        self._verify = verify_owner
        self._shown: dict[str, bytes] = {}
        self._fresh: dict[str, tuple[OwnerKey, float]] = {}
        self._sessions: dict[str, Session] = {}
        self._waiting: dict[str, list[bytes]] = {}
        self._next: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the broker now."""
        return bool(getattr(self._link, "connected", True))

    @property
    def connections(self) -> int:
        """How many connections there were, this one included."""
        return int(getattr(self._link, "connections", 0))

    async def send(self, owner: str, payload: bytes) -> None:
        await self.send_many([(owner, payload)])

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each owner its message, sealed for it; lost for owners that have not greeted.

        What others send meanwhile goes with it: many questions at once are a frame to each owner.
        """
        for owner, payload in messages:
            if len(payload) > MOST_MESSAGE:
                raise ProtocolViolation(f"a message has at most {MOST_MESSAGE} bytes")
            self._waiting.setdefault(owner, []).append(payload)
        if self._next is None:
            self._next = asyncio.create_task(self._send_waiting())
        await asyncio.shield(self._next)

    async def _send_waiting(self) -> None:
        """Send, after what is being sent, all that waits by then."""
        async with self._sending:
            await asyncio.sleep(0)  # whoever is about to send goes along
            waiting, self._waiting, self._next = self._waiting, {}, None
            await self._link.send_many(self._sealed(waiting))

    def _sealed(self, waiting: dict[str, list[bytes]]) -> Iterator[tuple[str, bytes]]:
        """Yield what waits, sealed, and forget it."""
        for owner in list(waiting):
            for pack in packed(waiting.pop(owner)):
                session = self._sessions.get(owner)
                if session is not None:
                    yield owner, session.seal(pack)

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (owner, payload) until the link is closed; payloads are answers and encoded `Presence`s."""
        async for owner, payload in self._link.received():
            try:
                heard = await self._heard(owner, payload)
            except FedgroupError:
                heard = [b""]  # whoever listens counts it among the refused
            for each in heard:
                yield owner, each

    async def keep_greeting(self) -> None:
        """Say Hello again to owners that have not greeted back, until cancelled: a message may be lost."""
        while True:
            await asyncio.sleep(AGAIN_S)
            now = asyncio.get_running_loop().time()
            given_s = max(AGAIN_S, len(self._fresh) / _GREETED_A_SECOND)
            for owner in [name for name, (_, said_at) in self._fresh.items() if now - said_at >= given_s - _SLACK_S]:
                with suppress(FedgroupError):
                    await self._hello(owner)

    async def _heard(self, owner: str, payload: bytes) -> list[bytes]:
        """Return what an owner said; nothing for what is said between channels only."""
        if payload.startswith(FRAME):
            session = self._sessions.get(owner)
            if session is None:
                raise ProtocolViolation("an owner greets before it says anything else")
            return unpacked(session.open(payload))
        if payload.startswith(GREETING):
            return [self._greeted(owner, payload[len(GREETING) :])]
        presence = decode(payload, (Presence,))
        if presence.owner != owner:
            raise ProtocolViolation("an owner speaks for itself only")
        if not presence.here:
            self._forget(owner)
            return [payload]
        self._shown[owner] = presence.certificate
        await self._hello(owner)
        return []

    def _forget(self, owner: str) -> None:
        self._shown.pop(owner, None)
        self._fresh.pop(owner, None)
        self._sessions.pop(owner, None)

    async def _hello(self, owner: str) -> None:
        fresh = OwnerKey.fresh()
        self._fresh[owner] = fresh, asyncio.get_running_loop().time()
        if self._verify(self._shown[owner]).name != owner:
            raise ProtocolViolation("an owner shows its own certificate")
        await self._link.send_many([(owner, HELLO + fresh.public + self._identity.certificate.der)])

    def _greeted(self, owner: str, greeting: bytes) -> bytes:
        (fresh, _), certificate = self._fresh.get(owner, _UNSAID), self._verify(self._shown.get(owner, b""))
        if fresh is None or certificate.name != owner:
            raise ProtocolViolation("an owner greets whoever said Hello to it")
        session = providers_side(
            self._identity.owner_key,
            fresh,
            owner=certificate.exchange_key,
            owners_fresh=greeting[:KEY_BYTES],
            bound=_bound(certificate.federation, self._identity.certificate.der, certificate.der),
        )
        said = session.open(greeting[KEY_BYTES:])
        here = decode(said, (Presence,))
        if (here.owner, here.here, here.certificate) != (owner, True, certificate.der):
            raise ProtocolViolation("an owner greets by saying that it is here")
        del self._fresh[owner]
        self._sessions[owner] = session
        return said


def _bound(federation: str, provider: bytes, owner: bytes) -> bytes:
    return binding(federation.encode(), provider, owner)
