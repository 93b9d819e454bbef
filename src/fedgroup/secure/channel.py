"""A session between the provider and one owner, sealed from end to end: whoever carries its frames is nobody.

    provider -> owner    Hello      the provider's certificate and a fresh key
    owner -> provider    Greeting   a fresh key, and the owner's first sealed words
    both ways            Frame      sealed words, numbered

The keys of a session are made of three Diffie-Hellman values: of both fresh keys, and of each fresh key with the other
side's certified one. Who holds neither a certified key nor a fresh one that belongs to it cannot make them.

Requires:  certified keys that belong to whom they are said to belong to; fresh keys of either side for every session.
Guarantee: what opens was sealed by the party certified on the other side, in this session, in this direction, and no
           frame with its number, or a later one, opened here before: nothing is forged, changed, reflected, moved to
           another session or given twice. Who carries frames does not read them, not even with keys stolen later: the
           fresh ones are forgotten. A Hello said again leads to another session, in which nothing old opens.
Not given: delivery. Who carries frames can drop or delay them, and sees who, how long and when.
Proof:     docs/guarantees.md#the-wire
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import NoReturn

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.pair_keys import OwnerKey

HELLO, GREETING, FRAME = b"\x01", b"\x02", b"\x03"
"""How a payload of each kind begins; messages that are not sealed begin otherwise."""

KEY_BYTES = 32
SESSION_BYTES = 8
_NUMBER = struct.Struct("!Q")
_HEAD = len(FRAME) + SESSION_BYTES + _NUMBER.size
FRAME_BYTES = _HEAD + 16
"""How much longer a frame is than what it holds."""

_LABEL = b"fedgroup channel v1"


class Session:
    """One side of a session: it numbers and seals what it says, and opens what the other side sealed, each once."""

    __slots__ = ("_heard", "_hears", "_said", "_says", "id")

    def __init__(self, name: bytes, *, says: bytes, hears: bytes) -> None:
        self.id = name
        self._says = AESGCM(says)
        self._hears = AESGCM(hears)
        self._said = 0
        self._heard = 0

    def seal(self, plain: bytes) -> bytes:
        """Return the next frame."""
        self._said += 1
        head = FRAME + self.id + _NUMBER.pack(self._said)
        return head + self._says.encrypt(_nonce(self._said), plain, head)

    def open(self, frame: bytes) -> bytes:
        """Return what the other side sealed, if it comes after everything that was opened before."""
        if len(frame) < FRAME_BYTES or session_of(frame) != self.id or not frame.startswith(FRAME):
            raise ProtocolViolation("a frame is of its session")
        (number,) = _NUMBER.unpack_from(frame, _HEAD - _NUMBER.size)
        if number <= self._heard:
            raise ProtocolViolation("a frame comes once, and in its order")
        try:
            plain = self._hears.decrypt(_nonce(number), frame[_HEAD:], frame[:_HEAD])
        except InvalidTag:
            raise ProtocolViolation("a frame was changed, or is not of who it is said to be") from None
        self._heard = number
        return plain

    def __repr__(self) -> str:
        return "Session(<private>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session cannot be copied or stored: it would number two frames alike")


def session_of(frame: bytes) -> bytes:
    """Return the session that a frame names."""
    return frame[len(FRAME) : len(FRAME) + SESSION_BYTES]


def providers_side(own: OwnerKey, fresh: OwnerKey, *, owner: bytes, owners_fresh: bytes, bound: bytes) -> Session:
    """Return the provider's side of a session with the owner whose certified key is `owner`."""
    shared = _shared((fresh, owners_fresh), (fresh, owner), (own, owners_fresh))
    name, to_owner, to_provider = _keys(shared, fresh.public + owners_fresh, bound)
    return Session(name, says=to_owner, hears=to_provider)


def owners_side(own: OwnerKey, fresh: OwnerKey, *, provider: bytes, providers_fresh: bytes, bound: bytes) -> Session:
    """Return the owner's side of a session with the provider whose certified key is `provider`."""
    shared = _shared((fresh, providers_fresh), (own, providers_fresh), (fresh, provider))
    name, to_owner, to_provider = _keys(shared, providers_fresh + fresh.public, bound)
    return Session(name, says=to_provider, hears=to_owner)


def binding(*facts: bytes) -> bytes:
    """Return 32 bytes that stand for who is in a session: the federation's name and both certificates."""
    return hashlib.sha256(b"".join(len(fact).to_bytes(4, "big") + fact for fact in (_LABEL, *facts))).digest()


def _shared(*pairs: tuple[OwnerKey, bytes]) -> bytes:
    try:
        return b"".join(key.shared_with(X25519PublicKey.from_public_bytes(theirs)) for key, theirs in pairs)
    except ValueError:  # also a point of low order, which would make a secret that everybody knows
        raise ProtocolViolation("a session's key is not a usable point of Curve25519") from None


def _keys(shared: bytes, fresh: bytes, bound: bytes) -> Sequence[bytes]:
    derive = HKDF(algorithm=SHA256(), length=2 * KEY_BYTES + SESSION_BYTES, salt=bound, info=_LABEL + fresh).derive
    found = derive(shared)
    return found[:SESSION_BYTES], found[SESSION_BYTES:-KEY_BYTES], found[-KEY_BYTES:]


def _nonce(number: int) -> bytes:
    return bytes(4) + _NUMBER.pack(number)
