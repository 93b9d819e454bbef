"""One MQTT connection over mutual TLS: it greets, subscribes, publishes, keeps itself alive and ends once."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fedgroup.errors import ProtocolViolation
from fedgroup.transport import packets
from fedgroup.transport.tunnel import PIECE, Tls, Tunnel

_PATIENCE_S = 30.0
FAREWELL_S = 2.0
_READ_BYTES = 1 << 18
"""What is read at once, by all connections of a thread into the same place: it is taken out of there at once."""
_PIECE_BYTES = 1 << 14
"""What TLS seals at once."""
_MOST_UNSENT = 64 << 20
"""Who takes nothing while so many bytes wait for it is given up, with what waits: 64 of the longest messages."""


@dataclass(frozen=True)
class BrokerAddress:
    """Where the broker is and how to reach it; `tls` holds the client's certificate and whom it trusts.

    A host may have several addresses: those of the nodes of a cluster, of which any will do. `named` is the name that
    the broker's certificate must have, if it is not the host's. `piece` is how much is handed to TLS at once.
    """

    host: str
    port: int
    tls: Tls
    keepalive_s: int = 10
    named: str | None = None
    piece: int = PIECE


class Connection(asyncio.BufferedProtocol):
    """A connection from its greeting to its end. Use `open`."""

    __slots__ = (
        "_beat",
        "_buffer",
        "_ended",
        "_greeted",
        "_greeting",
        "_heard_at",
        "_holding",
        "_keepalive_s",
        "_leaving",
        "_loop",
        "_on_message",
        "_on_room",
        "_room",
        "_safe",
        "_subscribed",
        "_transport",
        "_trouble",
        "_tunnel",
    )

    def __init__(
        self,
        greeting: bytes,
        tunnel: Tunnel,
        *,
        keepalive_s: int,
        on_message: Callable[[str, bytes], None],
        on_room: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._tunnel = tunnel
        self._greeting = greeting
        self._keepalive_s = keepalive_s
        self._on_message = on_message
        self._on_room = on_room
        self._buffer = bytearray()
        self._trouble: str | None = None
        self._safe: asyncio.Future[None] = self._loop.create_future()
        self._greeted: asyncio.Future[bytes] = self._loop.create_future()
        self._subscribed: asyncio.Future[bytes] = self._loop.create_future()
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._room: asyncio.Future[None] | None = None  # while there is none, what comes when there is
        self._transport: asyncio.Transport | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._heard_at = self._loop.time()
        self._holding = False
        self._leaving = False

    @classmethod
    async def open(
        cls,
        broker: BrokerAddress,
        *,
        client: str,
        will: packets.Will | None,
        on_message: Callable[[str, bytes], None],
        on_room: Callable[[bool], None] = lambda _: None,
        turn: int = 0,
    ) -> Connection:
        """Connect and be let in, or raise `OSError` (nobody there, not let in) or `TimeoutError`.

        `on_room` is told when what is written does not go out as fast as it comes, and when it does again.
        Each `turn` begins with another address of the host, so that a node that answers and lets nobody in, as one
        without a majority does, is passed over the next time.
        """
        greeting = packets.connect(client, keepalive_s=broker.keepalive_s, will=will)

        def make() -> Connection:
            tunnel = Tunnel(broker.tls, to=broker.named or broker.host, piece=broker.piece)
            return cls(greeting, tunnel, keepalive_s=broker.keepalive_s, on_message=on_message, on_room=on_room)

        async with asyncio.timeout(_PATIENCE_S):
            connection = await _reached(broker, make, turn)
        await connection._consent(connection._greeted, "the broker does not let this client in")
        return connection

    async def subscribe(self, filters: Sequence[str]) -> None:
        """Ask for the messages of some filters, and wait until they are granted."""
        self._write(packets.subscribe(filters))
        await self._consent(self._subscribed, "the broker does not grant this client its topics")

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Send a message; nothing tells whether it arrives."""
        self._write(packets.publish(topic, payload, retain=retain))

    async def publish_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send messages, each to its topic, several short ones in one piece, as fast as they go out."""
        piece = bytearray()
        for topic, payload in messages:
            piece += packets.publish(topic, payload)
            if len(piece) >= _PIECE_BYTES:
                self._write(bytes(piece))
                piece.clear()
                await self.room()
        self._write(bytes(piece))
        await self.room()

    async def room(self) -> None:
        """Wait until what was written has gone out far enough to write more."""
        if self._room is not None:
            await asyncio.shield(self._room)

    def hold(self) -> None:
        """Read no more for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._holding = True
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Read again."""
        self._holding = False
        self._heard_at = self._loop.time()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    async def end(self) -> str:
        """Wait until the connection is over, and return why."""
        return await asyncio.shield(self._ended)

    async def leave(self, *, within_s: float = FAREWELL_S) -> bool:
        """Say goodbye, so that the broker publishes no will, and wait until everything has gone out.

        Tell whether it has, within that time.
        """
        self._leaving = True
        self._write(packets.DISCONNECT)
        if self._transport is not None and not self._transport.is_closing():
            self._tunnel.end()
            self._push()
            # its end is waited for: what was sent may be lost where a socket is closed before all of it was read
            with suppress(OSError):  # the other side has ended it
                self._transport.write_eof()
            self._transport.resume_reading()
        try:
            await asyncio.wait_for(self.end(), within_s)
        except TimeoutError:
            self.abort()
            await self.end()
            return False
        return True

    def abort(self) -> None:
        """End at once."""
        if self._transport is not None:
            self._transport.abort()

    async def _consent(self, answer: asyncio.Future[bytes], refused: str) -> None:
        """Wait for the broker's consent; without it, end the connection and raise `ConnectionRefusedError`."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await asyncio.wait((answer, self._ended), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() or any(answer.result()):
                reason = "" if not self._ended.done() else f": {self._ended.result()}"
                raise ConnectionRefusedError(refused + reason)
        except BaseException:
            self.abort()
            raise

    async def safe(self) -> None:
        """Wait until the handshake is over, or raise `OSError`."""
        try:
            await self._safe
        except BaseException:
            self.abort()
            raise

    def _write(self, packet: bytes) -> None:
        if packet and self._transport is not None and not self._transport.is_closing():
            try:
                self._tunnel.seal(packet)
            except ssl.SSLError as error:
                self._break_off(error)
            self._push()

    def _push(self) -> None:
        data = self._tunnel.to_send()
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
            if self._transport.get_write_buffer_size() > _MOST_UNSENT:
                self._trouble = "the broker does not take what is sent"
                self._transport.abort()

    def _break_off(self, error: Exception) -> None:
        """End by a fault of either side, after it was told."""
        self._trouble = self._trouble or str(error)
        if not self._safe.done():
            self._safe.set_exception(error)
        self._push()
        if self._transport is not None:
            self._transport.close()

    def _take(self, first: int, body: bytes) -> None:
        kind = first >> 4
        if kind == packets.PUBLISH:
            self._on_message(*packets.published(first, body))
        elif kind == packets.CONNACK and not self._greeted.done():
            self._greeted.set_result(body[1:2] or b"\xff")
        elif kind == packets.SUBACK and not self._subscribed.done():
            self._subscribed.set_result(body[2:] or b"\xff")

    def _keep_alive(self) -> None:
        """Show that this side is there, and give up on a broker that has been silent for too long."""
        if self._tunnel.open:  # until then nothing can be said, and who opens the connection knows how long it waits
            silent_s = self._loop.time() - self._heard_at
            if silent_s > 2 * self._keepalive_s and not self._holding:
                self.abort()
                return
            self._write(packets.PINGREQ)
        self._beat = self._loop.call_later(self._keepalive_s / 2, self._keep_alive)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  asyncio promises it
        self._transport = transport
        self._hear(b"")
        self._beat = self._loop.call_later(self._keepalive_s / 2, self._keep_alive)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  asyncio's own
        return _reading_place()

    def buffer_updated(self, nbytes: int) -> None:
        self._heard_at = self._loop.time()
        self._hear(_reading_place()[:nbytes])

    def _hear(self, data: bytes | memoryview) -> None:
        try:
            said = self._tunnel.receive(data)
        except ssl.SSLError as error:
            self._break_off(error)
            return
        if self._tunnel.open and not self._safe.done():
            self._safe.set_result(None)
            self._tunnel.seal(self._greeting)
            self._greeting = b""
        self._push()
        try:
            self._understand(said)
        except ProtocolViolation:
            self.abort()
        if self._tunnel.ended and not self._leaving and self._transport is not None:
            self._transport.close()

    def _understand(self, said: bytes) -> None:
        if not said or self._leaving:
            return
        self._buffer += said
        for first, body in packets.cut(self._buffer):
            self._take(first, body)

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()
        self._on_room(False)

    def resume_writing(self) -> None:
        if self._room is not None:
            self._room.set_result(None)
            self._room = None
            self._on_room(True)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._beat is not None:
            self._beat.cancel()
        self.resume_writing()
        why = self._trouble or _why(exc)
        if not self._safe.done():
            self._safe.set_exception(ConnectionResetError(why))
        if not self._ended.done():
            self._ended.set_result(why)


def _why(error: Exception | None) -> str:
    """Return why a connection was lost; the words of an error that is no fault of the wire may tell anything."""
    if error is None:
        return "the connection was closed"
    return str(error) if isinstance(error, OSError) else type(error).__name__


class _ReadingPlace(threading.local):
    """Where a thread's connections read to, one after the other."""

    view: memoryview | None = None


_PLACE = _ReadingPlace()


def _reading_place() -> memoryview:
    if _PLACE.view is None:
        _PLACE.view = memoryview(bytearray(_READ_BYTES))
    return _PLACE.view


async def _reached(broker: BrokerAddress, make: Callable[[], Connection], turn: int) -> Connection:
    """Return a connection to the first address that takes one; each has its share of the time."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(broker.host, broker.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    first, trouble = turn % len(addresses), OSError(f"{broker.host} has no address")
    for address in (*addresses[first:], *addresses[:first]):
        try:
            async with asyncio.timeout(_PATIENCE_S / len(addresses)):
                _, connection = await loop.create_connection(make, address, broker.port)
                await connection.safe()
                return connection
        except OSError as error:
            trouble = error
    raise trouble
