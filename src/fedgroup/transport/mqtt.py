"""Both ends of the wire over MQTT. A lost connection is made again, with growing waits, until the link is closed.

Presence is kept by the broker: an owner's link leaves a retained "here" whenever it connects, and a will, "gone".
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.said import Presence
from fedgroup.transport.access import Access, access_of_owner, access_of_provider
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.codec import encode
from fedgroup.transport.connection import FAREWELL_S, BrokerAddress, Connection
from fedgroup.transport.guarding import guarded
from fedgroup.transport.inbox import Inbox, Pulse
from fedgroup.transport.joining import Joining
from fedgroup.transport.links import MOST_BYTES, Hear
from fedgroup.transport.packets import Will
from fedgroup.transport.topics import PROVIDER, Topics, require_owner

log = logging.getLogger("fedgroup.wire")

_SETTLED_S = 5.0
"""A connection that lasted so long was a good one: the next try comes soon again."""
_PROVIDERS_PIECE = 1 << 16
"""What the provider hands to TLS at once: it has one connection, over which thousands speak."""


@dataclass(frozen=True)
class _Party:
    """Who is at this end: its name, what it may read, where it says that it is here or gone, and its certificate."""

    name: str
    access: Access
    presence: str | None = None
    certificate: bytes = b""
    agreed: bytes = b""

    def here(self) -> bytes:
        """Return what it says of itself while it is here."""
        return encode(Presence(self.name, here=True, certificate=self.certificate, agreed=self.agreed))

    def will(self) -> Will | None:
        """Return what the broker says when it is lost; nothing for who says nothing of itself."""
        return None if self.presence is None else Will(self.presence, encode(Presence(self.name, here=False)))


class _Line:
    """One connection after the other: what comes over them is heard, and nothing is read while somebody holds."""

    def __init__(
        self,
        broker: BrokerAddress,
        party: _Party,
        *,
        hear: Callable[[str, bytes], None],
        on_room: Callable[[bool], None] = lambda _: None,
        backoff: Backoff,
        joining: Joining | None = None,
    ) -> None:
        self._broker = broker
        self._party = party
        self._hear = hear
        self._on_room = on_room
        self._backoff = backoff
        self._joining = joining or Joining()
        self._holding = False
        self.connection: Connection | None = None
        self.connections = 0
        self.up = False
        self._awaited: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._turn = zlib.crc32(party.name.encode())  # owners spread over the nodes of a cluster

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep_connected())

    async def until_up(self, seconds: float) -> bool:
        if not self.up:
            self._awaited = self._awaited or asyncio.Event()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._awaited.wait(), seconds)
        return self.up

    def hold(self) -> None:
        """Read nothing more, over this connection and the next ones, until `go_on` is called."""
        self._holding = True
        if self.connection is not None:
            self.connection.hold()

    def go_on(self) -> None:
        self._holding = False
        if self.connection is not None:
            self.connection.go_on()

    async def close(self, *, within_s: float) -> bool:
        connection, self.connection = self.connection, None
        left = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if connection is not None:
            gone = self._party.will()
            if gone is not None:
                connection.publish(gone.topic, gone.payload, retain=True)
            left = await connection.leave(within_s=within_s)
        self._note_up(False)
        return left

    async def _keep_connected(self) -> None:
        loop, attempt = asyncio.get_running_loop(), 0
        while True:
            since: float | None = None
            try:
                async with self._joining.turn():
                    connection = await self._connect()
                since = loop.time()
                log.debug("connected", extra={"party": self._party.name})
                trouble = await connection.end()
            except OSError as error:
                trouble = str(error) or type(error).__name__
            except Exception as error:  # no thread to look a name up in, say: whatever it is, it is tried again
                trouble = type(error).__name__
            if self.connection is not None:
                self.connection.abort()
            self.connection = None
            self._note_up(False)
            attempt = 0 if since is not None and loop.time() - since > _SETTLED_S else attempt + 1
            wait_s = self._backoff.wait_s(self._party.name, attempt)
            where = f"{self._broker.host}:{self._broker.port}"
            log.warning("no connection to the broker at %s (%s); next try in %.1f s", where, trouble, wait_s)
            await asyncio.sleep(wait_s)

    async def _connect(self) -> Connection:
        """Connect and listen; only then say that this party is here."""
        self._turn += 1
        connection = await Connection.open(
            self._broker,
            client=self._party.name,
            will=self._party.will(),
            on_message=self._hear,
            on_room=self._on_room,
            turn=self._turn,
        )
        self.connection = connection  # what is retained may come, and be answered, before the broker's consent
        self.connections += 1
        await connection.subscribe(self._party.access.reads)
        if self._holding:
            connection.hold()
        if self._party.presence is not None:
            connection.publish(self._party.presence, self._party.here(), retain=True)
        self._note_up(True)
        return connection

    def _note_up(self, up: bool) -> None:
        self.up = up
        if self._awaited is not None and up:
            self._awaited.set()
            self._awaited = None


class _MqttLink:
    """What both ends have in common: they start, are waited for, and are closed."""

    def __init__(self, line: _Line) -> None:
        self._line = line

    def start(self) -> None:
        """Begin to connect, in a task of the running loop."""
        self._line.start()

    async def until_up(self, seconds: float) -> bool:
        """Wait until the link is connected; tell whether it is."""
        return await self._line.until_up(seconds)

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the broker now."""
        return self._line.up

    @property
    def connections(self) -> int:
        """How many connections there were, this one included: who was heard over an earlier one may be gone."""
        return self._line.connections

    async def close(self, *, within_s: float = FAREWELL_S) -> bool:
        """Leave for good; tell whether the broker took all that was said, within that time."""
        return await self._line.close(within_s=within_s)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class MqttOwnerLink(_MqttLink):
    """An owner's end over MQTT; `certificate` (DER) and what was `agreed` are shown with its presence.

    While what it says does not go out as fast as it comes, it hands nothing on. What comes meanwhile is read,
    up to the bounds of an inbox: so it is known since when it waits, and whether the broker is still there.
    """

    def __init__(
        self,
        owner: str,
        *,
        topics: Topics,
        broker: BrokerAddress,
        certificate: bytes,
        agreed: bytes = b"",
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        joining: Joining | None = None,
    ) -> None:
        """Owners of one process share `joining`: they connect in turn."""
        self._owner = require_owner(owner)
        self._topics = topics
        self._pulse: Pulse | None = None
        self._listener: Hear | None = None
        self._holding = 0
        self._room = True
        self._awaiting_room: list[Callable[[], None]] = []
        self._kept: Inbox | None = None
        self._soon = False
        party = _Party(owner, access_of_owner(topics, owner), topics.presence(owner), certificate, agreed)
        line = _Line(broker, party, hear=self._hear, on_room=self._note_room, backoff=backoff, joining=joining)
        super().__init__(line)

    def listen(self, hear: Hear) -> None:
        """Call `hear` for every message from now on; what comes while nobody listens is lost."""
        self._listener = hear

    def say(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each to the provider (`PROVIDER`) or to another owner; lost if the link is down or nobody listens.

        One that cannot be sent holds up no other, and is told of after them.
        """
        trouble: ProtocolViolation | None = None
        for to, payload in messages:
            try:
                self._say(to, payload)
            except ProtocolViolation as error:
                trouble = error
        if trouble is not None:
            raise trouble

    def _say(self, to: str, payload: bytes) -> None:
        _require_short(payload)
        to_provider = to == PROVIDER
        topic = self._topics.say(self._owner) if to_provider else self._topics.letter(require_owner(to), self._owner)
        if self._line.connection is not None:
            self._line.connection.publish(topic, payload)

    def when_left(self, call: Callable[[], None]) -> None:
        """Call something once what was said goes out as fast as it comes: now, if it does."""
        if self._room:
            call()
        else:
            self._awaiting_room.append(call)

    def hold(self) -> None:
        """Hand on nothing more until `go_on` was called as often: what comes waits, and tells since when."""
        self._holding += 1

    def go_on(self) -> None:
        """Hand on what waits and what comes, unless somebody else holds."""
        self._holding -= 1
        if not self._holding and self._kept is not None:
            self._hand_on_soon()

    def _hear(self, topic: str, payload: bytes) -> None:
        speaker = self._topics.heard_by_owner(topic, self._owner)
        if speaker is None or self._listener is None:
            return
        if self._holding and self._kept is None:
            self._kept = Inbox(when_full=self._line.hold, when_room=self._line.go_on)
        if self._kept is not None:
            self._kept.put(speaker, payload)
            return
        if self._pulse is None:
            self._pulse = Pulse.of(asyncio.get_running_loop())
        guarded(self._listener, speaker, [payload], self._pulse.earliest())

    def _hand_on_soon(self) -> None:
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._hand_on)

    def _hand_on(self) -> None:
        """Hand on what waits, until somebody holds again; what fails at one message holds up no other."""
        self._soon = False
        while self._kept and not self._holding and self._listener is not None:
            speaker, payload = self._kept.take()
            guarded(self._listener, speaker, [payload], self._kept.came_at)
        if not self._kept:
            self._kept = None

    def _note_room(self, room: bool) -> None:
        self._room = room
        if not room:
            self.hold()
            return
        awaiting, self._awaiting_room = self._awaiting_room, []
        for call in awaiting:
            guarded(call)
        self.go_on()


class MqttProviderLink(_MqttLink):
    """The provider's end over MQTT."""

    def __init__(
        self,
        *,
        topics: Topics,
        broker: BrokerAddress,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
    ) -> None:
        self._topics = topics
        party = _Party(PROVIDER, access_of_provider(topics))
        line = _Line(replace(broker, piece=_PROVIDERS_PIECE), party, hear=self._hear, backoff=backoff)
        self._inbox = Inbox(when_full=line.hold, when_room=line.go_on)
        super().__init__(line)

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (owner, payload) until the link is closed."""
        return self._inbox.taken()

    async def send(self, owner: str, payload: bytes) -> None:
        """Send to one owner; lost if the link is down or the owner is not here."""
        await self.send_many([(owner, payload)])

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each owner its message, without a round trip for each."""
        if self._line.connection is not None:
            await self._line.connection.publish_many(self._to_topics(messages))

    async def close(self, *, within_s: float = FAREWELL_S) -> bool:
        """Leave for good; tell whether the broker took all that was said, within that time."""
        left = await super().close(within_s=within_s)
        self._inbox.close()
        return left

    def _to_topics(self, messages: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
        for owner, payload in messages:
            _require_short(payload)
            yield self._topics.ask(require_owner(owner)), payload

    def _hear(self, topic: str, payload: bytes) -> None:
        owner = self._topics.heard_by_provider(topic)
        if owner is not None:
            self._inbox.put(owner, payload)


def _require_short(payload: bytes) -> None:
    if len(payload) > MOST_BYTES:
        raise ProtocolViolation(f"a message has at most {MOST_BYTES} bytes")
