"""What two owners alone know: a secret agreed by X25519 between every two owners that share a mask.

Requires:  each owner's public key reached the others unchanged, in a roster whose certificates they verified.
Guarantee: a pair secret cannot be told from 16 uniform bytes by anyone but the two owners, as long as the
           Diffie-Hellman problem on Curve25519 is hard; it is bound to both public keys.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from fedgroup.errors import InvalidInput, ProtocolViolation

Positions = npt.NDArray[np.int32]
Secrets = npt.NDArray[np.uint8]

SECRET_BYTES = 16
_FIELD_PRIME = 2**255 - 19


class OwnerKey:
    """An owner's X25519 key, made from 32 private random bytes; only its public half can be read or printed."""

    __slots__ = ("_private", "_public")

    def __init__(self, private: bytes) -> None:
        if len(private) != 32:
            raise InvalidInput(f"a private key has 32 bytes, got {len(private)}")
        self._private = X25519PrivateKey.from_private_bytes(private)
        self._public = self._private.public_key().public_bytes_raw()

    @classmethod
    def fresh(cls, entropy: Callable[[int], bytes] = secrets.token_bytes) -> OwnerKey:
        """Return a key that nobody has seen before."""
        return cls(entropy(32))

    @property
    def public(self) -> bytes:
        """The 32 bytes that the roster holds."""
        return self._public

    def shared_with(self, theirs: X25519PublicKey) -> bytes:
        """Return the raw Diffie-Hellman value; `agree` makes a secret of it."""
        return self._private.exchange(theirs)

    def __repr__(self) -> str:
        return "OwnerKey(<private>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an owner's key cannot be copied or stored: keep its 32 private bytes instead")


def agree(own: OwnerKey, theirs: bytes) -> bytes:
    """Return the 16-byte secret that the two owners of these keys share, the same on either side."""
    if theirs == own.public:
        raise ProtocolViolation("an owner was given its own public key as another's")
    try:
        shared = own.shared_with(_public_key(theirs))
    except ValueError as fault:
        raise ProtocolViolation("a public key is not a usable point of Curve25519") from fault
    pair = b"".join(sorted((own.public, theirs)))
    return HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=b"fedgroup pair secret v1" + pair).derive(
        shared
    )


def agreed_secrets(keys: Sequence[OwnerKey], first: Positions, second: Positions) -> Secrets:
    """Return the secret of every pair of owners, one row a pair, by one key agreement a pair."""
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    agreed = b"".join(agree(keys[one], keys[other].public) for one, other in pairs)
    return np.frombuffer(agreed, dtype=np.uint8).reshape(-1, SECRET_BYTES)


def simulated_secrets(host_secret: bytes, first: Positions, second: Positions) -> Secrets:
    """Return a secret for every pair of owners that one process simulates, one row a pair, made of `host_secret`.

    Not a key agreement: whoever knows `host_secret` knows every secret. Owners simulated in one process share its
    memory, where key agreement protects nothing; and the 13 million pairs of 10^6 owners would take minutes for as
    many agreements, to no end. Live owners use `agree`.
    """
    if len(host_secret) < SECRET_BYTES:
        raise InvalidInput(f"a host's secret has at least {SECRET_BYTES} random bytes, got {len(host_secret)}")
    if len(first) != len(second):
        raise InvalidInput(f"pairs need as many first as second owners, got {len(first)} and {len(second)}")
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"fedgroup simulated secrets v1").derive(host_secret)
    pairs = np.empty((len(first), 2), dtype="<u8")
    np.minimum(first, second, out=pairs[:, 0], casting="unsafe")
    np.maximum(first, second, out=pairs[:, 1], casting="unsafe")
    # A block cipher is a pseudorandom function of the pair, and different pairs get different secrets.
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - blocks never repeat
    return np.frombuffer(encryptor.update(pairs.view(np.uint8).data), dtype=np.uint8).reshape(-1, SECRET_BYTES)


def _public_key(raw: bytes) -> X25519PublicKey:
    """Return the key, refusing encodings that are not the canonical one: one key has one place in a roster."""
    if int.from_bytes(raw, "little") >= _FIELD_PRIME:
        raise ValueError("not a canonical encoding")
    return X25519PublicKey.from_public_bytes(raw)
