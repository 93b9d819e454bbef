"""One question to all live owners: rosters are fixed before values leave, and nothing is extrapolated.

alone     Ask -> Noisy
trusted   Ask -> members write to their leader, all say Ready -> Go to the leader -> Noisy
masked    Ask -> Ready -> Go with the roster to its members -> Masked; one silent member spoils the group's round,
          which is run once more without it, with a new id, fresh masks and fresh noise, and is charged again; the
          silent one is asked alone from the next question on, until it answers
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.live.desk import Desk
from fedgroup.live.mending import Lapses
from fedgroup.live.plans import LiveGroup, LivePlan
from fedgroup.live.replies import Replies
from fedgroup.messages import NoisyTotals
from fedgroup.messages.asked import Ask, Go
from fedgroup.messages.said import Masked, Noisy, Ready, perhaps_charged
from fedgroup.messages.wire_query import WireQuery
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery

Ints = npt.NDArray[np.int64]

RERUNS = 1


@dataclass
class Tally:
    """What was heard: sums of noisy values in whole units, the words of masked groups, and who was in.

    `left_out` are not asked with their masked groups: who lapsed before, and `failed`, who lapsed in this question.
    `led_nothing` are leaders of trusted groups that gave no answer. `modes` are those of the groups that were to give
    their values, or whose leaders may have seen some. `paid` tells whether any owner may have charged itself: who
    answers alone or writes to a leader does so before it replies, the others when they are told to give their values.
    Who refuses for a reason that comes before its charge has not. `silent` were asked and said nothing in time. Only
    who was `present` at the start is asked.
    """

    query: RangeQuery
    left_out: set[str] = field(default_factory=set)
    present: frozenset[str] = frozenset()
    sums: Ints = field(init=False)
    hidden: Ints = field(init=False)
    masked: int = 0
    shared: float = 0.0
    delta: float = 0.0
    unmasked: int = 0
    heard: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    led_nothing: set[str] = field(default_factory=set)
    rounds: list[bytes] = field(default_factory=list)
    reruns: int = 0
    alone: int = 0
    modes: set[str] = field(default_factory=set)
    paid: bool = False

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.words, dtype=np.int64)
        self.hidden = np.zeros(self.words, dtype=np.int64)

    @property
    def words(self) -> int:
        """How many numbers an answer has: bins times parts."""
        return self.query.bins * len(self.query.parts)

    @property
    def groups(self) -> int:
        """How many groups gave an answer, each owner alone counted as one."""
        return self.unmasked + self.masked

    @property
    def noises(self) -> float:
        """How many noises the sums hold: one a group, and what masked groups add against dropouts."""
        return self.unmasked + self.shared

    @property
    def reasons(self) -> dict[str, int]:
        """How many of the owners that were not heard refused, by their reasons."""
        return dict(sorted(Counter(why for name, why in self.refused.items() if name not in self.heard).items()))

    @property
    def for_budgets(self) -> bool:
        """Whether budgets are why owners were not heard: more of them refused for that than failed otherwise."""
        unheard = [name for name in self.refused.keys() | self.silent if name not in self.heard]
        return 2 * sum(self.refused.get(name) == "budget" for name in unheard) > len(unheard)

    def add(self, sums: Sequence[int], *, heard: Iterable[str]) -> None:
        """Add the noisy sums of one group, or of an owner alone: with one noise each."""
        self.sums += np.array(sums, dtype=np.int64)
        self.unmasked += 1
        self.heard |= set(heard)

    def add_masked(self, group: LiveGroup, words: Mapping[str, bytes]) -> None:
        """Add what all members on a roster of a masked group sent: their masks cancel, modulo 2^64."""
        total = np.zeros(self.words, dtype=np.uint64)
        for each in words.values():
            total += np.frombuffer(each, dtype="<u8")
        self.hidden += total.view(np.int64)
        self.masked += 1
        self.shared += float(group.terms.shape(len(words)))
        self.delta += group.terms.delta
        self.heard |= words.keys()

    def totals(self, protection: Protection) -> NoisyTotals:
        """Return the sums over all owners that were heard, bin by bin."""
        parts = self.query.parts
        columns = (self.sums + self.hidden).reshape(-1, len(parts)).T
        scales = scales_of(self.query, protection)
        sums = dict(zip(parts, columns, strict=True))
        return NoisyTotals(sums, scales, False, noises=self.noises, heard=len(self.heard))


class Asking:
    """Runs rounds for one provider, and notes who lapses in them."""

    def __init__(self, desk: Desk, lapses: Lapses) -> None:
        self._desk = desk
        self._lapses = lapses

    async def answer(
        self,
        wire: WireQuery,
        query: RangeQuery,
        plan: LivePlan | None,
        present: Collection[str],
        *,
        by: str,
        seconds: float,
        may_rerun: Callable[[], bool] = lambda: True,
    ) -> Tally:
        """Return what those `present` said; maybe nobody was heard. Nobody else is asked, whoever comes meanwhile."""
        tally = Tally(query, set(self._lapses.left_out), frozenset(present))
        groups = () if plan is None else plan.groups
        alone = sorted(present) if plan is None else plan.alone(present, tally.left_out)
        spoilt = await self._round(wire, groups, alone, tally, by=by, seconds=seconds)
        for _ in range(RERUNS):
            if spoilt and may_rerun():
                tally.reruns += 1
                spoilt = await self._round(wire, spoilt, (), tally, by=by, seconds=seconds)
        return tally

    async def _round(
        self,
        query: WireQuery,
        groups: Sequence[LiveGroup],
        alone: Sequence[str],
        tally: Tally,
        *,
        by: str,
        seconds: float,
    ) -> list[LiveGroup]:
        """Run one round and return the masked groups that it was spoilt for."""
        round_id = secrets.token_bytes(16)
        tally.rounds.append(round_id)
        deadline = asyncio.get_running_loop().time() + seconds
        # a group that waits for silent members must leave time for its second step
        first_step = seconds / (2 if groups else 1)

        def ask(plan: str | None, within: float) -> Ask:
            return Ask(round_id, query, plan, _ms(within), by, self._desk.agreed)

        messages = dict.fromkeys(alone, ask(None, first_step))
        for group in groups:
            messages |= dict.fromkeys(group.asked(tally.left_out), ask(group.name, seconds))
            if group.mode == "trusted":  # members answer in the first step, their leader in the second
                messages |= dict.fromkeys(group.members[1:], ask(group.name, first_step))
        messages = {name: message for name, message in messages.items() if name in tally.present}
        replies = await self._desk.ask(round_id, messages, (Ready, Noisy), seconds=first_step)
        tally.refused |= replies.refused
        tally.silent |= messages.keys() - replies.said.keys() - replies.refused.keys()
        tally.paid |= _may_have_paid(tally.present.intersection([*alone, *_writers(groups)]), replies)
        self._lapses.note_alone([name for name in alone if _add_alone(tally, name, replies)])
        return await self._second_step(round_id, groups, replies, tally, deadline=deadline)

    async def _second_step(
        self,
        round_id: bytes,
        groups: Sequence[LiveGroup],
        replies: Replies,
        tally: Tally,
        *,
        deadline: float,
    ) -> list[LiveGroup]:
        rosters = {group.name: _ready_of(group, replies, tally.left_out) for group in groups}
        going = [group for group in groups if _can_go(group, rosters[group.name])]
        tally.modes |= {
            each.mode for each in groups if each in going or (each.mode == "trusted" and rosters[each.name])
        }
        messages: dict[str, Any] = {}
        for group in going:
            go = Go(round_id, rosters[group.name])
            to = group.members[:1] if group.mode == "trusted" else [group.members[p] for p in go.positions]
            messages |= dict.fromkeys(to, go)
        left = deadline - asyncio.get_running_loop().time()
        said = await self._desk.ask(round_id, messages, (Masked, Noisy), seconds=left * 0.8)
        said = await self._hurried(round_id, messages, said, seconds=left * 0.2)
        tally.refused |= said.refused
        tally.silent |= messages.keys() - said.said.keys() - said.refused.keys()
        tally.paid |= _may_have_paid(messages, said)
        spoilt = [group for group in going if not _add_group(tally, group, rosters[group.name], said)]
        tally.led_nothing |= {group.members[0] for group in groups if group.mode == "trusted"} - set(said.said)
        self._note_lapses(tally, spoilt, rosters, _masked(said, tally))
        return [group for group in spoilt if _could_go(group, tally.left_out)]

    def _note_lapses(
        self, tally: Tally, spoilt: Sequence[LiveGroup], rosters: dict[str, list[int]], masked: dict[str, Masked]
    ) -> None:
        """Leave out who spoilt its group's round. When nobody of a group answers, the line is to blame, not they."""
        self._lapses.note_together(masked)
        for group in spoilt:
            ready = {group.members[p] for p in rosters[group.name]}
            silent = ready - set(masked)
            tally.failed |= silent
            tally.left_out |= silent
            self._lapses.note_failed(silent if silent != ready else ())

    async def _hurried(self, round_id: bytes, messages: dict[str, Any], said: Replies, *, seconds: float) -> Replies:
        """Ask leaders that wait for letters to do with those they have."""
        late = {name: go for name, go in messages.items() if name not in said.said and name not in said.refused}
        if late:
            more = await self._desk.ask(round_id, late, (Masked, Noisy), seconds=seconds)
            said.said |= more.said
            said.refused |= more.refused
        return said


