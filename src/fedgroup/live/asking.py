"""One question to all live owners: rosters are fixed before values leave, and nothing is extrapolated.

alone     Ask -> Noisy
trusted   Ask -> members write to their leader, all say Ready -> Go to the leader -> Noisy
masked    Ask -> Ready -> Go with the roster to its members -> Masked -> Unmask with who was heard -> Unmasked; up to so
          many members as the group's terms say may fall silent once the roster is fixed, and are left out of the sum;
          more, and the group gives nothing. Where no shares of masks are dealt (`recovering.py`), as in named rounds,
          there is no last step, and one silent member spoils the group's round. A round that is spoilt before any mask
          came off is run once more if enough members are left, with a new id, fresh masks and fresh noise, and is
          charged again. Who fell silent is asked alone from the next question on, until it answers

A *named* round may be run again, by this process or a later one: it keeps its id, who answers with whom, and the
rosters that were fixed. Whoever answered in it says the same once more, uncharged.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fedgroup.errors import LedgerUnavailable, TooFewHeard
from fedgroup.live.bounds import Bounds
from fedgroup.live.desk import Desk
from fedgroup.live.mending import Lapses
from fedgroup.live.plans import LiveGroup, LivePlan
from fedgroup.live.public_log import PublicLog
from fedgroup.live.recovering import Recovered, Recovering, fits
from fedgroup.live.replies import Replies
from fedgroup.live.tally import Counted, FirstStep, SecondStep, Tally
from fedgroup.live.waves import FEW_WORDS, Flow, lanes_of, shares_of, waves_of
from fedgroup.messages.asked import Ask, Go
from fedgroup.messages.said import Masked, Noisy, Ready, perhaps_charged
from fedgroup.messages.wire_query import WireQuery
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery

log = logging.getLogger("fedgroup.provider")

RERUNS = 1
INCOMPLETE = "incomplete"
"""The reason of an owner for whom a window of time is not over yet."""


@dataclass(eq=False)
class NamedRound:
    """A round under an id that was kept before anybody was asked, with those `left_out` of their groups then.

    `fixed` are the rosters of groups that were told to answer, and `paid` tells whether any owner may have charged
    itself in it, in any run: `keep` is awaited with both before owners are asked for what they pay for. A round that is
    `waiting` fixes no roster while some owner says that the window is not over. `alone` are who answered alone.

    Guarantee: run as often as one likes, it charges every owner once at most.
    """

    id: bytes
    left_out: frozenset[str]
    fixed: dict[str, list[int]]
    keep: Callable[[dict[str, list[int]], bool], Awaitable[None]]
    paid: bool = False
    waiting: bool = True
    alone: set[str] = field(default_factory=set)

    async def fix(self, rosters: Mapping[str, list[int]]) -> None:
        """Fix rosters for good, on disk, before their groups are told to answer."""
        new = {name: roster for name, roster in rosters.items() if name not in self.fixed}
        if new:
            await self.keep(self.fixed | new, True)
            self.fixed |= new
            self.paid = True

    async def note_paid(self, paid: bool) -> None:
        """Keep that owners may pay in it, before they are asked; or that all of them refused to."""
        if paid != self.paid:
            await self.keep(self.fixed, paid)
            self.paid = paid


class Asking:
    """Runs rounds for one provider, and notes who lapses in them."""

    def __init__(
        self,
        desk: Desk,
        lapses: Lapses,
        protection: Protection,
        flow: Flow,
        log: PublicLog | None = None,
        *,
        most_records: int | None = None,
        recovery: bool = True,
    ) -> None:
        """With a `log`, nobody is asked anything that does not stand there; sums are bounded by `most_records`.

        With `recovery`, masked rounds withstand members that fall silent, in groups where that can be.
        """
        self._bounds = Bounds(protection, desk.most_records, most_records)
        self._desk = desk
        self._lapses = lapses
        self._protection = protection
        self._flow = flow
        self._log = log
        self._recovery = recovery

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
        named: NamedRound | None = None,
    ) -> Tally:
        """Return what those `present` said; maybe nobody was heard. Nobody else is asked, whoever comes meanwhile."""
        left_out = self._lapses.left_out if named is None else named.left_out
        tally = Tally(query, set(left_out), frozenset(present))
        tally.possible = partial(self._bounds.possible, query)
        try:
            await self._answer(wire, plan, tally, by=by, seconds=seconds, may_rerun=may_rerun, named=named)
        except BaseException:
            if self._log is not None:
                await self._log.failed(tally.rounds)
            raise
        return tally

    async def _answer(
        self,
        wire: WireQuery,
        plan: LivePlan | None,
        tally: Tally,
        *,
        by: str,
        seconds: float,
        may_rerun: Callable[[], bool],
        named: NamedRound | None,
    ) -> None:
        groups = () if plan is None else plan.groups
        alone = sorted(tally.present) if plan is None else plan.alone(tally.present, tally.left_out)
        if self._log is not None and named is not None and named.fixed:  # some groups may have given their sums
            tally.told = await self._log.told_in(named.id)
        async with self._flow.room(tally.words, owners=len(tally.present)):
            if not await self._begun(wire, tally, secrets.token_bytes(16) if named is None else named.id):
                raise TooFewHeard(heard=0, needed=1, charged=False)
            if named is not None and tally.present.intersection([*alone, *_writers(groups, tally.left_out)]):
                await named.note_paid(True)
            spoilt = await self._round(wire, groups, alone, tally, by=by, seconds=seconds, named=named)
            for _ in range(RERUNS if named is None else 0):
                if spoilt and may_rerun() and await self._begun(wire, tally, secrets.token_bytes(16)):
                    tally.reruns += 1
                    spoilt = await self._round(wire, spoilt, (), tally, by=by, seconds=seconds)
            tally.given_up += len(spoilt)

    async def _begun(self, wire: WireQuery, tally: Tally, round_id: bytes) -> bool:
        """Write the next round to the log; tell whether it may be run."""
        if self._log is not None:
            try:
                tally.logged = await self._log.asked(round_id, wire, owners=len(tally.present))
            except LedgerUnavailable:
                return False
        tally.rounds.append(round_id)
        return True

    async def _round(
        self,
        query: WireQuery,
        groups: Sequence[LiveGroup],
        alone: Sequence[str],
        tally: Tally,
        *,
        by: str,
        seconds: float,
        named: NamedRound | None = None,
    ) -> list[LiveGroup]:
        """Run one round, in waves if vectors are long, and return the masked groups that it was spoilt for.

        All waves have one id: no owner is in two of them. Where vectors are short, groups go side by side in a few
        lanes; not in a named round, whose rosters are kept one after the other.
        """
        ask = Ask(tally.rounds[-1], query, None, _ms(seconds), by, self._desk.agreed, tally.logged)
        run = partial(self._wave, ask, tally=tally, seconds=seconds, named=named)
        most = self._flow.owners_at_once(tally.words)
        if most is None and named is None:
            return await _side_by_side([run(some, single) for some, single in lanes_of(groups, alone)])
        return [group for wave in waves_of(groups, alone, most=most) for group in await run(*wave)]

    async def _wave(
        self,
        asked: Ask,
        groups: Sequence[LiveGroup],
        alone: Sequence[str],
        *,
        tally: Tally,
        seconds: float,
        named: NamedRound | None,
    ) -> list[LiveGroup]:
        deadline = asyncio.get_running_loop().time() + seconds
        # a group that waits for silent members must leave time for its second step
        first_step = seconds / (2 if groups else 1)

        recovering = {group.name for group in groups if named is None and self._recovery and group.recovery}

        def ask(plan: str | None, within: float) -> Ask:
            return replace(asked, plan=plan, within_ms=_ms(within), recovers=plan in recovering)

        messages = dict.fromkeys(alone, ask(None, first_step))
        for group in groups:
            messages |= dict.fromkeys(group.asked(tally.left_out), ask(group.name, seconds))
            if group.mode == "trusted":  # members answer in the first step, their leader in the second
                messages |= dict.fromkeys(group.writers(tally.left_out), ask(group.name, first_step))
        messages = {name: message for name, message in messages.items() if name in tally.present}
        taking = FirstStep(tally, alone, again=named is not None)
        kinds = (Ready, Noisy) if named is None else (Ready, Noisy, Masked)
        replies = await self._said(asked.round, messages, kinds, taking, tally, seconds=first_step)
        tally.refused |= replies.refused
        tally.silent |= messages.keys() - replies.said.keys() - replies.refused.keys()
        who_pays = tally.present.intersection([*alone, *_writers(groups, tally.left_out)])
        tally.paid |= _may_have_paid(who_pays, replies)
        answered = {name for name in alone if isinstance(replies.said.get(name), Counted)}
        self._lapses.note_alone(answered if named is None else answered - named.alone)  # what is repeated counts once
        if named is not None:
            named.alone |= answered
        if named is not None and named.waiting and INCOMPLETE in replies.refused.values():
            return []
        return await self._second_step(asked, groups, replies, tally, deadline=deadline, named=named, dealt=recovering)

    async def _second_step(
        self,
        asked: Ask,
        groups: Sequence[LiveGroup],
        replies: Replies,
        tally: Tally,
        *,
        deadline: float,
        named: NamedRound | None,
        dealt: Collection[str],
    ) -> list[LiveGroup]:
        """Fix rosters, take in what their members give, and take the masks off where shares of them were `dealt`."""
        round_id = asked.round
        ready = {group.name: _ready_of(group, replies, tally.left_out, dealt=group.name in dealt) for group in groups}
        fixed = {} if named is None else named.fixed
        rosters = ready | {name: fixed[name] for name in ready if name in fixed}
        # a roster that was fixed answers as a whole, or is missing as a whole
        going = [
            group
            for group in groups
            if _can_go(group, rosters[group.name]) and set(rosters[group.name]) <= set(ready[group.name])
        ]
        tally.given_up += sum(group.mode == "masked" and group not in going for group in groups)
        if named is not None:
            await named.fix({group.name: rosters[group.name] for group in going})
        tally.modes |= {
            each.mode for each in groups if each in going or (each.mode == "trusted" and rosters[each.name])
        }
        messages: dict[str, Any] = {}
        for group in going:
            go = Go(round_id, rosters[group.name])
            to = group.members[:1] if group.mode == "trusted" else [group.members[p] for p in go.positions]
            messages |= dict.fromkeys(to, go)
        # what is recovered must leave time for its last step
        left = (deadline - asyncio.get_running_loop().time()) * (0.7 if dealt else 1.0)
        taking = SecondStep(tally, going, rosters, self._protection, dealing=dealt)
        said = await self._given(round_id, messages, taking, tally, seconds=left)
        dealt_then = {name: kept.dealt for name, kept in said.said.items() if isinstance(kept, Counted)}
        counted = set(dealt_then)
        # a silent leader is missing with its group; its members are not asked again
        masked = [group for group in going if group.mode == "masked"]
        found = [Recovered.of(g, rosters[g.name], replies.said, dealt_then) for g in masked if g.name in dealt]
        able = [each for each in found if each is not None]
        await self._unmasked(asked, able, taking, tally, deadline=deadline)
        hidden = [group for group in masked if group.name in dealt and group not in [each.group for each in able]]
        spoilt = [*hidden, *(g for g in masked if g.name not in dealt and not taking.finish(g, counted))]
        tally.led_nothing |= {g.members[0] for g in groups if g.mode == "trusted" and g.asked(tally.left_out)} - counted
        self._note_lapses(
            tally,
            [*spoilt, *(each.group for each in able if each.left_out)],
            rosters,
            counted.difference(*(g.members for g in going if g.mode == "trusted")),
        )
        again = [group for group in spoilt if _could_go(group, tally.left_out)]
        tally.given_up += len(spoilt) - len(again)
        return again

    async def _given(
        self, round_id: bytes, messages: Mapping[str, Go], taking: SecondStep, tally: Tally, *, seconds: float
    ) -> Replies:
        """Return what is kept of what members give; leaders that wait for letters are told in time to do with less."""
        said = await self._said(round_id, messages, (Masked, Noisy), taking, tally, seconds=seconds * 0.8)
        late = {name: go for name, go in messages.items() if name not in said.said and name not in said.refused}
        if late:
            said.add(await self._said(round_id, late, (Masked, Noisy), taking, tally, seconds=seconds * 0.2))
        tally.refused |= said.refused
        tally.silent |= messages.keys() - said.said.keys() - said.refused.keys()
        tally.paid |= _may_have_paid(messages, said)
        return said

    async def _unmasked(
        self, asked: Ask, groups: Sequence[Recovered], taking: SecondStep, tally: Tally, *, deadline: float
    ) -> None:
        """Let the survivors of groups take the masks off their sums; a group of which too few do gives nothing."""
        if not groups:
            return
        left = deadline - asyncio.get_running_loop().time()
        found = await Recovering(self._desk, asked.round, groups).run(seconds=left)
        for each in found:
            if tally.words > FEW_WORDS:
                await asyncio.to_thread(taking.unmask, each, asked)
            else:
                taking.unmask(each, asked)
            taking.add_up(each.group, each.survivors)
            tally.recovered += each.left_out
        unsound = {owner for each in groups for owner in each.unsound}
        for owner in unsound:
            log.warning("an owner did not sign who was heard", extra={"owner": owner})
        self._lapses.note_failed(unsound)
        tally.given_up += len(groups) - len(found)

    async def _said(
        self,
        round_id: bytes,
        messages: Mapping[str, Any],
        kinds: tuple[type, ...],
        taking: Callable[[str, Any], Any],
        tally: Tally,
        *,
        seconds: float,
    ) -> Replies:
        """Return what is kept of what owners say in time; where a group is larger than a wave, in shares."""
        shares = list(shares_of(messages, self._flow.owners_at_once(tally.words)))
        found = Replies(())
        end = asyncio.get_running_loop().time() + seconds
        for number, share in enumerate(shares):
            left = (end - asyncio.get_running_loop().time()) / (len(shares) - number)
            found.add(await self._desk.ask(round_id, share, kinds, seconds=left, taking=taking))
        return found

    def _note_lapses(
        self, tally: Tally, spoilt: Sequence[LiveGroup], rosters: dict[str, list[int]], masked: Collection[str]
    ) -> None:
        """Leave out who spoilt its group's round. When nobody of a group answers, the line is to blame, not they."""
        self._lapses.note_together(set(masked) - tally.impossible)
        for group in spoilt:
            ready = {group.members[p] for p in rosters[group.name]}
            silent = ready - set(masked)
            tally.failed |= silent
            tally.left_out |= silent
            self._lapses.note_failed(silent if silent != ready else ())


