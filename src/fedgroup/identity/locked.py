"""An authority's key file, open or locked with a passphrase.

PKCS #8 as `cryptography` writes it stretches a passphrase by 2,048 rounds of PBKDF2, which is little. A locked key is
therefore the key's PEM in libsodium's secret box, under a key made by Argon2id with 64 MiB and 3 passes (the memory and
passes of RFC 9106's second choice).

Guarantee: who finds a locked file has to try passphrases, each for the price above; it cannot be changed unnoticed.
"""

from __future__ import annotations

import base64
import binascii
import secrets

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox

from fedgroup.errors import InvalidInput

SHORTEST_PASSPHRASE = 8
_HEAD = b"fedgroup locked key v1\n"
_PASSES, _MEMORY = 3, 64 << 20


def is_locked(file: bytes) -> bool:
    """Tell whether a key file needs a passphrase."""
    return file.startswith(_HEAD)


def locked(pem: bytes, passphrase: str) -> bytes:
    """Return a key file that opens with the passphrase only."""
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise InvalidInput(f"a passphrase has at least {SHORTEST_PASSPHRASE} characters; several words are better")
    salt = secrets.token_bytes(argon2id.SALTBYTES)
    box = _box(passphrase, salt).encrypt(pem, secrets.token_bytes(SecretBox.NONCE_SIZE))
    return _HEAD + base64.encodebytes(salt + box)


def unlocked(file: bytes, passphrase: str) -> bytes:
    """Return the key's PEM."""
    try:
        sealed = base64.decodebytes(file.removeprefix(_HEAD))
        salt, box = sealed[: argon2id.SALTBYTES], sealed[argon2id.SALTBYTES :]
        return _box(passphrase, salt).decrypt(box)
    except (CryptoError, binascii.Error, ValueError):
        raise InvalidInput("the passphrase does not open the authority's key") from None


def _box(passphrase: str, salt: bytes) -> SecretBox:
    return SecretBox(argon2id.kdf(SecretBox.KEY_SIZE, passphrase.encode(), salt, opslimit=_PASSES, memlimit=_MEMORY))
