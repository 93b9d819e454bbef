"""Both ends of the wire over MQTT. A lost connection is made again, with growing waits, until the link is closed.

Presence is kept by the broker: an owner's link leaves a retained "here" whenever it connects, and a will, "gone".
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.said import Presence
from fedgroup.transport.access import Access, access_of_owner, access_of_provider
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.codec import encode
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.inbox import Inbox
from fedgroup.transport.joining import Joining
from fedgroup.transport.links import MOST_BYTES
from fedgroup.transport.packets import Will
from fedgroup.transport.topics import PROVIDER, Topics, require_owner

log = logging.getLogger("fedgroup.wire")

_SETTLED_S = 5.0
"""A connection that lasted so long was a good one: the next try comes soon again."""


@dataclass(frozen=True)
class _Party:
    """Who is at this end: its name, what it may read, what the broker says when it is lost, and whom it hears."""

    name: str
    access: Access
    speaker: Callable[[str], str | None]
    here: tuple[str, bytes] | None = None
    gone: Will | None = None


class _Line:
    """One connection after the other, and what came over them."""

    def __init__(self, broker: BrokerAddress, party: _Party, backoff: Backoff, joining: Joining | None = None) -> None:
        self._broker = broker
        self._party = party
        self._backoff = backoff
        self._joining = joining or Joining()
        self._inbox = Inbox(when_full=self._hold, when_room=self._go_on)
        self._connection: Connection | None = None
        self.connections = 0
        self._up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._turn = zlib.crc32(party.name.encode())  # owners spread over the nodes of a cluster

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep_connected())

    async def until_up(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._up.wait(), seconds)
        return self._up.is_set()

    @property
    def connected(self) -> bool:
        return self._up.is_set()

    async def publish(self, messages: Iterable[tuple[str, bytes]]) -> None:
        if self._connection is not None:
            await self._connection.publish_many(_short_enough(messages))

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        return self._inbox.taken()

    @property
    def waited_s(self) -> float:
        return self._inbox.waited_s

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if connection is not None:
            if self._party.gone is not None:
                connection.publish(self._party.gone.topic, self._party.gone.payload, retain=True)
            await connection.leave()
        self._up.clear()
        self._inbox.close()

    async def _keep_connected(self) -> None:
        loop, attempt = asyncio.get_running_loop(), 0
        while True:
            started = loop.time()
            try:
                async with self._joining.turn():
                    connection = await self._connect()
                log.debug("connected", extra={"party": self._party.name})
                trouble = await connection.end()
            except OSError as error:
                trouble = str(error) or type(error).__name__
            self._connection = None
            self._up.clear()
            attempt = 0 if loop.time() - started > _SETTLED_S else attempt + 1
            wait_s = self._backoff.wait_s(self._party.name, attempt)
            where = f"{self._broker.host}:{self._broker.port}"
            log.warning("no connection to the broker at %s (%s); next try in %.1f s", where, trouble, wait_s)
            await asyncio.sleep(wait_s)

    async def _connect(self) -> Connection:
        """Connect and listen; only then say that this party is here."""
        self._turn += 1
        connection = await Connection.open(
            self._broker, client=self._party.name, will=self._party.gone, on_message=self._hear, turn=self._turn
        )
        self._connection = connection  # what is retained may come, and be answered, before the broker's consent
        self.connections += 1
        await connection.subscribe(self._party.access.reads)
        if self._inbox.full:
            connection.hold()
        if self._party.here is not None:
            topic, payload = self._party.here
            connection.publish(topic, payload, retain=True)
        self._up.set()
        return connection

    def _hear(self, topic: str, payload: bytes) -> None:
        speaker = self._party.speaker(topic)
        if speaker is not None:
            self._inbox.put(speaker, payload)

    def _hold(self) -> None:
        if self._connection is not None:
            self._connection.hold()

    def _go_on(self) -> None:
        if self._connection is not None:
            self._connection.go_on()


class _MqttLink:
    """What both ends have in common: they start, are waited for, are listened to, and are closed."""

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
        return self._line.connected

    @property
    def connections(self) -> int:
        """How many connections there were, this one included: who was heard over an earlier one may be gone."""
        return self._line.connections

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (sender, payload) until the link is closed."""
        return self._line.received()

    async def close(self) -> None:
        """Leave for good."""
        await self._line.close()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class MqttOwnerLink(_MqttLink):
    """An owner's end over MQTT; `certificate` (DER) and what was `agreed` are shown with its presence."""

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
        here = Presence(owner, here=True, certificate=certificate, agreed=agreed)
        party = _Party(
            name=owner,
            access=access_of_owner(topics, owner),
            speaker=lambda topic: topics.heard_by_owner(topic, owner),
            here=(topics.presence(owner), encode(here)),
            gone=Will(topics.presence(owner), encode(Presence(owner, here=False))),
        )
        super().__init__(_Line(broker, party, backoff, joining))

    @property
    def waited_s(self) -> float:
        """How long the message received last had waited to be taken."""
        return self._line.waited_s

    async def send(self, to: str, payload: bytes) -> None:
        """Send to the provider (`PROVIDER`) or to another owner; lost if the link is down or nobody listens."""
        own = self._topics.say(self._owner)
        topic = own if to == PROVIDER else self._topics.letter(require_owner(to), self._owner)
        await self._line.publish([(topic, payload)])


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
        party = _Party(name=PROVIDER, access=access_of_provider(topics), speaker=topics.heard_by_provider)
        super().__init__(_Line(broker, party, backoff))

    async def send(self, owner: str, payload: bytes) -> None:
        """Send to one owner; lost if the link is down or the owner is not here."""
        await self.send_many([(owner, payload)])

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each owner its message, without a round trip for each."""
        await self._line.publish((self._topics.ask(require_owner(owner)), payload) for owner, payload in messages)


def _short_enough(messages: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for topic, payload in messages:
        if len(payload) > MOST_BYTES:
            raise ProtocolViolation(f"a message has at most {MOST_BYTES} bytes")
        yield topic, payload