async def _side_by_side(waves: Sequence[Coroutine[Any, Any, list[LiveGroup]]]) -> list[LiveGroup]:
    """Return what all waves found, one after the other; if one fails, the others end before its error is raised."""
    tasks = [asyncio.create_task(wave) for wave in waves]
    try:
        return [group for task in tasks for group in await task]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _writers(groups: Iterable[LiveGroup], left_out: Collection[str]) -> list[str]:
    """Return the members of trusted groups that write to their leaders."""
    return [name for group in groups for name in group.writers(left_out)]


def _may_have_paid(owners: Iterable[str], replies: Replies) -> bool:
    """Tell whether any of these owners may have charged itself: it did not refuse, or its reason leaves doubt."""
    reasons = [replies.refused.get(name) for name in owners]
    return None in reasons or perhaps_charged(reason for reason in reasons if reason is not None)


def _ready_of(group: LiveGroup, replies: Replies, left_out: set[str], *, dealt: bool) -> list[int]:
    """Return the positions of members that are ready, and have dealt shares of their masks where they are to."""
    asked = group.asked(left_out)
    said = {p: replies.said.get(name) for p, name in enumerate(group.members) if name in asked}
    return [p for p, each in said.items() if isinstance(each, Ready) and (not dealt or fits(group, p, each))]


def _could_go(group: LiveGroup, left_out: set[str]) -> bool:
    """Tell whether enough members are left to run a group's round once more."""
    return len(group.asked(left_out)) >= group.terms.least_heard


def _can_go(group: LiveGroup, ready: Sequence[int]) -> bool:
    if group.mode == "trusted":
        return bool(ready) and ready[0] == 0
    return len(ready) >= group.terms.least_heard


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))
