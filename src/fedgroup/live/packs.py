"""Several short messages in one frame: carrying, sealing and reading a frame costs the same however short it is.

A frame holds a message as it is, or a pack: a byte that no message begins with, and each message after its length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from fedgroup.errors import ProtocolViolation

PACK = b"\x04"
MOST_PACKED = 1 << 14
"""How many bytes of messages go into one pack; what is longer goes alone."""

_LENGTH = struct.Struct("!I")


def packed(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what frames are to hold: all messages in their order, short neighbours together."""
    pack: list[bytes] = []
    size = 0
    for message in messages:
        if pack and size + len(message) > MOST_PACKED:
            yield _joined(pack)
            pack, size = [], 0
        pack.append(message)
        size += len(message)
    if pack:
        yield _joined(pack)


def unpacked(held: bytes) -> list[bytes]:
    """Return the messages that a frame held, or raise `ProtocolViolation`."""
    if not held.startswith(PACK):
        return [held]
    found, at = [], len(PACK)
    while at < len(held):
        start = at + _LENGTH.size
        if start > len(held):
            raise ProtocolViolation("a pack holds messages after their lengths")
        at = start + _LENGTH.unpack_from(held, at)[0]
        if at > len(held):
            raise ProtocolViolation("a pack holds whole messages")
        found.append(held[start:at])
    return found


def _joined(messages: list[bytes]) -> bytes:
    if len(messages) == 1:
        return messages[0]
    return PACK + b"".join(_LENGTH.pack(len(message)) + message for message in messages)
