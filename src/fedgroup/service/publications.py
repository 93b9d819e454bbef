"""How a map is published: checked, charged once for all its rounds, asked for, and gone on with after a crash.

Guarantee: a user is charged the whole epsilon before the first round. What was kept of a publication when a provider
           died is gone on with when it starts again: no round whose answer was kept is asked again, and nobody is
           charged again for it. A round that was cut off is asked anew only if the user's allowance pays for it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from fedgroup.epsilon import Epsilon
from fedgroup.live.attendance import Quorum
from fedgroup.live.provider import LiveProvider
from fedgroup.live.publishing import Progress, planned, published, quietest, until_back
from fedgroup.maps.planning import MapPlan
from fedgroup.maps.published import farthest, step_of
from fedgroup.maps.publishing import Subject
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.questions.answers import Expectation
from fedgroup.questions.methods import METHODS
from fedgroup.questions.query import RangeQuery
from fedgroup.service.charged_work import ChargedWork, Order, PaidWork, Result
from fedgroup.service.questions import Questions, require_offered, result_of
from fedgroup.service.requests import MAP, MapAsked, plain_publication, publication_price, require_noise, subject_said
from fedgroup.space import Grid
from fedgroup.storage.provider_state import ProviderState, Question, User

_QUESTIONS = 20
_USUAL = 0.02
"""Circles of so many, and of so much of the domain's diagonal, are what a map is compared with."""


class Publications:
    """Publishes maps for users."""

    def __init__(self, provider: LiveProvider, state: ProviderState, work: ChargedWork, questions: Questions) -> None:
        self._provider = provider
        self._state = state
        self._work = work
        self._questions = questions

    async def publish(self, user: User, asked: MapAsked, *, key: str | None) -> Question:
        """Return the question with its map; what cannot be published is refused before it is charged."""
        subject, quorum = self._subject(asked), self._quorum(asked)

        @asynccontextmanager
        async def opened() -> AsyncIterator[PaidWork]:
            yield PaidWork(self._rounds(await self._planned(asked, subject), quorum))

        price = publication_price(asked, self._provider.settings)
        order = Order(plain_publication(asked), price, opened)
        return await self._work.run(user.name, order, key=key)

    async def expect(self, user: User, asked: MapAsked) -> Expectation:
        """Return what a map would be like; groups may be formed for that, nothing is spent.

        Errors are those of a cell by its own count, `bins` so many cells as there were if records lay evenly.
        """
        provider, subject = self._provider, self._subject(asked)
        going = await self._planned(asked, subject)
        sizes = going.publication.sizes
        async with provider.question(self._whole(subject, sizes.shares[2]), method=going.method) as live:
            of_cell = await live.expect(left=user.left)
        plan = MapPlan(
            sizes=sizes,
            kind=subject.kind,
            public_map=provider.settings.public_map,
            charge=float(sizes.epsilon),
            left=float(user.left),
            method=going.method,
            trust=of_cell.trust,
            moved=provider.settings.protection.of(subject.kind, self._whole(subject, sizes.epsilon)),
            step=step_of(subject.measure),
            rho=sizes.counted(provider.settings.accounting),
        )
        return replace(
            of_cell,
            epsilon=plan.charge,
            rho=plan.rho,
            charge=plan.charge,
            affordable=plan.affordable,
            bins=plan.cells[2],
            notes=(*of_cell.notes, *await asyncio.to_thread(_foretold, plan)),
            owners_left=await provider.owners_left_now(sizes.epsilon),
        )

    def _subject(self, asked: MapAsked) -> Subject:
        """Return what a map is about, or say what is wrong with it; nothing is spent."""
        subject = subject_said(asked, self._provider.settings)
        price = publication_price(asked, self._provider.settings)
        require_offered(self._whole(subject, price), self._provider.settings)
        return subject

    async def _planned(self, asked: MapAsked, subject: Subject) -> Progress:
        """Return a map as it would be published now, or refuse it before anybody is charged."""
        method = METHODS[asked.method or quietest(self._provider)]
        self._questions.require_ready(method, self._quorum(asked))
        going = await planned(
            self._provider,
            subject,
            publication_price(asked, self._provider.settings),
            method=method.name,
            records=asked.records,
            most_cells=asked.most_cells,
        )
        for share in going.publication.sizes.shares:
            require_noise(self._whole(subject, share), self._provider.settings, masked=not method.alone)
        return going

    def resume(self) -> list[asyncio.Task[Question]]:
        """Go on with what was cut off when the provider was last stopped, once owners are back."""
        return [self._resumed(question, key, facts) for question, key, facts in self._state.unfinished()]

    def _resumed(self, question: Question, key: str | None, facts: Result) -> asyncio.Task[Question]:
        going = _with_all_paid(Progress.of(facts, self._provider.settings.public_map.domain), question)
        quorum = self._quorum(MapAsked.model_validate(dict(question.request[MAP])))
        return self._work.go_on(
            question,
            self._rounds(going, quorum),
            key=key,
            ready=lambda: until_back(self._provider, going, quorum),
        )

    def _rounds(self, going: Progress, quorum: Quorum) -> Callable[[Question], Awaitable[Result]]:
        """Return what asks the rounds that are left, and keeps every step."""

        async def rounds(question: Question) -> Result:
            async def keep(progress: Progress) -> None:
                await asyncio.to_thread(lambda: self._state.keep_progress(question, progress.facts()))

            made = await published(
                self._provider,
                going,
                keep=keep,
                by=question.user[:MOST_TEXT],
                quorum=quorum,
                pay_again=lambda price: self._state.spend_more(question, price),
            )
            return await asyncio.to_thread(result_of, made, made.public_map)

        return rounds

    def _quorum(self, asked: MapAsked) -> Quorum:
        return self._provider.settings.quorum.stricter(asked.least_owners, asked.least_share)

    def _whole(self, subject: Subject, epsilon: Epsilon) -> RangeQuery:
        """Return the question about the whole domain as one bin."""
        return subject.question(Grid(self._provider.settings.public_map.domain, 1, 1), epsilon)


def _with_all_paid(going: Progress, question: Question) -> Progress:
    """Return a progress that tells of every round that was paid again, also of those of a round that was cut off."""
    more = question.epsilon.nano - going.publication.sizes.epsilon.nano
    return replace(going, again=Epsilon(max(going.again.nano, more)))


def _foretold(plan: MapPlan) -> list[str]:
    """Return in words how a map is made, and when it is better than asking."""
    coarse, blocks, cells = plan.cells
    radius = float(f"{farthest(plan.public_map) * _USUAL:.1g}")
    told = plan.against_asking(_QUESTIONS, radius)
    return [
        f"{coarse:,} coarse cells, {blocks:,} blocks, then {cells:,} cells or more, where records are many",
        f"a circle within {radius:g}, if records lay evenly, is off by {told.of_map:.3g} on average; asked as one of "
        f"{_QUESTIONS} for the same epsilon, by {told.of_ask:.3g}: the map is better from {told.break_even:,} on",
    ]
