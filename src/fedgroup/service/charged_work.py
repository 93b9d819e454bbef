"""Work that is charged to a user before it is begun, once for an idempotency key, and finished whoever waits for it.

Guarantee: `begin` is on disk before the work starts; what failed stays charged, unless no owner can have paid for it:
           then the charge is given back, once, before anybody is told. A process that dies in between leaves the
           charge. Two requests with one key share one charge and one result; a key whose charge was given back tells
           of the same failure, for nothing, and asks nobody. Only what is there already is free. What was charged and
           cut off may be gone on with (`go_on`): it is not charged again, and its key waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError, TooFewHeard, TooFewHere
from fedgroup.service.problems import Problem, problem_of
from fedgroup.service.turns import Turns
from fedgroup.storage.provider_state import ProviderState, Question

log = logging.getLogger("fedgroup.service")

NOTHING = Epsilon(0)

Request = Mapping[str, Any]
"""What is asked, in plain values."""


Result = Mapping[str, Any]
"""What came out of some work, in plain values."""


async def _nothing() -> None:
    return None


@dataclass(frozen=True)
class PaidWork:
    """What is done for a question once it is charged; `there_already` may return a result before that, for nothing."""

    do: Callable[[Question], Awaitable[Result]]
    there_already: Callable[[], Awaitable[Result | None]] = _nothing


@dataclass(frozen=True)
class Order:
    """What to do for a user, at what price. `opened` holds what the work needs, or refuses it before it is charged."""

    request: Request
    epsilon: Epsilon
    opened: Callable[[], AbstractAsyncContextManager[PaidWork]]


class ChargedWork:
    """Runs each piece of work in a task of its own, which no hang-up cancels."""

    def __init__(self, state: ProviderState, turns: Turns) -> None:
        self._state = state
        self._turns = turns
        self._running: dict[tuple[str, str], tuple[Request, asyncio.Task[Question]]] = {}
        self._tasks: set[asyncio.Task[Question]] = set()
        self._waiting: set[asyncio.Task[Question]] = set()

    async def run(self, user: str, order: Order, *, key: str | None) -> Question:
        """Return the question with its answer; the same key again waits for, or repeats, the first result."""
        known = None if key is None else self._running.get((user, key))
        if known is None:
            task = asyncio.create_task(self._do(user, order, key))
            self._keep(task, order.request, None if key is None else (user, key))
        else:
            _require_same(known[0], order.request)
            task = known[1]
        return await asyncio.shield(task)

    def go_on(
        self,
        question: Question,
        do: Callable[[Question], Awaitable[Result]],
        *,
        key: str | None,
        ready: Callable[[], Awaitable[None]],
    ) -> asyncio.Task[Question]:
        """Go on, once it is `ready`, with a question that was charged by an earlier process; return what does so."""

        async def going_on() -> Question:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101  this is one
            self._waiting.add(task)
            try:
                await ready()
            finally:
                self._waiting.discard(task)
            return await self._done(question, do)

        task = asyncio.create_task(going_on())
        self._keep(task, question.request, None if key is None else (question.user, key))
        return task

    async def all_done(self) -> None:
        """Wait until whatever runs has ended; what still waits to be gone on with does so another time."""
        for task in list(self._waiting):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _keep(self, task: asyncio.Task[Question], request: Request, name: tuple[str, str] | None) -> None:
        def forget(ended: asyncio.Task[Question]) -> None:
            self._tasks.discard(ended)
            if name is not None:
                self._running.pop(name, None)
            if not ended.cancelled():
                ended.exception()  # whoever waited was told; nobody may be left to hear it

        self._tasks.add(task)
        if name is not None:
            self._running[name] = request, task
        task.add_done_callback(forget)

    async def _do(self, user: str, order: Order, key: str | None) -> Question:
        able = await asyncio.to_thread(self._state.can_afford, user, order.epsilon)
        async with self._turns.taken(paid=able):
            known = None if key is None else await asyncio.to_thread(self._state.known, user, key)
            if known is not None:
                return _repeated(known, order.request)
            async with AsyncExitStack() as held:
                with _uncharged():
                    work = await held.enter_async_context(order.opened())
                    result = await work.there_already()
                return await self._begun(user, order, work, result, key)

    async def _begun(self, user: str, order: Order, work: PaidWork, result: Result | None, key: str | None) -> Question:
        """Charge an order unless its result is there already, do its work, and keep how it ended."""
        price = order.epsilon if result is None else NOTHING
        question = await asyncio.to_thread(self._state.begin, user, order.request, price, key=key)
        if result is None:
            return await self._done(question, work.do)
        await self._noted(question, result)
        return replace(question, state="answered", answer=result)

    async def _done(self, question: Question, do: Callable[[Question], Awaitable[Result]]) -> Question:
        try:
            result = await do(question)
        except Exception as error:
            if not isinstance(error, (FedgroupError, Problem)):
                log.exception("a question failed", extra={"question": question.id})
            raise await self._failed(question, error) from None
        await self._noted(question, result)
        return replace(question, state="answered", answer=result)

    async def _failed(self, question: Question, error: Exception) -> Problem:
        """Keep that a question failed, and return what to tell; what cost no owner anything is given back first."""
        if isinstance(error, TooFewHere):
            error = TooFewHeard(heard=0, needed=1, charged=False)  # they left after the charge
        if isinstance(error, TooFewHeard) and not error.charged:
            if await self._noted(question, None, free=True):
                return problem_of(error, id=question.id, charged=False)
            error = error.as_charged()
        else:
            await self._noted(question, None)
        return problem_of(error, id=question.id, charged=True)

    async def _noted(self, question: Question, answer: Result | None, *, free: bool = False) -> bool:
        """Keep how a question ended; where that fails its charge stays, and the answer is given all the same."""
        try:
            if free:
                await asyncio.to_thread(self._state.give_back, question)
            else:
                await asyncio.to_thread(self._state.finish, question, answer)
        except FedgroupError:
            log.warning("the end of a question was not noted", extra={"question": question.id})
            return False
        return True


@contextmanager
def _uncharged() -> Iterator[None]:
    """Say of what cannot be done that nothing was charged for it."""
    try:
        yield
    except (TooFewHeard, TooFewHere) as error:
        raise problem_of(error, charged=False) from None


def _repeated(question: Question, request: Request) -> Question:
    """Return what is on record under a key, if it was asked for the same and there is an answer."""
    _require_same(question.request, request)
    if question.state != "answered":
        charged = question.epsilon > NOTHING
        why = "it stays charged, for owners may have paid" if charged else "no owner paid, and nothing was charged"
        raise Problem("question-failed", f"{why}; ask again with a new key", id=question.id, charged=charged)
    return question


def _require_same(known: Request, request: Request) -> None:
    if known != request:
        raise Problem("key-reused", "a key stands for one request; use a new key for another one")
