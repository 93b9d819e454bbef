"""So many questions are under way, so many wait, and one more is refused before anybody is charged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fedgroup.service.app import questions_at_once
from fedgroup.service.problems import Problem
from fedgroup.service.turns import Turns


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_turns_are_taken_in_order_and_one_too_many_is_refused() -> None:
    done: list[int] = []

    async def one(turns: Turns, number: int, go_on: asyncio.Event) -> None:
        async with turns.taken(paid=True):
            done.append(number)
            await go_on.wait()

    async def story() -> None:
        turns, go_on = Turns(lambda: 2, waiting=1), asyncio.Event()
        tasks = [asyncio.create_task(one(turns, number, go_on)) for number in range(4)]
        await settled()
        assert done == [0, 1]
        with pytest.raises(Problem) as refused:
            await one(turns, 9, go_on)
        assert (refused.value.kind, refused.value.status, refused.value.facts) == ("too-busy", 429, {"charged": False})
        go_on.set()
        await asyncio.gather(*tasks)
        assert done == [0, 1, 2, 3]
        await one(turns, 5, go_on)

    asyncio.run(story())


def test_who_gives_up_waiting_leaves_its_turn_to_the_next() -> None:
    async def story() -> None:
        turns, entered = Turns(lambda: 1), []

        async def one(number: int) -> None:
            async with turns.taken(paid=True):
                entered.append(number)
                await asyncio.sleep(0)

        async with turns.taken(paid=True):
            tasks = [asyncio.create_task(one(number)) for number in range(3)]
            await settled()
            tasks[0].cancel()
            await settled()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert entered == [1, 2]
        async with turns.taken(paid=True):
            pass

    asyncio.run(story())


def test_a_busy_service_refuses_with_429_and_charges_nobody(
    service: Callable[..., Any], question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            here.work._turns = Turns(lambda: 1, waiting=0)
            async with here.work._turns.taken(paid=True):
                reply = await ann.post("/v1/queries", json=question)
            assert (reply.status_code, reply.json()["charged"]) == (429, False)
            assert "retry-after" in reply.headers
            assert here.spent().nano == 0
            assert (await ann.post("/v1/queries", json=question)).status_code == 200

    asyncio.run(story())


def test_how_many_are_under_way_depends_on_owners_and_a_setting(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4) as here:
            provider = here.app.state.service.provider
            assert questions_at_once(provider) == 64
            object.__setattr__(provider.settings, "messages_at_once", 40)
            assert questions_at_once(provider) == 10
            object.__setattr__(provider.settings, "messages_at_once", 1)
            assert questions_at_once(provider) == 2

    asyncio.run(story())
