"""A new plan does not take the groups away from questions that are under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from live_world import until

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.messages.asked import Go, Leave, Seal
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

PRECISE = Epsilon.of(30)
QUERY = RangeQuery("count", Circle(5, 5, 3.2), PRECISE)


async def regrouped(here: Any) -> Any:
    return await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2))


def silent_in_the_first_round(node: Any) -> asyncio.Event:
    """Make an owner say nothing once the roster of its next round is fixed; the event tells that it is."""
    usual, fixed, rounds = node.prepare, asyncio.Event(), []

    def receive(sender: str, message: Any, **named: Any) -> Any:
        if isinstance(message, Go):
            rounds.append(message.round)
            fixed.set()
            if message.round == rounds[0]:
                return []
        return usual(sender, message, **named)

    node.prepare = receive
    return fixed


class Memory:
    """Which groups each owner has joined and not left."""

    def __init__(self, here: Any) -> None:
        self._known: dict[str, set[str]] = {}
        for owner in here.owners.values():
            self._watch(owner.node, self._known.setdefault(owner.name, set()))

    def _watch(self, node: Any, known: set[str]) -> None:
        usual = node.prepare

        def receive(sender: str, message: Any, **named: Any) -> Any:
            if isinstance(message, Seal):
                known.add(message.plan)
            elif isinstance(message, Leave):
                known.discard(message.plan)
            return usual(sender, message, **named)

        node.prepare = receive

    def sizes(self) -> set[int]:
        return {len(known) for known in self._known.values()}


def test_a_second_round_finds_the_groups_of_the_plan_its_question_began_with(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1000) as here:
            memory = Memory(here)
            await regrouped(here)
            slow = silent_in_the_first_round(here.owners["owner-3"].node)
            asked = asyncio.create_task(here.provider.ask(QUERY, fresh=True))
            await slow.wait()
            await regrouped(here)
            assert not asked.done()
            assert memory.sizes() == {2}
            answer = await asked
            others = [name for name in here.owners if name != "owner-3"]
            assert (answer.heard, answer.missing, answer.refused) == (7, 1, {})
            assert abs(answer.value - here.true_count(QUERY, others)) <= 2
            await until(lambda: memory.sizes() == {1})

    in_driven_time(story())


def test_a_plan_that_no_question_uses_is_left_at_once(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, cap=1000) as here:
            memory = Memory(here)
            for _ in range(3):
                await regrouped(here)
            await until(lambda: memory.sizes() == {1})

    in_driven_time(story())


def test_questions_and_new_plans_at_once_lose_nobody(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, cap=1e5) as here:
            await regrouped(here)
            done = asyncio.Event()

            async def questions() -> None:
                while not done.is_set():
                    answer = await here.provider.ask(QUERY, fresh=True)
                    assert (answer.heard, answer.missing, answer.refused) == (8, 0, {})

            asking = [asyncio.create_task(questions()) for _ in range(4)]
            for _ in range(5):
                await regrouped(here)
            done.set()
            await asyncio.gather(*asking)

    in_driven_time(story())
