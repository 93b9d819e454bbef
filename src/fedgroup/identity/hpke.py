"""Hybrid public key encryption, authenticated by the sender's key: RFC 9180, mode_auth, one message or a series.

DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. Names and labels below are the RFC's; its test vector A.2.3
is among the tests.

Requires:  both public keys belong to who they are said to belong to.
Guarantee: only who holds one of the two static keys can make a message that opens, and only the receiver can read it:
           who steals the *sender's* key later reads nothing that was sent before. `info` is bound to the message.
Not given: forward secrecy towards the receiver (its key opens all messages ever sent to it); protection of the receiver
           from forgeries by who stole its *own* key; proof to third parties (either side could have made a message);
           freshness (a message can be sent again: bind it to a round by `info`, and accept a round once). Within a
           series each message opens once and in its turn.
"""

from __future__ import annotations

import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.pair_keys import OwnerKey

ENC_BYTES = 32
TAG_BYTES = 16
_VERSION = b"HPKE-v1"
_KEM_SUITE = b"KEM" + bytes.fromhex("0020")
_SUITE = b"HPKE" + bytes.fromhex("0020 0001 0003")
_MODE_AUTH = b"\x02"
_CLOSED = "a sealed message does not open: it was changed, or is not of this sender, for this receiver, about this"


class Sealing:
    """A series of messages to one receiver: the first carries the key, and each opens after those before it only.

    A given `ephemeral` key is for test vectors: used twice, it reveals messages.
    """

    def __init__(self, sender: OwnerKey, receiver: bytes, *, info: bytes, ephemeral: OwnerKey | None = None) -> None:
        fresh = ephemeral or OwnerKey.fresh()
        theirs = X25519PublicKey.from_public_bytes(receiver)
        shared = fresh.shared_with(theirs) + sender.shared_with(theirs)
        key, self._nonce = _schedule(shared, fresh.public + receiver + sender.public, info)
        self._cipher = ChaCha20Poly1305(key)
        self._enc = fresh.public
        self._number = 0

    def seal(self, plain: bytes, *, aad: bytes = b"") -> bytes:
        """Return the next message: enc || ciphertext the first time, then the ciphertext."""
        ciphertext = self._cipher.encrypt(_numbered(self._nonce, self._number), plain, aad)
        self._number += 1
        return self._enc + ciphertext if self._number == 1 else ciphertext


class Opening:
    """The other side of such a series."""

    def __init__(self, receiver: OwnerKey, sender: bytes, *, info: bytes) -> None:
        self._receiver = receiver
        self._sender = sender
        self._info = info
        self._opens: tuple[ChaCha20Poly1305, bytes] | None = None
        self._number = 0

    def open(self, sealed: bytes, *, aad: bytes = b"") -> bytes:
        """Return the next message, or raise `ProtocolViolation` and wait for it further."""
        if len(sealed) < TAG_BYTES + (ENC_BYTES if self._opens is None else 0):
            raise ProtocolViolation("a sealed message is longer than its seal")
        try:
            cipher, nonce = self._opens or self._agreed(sealed[:ENC_BYTES])
            ciphertext = sealed if self._number else sealed[ENC_BYTES:]
            plain = cipher.decrypt(_numbered(nonce, self._number), ciphertext, aad)
        except (InvalidTag, ValueError):  # ValueError: a point of low order
            raise ProtocolViolation(_CLOSED) from None
        self._opens = cipher, nonce
        self._number += 1
        return plain

    def _agreed(self, enc: bytes) -> tuple[ChaCha20Poly1305, bytes]:
        shared = self._receiver.shared_with(X25519PublicKey.from_public_bytes(enc))
        shared += self._receiver.shared_with(X25519PublicKey.from_public_bytes(self._sender))
        key, nonce = _schedule(shared, enc + self._receiver.public + self._sender, self._info)
        return ChaCha20Poly1305(key), nonce


def seal(
    sender: OwnerKey, receiver: bytes, *, info: bytes, plain: bytes, aad: bytes = b"", ephemeral: OwnerKey | None = None
) -> bytes:
    """Return enc || ciphertext. A given `ephemeral` key is for test vectors: used twice, it reveals messages."""
    return Sealing(sender, receiver, info=info, ephemeral=ephemeral).seal(plain, aad=aad)


def open_(receiver: OwnerKey, sender: bytes, *, info: bytes, sealed: bytes, aad: bytes = b"") -> bytes:
    """Return the message that `sender` sealed for `receiver`, or raise `ProtocolViolation`."""
    return Opening(receiver, sender, info=info).open(sealed, aad=aad)


def _numbered(nonce: bytes, number: int) -> bytes:
    """Return the nonce of a series' message (RFC 9180, section 5.2)."""
    return (int.from_bytes(nonce, "big") ^ number).to_bytes(len(nonce), "big")


def _schedule(shared: bytes, kem_context: bytes, info: bytes) -> tuple[bytes, bytes]:
    """Return the key and the first nonce of the messages under these values (RFC 9180, sections 4.1 and 5.1)."""
    eae_prk = _extract(_KEM_SUITE, b"", b"eae_prk", shared)
    secret_of_kem = _expand(_KEM_SUITE, eae_prk, b"shared_secret", kem_context, 32)
    psk_id_hash = _extract(_SUITE, b"", b"psk_id_hash", b"")
    info_hash = _extract(_SUITE, b"", b"info_hash", info)
    context = _MODE_AUTH + psk_id_hash + info_hash
    secret = _extract(_SUITE, secret_of_kem, b"secret", b"")
    return _expand(_SUITE, secret, b"key", context, 32), _expand(_SUITE, secret, b"base_nonce", context, 12)


def _extract(suite: bytes, salt: bytes, label: bytes, ikm: bytes) -> bytes:
    return hmac.digest(salt, _VERSION + suite + label + ikm, "sha256")


def _expand(suite: bytes, prk: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """Expand to at most one block, which is all that this suite asks for."""
    labeled = length.to_bytes(2, "big") + _VERSION + suite + label + info
    return hmac.digest(prk, labeled + b"\x01", "sha256")[:length]
