"""What the members of a group say for all others to see, signed with their certified keys.

Requires:  public keys from verified certificates; statements that begin with a label of their own purpose.
Guarantee: what was signed was said by who holds the certified key, about just this, as long as Ed25519 holds.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from fedgroup.errors import ProtocolViolation


def statement(label: str, *facts: bytes) -> bytes:
    """Return the bytes that are signed; no two lists of facts have the same ones."""
    return b"".join(len(fact).to_bytes(4, "big") + fact for fact in (f"fedgroup {label} v1".encode(), *facts))


def require_signed(key: bytes, said: bytes, signature: bytes) -> None:
    """Raise `ProtocolViolation` unless the holder of `key` signed what was said."""
    if not _holds(key, said, signature):
        raise ProtocolViolation("what a member is said to have said was not signed by it")


@lru_cache(maxsize=1 << 14)  # many owners of one process are shown the same signatures
def _holds(key: bytes, said: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, said)
    except (InvalidSignature, ValueError):
        return False
    return True
