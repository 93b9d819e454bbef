"""The last step of masked rounds that withstand silence: members are shown who was heard, and tell shares of masks.

    Unmask(who was heard) -> Unmasked; in a group without all pairs first Unmask -> Vouched, then with the signatures

Guarantee: members are asked to unmask one set of survivors in a round. A group of which too few answer gives nothing,
           and is not asked again: some of its masks may be off, and it has paid. A signature that is not its member's
           spoils nothing: it is as good as none, and its member lapses.
Proof:     docs/guarantees.md#members-that-fall-silent
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fedgroup.errors import ProtocolViolation
from fedgroup.live.desk import Desk
from fedgroup.live.plans import LiveGroup
from fedgroup.messages.asked import Ask, Unmask
from fedgroup.messages.said import Masked, Ready, Unmasked, Vouched
from fedgroup.owner.rounds import masked_context
from fedgroup.secure.pair_words import DEALT_BYTES
from fedgroup.secure.recovery import Unmasking, survivors_stated
from fedgroup.secure.sharing import SHARE_BYTES
from fedgroup.secure.signatures import require_signed
from fedgroup.transport.codec import decode, encode


def fits(group: LiveGroup, position: int, ready: Ready) -> bool:
    """Tell whether a member dealt a share to each of its neighbours."""
    return len(ready.dealt) == DEALT_BYTES * len(group.neighbours[position])


def fits_then(group: LiveGroup, owner: str, reply: Masked, roster: Collection[int]) -> bool:
    """Tell whether a member dealt a share, with its value, to each of its neighbours in a roster."""
    near = group.neighbours[group.members.index(owner)]
    return len(reply.dealt) == SHARE_BYTES * len(set(near).intersection(roster))


@dataclass(eq=False)
class Recovered:
    """A group whose masks are being taken off: the survivors' names, and what they told.

    `unsound` are who signed something else than who was heard.
    """

    group: LiveGroup
    roster: Sequence[int]
    unmasking: Unmasking
    signatures: dict[int, bytes] = field(default_factory=dict)
    unsound: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls, group: LiveGroup, roster: Sequence[int], dealt: Mapping[str, Ready], dealt_then: Mapping[str, bytes]
    ) -> Recovered | None:
        """Return the group with those on its roster whose values were counted; None if these are too few.

        These dealt something with their values.
        """
        counted = dealt_then.keys()
        survivors = [p for p in roster if group.members[p] in counted]
        recovery = group.recovery
        if recovery is None or not recovery.allows(roster, survivors):
            return None
        unmasking = Unmasking(
            recovery,
            group.neighbours,
            roster=roster,
            survivors=survivors,
            dealt={p: dealt[group.members[p]].dealt for p in roster},
            dealt_then={p: dealt_then[group.members[p]] for p in survivors},
        )
        return cls(group, roster, unmasking)

    @property
    def survivors(self) -> list[str]:
        return [self.group.members[p] for p in self.unmasking.survivors]

    @property
    def left_out(self) -> int:
        """How many of the roster were not heard."""
        return len(self.roster) - len(self.unmasking.survivors)

    @property
    def signers(self) -> int:
        """How many members must have signed who was heard."""
        recovery = self.group.recovery
        return 0 if recovery is None else recovery.signers

    def asked(self, round_id: bytes, *, signed: bool) -> dict[str, Unmask]:
        """Return what each survivor is asked: to sign who was heard, or to tell its shares."""
        survivors = self.unmasking.survivors
        chosen = sorted(self.signatures)[: self.signers] if signed else []
        signatures = [self.signatures[p] for p in chosen]
        return {
            self.group.members[p]: Unmask(
                round_id, survivors, self.unmasking.sealed_for(p) if signed else b"", chosen, signatures
            )
            for p in survivors
        }

    def take(self, owner: str, reply: Any) -> bool:
        """Take in what a survivor says; tell whether it fits."""
        position = self.group.members.index(owner)
        if not isinstance(reply, Vouched):
            return isinstance(reply, Unmasked) and self.unmasking.take(position, reply.shares)
        if not self._signed(position, reply):
            self.unsound.add(owner)
            return False
        self.signatures[position] = reply.signature
        return True

    def _signed(self, position: int, vouched: Vouched) -> bool:
        """Tell whether a member signed what members check; of a plan by an earlier version nobody can tell."""
        group = self.group
        if not group.keys:
            return True
        digest, survivors = bytes.fromhex(group.digest), self.unmasking.survivors
        stated = survivors_stated(digest, vouched.round, roster=self.roster, survivors=survivors)
        with suppress(ProtocolViolation):
            require_signed(bytes.fromhex(group.keys[position]), stated, vouched.signature)
            return True
        return False

    def context(self, ask: Ask) -> bytes:
        """Return what stands for the round in its masks: of the question as owners read it."""
        return masked_context(decode(encode(ask), (Ask,)), [int(p) for p in self.roster], parts=self.group.terms.parts)


class Recovering:
    """Asks survivors for their shares, until each group has enough of them or the time is over."""

    def __init__(self, desk: Desk, round_id: bytes, groups: Sequence[Recovered]) -> None:
        self._desk = desk
        self._round = round_id
        self._groups = groups
        self._of = {name: each for each in groups for name in each.survivors}

    async def run(self, *, seconds: float) -> list[Recovered]:
        """Return the groups of which enough was told."""
        signing = [each for each in self._groups if each.signers]
        end = asyncio.get_running_loop().time() + seconds
        if signing:
            await self._asked(signing, signed=False, until=end - seconds / 2)
        able = [each for each in self._groups if len(each.signatures) >= each.signers]
        await self._asked(able, signed=True, until=end)
        return [each for each in able if each.unmasking.complete]

    async def _asked(self, groups: Sequence[Recovered], *, signed: bool, until: float) -> None:
        """Ask all survivors of these groups, and those that are silent once more: a message may have been lost.

        A signature that comes after enough of them is not taken for what its owner says next.
        """
        kinds = (Unmasked,) if signed else (Vouched,)
        messages = {name: each for group in groups for name, each in group.asked(self._round, signed=signed).items()}
        waiting = {group.group.name for group in groups}

        def taking(owner: str, reply: Any) -> bool:
            group = self._of[owner]
            taken = group.take(owner, reply)
            if group.unmasking.complete if signed else len(group.signatures) >= group.signers:
                waiting.discard(group.group.name)
            return taken

        for share in (0.7, 1.0):
            left = (until - asyncio.get_running_loop().time()) * share
            if not (messages and waiting):
                return
            replies = await self._desk.ask(
                self._round, messages, kinds, seconds=left, taking=taking, enough=lambda: not waiting
            )
            messages = {name: each for name, each in messages.items() if name in replies.silent}
