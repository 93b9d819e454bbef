"""Masked rounds that an owner answered, until it is shown who of their rosters was heard.

Requires:  the ledger is flushed before what is returned leaves.
Guarantee: the owner tells shares of masks for one set of members in a round, whatever is asked again: a set within the
           roster that it answered for, with itself in it, of at least as many as its terms and its policy say, and in a
           group without all pairs one that enough members signed. A set that leaves somebody out is on disk before
           anything is told for it. What shares are made of is in memory only, and forgotten with the group, so who is
           started again tells none of rounds before.
Proof:     docs/guarantees.md#members-that-fall-silent
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Unmask
from fedgroup.messages.said import Unmasked, Vouched
from fedgroup.owner.groups import Group
from fedgroup.owner.node_parts import OwnIdentity, RoundLedger
from fedgroup.owner.refusals import Unknown
from fedgroup.owner.rounds import Round
from fedgroup.secure.recovery import Dealer, OwnMasks, survivors_stated
from fedgroup.secure.signatures import require_signed

MOST_ANSWERED = 256
"""Of so many rounds it is known that masks may be taken off; the oldest is forgotten."""


@dataclass(eq=False)
class _Answered:
    """A round that was answered with the members of a roster, and the survivors it was asked to unmask, if any.

    Nobody waits for it after `until`.
    """

    group: Group
    roster: Sequence[int]
    until: float
    survivors: Sequence[int] | None = None


class Unmaskings:
    """The latest rounds that an owner answered with masks that can be taken off."""

    def __init__(self, identity: OwnIdentity, ledger: RoundLedger) -> None:
        self._identity = identity
        self._ledger = ledger
        self._answered: OrderedDict[bytes, _Answered] = OrderedDict()

    def dealt(self, round_id: bytes, group: Group) -> bytes:
        """Return what this owner deals before a round's roster is fixed, sealed for its neighbours."""
        return self._dealer(group).dealt(round_id)

    def masks(self, this: Round, roster: Sequence[int], *, now: float) -> OwnMasks:
        """Return how this owner masks in a round with the members of a roster; it may be asked to unmask from now on.

        Requires:  this is called once for a round; nobody changes the roster.
        """
        while self._answered and (
            len(self._answered) >= MOST_ANSWERED or next(iter(self._answered.values())).until < now
        ):
            self._answered.popitem(last=False)
        self._answered[this.ask.round] = _Answered(this.group, roster, this.until)
        return self._dealer(this.group).masks(this.ask.round, set(roster))

    def forget(self, plan: str) -> None:
        """Tell nothing more of rounds of a group that was left."""
        for round_id in [name for name, each in self._answered.items() if each.group.offer.plan == plan]:
            del self._answered[round_id]

    def told(self, asked: Unmask, *, fewest: int) -> Vouched | Unmasked:
        """Return this owner's shares for the survivors of a round, or its signature where members sign them first."""
        this = self._answered.get(asked.round)
        if this is None:
            raise Unknown("round")
        group, survivors = this.group, asked.survivors
        dealer = self._dealer(group)
        if group.position not in survivors:
            raise ProtocolViolation("an owner that was not heard tells nothing")
        dealer.recovery.require_enough(this.roster, survivors)
        group.require_neighbours(survivors)
        if len(survivors) < fewest:
            raise Unknown("members")
        self._fix(asked.round, this, survivors)
        if dealer.recovery.signers:
            stated = survivors_stated(group.digest, asked.round, roster=this.roster, survivors=survivors)
            if not asked.signers:
                return Vouched(asked.round, self._identity.sign(stated))
            _require_vouched(group, asked, stated, survivors, least=dealer.recovery.signers)
        return Unmasked(asked.round, dealer.told(asked.round, set(this.roster), set(survivors), asked.sealed))

    def _fix(self, round_id: bytes, this: _Answered, survivors: Sequence[int]) -> None:
        """Refuse every set of survivors but the first of a round; one that leaves somebody out is kept on disk."""
        known = this.survivors
        if known is None and len(survivors) < len(this.roster):
            packed = struct.pack(f"!{len(survivors)}H", *survivors)
            kept = self._ledger.keep_survivors(round_id, packed)
            known = list(struct.unpack(f"!{len(kept) // 2}H", kept))
        this.survivors = this.roster if known is None else known
        if this.survivors != survivors:
            raise ProtocolViolation("the survivors of a round cannot change")

    def _dealer(self, group: Group) -> Dealer:
        return group.dealer(self._identity.owner_key)


def _require_vouched(group: Group, asked: Unmask, stated: bytes, survivors: Collection[int], *, least: int) -> None:
    """Refuse a set of survivors that too few of them signed."""
    if len(asked.signers) < least or not set(asked.signers) <= set(survivors):
        raise ProtocolViolation(f"at least {least} survivors sign who they are before anything is told")
    for signer, signature in zip(asked.signers, asked.signatures, strict=True):
        require_signed(group.members[signer].tls_key, stated, signature)
