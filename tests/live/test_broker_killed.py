"""A broker killed while nothing happens and in the middle of a question: links come back, and books stay right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from live_faults import kind_of
from live_world import PRECISE, World, count, require_right, until

from fedgroup.errors import TooFewHeard
from fedgroup.live.running import RunningProvider, running_provider
from fedgroup.messages import Answer

SOON_S = 20.0


async def ask(up: RunningProvider, method: str) -> Answer | None:
    try:
        return await up.provider.ask(count(), method=method, fresh=True)
    except TooFewHeard:
        return None


async def heard_again(world: World, up: RunningProvider, method: str, owners: int) -> None:
    """Ask until so many owners are heard again."""
    started = time.monotonic()
    while True:
        answer = await ask(up, method)
        if answer is not None:
            require_right(answer, world.owners)
            if answer.heard == owners:
                return
        assert time.monotonic() - started < SOON_S
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(("method", "kind"), [("dp", "Ask"), ("cohorts", "Ask"), ("cohorts", "Go")])
def test_a_broker_killed_in_the_middle_of_a_question_costs_no_right_answer(
    method: str, kind: str, world_of: Callable[..., World]
) -> None:
    async def story() -> None:
        world = world_of(4, apart=True, seconds=1.5)
        world.start("broker")
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == world.owners)
            await heard_again(world, up, method, world.owners)
            before = world.all_spent()
            kill_on(up, kind, world)
            answer = await ask(up, method)
            if answer is not None:
                require_right(answer, world.owners)
            world.start("broker")
            paid = {name: world.spent(name) - before[name] for name in world.names}
            assert set(paid.values()) <= {0, PRECISE.nano, 2 * PRECISE.nano}
            await heard_again(world, up, method, world.owners)

    asyncio.run(story())


def kill_on(up: RunningProvider, kind: str, world: World) -> None:
    """Kill the broker as soon as the provider has sent the first message of a kind."""
    link: Any = up.provider.desk._link
    usual = link.send_many

    async def sending(messages: Any) -> None:
        found = list(messages)
        await usual(found)
        if any(kind_of(payload) == kind for _, payload in found):
            link.send_many = usual
            world.kill("broker")

    link.send_many = sending


def test_an_owner_that_died_with_the_broker_is_missing_and_holds_nobody_up(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(4, apart=True, seconds=2.0)
        world.start("broker")
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == world.owners)
            world.kill("broker")
            world.kill(world.names[1])  # nobody is left to tell of its death
            world.start("broker")
            await heard_again(world, up, "dp", 3)
            started = time.monotonic()
            answer = await ask(up, "dp")
            assert answer is not None
            assert (answer.value, answer.heard, answer.missing) == (world.everybody - 2, 3, 1)
            assert time.monotonic() - started < 1.5
            world.start(world.names[1])
            await heard_again(world, up, "dp", 4)

    asyncio.run(story())
