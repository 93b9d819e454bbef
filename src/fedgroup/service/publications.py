"""How a map is published: checked, charged once for all its rounds, asked for, and gone on with after a crash.

Guarantee: a user is charged the whole epsilon before the first round. What was kept of a publication when a provider
           died is gone on with when it starts again: no round whose answer was kept is asked again, and nobody is
           charged again for it. A round that was cut off is asked anew only if the user's allowance pays for it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.live.attendance import Quorum
from fedgroup.live.provider import LiveProvider
from fedgroup.live.publishing import Progress, planned, published, quietest, until_back
from fedgroup.maps.publishing import Subject
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.questions.methods import METHODS
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import some_epsilon
from fedgroup.service.charged_work import ChargedWork, Order, Result, Work
from fedgroup.service.questions import Questions, require_offered, result_of
from fedgroup.service.requests import MAP, MapAsked, plain_publication, require_noise, subject_said
from fedgroup.space import Grid
from fedgroup.storage.provider_state import ProviderState, Question, User


class Publications:
    """Publishes maps for users."""

    def __init__(self, provider: LiveProvider, state: ProviderState, work: ChargedWork, questions: Questions) -> None:
        self._provider = provider
        self._state = state
        self._work = work
        self._questions = questions

    async def publish(self, user: User, asked: MapAsked, *, key: str | None) -> Question:
        """Return the question with its map; what cannot be published is refused before it is charged."""
        if asked.dry_run:
            raise InvalidQuery("a map to publish has no dry run over HTTP; fedgroup publish --dry-run tells its errors")
        epsilon, quorum = some_epsilon(asked.epsilon), self._quorum(asked)
        subject = subject_said(asked, self._provider.settings)
        require_offered(self._whole(subject, epsilon), self._provider.settings)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Work]:
            method = METHODS[asked.method or quietest(self._provider)]
            self._questions.require_ready(method, quorum)
            going = await planned(
                self._provider,
                subject,
                epsilon,
                method=method.name,
                records=asked.records,
                most_cells=asked.most_cells,
            )
            for share in going.publication.sizes.shares:
                require_noise(self._whole(subject, share), self._provider.settings, masked=not method.alone)
            yield Work(self._rounds(going, quorum))

        return await self._work.run(user.name, Order(plain_publication(asked), epsilon, opened), key=key)

    def resume(self) -> list[asyncio.Task[Question]]:
        """Go on with what was cut off when the provider was last stopped, once owners are back."""
        return [self._resumed(question, key, facts) for question, key, facts in self._state.unfinished()]

    def _resumed(self, question: Question, key: str | None, facts: Result) -> asyncio.Task[Question]:
        going = Progress.of(facts, self._provider.settings.public_map.domain)
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
