"""What passes between a client and amqtt: whole packets of a bounded size at QoS 0, and no endless backlog."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from amqtt.adapters import ReaderAdapter, WriterAdapter

from fedgroup.transport.packets import MOST_PACKET

NOT_AUTHORISED = b"\x20\x02\x00\x05"
MOST_BACKLOG = 64 << 20
"""Bytes that may wait for a client that reads too slowly; then it is cut off."""

_CONNECT, _PUBLISH = 1, 3
_LATER = {3: None, 8: None, 10: None, 12: 0, 14: 0}
"""Packets after the first: PUBLISH, SUBSCRIBE, UNSUBSCRIBE, PINGREQ, DISCONNECT; with their length if it is fixed."""


class PacketReader(ReaderAdapter):  # type: ignore[misc]
    """Reads one packet at a time, refuses what a client has no reason to send, and hands the bytes on."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._packet = b""
        self._place = 0
        self._greeted = False
        self._let_in = False
        self.heard_at = asyncio.get_running_loop().time()

    async def read(self, n: int = -1) -> bytes:
        """Return `n` bytes of the packet, or of the next one after its last byte; never across two packets."""
        if self._place == len(self._packet) and (self._let_in or not self._greeted):
            await self._next()
        end = len(self._packet) if n < 0 else self._place + n
        taken = self._packet[self._place : end]
        self._place += len(taken)
        return taken

    def let_in(self) -> None:
        """Read the greeting once more from its start, and then whatever follows: nothing did so far."""
        self._place = 0
        self._let_in = True

    def feed_eof(self) -> None:
        self._reader.feed_eof()

    async def _next(self) -> None:
        header = await self._reader.readexactly(2)
        while header[-1] & 0x80 and len(header) < 5:
            header += await self._reader.readexactly(1)
        length = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(header[1:]))
        self._require_fit(header[0], length, ended=header[-1] < 0x80)
        self._packet = header + await self._reader.readexactly(length)
        self._place = 0
        self.heard_at = asyncio.get_running_loop().time()

    def _require_fit(self, first: int, length: int, *, ended: bool) -> None:
        """Break off, which amqtt takes for the client's end, at anything that a client of ours does not send."""
        kind = first >> 4
        expected = kind in _LATER if self._greeted else kind == _CONNECT
        fixed = _LATER.get(kind)
        at_qos_0 = kind != _PUBLISH or not first & 0x06
        if not (ended and expected and at_qos_0 and length <= MOST_PACKET and fixed in (None, length)):
            raise ConnectionResetError("a packet was refused")
        self._greeted = True


class PromptWriter(WriterAdapter):  # type: ignore[misc]
    """Writes without waiting; a client that leaves too much unread is cut off."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if self._writer.transport.is_closing():
            return
        if self._writer.transport.get_write_buffer_size() > MOST_BACKLOG:
            self._writer.transport.abort()
            return
        self._writer.write(data)

    async def drain(self) -> None:
        """Return at once: one slow client must not hold up the others."""

    def get_peer_info(self) -> tuple[str, int] | None:
        address = self._writer.get_extra_info("peername")
        return None if not address else (address[0], address[1])

    def get_ssl_info(self) -> ssl.SSLObject | None:
        found: Any = self._writer.get_extra_info("ssl_object")
        return found if isinstance(found, ssl.SSLObject) else None

    async def close(self) -> None:
        self._writer.close()
