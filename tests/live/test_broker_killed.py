"""A broker killed while nothing happens and in the middle of a question: links come back, and books stay right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from live_faults import kind_of
from live_world import PATIENCE_S, PRECISE, World, count, require_right, until

from fedgroup.errors import TooFewHeard
from fedgroup.live.running import RunningProvider, running_provider
from fedgroup.questions.answers import Answer

SHORT_S = 3.0
"""How long the provider waits where nobody can answer, or where it asks again."""
LONG_S = 600.0
"""So long that an answer which waited for somebody silent would not come in the time that tests have."""


def waits(up: RunningProvider, seconds: float) -> None:
    """Let the provider wait so long for those it asks from now on."""
    up.provider.settings = replace(up.provider.settings, seconds=seconds)


async def ask(up: RunningProvider, method: str) -> Answer | None:
    try:
        return await up.provider.ask(count(), method=method, fresh=True)
    except TooFewHeard:
        return None


async def heard_again(world: World, up: RunningProvider, method: str, owners: int) -> None:
    """Ask until so many owners are heard again."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await ask(up, method)
            if answer is not None:
                require_right(answer, world.owners)
                if answer.heard == owners:
                    return
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(("method", "kind"), [("dp", "Ask"), ("cohorts", "Ask"), ("cohorts", "Go")])
def test_a_broker_killed_in_the_middle_of_a_question_costs_no_right_answer(
    method: str, kind: str, world_of: Callable[..., World]
) -> None:
    async def story() -> None:
        world = world_of(4, apart=True)
        world.start("broker")
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == world.owners)
            await heard_again(world, up, method, world.owners)
            before = world.all_spent()
            kill_on(up, kind, world)
            waits(up, SHORT_S)
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
        world = world_of(4, apart=True)
        world.start("broker")
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == world.owners)
            world.kill("broker")
            world.kill(world.names[1])  # nobody is left to tell of its death
            world.start("broker")
            waits(up, SHORT_S)
            await heard_again(world, up, "dp", 3)
            waits(up, LONG_S)
            answer = await asyncio.wait_for(ask(up, "dp"), PATIENCE_S)
            assert answer is not None
            assert (answer.value, answer.heard, answer.missing) == (world.everybody - 2, 3, 1)
            world.start(world.names[1])
            await heard_again(world, up, "dp", 4)

    asyncio.run(story())
