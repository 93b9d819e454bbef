"""One live owner's side of a masked sum: it answers every round once, with bytes that never change.

Requires:  a roster whose certificates the owner verified; neighbours that the owner computed itself from the public
           seed (`mask_graph`), never the provider's word; values that carry this owner's share of noise already; and
           that `answered` is stored durably before the bytes leave.
Guarantee: for one context one sequence of bytes leaves, whatever is asked again: the same mask never hides two values.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.masking import CONTEXT_BYTES, Ints, Secrets, Words, sum_of_pair_masks
from fedgroup.secure.pair_keys import SECRET_BYTES, OwnerKey, agree
from fedgroup.secure.recovery import OwnMasks, sum_of_self_masks

WORD_BYTES = (4, 8)
_WORDS_AT_ONCE = 1 << 12


class Member:
    """An owner in a masked group: it knows its pair secrets, and what it has answered."""

    def __init__(
        self,
        key: OwnerKey,
        position: int,
        *,
        roster: Sequence[bytes],
        neighbours: Sequence[int],
        answered: Mapping[bytes, bytes] = MappingProxyType({}),
        pair_secrets: Secrets | None = None,
    ) -> None:
        """`pair_secrets` are what was agreed with the neighbours before, a row for each; None: it is agreed now."""
        _require_own_roster(key, position, roster)
        _require_neighbours(neighbours, position, len(roster))
        _require_records(answered)
        self._secrets = secrets_with(key, roster, neighbours) if pair_secrets is None else pair_secrets
        signs = [1 if position < neighbour else -1 for neighbour in neighbours]
        self._signs = np.array(signs, dtype=np.int64).view(np.uint64)
        self._answered = dict(answered)

    @property
    def answered(self) -> Mapping[bytes, bytes]:
        """The exact bytes sent for each context: to be stored before sending, sent again, and given back at birth."""
        return MappingProxyType(self._answered)

    @property
    def held_bytes(self) -> int:
        """How long all that was answered is."""
        return sum(map(len, self._answered.values()))

    def answer(
        self, context: bytes, values: Sequence[int] | Ints, *, word_bytes: int = 8, own: OwnMasks | None = None
    ) -> bytes:
        """Return the masked values, 8 bytes each, the lowest first; a context answered before must bring the same.

        With 4 bytes each they are masked modulo 2^32, by the lower halves of the same masks; see `widths`. With `own`
        masks they are masked by the keys of this round instead of the pair secrets, and by a seed; see `recovery`.
        """
        if len(context) != CONTEXT_BYTES:
            raise InvalidInput(f"a round's context has {CONTEXT_BYTES} bytes, got {len(context)}")
        if word_bytes not in WORD_BYTES:
            raise InvalidInput(f"a word has 4 or 8 bytes, got {word_bytes}")
        try:
            words = np.array(values, dtype=np.int64).view(np.uint64)
        except OverflowError:
            raise InvalidInput("a value to be masked must fit 64 bits with a sign") from None
        # What is stored leaves, and nothing else: the candidate only tells whether these are the values sent before.
        # setdefault is atomic, so of two threads with different values for one context one refuses.
        masked = words + self._masks(context, len(words), own)
        candidate = masked.astype(f"<u{word_bytes}").tobytes()  # what is above the word's bits is cut off
        sent = self._answered.setdefault(context, candidate)
        if sent != candidate:
            raise ProtocolViolation("this round was answered already, with another value; send the stored answer again")
        return sent

    def _masks(self, context: bytes, words: int, own: OwnMasks | None) -> Words:
        """Return what is added to each word: the masks shared with later members, less those with earlier ones."""
        total = np.empty(words, dtype=np.uint64)
        keys = self._secrets if own is None else own.keys
        if keys.shape != self._secrets.shape:
            raise InvalidInput(f"{len(self._secrets)} neighbours need as many keys of a round, got {len(keys)}")
        for first in range(0, words, _WORDS_AT_ONCE):
            some = min(_WORDS_AT_ONCE, words - first)
            masks = sum_of_pair_masks(keys, context, self._signs, words=some, first=first)
            if own is not None:
                masks = masks + sum_of_self_masks(own.seed, words=some, first=first)
            total[first : first + some] = masks
        return total

    def __repr__(self) -> str:
        return "Member(<private>)"


def secrets_with(key: OwnerKey, roster: Sequence[bytes], neighbours: Sequence[int]) -> Secrets:
    """Return what an owner agreed with each of its neighbours, a row for each."""
    agreed = b"".join(agree(key, roster[neighbour]) for neighbour in neighbours)
    return np.frombuffer(agreed, dtype=np.uint8).reshape(-1, SECRET_BYTES)


def _require_own_roster(key: OwnerKey, position: int, roster: Sequence[bytes]) -> None:
    if not 0 <= position < len(roster):
        raise ProtocolViolation(f"position {position} is not in a roster of {len(roster)}")
    if roster[position] != key.public:
        raise ProtocolViolation(f"the roster holds another owner's key at position {position}")
    if len(set(roster)) != len(roster):
        raise ProtocolViolation("a roster holds each public key once")


def _require_neighbours(neighbours: Sequence[int], position: int, members: int) -> None:
    if not all(0 <= neighbour < members for neighbour in neighbours):
        raise ProtocolViolation(f"a neighbour is not in a roster of {members}")
    if position in neighbours or len(set(neighbours)) != len(neighbours):
        raise ProtocolViolation("neighbours are other owners, each named once")
    if members > 1 and not len(neighbours):
        raise ProtocolViolation("a member without neighbours would send its value without a mask")


def _require_records(answered: Mapping[bytes, bytes]) -> None:
    if not all(len(context) == CONTEXT_BYTES and _is_words(sent) for context, sent in answered.items()):
        raise InvalidInput(f"stored answers are {CONTEXT_BYTES} bytes of context with words of 4 or 8 bytes")


def _is_words(sent: bytes) -> bool:
    return len(sent) > 0 and len(sent) % min(WORD_BYTES) == 0
