"""The groups a live owner joined: rosters it verified itself, and the masks it shares with their members.

    Offer -> Accepted(commitment) -> Reveal(all commitments) -> Revealed(number) -> Seal(all numbers) -> Sealed

Requires:  certificates of a CA that the provider does not hold.
Guarantee: the owner answers only in groups whose members it verified one by one, whose terms it computed itself, and
           whose mask graph comes from numbers that all members had committed themselves to before any was told. Each
           member signed its commitment and its number, for this plan, these terms and this roster, so that nobody
           chooses them in its name. Where the graph is random, an owner joins `MOST_OFFERS` such groups an epoch, and
           the graph's degree is such that among all of them together one fails with a chance of 2^-40 at most: who
           offers groups until a graph pleases gains nothing.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Offer
from fedgroup.owner.node_parts import Certified
from fedgroup.owner.policy import Policy
from fedgroup.owner.refusals import Unknown
from fedgroup.secure.mask_graph import (
    LIVE_FAILURE,
    LIVE_OFFERS,
    commitment,
    least_neighbours,
    mask_degree,
    public_seed,
    require_opened,
)
from fedgroup.secure.masking import Secrets
from fedgroup.secure.member import Member, secrets_with
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.secure.recovery import Dealer, Recovery, live_recovery, neighbours_in
from fedgroup.secure.signatures import require_signed, statement
from fedgroup.secure.terms import MaskedTerms

MOST_GROUPS = 64
"""How many plans an owner keeps at once; the oldest is forgotten."""

MOST_OFFERS = LIVE_OFFERS
"""How many groups with a random mask graph an owner joins in one epoch of its ledger."""

MOST_REMEMBERED = 1_024
"""Masked values that are also kept in memory; the ledger keeps all of them."""

MOST_REMEMBERED_BYTES = 4 << 20
"""Likewise for answers with many bins."""


def group_digest(plan: str, mode: str, terms: MaskedTerms, *, seed: bytes, keys: Iterable[bytes]) -> bytes:
    """Return what stands for a sealed group: its plan and terms, the seed of all numbers, its members' keys."""
    said = f"{plan} {mode} {terms}".encode()
    return hashlib.sha256(len(said).to_bytes(8, "big") + said + seed + b"".join(keys)).digest()


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
    _own: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _masked_with: dict[tuple[int, ...], Member] = field(default_factory=dict, repr=False)
    _pair_secrets: Secrets | None = field(default=None, repr=False)
    _dealer: Dealer | None = field(default=None, repr=False)

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
    def degree(self) -> int:
        """With how many others each member masks; with all of them in a group of usual size."""
        return mask_degree(len(self.members), bad_share=self.terms.bad_share, failure=LIVE_FAILURE)

    @property
    def masks_all_pairs(self) -> bool:
        return self.degree >= len(self.members) - 1

    @cached_property
    def recovery(self) -> Recovery | None:
        """How rounds of this group withstand members that fall silent; None: they do not."""
        return live_recovery(self.terms) if self.mode == "masked" else None

    @cached_property
    def _offered(self) -> bytes:
        """Stands for what was offered to all members alike: the plan, its terms, the federation, and the roster."""
        offer = self.offer
        facts = f"{offer.plan} {self.mode} {self.terms} {offer.guarantee}".encode(), offer.agreed, *offer.certificates
        return hashlib.sha256(statement("group", *facts)).digest()

    def stated(self, what: str, position: int, told: bytes) -> bytes:
        """Return what the member at a position signs: a `commitment` or a `number` of this very group."""
        return statement(what, self._offered, position.to_bytes(4, "big"), told)

    def _require_all_signed(self, what: str, told: Sequence[bytes], signatures: Sequence[bytes]) -> None:
        for position, (member, each, signature) in enumerate(zip(self.members, told, signatures, strict=True)):
            require_signed(member.tls_key, self.stated(what, position, each), signature)

    @cached_property
    def digest(self) -> bytes:
        """Stands, once sealed, for the plan, the members in their order, the terms, and the numbers that all told.

        An owner's own number is new in every group it joins, so no two groups share a digest, nor therefore a mask,
        whatever the provider calls them and whatever an owner forgot.
        """
        if not self.sealed:
            raise ProtocolViolation("a group answers once it is sealed")
        keys = [member.exchange_key for member in self.members]
        return group_digest(self.offer.plan, self.mode, self.terms, seed=self.seed, keys=keys)

    def reveal(self, commitments: Sequence[bytes], signatures: Sequence[bytes]) -> bytes:
        """Return the number, once: to the commitments that all members signed, its own among them."""
        if len(commitments) != len(self.members) or commitments[self.position] != self.commitment:
            raise ProtocolViolation("every member commits itself to a number before any is told")
        if self.commitments and list(self.commitments) != list(commitments):
            raise ProtocolViolation("commitments cannot change")
        self._require_all_signed("commitment", commitments, signatures)
        self.commitments = list(commitments)
        return self.number

    def seal(self, numbers: Sequence[bytes], signatures: Sequence[bytes], *, key: OwnerKey | None = None) -> None:
        """Check all numbers against their commitments and make the mask graph of them.

        With its key the owner agrees on secrets with its neighbours at once, and not when the first question comes.
        """
        if not self.commitments:
            raise ProtocolViolation("numbers are told after the commitments")
        require_opened(self.commitments, numbers)
        self._require_all_signed("number", numbers, signatures)
        seed = public_seed(numbers)
        self.neighbours, self.seed = neighbours_in(self.terms, seed)[self.position], seed
        if key is not None and self.mode == "masked":
            self._secrets(key)

    def masked_with(self, key: OwnerKey, positions: Sequence[int]) -> Member:
        """Return this owner's side of a masked sum over the members at these positions.

        In a group with a random graph, who fixes the roster of a round knows the graph, and could leave out just the
        neighbours of a few. So each member insists on more than half of its own, which few could be for each other.
        """
        heard = tuple(positions)
        known = self._masked_with.get(heard)
        if known is None or _is_full(known):
            self.require_neighbours(heard)
            present = set(heard)
            chosen = [at for at, each in enumerate(self.neighbours) if each in present]
            self._masked_with = {
                heard: Member(
                    key,
                    self.position,
                    roster=[member.exchange_key for member in self.members],
                    neighbours=[self.neighbours[at] for at in chosen],
                    pair_secrets=self._secrets(key)[chosen],
                )
            }
        return self._masked_with[heard]

    def require_neighbours(self, positions: Collection[int]) -> None:
        """Refuse, in a group with a random graph, a round among these members that has too few neighbours in it."""
        if self.masks_all_pairs:
            return
        least = least_neighbours(len(self.neighbours), degree=self.degree, colluders=self.terms.colluders)
        if len(set(positions).intersection(self.neighbours)) < least:
            raise Unknown("members")

    def dealer(self, key: OwnerKey) -> Dealer:
        """Return this owner as who deals and tells shares of masks, in a group whose rounds withstand silence."""
        if self.recovery is None:
            raise ProtocolViolation("the rounds of this group do not withstand members that fall silent")
        if self._dealer is None:
            self._dealer = Dealer(
                self._own,
                self.position,
                neighbours=self.neighbours,
                pair_secrets=self._secrets(key),
                recovery=self.recovery,
                digest=self.digest,
            )
        return self._dealer

    def _secrets(self, key: OwnerKey) -> Secrets:
        """Return what this owner agreed with each of its neighbours; that takes a while, and is done once."""
        if self._pair_secrets is None:
            roster = [member.exchange_key for member in self.members]
            self._pair_secrets = secrets_with(key, roster, self.neighbours)
        return self._pair_secrets


def _is_full(known: Member) -> bool:
    return len(known.answered) >= MOST_REMEMBERED or known.held_bytes >= MOST_REMEMBERED_BYTES


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

    def join(self, offer: Offer, policy: Policy, *, count_offer: Callable[[], bool] = lambda: True) -> Group:
        """Return the group of an offer, verified member by member; a trusted one only with those consented to.

        `count_offer` is called for groups with a random mask graph, and tells whether one more may be joined.
        """
        known = self.find(offer.plan)
        if known is None:
            members = [self._verify(der) for der in offer.certificates]
            if offer.mode == "trusted" and not policy.trusts({member.name for member in members} - {self._name}):
                raise Unknown("mode")
            # many owners of one process keep one copy of each other's certificates
            offer = replace(
                offer,
                certificates=[getattr(each, "der", der) for each, der in zip(members, offer.certificates, strict=True)],
            )
            known = Group.of(offer, members, name=self._name, key=self._key)
            if offer.mode == "masked" and not known.masks_all_pairs and not count_offer():
                raise Unknown("offers")
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