def _writers(groups: Iterable[LiveGroup]) -> list[str]:
    """Return the members of trusted groups that write to their leaders."""
    return [name for group in groups if group.mode == "trusted" for name in group.members[1:]]


def _may_have_paid(owners: Iterable[str], replies: Replies) -> bool:
    """Tell whether any of these owners may have charged itself: it did not refuse, or its reason leaves doubt."""
    reasons = [replies.refused.get(name) for name in owners]
    return None in reasons or perhaps_charged(reason for reason in reasons if reason is not None)


def _ready_of(group: LiveGroup, replies: Replies, left_out: set[str]) -> list[int]:
    asked = group.asked(left_out)
    return [p for p, name in enumerate(group.members) if name in asked and isinstance(replies.said.get(name), Ready)]


def _could_go(group: LiveGroup, left_out: set[str]) -> bool:
    """Tell whether enough members are left to run a group's round once more."""
    return len(group.asked(left_out)) >= group.terms.least_heard


def _can_go(group: LiveGroup, ready: Sequence[int]) -> bool:
    if group.mode == "trusted":
        return bool(ready) and ready[0] == 0
    return len(ready) >= group.terms.least_heard


def _add_alone(tally: Tally, name: str, replies: Replies) -> bool:
    """Add what an owner said alone; tell whether it did."""
    said = replies.said.get(name)
    if not isinstance(said, Noisy) or len(said.sums) != tally.words:
        return False
    tally.add(said.sums, heard=[name])
    tally.alone += 1
    return True


def _add_group(tally: Tally, group: LiveGroup, roster: Sequence[int], said: Replies) -> bool:
    """Add a group's sums; tell whether its round came to a result."""
    if group.mode == "trusted":
        reply = said.said.get(group.members[0])
        if not isinstance(reply, Noisy) or len(reply.sums) != tally.words or not set(reply.heard) <= set(roster):
            return True  # a silent leader is missing with its group; its members are not asked again
        tally.add(reply.sums, heard=(group.members[p] for p in reply.heard))
        return True
    masked = _masked(said, tally)
    if not all(group.members[p] in masked for p in roster):
        return False
    tally.add_masked(group, {group.members[p]: masked[group.members[p]].words for p in roster})
    return True


def _masked(said: Replies, tally: Tally) -> dict[str, Masked]:
    """Return the masked values that fit the question; others are as good as none."""
    return {
        name: reply
        for name, reply in said.said.items()
        if isinstance(reply, Masked) and len(reply.words) == 8 * tally.words
    }


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))
