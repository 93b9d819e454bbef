"""The live provider: one plan in force, questions asked of whoever is here, answers with honest intervals.

It never holds a record, an exact count or a key of an owner. What it stores is public, noisy or masked.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from typing import Any, Protocol

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, LedgerUnavailable, TooFewHeard
from fedgroup.live.asking import Asking, Tally
from fedgroup.live.attendance import Attendance, Quorum
from fedgroup.live.balances import left_in_words
from fedgroup.live.desk import Desk
from fedgroup.live.forming import Forming
from fedgroup.live.lapses import Lapses
from fedgroup.live.leaving import Leaving
from fedgroup.live.logs import note_refusals
from fedgroup.live.mending import Mending
from fedgroup.live.plans import LivePlan, Roster
from fedgroup.live.settings import LiveSettings
from fedgroup.live.telling import notes_of, with_attendance
from fedgroup.messages import Answer, ExpectedError, OwnersLeft, RangeQuery
from fedgroup.messages.asked import Check
from fedgroup.messages.said import Checked
from fedgroup.privacy.release import scales_of
from fedgroup.provider.settings import GroupingSettings
from fedgroup.space.ranges import canonical_range
from fedgroup.user import role as user
from fedgroup.user.trust import trust_in

log = logging.getLogger("fedgroup.provider")

METHODS = ("dp", "fedgroup", "cohorts", "mpc")


class AnswerStore(Protocol):
    """Answers kept for those who ask the same again."""

    def earlier(self, key: str) -> tuple[bytes, Mapping[str, Any]] | None: ...

    def keep(self, key: str, round_id: bytes, answer: Mapping[str, Any]) -> None: ...

    def plans(self) -> list[Mapping[str, Any]]: ...

    def keep_plan(self, method: str, plan: Mapping[str, Any]) -> None: ...

    def keep_owners(self, certificates: Mapping[str, bytes]) -> None: ...

    def retire_owner(self, name: str) -> bool: ...


class LiveProvider:
    """Coordinates owners over a wire."""

    def __init__(self, desk: Desk, settings: LiveSettings, *, store: AnswerStore) -> None:
        self.desk = desk
        self.settings = settings
        self._store = store
        self._lapses = Lapses(desk.arrivals)
        self._forming = Forming(
            desk,
            self._lapses,
            public_map=settings.public_map,
            protection=settings.protection,
            seconds=settings.seconds,
            most=settings.mpc_most,
        )
        self._asking = Asking(desk, self._lapses)
        self._mending = Mending(desk, self._lapses)
        self._leaving = Leaving(desk)
        self._changing = asyncio.Lock()
        self._retired: set[str] = set()  # who is still meant by a plan
        self.answered_at: float | None = None
        self._plans = {plan.method: plan for plan in map(LivePlan.of, store.plans())}

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

    async def again(self, query: RangeQuery, *, method: str | None = None) -> Answer | None:
        """Return the stored answer to the same question, for nothing, if every owner in it has the same data still."""
        started = time.perf_counter()
        self.settings.public_map.require_reachable(query.range)
        chosen = self._chosen(method)
        async with self._plan_in_use(chosen) as plan:
            found = await self._same_again(self._key(query, chosen, plan), plan)
        if found is None:
            return None
        log.info("asked", extra={"method": chosen, "kind": query.kind})
        log.info("answered", extra={"method": chosen, "kind": query.kind})
        return replace(found, seconds=time.perf_counter() - started)

    async def ask(
        self,
        query: RangeQuery,
        *,
        method: str | None = None,
        by: str = "",
        fresh: bool = False,
        quorum: Quorum | None = None,
        may_rerun: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """Return the answer of the owners that are here; the same again is free while nobody's data changed.

        With fewer owners than the `quorum` nobody is asked.
        """
        started = time.perf_counter()
        again = None if fresh else await self.again(query, method=method)
        if again is not None:
            return again
        self.settings.public_map.require_reachable(query.range)
        chosen = self._chosen(method)
        log.info("asked", extra={"method": chosen, "kind": query.kind})
        async with self._plan_in_use(chosen) as plan:
            key, attendance = self._key(query, chosen, plan), await self.attendance(plan)
            (quorum or self.settings.quorum).require(attendance)
            tally = await self._asking.answer(
                query, plan, attendance.present, by=by, seconds=self.settings.seconds, may_rerun=may_rerun
            )
            if plan is not None:
                self._mending.note_answer(plan, self._plans.get(chosen), tally)
        note_refusals(log, tally.refused)
        self.desk.balances.note(query.epsilon, heard=tally.heard, refused=tally.refused)
        if not tally.heard:
            reasons, spent = tally.reasons, tally.for_budgets
            left = left_in_words(self.owners_left(query.epsilon)) if spent else None
            raise TooFewHeard(heard=0, needed=1, refused=reasons, charged=tally.paid, spent=spent, known_left=left)
        answer = self._answer(query, chosen, plan, tally, attendance)
        self.answered_at = time.time()
        if not tally.reruns:
            with contextlib.suppress(LedgerUnavailable):  # what is not kept is asked and paid for again
                self._store.keep(key, tally.rounds[0], asdict(answer) | {"heard_of": sorted(tally.heard)})
        log.info("answered", extra={"method": chosen, "kind": query.kind})
        return replace(answer, seconds=time.perf_counter() - started)

    async def expect(self, query: RangeQuery, *, method: str | None = None) -> dict[str, ExpectedError]:
        """Return the error to expect if everybody who is here answers; nothing is spent."""
        _, noises = self.partition(await self._plan_for(self._chosen(method)))
        return user.expect(query, scales=scales_of(query, self.settings.protection), noises=noises, continuous=False)

    def partition(self, plan: LivePlan | None) -> tuple[int, float]:
        """Return how many groups, each owner alone counted as one, and how many noises answer a question now."""
        present, left_out = self.desk.present, self._lapses.left_out
        if plan is None:
            return len(present), float(len(present))
        return plan.count(present, left_out), plan.noises(present, left_out)

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

    def require_possible(self, method: str) -> None:
        """Refuse a method that cannot be used with so many owners as are here, before anybody is charged."""
        self.settings.require_possible(method, owners=len(self.desk.present - self._lapses.left_out))

    def can_use(self, method: str) -> bool:
        """Tell whether a method can be used now."""
        owners = len(self.desk.present - self._lapses.left_out)
        return self.plan is not None if method == "fedgroup" else method != "mpc" or owners <= self.settings.mpc_most

    def _chosen(self, method: str | None) -> str:
        return method or ("fedgroup" if self.plan is not None else "dp")

    @asynccontextmanager
    async def _plan_in_use(self, method: str) -> AsyncIterator[LivePlan | None]:
        """Yield the plan in force for a method; its groups stay while the context lasts, whatever is put in force."""
        plan = await self._plan_for(method)
        async with self._leaving.using(plan):
            yield plan

    async def _plan_for(self, method: str) -> LivePlan | None:
        if method not in METHODS:
            raise InvalidQuery(f"a live method is one of {', '.join(METHODS)}, got {method!r}")
        if method == "dp":
            return None
        if method == "fedgroup":
            if self.plan is None:
                raise InvalidQuery("there is no plan in force; the operator makes one by regrouping, or ask with dp")
            return await self._mended(self.plan)
        return await self._cohorts(method)

    async def _cohorts(self, method: str) -> LivePlan:
        """Return masked cohorts of the owners that are here, formed anew when somebody came."""
        async with self._changing:
            known, able = self._plans.get(method), self.desk.present - self._lapses.left_out
            if known is not None and able <= known.formed_of and not self._mending.broken(known):
                return known
            arrivals = dict(self.desk.arrivals)
            # who came since the question was let in may make one group too large: then there are two
            whole = min(max(2, len(able)), self.settings.mpc_most)
            size = whole if method == "mpc" else self.settings.cohort_size
            plan = await self._forming.by_chance(method, size, self.settings.masks)
            plan = replace(plan, settings={"formed_of": sorted(able)})
            await self._put_in_force(plan, plan.rosters, arrivals)
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
        self._store.keep_plan(plan.method, asdict(plan))
        kept = {group.name for group in plan.groups}
        await self._leaving.end(() if old is None else (group for group in old.groups if group.name not in kept))

    async def _same_again(self, key: str, plan: LivePlan | None) -> Answer | None:
        """Return the stored answer to the same question if every owner in it says that its data is the same."""
        found = self._store.earlier(key)
        if found is None:
            return None
        earlier, stored = found
        asked = Check(secrets.token_bytes(16), earlier)
        everyone = dict.fromkeys(stored["heard_of"], asked)
        replies = await self.desk.ask(asked.round, everyone, (Checked,), seconds=self.settings.seconds)
        if set(replies.said) != set(everyone) or not all(said.same for said in replies.said.values()):
            return None
        facts = {name: value for name, value in stored.items() if name != "heard_of"}
        facts = {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
        answer = Answer(**facts | {"stored": True, "charged": 0.0})
        return with_attendance(answer, await self.attendance(plan), heard=set(everyone))

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
            await asyncio.to_thread(self._store.keep_owners, new)
        for name, certificate in new.items():
            if self.desk.unkept.get(name) == certificate:
                del self.desk.unkept[name]

    async def retire(self, owner: str) -> bool:
        """Forget an owner that left for good; tell whether it was known. One that comes again is an owner again."""
        if owner in self.desk.present:
            raise InvalidQuery(f"{owner} is here; only an owner that is away can be retired")
        known = owner in (await self.attendance()).known
        await asyncio.to_thread(self._store.retire_owner, owner)
        self.desk.retire(owner)
        self._retired.add(owner)
        return known

    def _key(self, query: RangeQuery, method: str, plan: LivePlan | None) -> str:
        """Name a question: the same for the same range, kind, epsilon, method, plan, roster, map and protection."""
        measure = None if query.measure is None else asdict(query.measure)
        asked = [query.kind, canonical_range(query.range), query.epsilon.nano, query.since, query.until, measure]
        agreed = [asdict(self.settings.public_map), str(self.settings.protection), asdict(self.settings.masks)]
        facts = [asked, method, None if plan is None else plan.id, sorted(self.desk.present), agreed]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def _answer(
        self,
        query: RangeQuery,
        method: str,
        plan: LivePlan | None,
        tally: Tally,
        attendance: Attendance,
    ) -> Answer:
        reading = user.read(query, tally.totals(query, self.settings.protection))
        mode = None if plan is None else plan.mode
        cost = float(query.epsilon * (1 + tally.reruns))
        colluders, alone = self.settings.masks.colluders, bool(tally.alone)
        trust = trust_in(tally.modes, colluders=colluders, delta=tally.delta, alone=alone)
        return Answer(
            kind=query.kind,
            value=reading.value,
            interval=reading.interval,
            confidence=user.CONFIDENCE,
            epsilon=cost,
            method=method,
            in_group=mode,
            trust=trust,
            groups=tally.groups,
            noises=tally.noises,
            **attendance.counts(tally.heard),
            private=True,
            asked_at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            charged=cost,
            notes=(*notes_of(tally, attendance), *reading.notes),
            refused=tally.reasons,
            delta=tally.delta,
        )
