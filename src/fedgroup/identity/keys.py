"""A party's own keys: Ed25519 for TLS, X25519 for what owners agree on, each with a proof that the party holds it.

An X25519 key cannot sign, so it is made as the Montgomery form of an Ed25519 key that signs once, in the request, and
is then forgotten. Whoever checks that signature and maps the signing key to Curve25519 knows that the exchange key
belongs to the requester; libsodium's map refuses points outside the prime-order group.

Guarantee: nobody gets a certificate for an exchange key whose secret it does not know.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from nacl.bindings import crypto_sign_ed25519_pk_to_curve25519, crypto_sign_ed25519_sk_to_curve25519
from nacl.exceptions import CryptoError

from fedgroup.errors import InvalidInput

_POSSESSION = b"fedgroup exchange key v1"


class FreshKeys:
    """Keys that nobody has seen before; nothing of them prints."""

    __slots__ = ("_signer", "tls")

    def __init__(self, entropy: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self.tls = Ed25519PrivateKey.from_private_bytes(entropy(32))
        self._signer = Ed25519PrivateKey.from_private_bytes(entropy(32))

    @property
    def exchange(self) -> X25519PrivateKey:
        """The secret that the exchange key is made of."""
        both = self._signer.private_bytes_raw() + self._signer.public_key().public_bytes_raw()
        return X25519PrivateKey.from_private_bytes(crypto_sign_ed25519_sk_to_curve25519(both))

    def possession(self, role: str, name: str) -> bytes:
        """Return the proof that whoever asks for this name with this TLS key holds the exchange key."""
        stated = _stated(self.tls.public_key(), role, name)
        return self._signer.public_key().public_bytes_raw() + self._signer.sign(stated)

    def __repr__(self) -> str:
        return "FreshKeys(<private>)"


def proven_exchange_key(proof: bytes, tls: Ed25519PublicKey, role: str, name: str) -> bytes:
    """Return the exchange key that `proof` is about, or raise ValueError."""
    if len(proof) != 96:
        raise ValueError("a proof of possession has 96 bytes")
    try:
        Ed25519PublicKey.from_public_bytes(proof[:32]).verify(proof[32:], _stated(tls, role, name))
        return bytes(crypto_sign_ed25519_pk_to_curve25519(proof[:32]))
    except (InvalidSignature, CryptoError):
        raise ValueError("a proof of possession does not hold") from None


def pem_of(key: Ed25519PrivateKey | X25519PrivateKey) -> bytes:
    """Return a private key as an open PKCS #8 file; only a file's mode protects it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def tls_key_in(pem: bytes) -> Ed25519PrivateKey:
    """Return the Ed25519 key of a key file."""
    if isinstance(key := _key_in(pem), Ed25519PrivateKey):
        return key
    raise InvalidInput("a TLS key file holds an Ed25519 key")


def exchange_key_in(pem: bytes) -> bytes:
    """Return the 32 private bytes of an exchange key's file."""
    if isinstance(key := _key_in(pem), X25519PrivateKey):
        return key.private_bytes_raw()
    raise InvalidInput("an exchange key file holds an X25519 key")


def _key_in(pem: bytes) -> object:
    try:
        return load_pem_private_key(pem, password=None)
    except Exception:  # many kinds, some of which quote what they read
        raise InvalidInput("a key file does not hold a private key in PEM (PKCS #8)") from None


def _stated(tls: Ed25519PublicKey, role: str, name: str) -> bytes:
    return b"\0".join((_POSSESSION, role.encode(), name.encode(), tls.public_bytes_raw()))
