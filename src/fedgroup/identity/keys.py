"""Keys and their files: Ed25519 for TLS, X25519 for what owners agree on, each with a proof that the party holds it.

An X25519 key cannot sign, so it is made as the Montgomery form of an Ed25519 key that signs once, in the request, and
is then forgotten. Whoever checks that signature and maps the signing key to Curve25519 knows that the exchange key
belongs to the requester; libsodium's map refuses points outside the prime-order group.

An authority's key file may be locked with a passphrase. PKCS #8 as `cryptography` writes it stretches one by 2,048
rounds of PBKDF2, which is little. A locked key is therefore the key's PEM in libsodium's secret box, under a key made
by Argon2id with 64 MiB and 3 passes (the memory and passes of RFC 9106's second choice).

Guarantee: nobody gets a certificate for an exchange key whose secret it does not know. Who finds a locked file has to
           try passphrases, each for the price above; it cannot be changed unnoticed.
"""

from __future__ import annotations

import base64
import binascii
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
from nacl.pwhash import argon2id
from nacl.secret import SecretBox

from fedgroup.errors import InvalidInput

SHORTEST_PASSPHRASE = 8
_POSSESSION = b"fedgroup exchange key v1"
_LOCKED = b"fedgroup locked key v1\n"
_PASSES, _MEMORY = 3, 64 << 20


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


def is_locked(file: bytes) -> bool:
    """Tell whether a key file needs a passphrase."""
    return file.startswith(_LOCKED)


def locked(pem: bytes, passphrase: str) -> bytes:
    """Return a key file that opens with the passphrase only."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise InvalidInput(f"a passphrase has at least {SHORTEST_PASSPHRASE} characters; several words are better")
    salt = secrets.token_bytes(argon2id.SALTBYTES)
    box = _box(passphrase, salt).encrypt(pem, secrets.token_bytes(SecretBox.NONCE_SIZE))
    return _LOCKED + base64.encodebytes(salt + box)


def unlocked(file: bytes, passphrase: str) -> bytes:
    """Return the key's PEM."""
    try:
        sealed = base64.decodebytes(file.removeprefix(_LOCKED))
        salt, box = sealed[: argon2id.SALTBYTES], sealed[argon2id.SALTBYTES :]
        return _box(passphrase, salt).decrypt(box)
    except (CryptoError, binascii.Error, ValueError):
        raise InvalidInput("the passphrase does not open the authority's key") from None


def _box(passphrase: str, salt: bytes) -> SecretBox:
    return SecretBox(argon2id.kdf(SecretBox.KEY_SIZE, passphrase.encode(), salt, opslimit=_PASSES, memlimit=_MEMORY))


def _key_in(pem: bytes) -> object:
    try:
        return load_pem_private_key(pem, password=None)
    except Exception:  # many kinds, some of which quote what they read
        raise InvalidInput("a key file does not hold a private key in PEM (PKCS #8)") from None


def _stated(tls: Ed25519PublicKey, role: str, name: str) -> bytes:
    return b"\0".join((_POSSESSION, role.encode(), name.encode(), tls.public_bytes_raw()))
