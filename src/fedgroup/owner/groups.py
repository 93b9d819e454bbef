"""The groups a live owner joined: rosters it verified itself, and the masks it shares with their members.

    Offer -> Accepted(commitment) -> Reveal(all commitments) -> Revealed(number) -> Seal(all numbers) -> Sealed

Requires:  certificates of a CA that the provider does not hold.
Guarantee: the owner answers only in groups whose members it verified one by one, whose terms it computed itself, and
           whose mask graph comes from numbers that all members had committed themselves to before any was told.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Offer
from fedgroup.secure.mask_graph import commitment, mask_edges, public_seed, require_opened
from fedgroup.secure.member import Member
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.secure.round import MaskSettings
from fedgroup.secure.terms import MaskedTerms

MOST_REMEMBERED = 1_024
"""Masked values that are also kept in memory; the ledger keeps all of them."""


class Certified(Protocol):
    """A verified owner: its name, and the key it agrees on secrets with."""

    @property
    def name(self) -> str: ...

    @property
    def exchange_key(self) -> bytes: ...


@dataclass(eq=False)
class Group:
    """One group of a plan, seen by one member; it answers once it is sealed."""

    offer: Offer
    members: Sequence[Certified]
    terms: MaskedTerms
    number: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    commitments: Sequence[bytes] = ()
    neighbours: Sequence[int] = ()
    seed: bytes = field(default=b"", repr=False)
    _masked_with: dict[tuple[int, ...], Member] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, offer: Offer, members: Sequence[Certified], *, name: str, key: bytes) -> Group:
        """Return the group of an offer whose certificates were verified; refuse a roster that is not what it says."""
        names = [member.name for member in members]
        if len(set(names)) != len(names) or len({member.exchange_key for member in members}) != len(names):
            raise ProtocolViolation("a roster holds each owner and each key once")
        if names[offer.position] != name or members[offer.position].exchange_key != key:
            raise ProtocolViolation("a roster holds another owner at this position")
        colluders = min(offer.colluders, max(len(members) - 1, 0))
        terms = MaskedTerms(len(members), colluders, offer.dropouts)
        return cls(offer, members, terms)

    @property
    def mode(self) -> str:
        return self.offer.mode

    @property
    def position(self) -> int:
        return self.offer.position

    @property
    def sealed(self) -> bool:
        return bool(self.seed)

    @property
    def leader(self) -> str:
        return self.members[0].name

    @property
    def commitment(self) -> bytes:
        return commitment(self.number)

    @property
    def digest(self) -> bytes:
        """Stands for the plan, the members in their order, the terms, and the numbers that all members told.

        An owner's own number is new in every group it joins, so no two groups share a digest, nor therefore a mask,
        whatever the provider calls them and whatever an owner forgot.
        """
        roster = b"".join(member.exchange_key for member in self.members)
        said = f"{self.offer.plan} {self.mode} {self.terms}".encode()
        return hashlib.sha256(len(said).to_bytes(8, "big") + said + self.seed + roster).digest()

    def reveal(self, commitments: Sequence[bytes]) -> bytes:
        """Return the number, once: to the commitments of all members, its own among them."""
        if len(commitments) != len(self.members) or commitments[self.position] != self.commitment:
            raise ProtocolViolation("every member commits itself to a number before any is told")
        if self.commitments and list(self.commitments) != list(commitments):
            raise ProtocolViolation("commitments cannot change")
        self.commitments = list(commitments)
        return self.number

    def seal(self, numbers: Sequence[bytes]) -> None:
        """Check all numbers against their commitments and make the mask graph of them."""
        if not self.commitments:
            raise ProtocolViolation("numbers are told after the commitments")
        require_opened(self.commitments, numbers)
        settings = MaskSettings(self.terms.colluders or 1, 0.0)
        dropouts = self.terms.dropouts or 0
        share = (self.terms.colluders + dropouts) / len(self.members)
        bad = min(1.0, max(settings.bad_share, share))
        labels = np.zeros(len(self.members), dtype=np.int32)
        seed = public_seed(numbers)
        first, second = mask_edges(labels, seed=seed, bad_share=lambda _: bad)
        mine = [*second[first == self.position].tolist(), *first[second == self.position].tolist()]
        self.neighbours, self.seed = sorted(mine), seed

    def masked_with(self, key: OwnerKey, positions: Sequence[int]) -> Member:
        """Return this owner's side of a masked sum over the members at these positions."""
        heard = tuple(positions)
        known = self._masked_with.get(heard)
        if known is None or len(known.answered) >= MOST_REMEMBERED:
            roster = [member.exchange_key for member in self.members]
            present = set(heard)
            neighbours = [each for each in self.neighbours if each in present]
            self._masked_with = {heard: Member(key, self.position, roster=roster, neighbours=neighbours)}
        return self._masked_with[heard]
