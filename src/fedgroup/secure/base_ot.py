"""The first oblivious transfers of a session, by elliptic curves: the receiver learns one of many keys, by its choice.

The sender has a scalar r and sends A = r G. Both compute S = 8 A. For its choice c the receiver draws a scalar k, sends
P = k G + c S and has the key H(k S); the sender has every key H(8 r (P - c S)), for all c at the price of one product
and as many sums. The factor 8 leaves only the group of prime order of whatever point was sent.

Requires:  both sides follow the protocol; the session id is bound to both parties.
Guarantee: the sender does not learn the choices (P is uniform whatever c), the receiver nothing about the other keys:
           who asks H for a second one has computed (8 r)^2 G (random oracle, computational Diffie-Hellman on
           edwards25519; semi-honest). A point that is not on the curve, or has no part in the group, is refused.
Proof:     Chou and Orlandi, "The Simplest Protocol for Oblivious Transfer" (Latincrypt 2015), as 1 of n;
           docs/guarantees.md#secure-similarity
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import nacl.bindings as sodium
import numpy as np

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.edwards import (
    NEUTRAL,
    POINT_BYTES,
    Points,
    Words,
    base_table,
    bytes_of,
    cleared,
    fixed_products,
    less_multiples,
    points_of,
    products,
    shifted,
    table_of,
    words_of,
)

Entropy = Callable[[int], bytes]
KEY_BYTES = 16
MOST_KEYS = 16
"""So many keys a transfer has at most: what a table of the sender's point holds."""

_UNUSABLE = "a curve point cannot be used"


class BaseSender:
    """Knows all keys of every transfer."""

    def __init__(self, session: bytes, *, entropy: Entropy) -> None:
        self._session = session
        self._scalar = _scalars(1, entropy)
        own = fixed_products(base_table(), self._scalar)
        self.point = bytes_of(own)
        self._shift = products(cleared(cleared(own)), self._scalar[0])[0]

    def keys(self, points: bytes, *, among: int = 2, size: int = KEY_BYTES) -> list[list[bytes]]:
        """Return the `among` keys of each transfer, given the receiver's points."""
        own = products(cleared(_points(points)), self._scalar[0])
        shared = _split(bytes_of(less_multiples(own, self._shift, among)))
        if NEUTRAL in shared[::among]:
            raise ProtocolViolation(_UNUSABLE)
        about = _abouts(self._session, self.point, points)
        return [[_key(each, one, size) for one in shared[at * among :][:among]] for at, each in enumerate(about)]


class BaseReceiver:
    """Knows the key of its choice of every transfer."""

    def __init__(
        self,
        session: bytes,
        choices: Sequence[int],
        *,
        sender_point: bytes,
        entropy: Entropy,
        size: int = KEY_BYTES,
    ) -> None:
        theirs = cleared(_points(sender_point))
        if len(theirs) != 1 or bytes_of(theirs) == NEUTRAL:
            raise ProtocolViolation(_UNUSABLE)
        if not all(0 <= choice < MOST_KEYS for choice in choices):
            raise InvalidInput(f"a choice is one of {MOST_KEYS} at most")
        table = table_of(theirs[0])
        scalars = _scalars(len(choices), entropy)
        # Every multiple of S is read whatever the choice, and one is added even where it is 0.
        sent = shifted(fixed_products(base_table(), scalars), table[0], np.array(choices, dtype=np.uint64))
        self.points = bytes_of(sent)
        about = _abouts(session, sender_point, self.points)
        shared = _split(bytes_of(fixed_products(table, scalars)))
        self.keys = [_key(each, one, size) for each, one in zip(about, shared, strict=True)]


def _scalars(count: int, entropy: Entropy) -> Words:
    """Return numbers below the group's order, uniform up to 2^-250."""
    drawn = entropy(64 * count)
    return words_of(
        b"".join(sodium.crypto_core_ed25519_scalar_reduce(drawn[at : at + 64]) for at in range(0, len(drawn), 64))
    )


def _points(data: bytes) -> Points:
    found = points_of(data)
    if found is None:
        raise ProtocolViolation(_UNUSABLE)
    return found


def _split(data: bytes) -> list[bytes]:
    return [data[at : at + POINT_BYTES] for at in range(0, len(data), POINT_BYTES)]


def _abouts(session: bytes, sender_point: bytes, points: bytes) -> list[bytes]:
    """Return what sets the keys of each transfer apart from all others."""
    before = b"fedgroup base OT v2" + session + sender_point
    return [before + index.to_bytes(4, "big") + point for index, point in enumerate(_split(points))]


def _key(about: bytes, shared: bytes, size: int) -> bytes:
    return hashlib.sha256(about + shared).digest()[:size]
