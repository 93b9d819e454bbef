"""How a question is asked: read, checked, charged, and only then put to the owners."""

from __future__ import annotations

import time
from dataclasses import asdict

from fedgroup.epsilon import Epsilon
from fedgroup.errors import TooFewHeard
from fedgroup.live.attendance import Quorum
from fedgroup.live.expiry import AUTHORITY, Expiries, in_words
from fedgroup.live.plans import LivePlan
from fedgroup.live.provider import LiveProvider
from fedgroup.messages import RangeQuery
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.service.asked import (
    PlanAsked,
    QuestionAsked,
    grid_of,
    grouping_settings,
    plain_question,
    range_query,
    require_noise,
)
from fedgroup.service.charged_work import ChargedWork, Order, Result
from fedgroup.service.metrics import Metrics
from fedgroup.service.offered import plan_made, require_offered
from fedgroup.service.problems import Problem
from fedgroup.service.shown import ErrorShown, ExpectationShown, answer_facts
from fedgroup.storage.provider_state import ProviderState, Question, User
from fedgroup.transport.topics import PROVIDER
from fedgroup.user.role import CONFIDENCE

PLAN = "plan"
"""The name under which a request for a plan is kept; a question has none such."""

_FOR_ALL = (None, AUTHORITY, PROVIDER)
"""What all owners, and the provider, are believed by: the list of revocations, the authority, and its certificate."""


class Questions:
    """Asks owners what users ask."""

    def __init__(
        self, provider: LiveProvider, state: ProviderState, work: ChargedWork, metrics: Metrics, expiries: Expiries
    ) -> None:
        self._provider = provider
        self._expiries = expiries
        self._state = state
        self._work = work
        self._metrics = metrics

    async def ask(self, user: User, asked: QuestionAsked, *, key: str | None) -> Question:
        """Return the question with its answer; what cannot be asked is refused before it is charged."""
        query, method = self._read(asked)

        quorum = self._provider.settings.quorum.stricter(asked.least_owners, asked.least_share)

        async def work(question: Question) -> Result:
            return await self._asked(question, query, method, quorum)

        async def there_already() -> Result | None:
            return None if asked.fresh else await self._answered_before(query, method)

        request = plain_question(asked, query)
        order = Order(request, query.epsilon, work, lambda: self._require_ready(method, quorum), there_already)
        return await self._work.run(user.name, order, key=key)

    async def expect(self, user: User, asked: QuestionAsked) -> ExpectationShown:
        """Return what an answer would be like; groups may be formed for that, nothing is spent."""
        query, method = self._read(asked)
        self._require_ready(method, self._provider.settings.quorum.stricter(asked.least_owners, asked.least_share))
        errors = await self._provider.expect(query, method=method)
        plan = self.plans().get(method)
        mode, (groups, noises) = None if plan is None else plan.mode, self._provider.partition(plan)
        return ExpectationShown(
            kind=query.kind,
            epsilon=float(query.epsilon),
            charge=float(query.epsilon),
            method=method,
            in_group=mode,
            trust=self._provider.trust(plan),
            groups=groups,
            noises=noises,
            owners=len(self._provider.desk.present),
            confidence=CONFIDENCE,
            errors={part: ErrorShown(**asdict(error)) for part, error in errors.items()},
            left=float(user.left),
            affordable=query.epsilon <= user.left,
            private=True,
            delta=0.0 if plan is None else plan.delta,
            owners_left=await self._provider.owners_left_now(query.epsilon),
        )

    async def regroup(self, user: User, asked: PlanAsked, *, key: str | None) -> Question:
        """Make a new plan, charged to the operator's allowance as it is to every owner's budget."""
        epsilon = Epsilon.of(asked.epsilon)
        live, usual = self._provider.settings, self._provider.settings.grouping
        settings = grouping_settings(asked, usual, live.protection, most=live.mpc_most)
        grid = grid_of(asked, usual)

        async def work(_question: Question) -> Result:
            plan = await self._provider.regroup(settings, epsilon=epsilon, grid=grid, mode=asked.mode)
            return plan_made(plan, self._provider).model_dump(mode="json")

        order = Order({PLAN: asked.model_dump(mode="json")}, epsilon, work, self._require_owners)
        return await self._work.run(user.name, order, key=key)

    def plans(self) -> dict[str, LivePlan]:
        """Return the plans in force, by method."""
        return {plan.method: plan for plan in map(LivePlan.of, self._state.plans())}

    def _read(self, asked: QuestionAsked) -> tuple[RangeQuery, str]:
        query = range_query(asked, self._provider.settings)
        require_offered(query, self._provider.settings)
        method = asked.method or ("dp" if self._provider.plan is None else "fedgroup")
        require_noise(query, self._provider.settings, masked=method != "dp")
        return query, method

    def _require_ready(self, method: str, quorum: Quorum) -> None:
        if method == "fedgroup" and self._provider.plan is None:
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

    async def _answered_before(self, query: RangeQuery, method: str) -> Result | None:
        """Return the answer to the same question, whoever asked it, while nobody's data changed."""
        started = time.perf_counter()
        answer = await self._provider.again(query, method=method)
        if answer is None:
            return None
        self._metrics.count_question(method, "stored", time.perf_counter() - started)
        return answer_facts(answer)

    async def _asked(self, question: Question, query: RangeQuery, method: str, quorum: Quorum) -> Result:
        """Ask the owners; a group that falls silent is asked once more only if that is paid for too."""
        started, outcome = time.perf_counter(), "failed"
        try:
            answer = await self._provider.ask(
                query,
                method=method,
                by=question.user[:MOST_TEXT],
                fresh=True,
                quorum=quorum,
                may_rerun=lambda: self._state.spend_more(question, query.epsilon),
            )
            outcome = "answered"
            return answer_facts(answer)
        finally:
            self._metrics.count_question(method, outcome, time.perf_counter() - started)
