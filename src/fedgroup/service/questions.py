"""How a question is asked: read, checked, charged, and only then put to the owners."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fedgroup.errors import InvalidQuery, TooFewHeard
from fedgroup.live.attendance import Quorum
from fedgroup.live.expiry import AUTHORITY, Expiries, in_words
from fedgroup.live.plans import LivePlan
from fedgroup.live.provider import LiveProvider
from fedgroup.live.question import LiveQuestion, Released, facts_of
from fedgroup.live.settings import LiveSettings
from fedgroup.maps.private_map import PrivateMap, bins_of
from fedgroup.maps.published import PublishedMap, published_facts
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.questions.answers import Expectation
from fedgroup.questions.methods import Method, chosen
from fedgroup.questions.query import RangeQuery
from fedgroup.service.charged_work import ChargedWork, Order, PaidWork, Result
from fedgroup.service.kept_maps import KeptMaps
from fedgroup.service.known_maps import KnownOfRange, known_of
from fedgroup.service.metrics import Metrics
from fedgroup.service.problems import Problem
from fedgroup.service.replies import PlanShown
from fedgroup.service.requests import (
    MapAsked,
    PlanAsked,
    QuestionAsked,
    grid_of,
    grouping_settings,
    plain_plan,
    plain_question,
    price_of,
    range_query,
    require_noise,
)
from fedgroup.space import PublicMap
from fedgroup.storage.provider_state import ProviderState, Question, User
from fedgroup.transport.topics import PROVIDER
from fedgroup.user.pricing import Noises, cheapest, error_said


def plan_made(plan: LivePlan, provider: LiveProvider) -> PlanShown:
    """Return a new plan with its members, and what may be wrong with it, for operators."""
    shown = PlanShown.of(plan, provider, with_members=True)
    return shown.model_copy(update={"notes": _notes(shown.alone, len(provider.desk.present))})


def require_offered(query: RangeQuery, settings: LiveSettings) -> None:
    """Refuse a question about what the owners are known not to have, before it is charged."""
    asked = [] if query.measure is None else [query.measure.attribute]
    asked += [] if query.by is None else [query.by.attribute]
    for each in asked:
        if settings.attributes is not None and each not in settings.attributes:
            known = ", ".join(settings.attributes) or "none"
            raise InvalidQuery(
                f"there is no attribute {each!r} in this federation; those that can be asked about: {known}"
            )
    if settings.times is False and (query.since is not None or query.until is not None):
        raise InvalidQuery("records of this federation have no times; ask without since and until")


def _notes(alone: int, owners: int) -> list[str]:
    if 2 * alone <= owners:
        return []
    are = "owner is" if alone == 1 else "owners are"
    return [f"{alone} of {owners} {are} in no group: a coarser grid or a larger epsilon may help"]


PLAN = "plan"
"""The name under which a request for a plan is kept; a question has none such."""

_FOR_ALL = (None, AUTHORITY, PROVIDER)
"""What all owners, and the provider, are believed by: the list of revocations, the authority, and its certificate."""


def result_of(released: Released, public_map: PublicMap) -> Result:
    """Return what came of a question as it is kept; a map tells what its bins are."""
    facts = facts_of(released) | {"lonlat": public_map.lonlat}
    if not isinstance(released, PrivateMap):
        return facts
    if isinstance(released, PublishedMap):
        facts |= published_facts(released)
    return facts | {"kind": released.kind, "domain": list(public_map.domain.sides)} | bins_of(released)


class Questions:
    """Asks owners what users ask."""

    def __init__(
        self,
        provider: LiveProvider,
        state: ProviderState,
        work: ChargedWork,
        metrics: Metrics,
        expiries: Expiries,
        maps: KeptMaps,
    ) -> None:
        self._provider = provider
        self._expiries = expiries
        self._state = state
        self._work = work
        self._metrics = metrics
        self._maps = maps

    async def ask(self, user: User, asked: QuestionAsked, *, key: str | None) -> Question:
        """Return the question with its answer; what cannot be asked is refused before it is charged."""
        query, method, known = await self._understood(user, asked)
        quorum = self._provider.settings.quorum.stricter(asked.least_owners, asked.least_share)

        @asynccontextmanager
        async def opened() -> AsyncIterator[PaidWork]:
            if known is not None and known.is_enough:
                yield self._read_from(known, method)
                return
            self.require_ready(method, quorum)
            as_map = isinstance(asked, MapAsked)
            async with self._provider.question(query, method=method.name, as_map=as_map) as live:
                yield self._work_on(live, quorum, fresh=asked.fresh, known=known)

        return await self._work.run(user.name, Order(plain_question(asked, query), query.epsilon, opened), key=key)

    async def expect(self, user: User, asked: QuestionAsked) -> Expectation:
        """Return what an answer would be like; groups may be formed for that, nothing is spent."""
        query, method, known = await self._understood(user, asked)
        provider = self._provider
        self.require_ready(method, provider.settings.quorum.stricter(asked.least_owners, asked.least_share))
        async with provider.question(query, method=method.name) as live:
            expected = await live.expect(left=user.left)
        return expected if known is None else known.foretold(expected)

    async def regroup(self, user: User, asked: PlanAsked, *, key: str | None) -> Question:
        """Make a new plan, charged to the operator's allowance as it is to every owner's budget."""
        live, usual = self._provider.settings, self._provider.settings.grouping
        settings = grouping_settings(asked, usual, live.protection, most=live.mpc_most, accounting=live.accounting)
        epsilon, grid = price_of(asked, settings, live.accounting), grid_of(asked, usual)

        async def grouped(_question: Question) -> Result:
            plan = await self._provider.regroup(settings, epsilon=epsilon, grid=grid, mode=asked.mode)
            return plan_made(plan, self._provider).model_dump(mode="json")

        @asynccontextmanager
        async def opened() -> AsyncIterator[PaidWork]:
            self._require_owners()
            yield PaidWork(grouped)

        order = Order({PLAN: plain_plan(asked)}, epsilon, opened)
        return await self._work.run(user.name, order, key=key)

    async def _understood(self, user: User, asked: QuestionAsked) -> tuple[RangeQuery, Method, KnownOfRange | None]:
        """Return what was asked, and what a map knows of it where its price is an error.

        Districts take a while to tell apart, and others do not wait for that.
        """
        found = await asyncio.to_thread(self._read, asked) if isinstance(asked, MapAsked) else self._read(asked)
        query, method = found
        if asked.error is None:
            return query, method, None
        known = None if asked.fresh else await self._known(user, query, asked.error)
        if known is not None and known.is_enough:
            return query, method, known
        return await self._priced(query, method, asked, known), method, known

    async def _known(self, user: User, query: RangeQuery, error: Any) -> KnownOfRange | None:
        settings, here = self._provider.settings, len(self._provider.desk.present)
        return await known_of(query, error, user=user, maps=self._maps, state=self._state, settings=settings, here=here)

    async def _priced(
        self, query: RangeQuery, method: Method, asked: QuestionAsked, known: KnownOfRange | None
    ) -> RangeQuery:
        """Return a question at the least price for which it is sharp enough, as owners are here now."""
        provider = self._provider
        wanted = error_said(asked.error) if known is None else known.wanted
        self.require_ready(method, provider.settings.quorum)
        async with provider.question(query, method=method.name) as live:
            noises = Noises(provider.partition(live.plan)[1], provider.shared(live.plan))
        settings = provider.settings
        if known is not None:
            return await asyncio.to_thread(lambda: known.priced(query, settings, noises=noises.all))
        limits: dict[str, Any] = {"protection": settings.protection, "accounting": settings.accounting, "cap": None}
        return await asyncio.to_thread(lambda: cheapest(query, wanted, noises, **limits))

    def _read(self, asked: QuestionAsked) -> tuple[RangeQuery, Method]:
        query = range_query(asked, self._provider.settings, to_price=True)
        require_offered(query, self._provider.settings)
        self._provider.sendable(query)
        method = chosen(asked.method, planned=self._provider.plan is not None)
        require_noise(query, self._provider.settings, masked=not method.alone)
        return query, method

    def require_ready(self, method: Method, quorum: Quorum) -> None:
        """Refuse, before anybody is charged, what could not be asked now."""
        if method.needs_plan and self._provider.plan is None:
            raise Problem("method-not-ready", "there is no plan in force; an operator makes one, or ask with dp")
        self._provider.require_possible(method)
        self._require_owners()
        quorum.require(self._provider.desk.attendance())

    def _require_owners(self) -> None:
        over = None if self._provider.desk.present else self._expiries.ran_out(_FOR_ALL)
        if over is not None:
            text = (
                f"{in_words(over)}; nobody is believed before whoever runs this has a new one, and nothing was charged"
            )
            raise Problem("trust-ran-out", text, until=over.until.date().isoformat(), charged=False)
        if not self._provider.desk.connected:
            raise Problem("no-broker", "nobody can be asked now, and nothing was charged", retry_after=5, charged=False)
        if not self._provider.desk.present:
            raise TooFewHeard(heard=0, needed=1)

    def _read_from(self, known: KnownOfRange, method: Method) -> PaidWork:
        """Return what is to be done for a question that a published map answers: nobody is asked."""
        result = result_of(known.free, self._provider.settings.public_map)

        async def never(_question: Question) -> Result:
            raise AssertionError("what is there already is not asked for")

        async def there_already() -> Result:
            self._metrics.count_question(method.name, "stored", 0.0)
            return result

        return PaidWork(never, there_already)

    def _work_on(
        self, live: LiveQuestion, quorum: Quorum, *, fresh: bool, known: KnownOfRange | None = None
    ) -> PaidWork:
        """Return what is to be done for a question: look for its answer, or ask the owners."""

        def with_map(answer: Released) -> Released:
            return answer if known is None else known.together(answer)

        method, query, public_map = live.method.name, live.query, self._provider.settings.public_map

        async def there_already() -> Result | None:
            """Return the answer to the same question, whoever asked it, while nobody's data changed."""
            started = time.perf_counter()
            answer = None if fresh else await live.again()
            if answer is None:
                self.require_ready(live.method, quorum)  # owners may have left meanwhile
                return None
            self._metrics.count_question(method, "stored", time.perf_counter() - started)
            return result_of(with_map(answer), public_map)

        async def asked(question: Question) -> Result:
            """Ask the owners; a group that falls silent is asked once more only if that is paid for too."""
            started, outcome = time.perf_counter(), "failed"
            try:
                answer = await live.ask(
                    by=question.user[:MOST_TEXT],
                    quorum=quorum,
                    may_rerun=lambda: self._state.spend_more(question, query.epsilon),
                )
                outcome = "answered"
                return result_of(with_map(answer), public_map)
            finally:
                self._metrics.count_question(method, outcome, time.perf_counter() - started)

        return PaidWork(asked, there_already)
