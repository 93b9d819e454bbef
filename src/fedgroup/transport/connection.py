"""One MQTT connection over mutual TLS: it greets, subscribes, publishes, keeps itself alive and ends once."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fedgroup.errors import ProtocolViolation
from fedgroup.transport import packets

_PATIENCE_S = 30.0
_FAREWELL_S = 2.0
_PIECE_BYTES = 1 << 14
"""What TLS seals at once."""


@dataclass(frozen=True)
class BrokerAddress:
    """Where the broker is and how to reach it; `tls` holds the client's certificate and whom it trusts.

    A host may have several addresses: those of the nodes of a cluster, of which any will do. `named` is the name that
    the broker's certificate must have, if it is not the host's.
    """

    host: str
    port: int
    tls: ssl.SSLContext
    keepalive_s: int = 10
    named: str | None = None


class Connection(asyncio.Protocol):
    """A connection from its greeting to its end. Use `open`."""

    def __init__(self, greeting: bytes, *, keepalive_s: int, on_message: Callable[[str, bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._greeting = greeting
        self._keepalive_s = keepalive_s
        self._on_message = on_message
        self._buffer = bytearray()
        self._greeted: asyncio.Future[bytes] = self._loop.create_future()
        self._subscribed: asyncio.Future[bytes] = self._loop.create_future()
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._heard_at = self._loop.time()
        self._holding = False

    @classmethod
    async def open(
        cls,
        broker: BrokerAddress,
        *,
        client: str,
        will: packets.Will | None,
        on_message: Callable[[str, bytes], None],
        turn: int = 0,
    ) -> Connection:
        """Connect and be let in, or raise `OSError` (nobody there, not let in) or `TimeoutError`.

        Each `turn` begins with another address of the host, so that a node that answers and lets nobody in, as one
        without a majority does, is passed over the next time.
        """
        greeting = packets.connect(client, keepalive_s=broker.keepalive_s, will=will)
        make = lambda: cls(greeting, keepalive_s=broker.keepalive_s, on_message=on_message)
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
        await self._writable.wait()

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

    async def leave(self) -> None:
        """Say goodbye, so that the broker publishes no will, and wait until everything has gone out."""
        self._write(packets.DISCONNECT)
        if self._transport is not None:
            self._transport.close()
        try:
            await asyncio.wait_for(self.end(), _FAREWELL_S)
        except TimeoutError:
            self.abort()
            await self.end()

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

    def _write(self, packet: bytes) -> None:
        if packet and self._transport is not None and not self._transport.is_closing():
            self._transport.write(packet)

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
        silent_s = self._loop.time() - self._heard_at
        if silent_s > 2 * self._keepalive_s and not self._holding:
            self.abort()
            return
        self._write(packets.PINGREQ)
        self._beat = self._loop.call_later(self._keepalive_s / 2, self._keep_alive)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  asyncio promises it
        self._transport = transport
        transport.write(self._greeting)
        self._beat = self._loop.call_later(self._keepalive_s / 2, self._keep_alive)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        self._buffer += data
        try:
            for first, body in packets.cut(self._buffer):
                self._take(first, body)
        except ProtocolViolation:
            self.abort()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._beat is not None:
            self._beat.cancel()
        self._writable.set()
        if not self._ended.done():
            self._ended.set_result("the connection was closed" if exc is None else str(exc))


async def _reached(broker: BrokerAddress, make: Callable[[], Connection], turn: int) -> Connection:
    """Return a connection to the first address that takes one; each has its share of the time."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(broker.host, broker.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    first, trouble = turn % len(addresses), OSError(f"{broker.host} has no address")
    for address in (*addresses[first:], *addresses[:first]):
        try:
            async with asyncio.timeout(_PATIENCE_S / len(addresses)):
                _, connection = await loop.create_connection(
                    make,
                    address,
                    broker.port,
                    ssl=broker.tls,
                    server_hostname=broker.named or broker.host,
                    ssl_handshake_timeout=_PATIENCE_S,
                    ssl_shutdown_timeout=_FAREWELL_S,
                )
                return connection
        except OSError as error:
            trouble = error
    raise trouble
