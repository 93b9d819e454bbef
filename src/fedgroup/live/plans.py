"""The plan in force: groups of live owners that verified each other and share masks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fedgroup.live.desk import Desk
from fedgroup.messages.asked import Leave
from fedgroup.secure.mask_graph import public_seed
from fedgroup.secure.recovery import Recovery, live_recovery, neighbours_in
from fedgroup.secure.terms import MaskedTerms


class Leaving:
    """When owners are told to forget a group: after the last question that uses it, however long its rounds take."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._used: Counter[str] = Counter()
        self._over: dict[str, LiveGroup] = {}

    @asynccontextmanager
    async def using(self, plan: LivePlan | None) -> AsyncIterator[None]:
        """Keep the groups of a plan while the context lasts.

        Requires:  the plan was in force when this was entered, with nothing awaited in between.
        """
        names = [] if plan is None else [group.name for group in plan.groups]
        self._used.update(names)
        try:
            yield
        finally:
            self._used.subtract(names)
            self._used += Counter()
            await self._tell()

    async def end(self, groups: Iterable[LiveGroup]) -> None:
        """Tell the members of groups that these are over, as soon as no question uses them."""
        self._over |= {group.name: group for group in groups}
        await self._tell()

    async def _tell(self) -> None:
        for name in [name for name in self._over if name not in self._used]:
            group = self._over.pop(name, None)
            if group is not None:
                await self._desk.tell(dict.fromkeys(group.members, Leave(group.name)))


@dataclass(frozen=True)
class LiveGroup:
    """A group that all members agreed to, under the name they know it by; the first member leads a trusted one.

    `seed` is that of a masked group's mask graph: it follows from what all members told. Where members sign who was
    heard, `digest` stands for the group in what they sign, and `keys` are those they sign with. All in hexadecimal
    digits.
    """

    name: str
    mode: str
    members: tuple[str, ...]
    terms: MaskedTerms
    seed: str = ""
    digest: str = ""
    keys: tuple[str, ...] = ()

    @property
    def recovery(self) -> Recovery | None:
        """How the rounds of a masked group withstand members that fall silent; None: they do not."""
        return live_recovery(self.terms) if self.mode == "masked" and self.seed else None

    @property
    def neighbours(self) -> Sequence[Sequence[int]]:
        """With whom each member masks."""
        return neighbours_in(self.terms, bytes.fromhex(self.seed))

    def asked(self, left_out: Collection[str]) -> list[str]:
        """Return the members that are asked to answer together: none of a trusted group whose leader is left out."""
        if self.mode == "trusted" and self.members[0] in left_out:
            return []
        return [name for name in self.members if name not in left_out]

    def writers(self, left_out: Collection[str]) -> list[str]:
        """Return the members of a trusted group that are asked to write to its leader."""
        return self.asked(left_out)[1:] if self.mode == "trusted" else []

    def can_answer(self, present: Collection[str], left_out: Collection[str] = ()) -> bool:
        """Tell whether its leader, or of a masked one enough members, are here to give an answer."""
        if self.mode == "trusted":
            return self.members[0] in present and self.members[0] not in left_out
        return sum(name in present for name in self.asked(left_out)) >= self.terms.least_heard


@dataclass(frozen=True)
class Roster:
    """Owners that are to answer together, as many of them as are here."""

    mode: str
    members: tuple[str, ...]

    def led_by_one_of(self, can_lead: Callable[[str], bool]) -> Roster:
        """Return the same owners with those in front that can lead."""
        return Roster(self.mode, tuple(sorted(self.members, key=lambda name: not can_lead(name))))

    def able(self, present: Collection[str], left_out: Collection[str]) -> frozenset[str]:
        """Return who of them could be in a group now: who is here and is not left out."""
        return frozenset(self.members).intersection(present).difference(left_out)


@dataclass(frozen=True)
class LivePlan:
    """Groups of at least two owners; everybody else answers alone. `rosters` are the groups wished for."""

    id: str
    method: str
    mode: str
    groups: tuple[LiveGroup, ...]
    rosters: tuple[Roster, ...] = ()
    epsilon: float = 0.0
    guarantee: str = "made of public names only"
    settings: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> LivePlan:
        """Return a plan that was stored as plain values."""
        groups = tuple(
            LiveGroup(
                **each
                | {"members": tuple(each["members"]), "terms": MaskedTerms(**each["terms"])}
                | {"keys": tuple(each.get("keys", ()))}
            )
            for each in stored["groups"]
        )
        rosters = tuple(Roster(each["mode"], tuple(each["members"])) for each in stored.get("rosters", ()))
        return cls(**{**stored, "groups": groups, "rosters": rosters})

    @property
    def formed_of(self) -> set[str]:
        """The owners that cohorts were formed of."""
        formed = self.settings.get("formed_of", ())
        return set(formed) if isinstance(formed, list | tuple) else set()

    @property
    def members(self) -> set[str]:
        return {name for group in self.groups for name in group.members}

    @property
    def delta(self) -> float:
        """The chance that some masked group's mask graph fails; 0 where all groups mask all pairs."""
        return sum(group.terms.delta for group in self.groups if group.mode == "masked")

    @property
    def joint_seed(self) -> bytes | None:
        """A seed of the numbers that all members of masked groups told; None where there is none.

        Each promised its number before any was told, so nobody chose the seed but all members of all groups together.
        """
        seeds = sorted(bytes.fromhex(group.seed) for group in self.groups if group.mode == "masked" and group.seed)
        return public_seed(seeds) if seeds else None

    @property
    def meant_for(self) -> set[str]:
        """The owners it was made for, also those that are in no group now because they were away."""
        return self.members.union(*(roster.members for roster in self.rosters))

    def alone(self, present: Iterable[str], left_out: Collection[str] = ()) -> list[str]:
        """Return, in order, the owners that are in no group, and those left out of their own."""
        together = {name for group in self.groups for name in group.asked(left_out)}
        return sorted(set(present) - together)

    def noises(self, present: set[str], left_out: Collection[str] = ()) -> float:
        """Return how many noises an answer holds if everybody who is here is heard."""
        able = [group for group in self.groups if group.can_answer(present, left_out)]
        asked = [(group, len(present.intersection(group.asked(left_out)))) for group in able]
        shares = (1.0 if group.mode == "trusted" else float(group.terms.shape(heard)) for group, heard in asked)
        return len(self.alone(present, left_out)) + sum(shares)

    def shared(self, present: set[str], left_out: Collection[str] = ()) -> float:
        """Return how many of these noises come in shares, from masked groups."""
        led = sum(group.mode == "trusted" and group.can_answer(present, left_out) for group in self.groups)
        return self.noises(present, left_out) - len(self.alone(present, left_out)) - led

    def count(self, present: Collection[str], left_out: Collection[str] = ()) -> int:
        """Return how many groups can answer now, each owner alone counted as a group: what answers tell."""
        return sum(group.can_answer(present, left_out) for group in self.groups) + len(self.alone(present, left_out))

    def sizes(self) -> list[int]:
        """Return the sizes of all groups, the largest first: what users may see of a plan."""
        return sorted((len(group.members) for group in self.groups), reverse=True)


def cohorts_of(shuffled: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Return as few cohorts of about equal sizes as fit, of owners that stand in a random order."""
    count = max(1, math.ceil(len(shuffled) / size))
    return [tuple(shuffled[start::count]) for start in range(count)]
