"""An owner killed at every step of an answer: what left was paid for, and it answers again as soon as it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from live_world import PRECISE, World, count, require_right, until

from fedgroup.epsilon import Epsilon
from fedgroup.errors import TooFewHeard
from fedgroup.live.running import RunningProvider, running_provider
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.answers import Answer

SETUP = Epsilon.of(20)
ALONE = [("dp", f"Ask {moment}") for moment in ("received", "charged", "made", "kept", "sending", "sent")]
MASKED = [("cohorts", f"Ask {moment}") for moment in ("received", "sending", "sent")] + [
    ("cohorts", f"Go {moment}") for moment in ("received", "charged", "made", "kept", "sending", "sent")
]
UNMASKED = [("cohorts", f"Unmask {moment}") for moment in ("received", "sending", "sent")]
TRUSTED = [("fedgroup", f"Ask {moment}") for moment in ("made", "kept", "sent")]
LEADING = [("fedgroup", f"Go {moment}") for moment in ("received", "made", "kept", "sent")]
PAID = ("made", "kept", "sending", "sent")


async def ask(up: RunningProvider, method: str) -> Answer | None:
    """Return the answer, None if nobody was heard; whatever is answered must be right."""
    try:
        answer = await up.provider.ask(count(), method=method, fresh=True)
    except TooFewHeard:
        return None
    return answer


async def deaths_of(world: World, up: RunningProvider, victim: str, deaths: list[tuple[str, str]]) -> None:
    """Let an owner live for one question and die in the next, over and over."""
    for method, at in deaths:
        await answered_again(world, up, victim, method, dies=at)
        await one_death(world, up, victim, method, at)
    await answered_again(world, up, victim, deaths[0][0])


async def one_death(world: World, up: RunningProvider, victim: str, method: str, at: str) -> None:
    """Let an owner die in the middle of a question; whatever is answered is right, whoever is in it has paid."""
    kind, moment = at.split()
    before = world.all_spent()
    world.doom()
    answer = await ask(up, method)
    world.died(victim)
    paid = world.spent(victim) - before[victim]
    releases = kind == "Go" or method != "cohorts"
    assert paid == (PRECISE.nano if kind == "Unmask" or (releases and moment in PAID) else 0)
    assert answer is not None or method != "cohorts"  # who falls silent in a masked round is left out of it
    if answer is not None:
        require_right(answer, world.owners)
        heard = [name for i, name in enumerate(world.names) if int(answer.value) >> i & 1]
        assert {world.spent(name) - before[name] for name in heard} == {PRECISE.nano}
        assert victim in heard or kind != "Unmask"  # its value had left


async def answered_again(world: World, up: RunningProvider, victim: str, method: str, **facts: Any) -> None:
    """Start an owner that died; everybody must be heard again as soon as it is back, and pay once for that."""
    await until(lambda: victim not in up.provider.desk.present)
    before = world.all_spent()
    world.start(victim, **facts)
    await until(lambda: len(up.provider.desk.present) == world.owners)
    answer = await ask(up, method)
    assert answer is not None
    assert (answer.value, answer.heard, answer.missing) == (world.everybody, world.owners, 0)
    assert {world.spent(name) - before[name] for name in world.names} == {PRECISE.nano}


@pytest.mark.parametrize("deaths", [ALONE, MASKED, UNMASKED], ids=["alone", "masked", "unmasked"])
def test_an_owner_killed_at_any_step_paid_for_what_left(
    deaths: list[tuple[str, str]], world_of: Callable[..., World]
) -> None:
    async def story() -> None:
        world = world_of()
        victim = world.names[2]
        async with running_provider(world.config) as up:
            world.start_owners(without=(victim,))
            await deaths_of(world, up, victim, deaths)

    asyncio.run(story())


@pytest.mark.parametrize("deaths", [TRUSTED, LEADING], ids=["member", "leader"])
def test_a_member_of_a_trusted_group_killed_at_any_step_paid_for_what_left(
    deaths: list[tuple[str, str]], world_of: Callable[..., World]
) -> None:
    async def story() -> None:
        world = world_of()
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == world.owners)
            plan = await up.provider.regroup(GroupingSettings(), epsilon=SETUP, grid=(2, 2), mode="trusted")
            assert plan.sizes() == [5]
            victim = plan.groups[0].members[0 if deaths is LEADING else 3]
            world.kill(victim)
            await deaths_of(world, up, victim, deaths)

    asyncio.run(story())


@pytest.mark.parametrize(("moment", "paid"), [("charged", 0), ("made", SETUP.nano), ("kept", SETUP.nano)])
def test_an_owner_killed_while_it_describes_itself_paid_for_what_was_counted(
    moment: str, paid: int, world_of: Callable[..., World]
) -> None:
    async def story() -> None:
        world = world_of(3)
        victim = world.names[0]
        async with running_provider(world.config) as up:
            world.start_owners(without=(victim,))
            world.start(victim, dies=f"Describe {moment}")
            await until(lambda: len(up.provider.desk.present) == world.owners)
            world.doom()
            plan: Any = await up.provider.regroup(GroupingSettings(), epsilon=SETUP, grid=(2, 2))
            world.died(victim)
            assert victim not in plan.members
            assert world.spent(victim) == paid
            await answered_again(world, up, victim, "fedgroup")

    asyncio.run(story())
