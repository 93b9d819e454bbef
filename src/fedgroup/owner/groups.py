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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Offer
from fedgroup.owner.node_parts import Certified
from fedgroup.owner.policy import Policy
from fedgroup.owner.refusals import Unknown
from fedgroup.secure.mask_graph import commitment, mask_edges, public_seed, require_opened
from fedgroup.secure.member import Member
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.secure.round import MaskSettings
from fedgroup.secure.terms import MaskedTerms

MOST_GROUPS = 64
"""How many plans an owner keeps at once; the oldest is forgotten."""

MOST_REMEMBERED = 1_024
"""Masked values that are also kept in memory; the ledger keeps all of them."""


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
    verified: object = field(default=None, repr=False)
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

    @cached_property
    def digest(self) -> bytes:
        """Stands, once sealed, for the plan, the members in their order, the terms, and the numbers that all told.

        An owner's own number is new in every group it joins, so no two groups share a digest, nor therefore a mask,
        whatever the provider calls them and whatever an owner forgot.
        """
        if not self.sealed:
            raise ProtocolViolation("a group answers once it is sealed")
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


class Memberships:
    """The groups that an owner joined, by their plans.

    `trust` returns the same as before as long as what `verify` found good need not be looked at again.
    """

    def __init__(
        self, name: str, key: bytes, *, verify: Callable[[bytes], Certified], trust: Callable[[], object]
    ) -> None:
        self._name = name
        self._key = key
        self._verify = verify
        self._trust = trust
        self._groups: dict[str, Group] = {}

    def join(self, offer: Offer, policy: Policy) -> Group:
        """Return the group of an offer, verified member by member; a trusted one only with those consented to."""
        known = self.find(offer.plan)
        if known is None:
            members = [self._verify(der) for der in offer.certificates]
            if offer.mode == "trusted" and not policy.trusts({member.name for member in members} - {self._name}):
                raise Unknown("mode")
            known = Group.of(offer, members, name=self._name, key=self._key)
            self._groups = dict(list(self._groups.items())[-MOST_GROUPS + 1 :]) | {offer.plan: known}
        elif known.offer != offer:
            raise ProtocolViolation("a plan's roster and terms cannot change")
        return known

    def find(self, plan: str) -> Group | None:
        return self._groups.get(plan)

    def of(self, plan: str) -> Group:
        """Return the group of a plan that was joined."""
        if plan not in self._groups:
            raise Unknown("plan")
        return self._groups[plan]

    def leave(self, plan: str) -> None:
        """Forget a plan's group."""
        self._groups.pop(plan, None)

    def valid(self, group: Group) -> Group:
        """Return a group that is sealed and whose members' certificates still hold: some may have been revoked."""
        if not group.sealed:
            raise Unknown("plan")
        now = self._trust()
        if group.verified != now:
            try:
                for der in group.offer.certificates:
                    self._verify(der)
            except ProtocolViolation:
                raise Unknown("roster") from None
            group.verified = now
        return group
