"""Members of one masked group that deal shares of their masks, in one process, as the protocol says it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedgroup.secure.mask_graph import mask_edges
from fedgroup.secure.member import Member
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.secure.recovery import Dealer, Recovery, Unmasking
from fedgroup.secure.terms import MaskedTerms

CONTEXT = hashlib.sha256(b"a question").digest()
_KEYS = [OwnerKey(hashlib.sha256(b"dealer %d" % i).digest()) for i in range(100)]


@dataclass
class Dealt:
    """A group of dealers; `sparse` ones mask with a few others only."""

    members: int
    colluders: int = 1
    sparse: bool = False
    digest: bytes = b"a group"
    dealers: list[Dealer] = field(init=False)

    def __post_init__(self) -> None:
        self.terms = MaskedTerms(self.members, self.colluders)
        labels = np.zeros(self.members, dtype=np.int32)
        degree = 12 if self.sparse else self.members - 1
        # pairs that chance says: with bad members of this share a graph of just this degree is drawn
        share = (2.0**-40 / self.members) ** (1 / degree) if self.sparse else 1.0
        first, second = mask_edges(labels, seed=b"seed", bad_share=share)
        pairs = list(zip(first.tolist(), second.tolist(), strict=True))
        self.neighbours = [
            sorted([b for a, b in pairs if a == p] + [a for a, b in pairs if b == p]) for p in range(self.members)
        ]
        found = Recovery.of(self.terms, degree=degree)
        assert found is not None
        self.recovery = found
        self.dealers = [self._dealer(p) for p in range(self.members)]

    def _dealer(self, position: int) -> Dealer:
        agreed = b"".join(_pair(position, other) for other in self.neighbours[position])
        secrets = np.frombuffer(agreed, dtype=np.uint8).reshape(-1, 16)
        own = hashlib.sha256(b"own %d" % position).digest()
        return Dealer(
            own,
            position,
            neighbours=self.neighbours[position],
            pair_secrets=secrets,
            recovery=self.recovery,
            digest=self.digest,
        )

    def sent(
        self, round_id: bytes, roster: Sequence[int], position: int, values: Sequence[int], *, word_bytes: int = 8
    ) -> np.ndarray:
        """Return the words that a member sends."""
        dealer = self.dealers[position]
        chosen = [at for at, other in enumerate(dealer.neighbours) if other in set(roster)]
        member = Member(
            _KEYS[position],
            position,
            roster=[key.public for key in _KEYS[: self.members]],
            neighbours=[dealer.neighbours[at] for at in chosen],
            pair_secrets=dealer.pair_secrets[chosen],
        )
        own = dealer.masks(round_id, set(roster))
        return np.frombuffer(member.answer(CONTEXT, values, word_bytes=word_bytes, own=own), dtype=f"<u{word_bytes}")

    def unmasking(self, round_id: bytes, roster: Sequence[int], survivors: Sequence[int]) -> Unmasking:
        dealt = {p: self.dealers[p].dealt(round_id) for p in roster}
        then = {p: self.dealers[p].masks(round_id, set(roster)).dealt for p in survivors}
        return Unmasking(
            self.recovery, self.neighbours, roster=roster, survivors=survivors, dealt=dealt, dealt_then=then
        )

    def unmasked(
        self, round_id: bytes, roster: Sequence[int], survivors: Sequence[int], *, telling: Collection[int]
    ) -> Unmasking:
        """Return what the provider has once those telling told their shares."""
        found = self.unmasking(round_id, roster, survivors)
        for p in telling:
            told = self.dealers[p].told(round_id, set(roster), set(survivors), found.sealed_for(p))
            assert found.take(p, told)
        return found


def _pair(one: int, other: int) -> bytes:
    return hashlib.sha256(b"pair %d %d" % (min(one, other), max(one, other))).digest()[:16]
