"""Letters from owner to owner, which broker and provider carry and cannot read.

Requires:  both certificates were returned by `Trust.verify` (or are one's own), and the context names one purpose in
           one round that the receiver accepts once.
Guarantee: a letter opens only for the receiver, only as from the sender, only in the context it was sealed for, and
           only if no byte was changed; federation, both names and both keys are bound to it. Security: `hpke.py`.
Not given: see `hpke.py`: no forward secrecy towards the receiver, no proof to third parties, no protection against a
           letter being sent again or held back. Length shows: letters are made equally long by who writes them.
Proof:     docs/guarantees.md#identity
"""

from __future__ import annotations

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import hpke
from fedgroup.identity.certificate import Certificate
from fedgroup.secure.pair_keys import OwnerKey

_VERSION = b"\x01"
_LABEL = b"fedgroup letter v1"
_SERIES = b"fedgroup letters v1"
_NOT_A_LETTER = "a letter is of a known version, from one owner to another of the same federation"
SEAL_BYTES = len(_VERSION) + hpke.ENC_BYTES + hpke.TAG_BYTES
"""How much longer a sealed text is than the text itself."""


def sealed(key: OwnerKey, sender: Certificate, receiver: Certificate, context: bytes, plain: bytes) -> bytes:
    """Return `plain` for the eyes of `receiver`, from `sender`, whose exchange key is `key`."""
    if not _are_two_owners(sender, receiver):
        raise InvalidInput("letters go from one owner to another of the same federation")
    info = _bound(sender, receiver, context)
    try:
        return _VERSION + hpke.seal(key, receiver.exchange_key, info=info, plain=plain)
    except ValueError:
        raise _unusable(receiver) from None


def opened(key: OwnerKey, sender: Certificate, receiver: Certificate, context: bytes, letter: bytes) -> bytes:
    """Return what `sender` sealed for `receiver`, whose exchange key is `key`, in this very context."""
    if letter[:1] != _VERSION or not _are_two_owners(sender, receiver):
        raise ProtocolViolation(_NOT_A_LETTER)
    return hpke.open_(key, sender.exchange_key, info=_bound(sender, receiver, context), sealed=letter[1:])


class LettersTo:
    """Letters about one thing, such as a comparison, to one owner: they open in the order in which they are sealed.

    One key agreement serves them all.
    """

    def __init__(self, key: OwnerKey, sender: Certificate, receiver: Certificate, context: bytes) -> None:
        if not _are_two_owners(sender, receiver):
            raise InvalidInput("letters go from one owner to another of the same federation")
        info = _bound(sender, receiver, context, label=_SERIES)
        try:
            self._sealing = hpke.Sealing(key, receiver.exchange_key, info=info)
        except ValueError:
            raise _unusable(receiver) from None

    def seal(self, plain: bytes) -> bytes:
        """Return the next letter."""
        return _VERSION + self._sealing.seal(plain)


class LettersFrom:
    """Such letters, as they come in."""

    def __init__(self, key: OwnerKey, sender: Certificate, receiver: Certificate, context: bytes) -> None:
        if not _are_two_owners(sender, receiver):
            raise ProtocolViolation(_NOT_A_LETTER)
        self._opening = hpke.Opening(key, sender.exchange_key, info=_bound(sender, receiver, context, label=_SERIES))

    def open(self, letter: bytes) -> bytes:
        """Return what the next letter says, or raise `ProtocolViolation` if this is not it."""
        if letter[:1] != _VERSION:
            raise ProtocolViolation(_NOT_A_LETTER)
        return self._opening.open(letter[1:])


def context_of(purpose: str, *parts: bytes) -> bytes:
    """Return a context for one purpose, such as a round's id; no two lists of parts have the same one."""
    return _joined(purpose.encode(), *parts)


def _are_two_owners(sender: Certificate, receiver: Certificate) -> bool:
    differ = sender.name != receiver.name and sender.exchange_key != receiver.exchange_key
    return differ and sender.role == receiver.role == "owner" and sender.federation == receiver.federation


def _unusable(receiver: Certificate) -> ProtocolViolation:
    return ProtocolViolation(f"the exchange key of {receiver.name!r} is not a usable point of Curve25519")


def _bound(sender: Certificate, receiver: Certificate, context: bytes, *, label: bytes = _LABEL) -> bytes:
    return _joined(label, sender.federation.encode(), sender.name.encode(), receiver.name.encode(), context)


def _joined(*parts: bytes) -> bytes:
    """Return the parts, each after its length, so that no two lists become the same bytes."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
