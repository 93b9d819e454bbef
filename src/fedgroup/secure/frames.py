"""Messages of a two-party session as frames that cannot be cut, altered, replayed or taken out of turn unnoticed.

A frame is kind, batch, sequence number, length, payload, tag. The tag is keyed by a Diffie-Hellman secret of the two
sides that also covers the opening message, so any change between them is a `ProtocolViolation`. Against the other
side itself it promises nothing: who that is, is the transport's matter.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedgroup.errors import ProtocolViolation

_HEADER = struct.Struct(">4sBIQI")
_MAGIC = b"FGS2"
_TAG_BYTES = 16
MOST_BYTES = 1 << 28
MOST_PAYLOAD = MOST_BYTES - _HEADER.size - _TAG_BYTES
_NEVER = -1


@dataclass(frozen=True)
class Frame:
    """One message: what kind it is, to which batch it belongs, and what it holds."""

    kind: int
    batch: int
    payload: bytes

    def __repr__(self) -> str:
        return f"Frame(kind={self.kind}, batch={self.batch}, {len(self.payload)} bytes)"


class FrameKey:
    """The secret two sides share to recognise each other's frames; one nonce per direction and number."""

    def __init__(self, own: X25519PrivateKey, theirs: bytes, *, session: bytes, opening: bytes) -> None:
        try:
            shared = own.exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError:
            raise ProtocolViolation("a public key cannot be used") from None
        info = b"fedgroup frames v1" + session + hashlib.sha256(opening).digest()
        self._cipher = AESGCM(HKDF(SHA256(), 32, salt=None, info=info).derive(shared))

    def tag(self, side: int, number: int, data: bytes) -> bytes:
        """Return the tag of a frame's header and payload."""
        return self._cipher.encrypt(_nonce(side, number), b"", data)

    def require(self, side: int, number: int, data: memoryview, tag: memoryview) -> None:
        """Refuse a frame whose tag is not its own."""
        try:
            self._cipher.decrypt(_nonce(side, number), tag, data)
        except InvalidTag:
            raise ProtocolViolation("a frame was altered, replayed, or belongs to another session") from None


class Outgoing:
    """Numbers and seals the frames of one direction."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._number = 0
        self.key: FrameKey | None = None

    def seal(self, kind: int, batch: int, payload: bytes) -> bytes:
        """Return the next frame of this direction."""
        data = _HEADER.pack(_MAGIC, kind, batch, self._number, len(payload)) + payload
        tag = _digest(data) if self.key is None else self.key.tag(self._side, self._number, data)
        self._number += 1
        return data + tag


class Incoming:
    """Checks the frames of one direction: each once, in turn."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._number = 0
        self.key: FrameKey | None = None

    def open(self, data: bytes) -> Frame:
        """Return the next frame, or refuse what is not it."""
        frame = self.peek(data)
        body, tag = memoryview(data)[:-_TAG_BYTES], memoryview(data)[-_TAG_BYTES:]
        if self.key is not None:
            self.key.require(self._side, self._number, body, tag)
        elif not hmac.compare_digest(_digest(bytes(body)), bytes(tag)):
            raise ProtocolViolation("a frame was altered")
        self._number += 1
        return frame

    @contextmanager
    def closed_by_violation(self) -> Iterator[None]:
        """Take no more frames once an opened one, so the other side's own, breaks the protocol."""
        try:
            yield
        except ProtocolViolation:
            self._number = _NEVER
            raise

    def peek(self, data: bytes) -> Frame:
        """Return what a frame says it is, before it is believed."""
        if not _HEADER.size + _TAG_BYTES <= len(data) <= MOST_BYTES:
            raise ProtocolViolation("a frame has an impossible size")
        magic, kind, batch, number, length = _HEADER.unpack_from(data)
        if magic != _MAGIC or length != len(data) - _HEADER.size - _TAG_BYTES:
            raise ProtocolViolation("a frame is cut or is something else")
        if number != self._number:
            raise ProtocolViolation("a frame came out of turn")
        return Frame(kind, batch, data[_HEADER.size : -_TAG_BYTES])


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_TAG_BYTES]


def _nonce(side: int, number: int) -> bytes:
    return bytes([side]) + number.to_bytes(11, "big")
