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
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, LedgerUnavailable
from fedgroup.live.asking import Asking, Tally
from fedgroup.live.desk import Desk
from fedgroup.live.forming import Forming
from fedgroup.live.logs import note_refusals
from fedgroup.live.plans import LivePlan, Roster
from fedgroup.messages import Answer, ExpectedError, NoisyTotals, RangeQuery
from fedgroup.messages.asked import Check, Leave
from fedgroup.messages.said import Checked
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.settings import GroupingSettings
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap
from fedgroup.space.ranges import canonical_range
from fedgroup.user import role as user

log = logging.getLogger("fedgroup.provider")

METHODS = ("dp", "fedgroup", "cohorts", "mpc")
TRUST = {
    "dp": "nobody: every owner adds its own noise",
    "trusted": "leaders of groups see their members' exact answers",
    "masked": "nobody: answers are masked, unless more than {} members of a group collude",
}


@dataclass(frozen=True)
class LiveSettings:
    """What the federation agreed on, and how long the provider waits."""

    federation: str
    public_map: PublicMap
    protection: Protection
    masks: MaskSettings = field(default_factory=MaskSettings)
    cohort_size: int = 50
    seconds: float = 10.0


class AnswerStore(Protocol):
    """Answers kept for those who ask the same again."""

    def earlier(self, key: str) -> tuple[bytes, Mapping[str, Any]] | None: ...

    def keep(self, key: str, round_id: bytes, answer: Mapping[str, Any]) -> None: ...

    def plans(self) -> list[Mapping[str, Any]]: ...

    def keep_plan(self, method: str, plan: Mapping[str, Any]) -> None: ...


