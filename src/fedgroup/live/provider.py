"""The live provider: one plan in force, questions asked of whoever is here, answers with honest intervals.

It never holds a record, an exact count or a key of an owner. What it stores is public, noisy or masked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Protocol, TypedDict, Unpack

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, LedgerUnavailable
from fedgroup.live.asking import Asking, NamedRound
from fedgroup.live.attendance import Attendance, Quorum
from fedgroup.live.desk import Desk
from fedgroup.live.doubts import Doubts
from fedgroup.live.forming import Forming
from fedgroup.live.mending import Lapses, Mending
from fedgroup.live.plans import Leaving, LivePlan, Roster
from fedgroup.live.public_log import PublicLog, lead_on
from fedgroup.live.question import LiveQuestion, Released
from fedgroup.live.settings import LiveSettings
from fedgroup.live.tally import Tally
from fedgroup.live.waves import Flow
from fedgroup.maps.private_map import PrivateMap
from fedgroup.messages.cells_from import CellsFrom
from fedgroup.messages.wire_query import WireQuery
from fedgroup.privacy.release import scales_of
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.answers import Answer, OwnersLeft
from fedgroup.questions.methods import PRIVATE, Method, chosen, trust_in
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import as_invalid_query
from fedgroup.questions.sameness import same_question
from fedgroup.space.places import require_on_map

log = logging.getLogger("fedgroup.provider")


class AnswerStore(Protocol):
    """Answers kept for those who ask the same again."""

    def earlier(self, key: str) -> tuple[bytes, Mapping[str, Any]] | None: ...

    def keep(self, key: str, round_id: bytes, answer: Mapping[str, Any]) -> None: ...

    def plans(self) -> list[Mapping[str, Any]]: ...

    def keep_plan(self, method: str, plan: Mapping[str, Any]) -> None: ...

    def keep_owners(self, certificates: Mapping[str, bytes]) -> None: ...

    def retire_owner(self, name: str) -> bool: ...


class HowAsked(TypedDict, total=False):
    """How a question is asked: by which method, by whom, anew, with how many owners, and whether again if spoilt."""

    method: str | None
    by: str
    fresh: bool
    quorum: Quorum | None
    may_rerun: Callable[[], bool]


class LiveProvider:
    """Coordinates owners over a wire."""

    def __init__(self, desk: Desk, settings: LiveSettings, *, store: AnswerStore, log: PublicLog | None = None) -> None:
        """With a public `log`, every question is written there before it is asked, and what came of it."""
        self.desk = desk
        self.log = log
        self.settings = settings
        self.store = store
        self._lapses = Lapses(desk.arrivals)
        self._forming = Forming(
            desk,
            self._lapses,
            public_map=settings.public_map,
            protection=settings.protection,
            seconds=settings.seconds,
            most=settings.mpc_most,
            log=log,
        )
        self._asking = Asking(
            desk,
            self._lapses,
            settings.protection,
            Flow(settings.in_flight_bytes),
            log,
            most_records=settings.most_records,
            recovery=settings.recovery,
        )
        if log is not None:
            desk.lead_on = partial(lead_on, log, desk)
        self._mending = Mending(desk, self._lapses)
        self._doubts, self._drawn_anew = Doubts(), set[str]()
        self._leaving = Leaving(desk)
        self._changing = asyncio.Lock()
        self._retired: set[str] = set()  # who is still meant by a plan
        self.answered_at: float | None = None
        self._plans = {plan.method: plan for plan in map(LivePlan.of, store.plans())}

    @property
    def plans(self) -> Mapping[str, LivePlan]:
        """The plans in force, by method."""
        return self._plans

    @property
    def plan(self) -> LivePlan | None:
        """The plan made of noisy vectors that is in force."""
        return self._plans.get("fedgroup")

    async def regroup(
        self,
        settings: GroupingSettings,
        *,
        epsilon: Epsilon,
        grid: tuple[int, int] = (10, 10),
        mode: str = "masked",
    ) -> LivePlan:
        """Make a new plan of all owners that are here, at the price of `epsilon` for each, and put it in force."""
        async with self._changing:
            arrivals = dict(self.desk.arrivals)
            plan = await self._forming.by_similarity(
                settings, epsilon=epsilon, grid=grid, mode=mode, terms=self.settings.masks
            )
            await self._put_in_force(plan, plan.rosters, arrivals)
            return plan

    @asynccontextmanager
    async def question(
        self,
        query: RangeQuery,
        *,
        method: str | None = None,
        as_map: bool = False,
        cells_from: CellsFrom | None = None,
        held: LivePlan | None = None,
    ) -> AsyncIterator[LiveQuestion]:
        """Yield a question that can be asked; its groups stay while the context lasts, whatever is put in force.

        One that nobody could answer is refused here, before anybody is asked or charged. `cells_from` is what owners
        check the cells of a published map by. `held` is a plan that the caller holds; none is looked for then.
        """
        wire = replace(self.sendable(query), cells_from=cells_from)
        by = chosen(method, planned=self.plan is not None, among=PRIVATE)
        plan = held or await self._plan_for(by)
        async with self._leaving.using(plan):
            settings = self.settings
            key = same_question(
                query,
                by.name,
                settings.public_map,
                None if plan is None else plan.id,
                sorted(self.desk.present),
                asdict(settings.protection),
                asdict(settings.masks),
                *(["map"] if as_map and query.is_range else []),
            )
            yield LiveQuestion(self, query, wire, by, plan, key, as_map or not query.is_range)

    def sendable(self, query: RangeQuery) -> WireQuery:
        """Return a question as it travels; what is off the map, has too many bins or cannot be cut is refused."""
        require_on_map(query.range, self.settings.public_map)
        with as_invalid_query():
            self.settings.accounting.units_of(query.epsilon, query.rho)
            wire = WireQuery.of(query)
            scales_of(query, self.settings.protection)
        return wire

    async def ask(self, query: RangeQuery, **how: Unpack[HowAsked]) -> Answer:
        """Return the answer of the owners that are here; the same again is free while nobody's data changed."""
        if not query.is_range:
            raise InvalidQuery("a question with many bins has a map for an answer")
        answer = await self._released(query, as_map=False, **how)
        assert isinstance(answer, Answer)  # noqa: S101  a range has one
        return answer

    async def map(self, query: RangeQuery, **how: Unpack[HowAsked]) -> PrivateMap:
        """Return the map that the owners who are here make together, for one epsilon; it is given again likewise."""
        made = await self._released(query, as_map=True, **how)
        assert isinstance(made, PrivateMap)  # noqa: S101  asked for as one
        return made

    async def _released(
        self,
        query: RangeQuery,
        *,
        as_map: bool,
        method: str | None = None,
        by: str = "",
        fresh: bool = False,
        quorum: Quorum | None = None,
        may_rerun: Callable[[], bool] = lambda: True,
    ) -> Released:
        async with self.question(query, method=method, as_map=as_map) as asked:
            again = None if fresh else await asked.again()
            if again is not None:
                return again
            return await asked.ask(by=by, quorum=quorum, may_rerun=may_rerun)

    def holding(self, plan: LivePlan | None) -> AbstractAsyncContextManager[None]:
        """Return a context in which owners are not told to forget the groups of a plan that is in force."""
        return self._leaving.using(plan)

    async def put(
        self,
        asked: LiveQuestion,
        attendance: Attendance,
        *,
        by: str,
        may_rerun: Callable[[], bool],
        named: NamedRound | None = None,
    ) -> Tally:
        """Put a question to the owners that are here, and learn from who refused or fell silent."""
        tally = await self._asking.answer(
            asked.wire,
            asked.query,
            asked.plan,
            attendance.present,
            by=by,
            seconds=self.settings.seconds_with(len(attendance.present)),
            may_rerun=may_rerun,
            named=named,
        )
        if asked.plan is not None:
            self._mending.note_answer(asked.plan, self._plans.get(asked.method.name), tally)
        told = tally.heard | tally.impossible
        new = told if named is None else self._doubts.new_in(named.id, told)
        self._note_doubts(asked.method, heard=tally.heard & new, impossible=tally.impossible & new)
        if self.log is not None and tally.heard:
            totals = tally.totals(self.settings.protection)
            tally.entry = await self.log.answered(asked.query, tally, totals)
        elif self.log is not None:
            await self.log.failed(tally.rounds)
        return tally

    def _note_doubts(self, method: Method, *, heard: set[str], impossible: set[str]) -> None:
        """Name who was in groups with impossible sums; such groups are drawn anew, and some are asked alone."""
        alone = self._doubts.note(impossible=impossible, possible=heard)
        self._lapses.note_failed(alone)
        if impossible:
            self._drawn_anew.add(method.name)
        for name in sorted(impossible):
            log.warning("the sums of an owner, or of its group, are impossible", extra={"owner": name})

    @property
    def doubted(self) -> Mapping[str, int]:
        """Owners whose last groups gave impossible sums, with how many did in a row."""
        return self._doubts.doubted

    def partition(self, plan: LivePlan | None) -> tuple[int, float]:
        """Return how many groups, each owner alone counted as one, and how many noises answer a question now."""
        present, left_out = self.desk.present, self._lapses.left_out
        if plan is None:
            return len(present), float(len(present))
        return plan.count(present, left_out), plan.noises(present, left_out)

    def shared(self, plan: LivePlan | None) -> float:
        """Return how many of the noises that answer a question now come in shares, from masked groups."""
        return 0.0 if plan is None else plan.shared(self.desk.present, self._lapses.left_out)

    @property
    def left_out(self) -> frozenset[str]:
        """Owners that fell silent in masked groups, and are left out of them until they come again."""
        return self._lapses.left_out

    def alone(self, plan: LivePlan) -> int:
        """Return how many of the groups that a question is answered with now are owners alone."""
        return len(plan.alone(self.desk.present, self._lapses.left_out))

    def owners_left(self, price: Epsilon) -> OwnersLeft:
        """Return what is known of the budgets of the owners that are here, and who would hardly pay so much."""
        return self.desk.balances.of(self.desk.present, price=price)

    async def owners_left_now(self, price: Epsilon) -> OwnersLeft:
        """Return the same, after those that tell what they have left were asked for it once more."""
        await self.desk.ask_balances()
        return self.owners_left(price)

    def trust(self, plan: LivePlan | None) -> str:
        """Return who is trusted with what if everybody who is here answers by a plan."""
        modes = set() if plan is None else {group.mode for group in plan.groups}
        alone = plan is not None and bool(self.alone(plan))
        delta = 0.0 if plan is None else plan.delta
        return trust_in(modes, colluders=self.settings.masks.colluders, delta=delta, alone=alone)

    def require_possible(self, method: Method) -> None:
        """Refuse a method that cannot be used with so many owners as are here, before anybody is charged."""
        self.settings.require_possible(method, owners=len(self.desk.present - self._lapses.left_out))

    def can_use(self, method: Method) -> bool:
        """Tell whether a method can be used now."""
        if method.needs_plan:
            return self.plan is not None
        return self.settings.is_possible(method, owners=len(self.desk.present - self._lapses.left_out))

    async def _plan_for(self, method: Method) -> LivePlan | None:
        if method.needs_plan:
            if self.plan is None:
                raise InvalidQuery("there is no plan in force; the operator makes one by regrouping, or ask with dp")
            return await self._mended(self.plan)
        return None if method.together is None else await self._cohorts(method, method.together)

    async def _cohorts(self, method: Method, together: Callable[[int, int], int]) -> LivePlan:
        """Return masked cohorts of the owners that are here, formed anew when somebody came."""
        async with self._changing:
            known, able = self._plans.get(method.name), self.desk.present - self._lapses.left_out
            drawn = known is not None and method.name not in self._drawn_anew
            if known is not None and drawn and able <= known.formed_of and not self._mending.broken(known):
                return known
            arrivals = dict(self.desk.arrivals)
            # who came since the question was let in may make one group too large: then there are two
            size = min(together(max(2, len(able)), self.settings.cohort_size), self.settings.mpc_most)
            plan = await self._forming.by_chance(method.name, size, self.settings.masks, after=known)
            plan = replace(plan, settings={"formed_of": sorted(able)})
            await self._put_in_force(plan, plan.rosters, arrivals)
            self._drawn_anew.discard(method.name)
            return plan

    async def _mended(self, plan: LivePlan) -> LivePlan:
        """Form anew the groups that need it, led by who can; that costs nobody anything."""
        async with self._changing:
            plan = self._plans.get(plan.method, plan)
            broken, arrivals = self._mending.broken(plan), dict(self.desk.arrivals)
            if not broken:
                return plan
            ordered = [roster.led_by_one_of(self._mending.can_lead) for roster in broken]
            name = f"{plan.id}-{secrets.token_hex(8)}"
            again = await self._forming.formed(name, ordered, terms=self.settings.masks)
            back = {name for roster in broken for name in roster.members}
            whole = [group for group in plan.groups if not back.intersection(group.members)]
            mended = replace(plan, groups=(*whole, *again))
            await self._put_in_force(mended, broken, {name: n for name, n in arrivals.items() if name in back})
            return mended

    async def _put_in_force(self, plan: LivePlan, formed: Sequence[Roster], arrivals: Mapping[str, int]) -> None:
        old = self._plans.get(plan.method)
        self._plans[plan.method] = plan
        self._mending.note_formed(plan, formed, arrivals)
        self.store.keep_plan(plan.method, asdict(plan))
        kept = {group.name for group in plan.groups}
        await self._leaving.end(() if old is None else (group for group in old.groups if group.name not in kept))

    async def attendance(self, plan: LivePlan | None = None) -> Attendance:
        """Return who is known, or meant by a plan, and who of them is here.

        Who is known is on disk first, unless the file cannot be written now: then it is tried again the next time.
        """
        with contextlib.suppress(LedgerUnavailable):
            await self._keep_known()
        plans = [each for each in (plan, self.plan) if each is not None]
        return self.desk.attendance({name for each in plans for name in each.meant_for} - self._retired)

    async def _keep_known(self) -> None:
        new = dict(self.desk.unkept)
        if new:
            await asyncio.to_thread(self.store.keep_owners, new)
        for name, certificate in new.items():
            if self.desk.unkept.get(name) == certificate:
                del self.desk.unkept[name]

    async def retire(self, owner: str) -> bool:
        """Forget an owner that left for good; tell whether it was known. One that comes again is an owner again."""
        if owner in self.desk.present:
            raise InvalidQuery(f"{owner} is here; only an owner that is away can be retired")
        known = owner in (await self.attendance()).known
        await asyncio.to_thread(self.store.retire_owner, owner)
        self.desk.retire(owner)
        self._retired.add(owner)
        return known
