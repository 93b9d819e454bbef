"""The first oblivious transfers of a session, from elliptic curves: the receiver learns one of two keys, by its choice.

Requires:  both sides follow the protocol; the session id is bound to both parties.
Guarantee: the sender does not learn the choices, the receiver nothing about the other keys (random oracle,
           computational Diffie-Hellman on edwards25519; semi-honest).
Proof:     Chou and Orlandi, "The Simplest Protocol for Oblivious Transfer" (Latincrypt 2015)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import nacl.bindings as sodium
import nacl.exceptions

from fedgroup.errors import ProtocolViolation

Entropy = Callable[[int], bytes]
POINT_BYTES = 32
KEY_BYTES = 16


class BaseSender:
    """Knows both keys of every transfer."""

    def __init__(self, session: bytes, *, entropy: Entropy) -> None:
        self._session = session
        self._scalar = sodium.crypto_core_ed25519_scalar_reduce(entropy(64))
        self.point: bytes = sodium.crypto_scalarmult_ed25519_base_noclamp(self._scalar)

    def keys(self, points: bytes) -> list[tuple[bytes, bytes]]:
        """Return both keys of each transfer, given the receiver's points."""
        own = _product(self._scalar, self.point)
        return [
            self._pair(i, points[at : at + POINT_BYTES], own) for i, at in enumerate(range(0, len(points), POINT_BYTES))
        ]

    def _pair(self, index: int, point: bytes, own: bytes) -> tuple[bytes, bytes]:
        shared = _product(self._scalar, point)
        other = _sum(shared, _negated(own))
        return (
            _key(self._session, index, self.point, point, shared),
            _key(self._session, index, self.point, point, other),
        )


class BaseReceiver:
    """Knows the key of its choice of every transfer."""

    def __init__(self, session: bytes, choices: Sequence[int], *, sender_point: bytes, entropy: Entropy) -> None:
        points = []
        self.keys: list[bytes] = []
        for index, choice in enumerate(choices):
            scalar = sodium.crypto_core_ed25519_scalar_reduce(entropy(64))
            point = sodium.crypto_scalarmult_ed25519_base_noclamp(scalar)
            # Both sums are computed, so that the time does not tell the choice.
            shifted = _sum(point, sender_point)
            sent = shifted if choice else point
            points.append(sent)
            self.keys.append(_key(session, index, sender_point, sent, _product(scalar, sender_point)))
        self.points = b"".join(points)


def _product(scalar: bytes, point: bytes) -> bytes:
    """Return scalar * point; libsodium refuses points outside the prime-order group, which are checked only once so."""
    try:
        return sodium.crypto_scalarmult_ed25519_noclamp(scalar, point)
    except (nacl.exceptions.CryptoError, TypeError):
        raise ProtocolViolation("a curve point cannot be used") from None


def _sum(first: bytes, second: bytes) -> bytes:
    try:
        return sodium.crypto_core_ed25519_add(first, second)
    except (nacl.exceptions.CryptoError, TypeError):
        raise ProtocolViolation("a curve point cannot be used") from None


def _negated(point: bytes) -> bytes:
    """Return -P: in compressed form the sign of x is the top bit."""
    return point[:31] + bytes([point[31] ^ 0x80])


def _key(session: bytes, index: int, sender: bytes, receiver: bytes, shared: bytes) -> bytes:
    parts = (b"fedgroup base OT v1", session, index.to_bytes(4, "big"), sender, receiver, shared)
    return hashlib.sha256(b"".join(parts)).digest()[:KEY_BYTES]