class LiveProvider:
    """Coordinates owners over a wire."""

    def __init__(self, desk: Desk, settings: LiveSettings, *, store: AnswerStore) -> None:
        self.desk = desk
        self.settings = settings
        self._store = store
        self._forming = Forming(
            desk, public_map=settings.public_map, protection=settings.protection, seconds=settings.seconds
        )
        self._asking = Asking(desk, settings.protection)
        self._changing = asyncio.Lock()
        self._plans = {plan.method: plan for plan in map(LivePlan.of, store.plans())}
        self._since: dict[str, dict[str, int]] = {}  # by method: the arrival since which each owner knows its group

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
            await self._put_in_force(plan, arrivals)
            return plan

    async def ask(
        self,
        query: RangeQuery,
        *,
        method: str | None = None,
        by: str = "",
        fresh: bool = False,
        may_rerun: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """Return the answer of the owners that are here; the same again is free while nobody's data changed."""
        started = time.perf_counter()
        self.settings.public_map.require_reachable(query.range)
        chosen = method or ("fedgroup" if self.plan is not None else "dp")
        log.info("asked", extra={"method": chosen, "kind": query.kind})
        plan = await self._plan_for(chosen)
        key = self._key(query, chosen, plan)
        again = None if fresh else await self._same_again(key)
        if again is not None:
            return replace(again, seconds=time.perf_counter() - started)
        asked = self.desk.present
        totals, tally = await self._asking.answer(
            query, plan, by=by, seconds=self.settings.seconds, may_rerun=may_rerun
        )
        note_refusals(log, tally.refused)
        answer = self._answer(query, chosen, plan, totals, tally, asked=asked)
        if not tally.reruns:
            with contextlib.suppress(LedgerUnavailable):  # what is not kept is asked and paid for again
                self._store.keep(key, tally.rounds[0], asdict(answer) | {"heard_of": sorted(tally.heard)})
        log.info("answered", extra={"method": chosen, "kind": query.kind})
        return replace(answer, seconds=time.perf_counter() - started)

    async def expect(self, query: RangeQuery, *, method: str | None = None) -> dict[str, ExpectedError]:
        """Return the error to expect if everybody who is here answers; nothing is spent."""
        plan = await self._plan_for(method or ("fedgroup" if self.plan is not None else "dp"))
        present = self.desk.present
        noises = float(len(present)) if plan is None else float(len(plan.alone(present)))
        for group in () if plan is None else plan.groups:
            heard = len(present.intersection(group.members))
            noises += 1.0 if group.mode == "trusted" else float(group.terms.shape(heard))
        return user.expect(query, scales=scales_of(query, self.settings.protection), noises=noises, continuous=False)

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
            known = self._plans.get(method)
            if known is not None and self.desk.present <= known.formed_of and not self._broken(known):
                return known
            everyone, arrivals = sorted(self.desk.present), dict(self.desk.arrivals)
            size = max(2, len(everyone)) if method == "mpc" else self.settings.cohort_size
            plan = await self._forming.by_chance(method, size, self.settings.masks)
            plan = replace(plan, settings={"formed_of": everyone})
            await self._put_in_force(plan, arrivals)
            return plan

    def _broken(self, plan: LivePlan) -> list[Roster]:
        """Return the rosters whose groups are to be formed anew: somebody came, who may know nothing of its group, too
        few members of a masked one are here, or a leader cannot lead and another member can."""
        since, arrivals = self._since.get(plan.method, {}), self.desk.arrivals
        wanting = {name for name in self.desk.present if arrivals[name] != since.get(name)}
        for group in plan.groups:
            if group.mode == "masked" and len(self.desk.present.intersection(group.members)) < group.terms.least_heard:
                wanting |= set(group.members)
        for leader, *others in (group.members for group in plan.groups if group.mode == "trusted"):
            if not self._can_lead(leader) and any(map(self._can_lead, others)):
                wanting.add(leader)
        return [roster for roster in plan.rosters if wanting.intersection(roster.members)]

    def _can_lead(self, owner: str) -> bool:
        led_nothing = self._asking.led_nothing.get(owner)
        return owner in self.desk.present and led_nothing != self.desk.arrivals[owner]

    async def _mended(self, plan: LivePlan) -> LivePlan:
        """Form anew the groups that need it, led by who can; that costs nobody anything."""
        async with self._changing:
            plan = self._plans.get(plan.method, plan)
            broken, arrivals = self._broken(plan), dict(self.desk.arrivals)
            if not broken:
                return plan
            ordered = [roster.led_by_one_of(self._can_lead) for roster in broken]
            name = f"{plan.id}-{secrets.token_hex(8)}"
            again = await self._forming.formed(name, ordered, terms=self.settings.masks)
            back = {name for roster in broken for name in roster.members}
            whole = [group for group in plan.groups if not back.intersection(group.members)]
            mended = replace(plan, groups=(*whole, *again))
            await self._put_in_force(mended, {name: n for name, n in arrivals.items() if name in back})
            return mended

    async def _put_in_force(self, plan: LivePlan, arrivals: Mapping[str, int]) -> None:
        old = self._plans.get(plan.method)
        self._plans[plan.method] = plan
        self._since.setdefault(plan.method, {}).update(arrivals)
        self._store.keep_plan(plan.method, asdict(plan))
        kept = {group.name for group in plan.groups}
        for group in () if old is None else [group for group in old.groups if group.name not in kept]:
            await self.desk.tell(dict.fromkeys(group.members, Leave(group.name)))

    async def _same_again(self, key: str) -> Answer | None:
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
        return Answer(**facts | {"stored": True, "charged": 0.0})

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
        totals: NoisyTotals,
        tally: Tally,
        *,
        asked: set[str],
    ) -> Answer:
        reading = user.read(query, totals)
        roster = asked | tally.heard | (set() if plan is None else plan.meant_for)
        mode = None if plan is None else plan.mode
        cost = float(query.epsilon * (1 + tally.reruns))
        trust = TRUST["dp"] if mode is None else TRUST[mode].format(self.settings.masks.colluders)
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
            owners=len(roster),
            heard=len(tally.heard),
            missing=len(roster - tally.heard),
            private=True,
            asked_at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            charged=cost,
            notes=_notes(roster - tally.heard, tally),
        )


def _notes(missing: set[str], tally: Tally) -> tuple[str, ...]:
    notes = ["records outside the domain are not counted"]
    if missing:
        notes.append("the answer is about the owners heard; nothing is extrapolated to those missing")
    if tally.reruns:
        notes.append("a group fell silent in the middle and was asked again, at the same price once more")
    return tuple(notes)
