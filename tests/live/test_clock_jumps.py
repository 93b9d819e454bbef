"""Clocks that jump: what is spent, and in which epoch, does not depend on the time of day."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

from live_world import PLACE, PRECISE, World, count, until, until_all_are_here

from fedgroup.errors import TooFewHeard
from fedgroup.live.running import RunningProvider, running_provider
from fedgroup.service.client import aconnect

YEAR_S = 365 * 86_400
JUMPS_S = (0, YEAR_S // 365, -YEAR_S // 365, 40 * YEAR_S, -30 * YEAR_S, 0)


def epochs(world: World, name: str) -> set[tuple[int, str]]:
    """Return the epochs of an owner's ledger, each with the latest year that was written beside it."""
    with closing(sqlite3.connect(world.owner_folder(name) / "ledger.db")) as books:
        return set(books.execute("SELECT DISTINCT epoch, substr(at, 1, 4) FROM entries WHERE purpose = 'query'"))


def attempts(world: World, name: str) -> int:
    """Return how often an owner came to the broker, let in or not."""
    return len(re.findall(r" (?:info connected|warning lost) ", (world.folder / f"{name}.log").read_text()))


async def answered(world: World, up: RunningProvider, method: str, *, certain: bool) -> bool:
    """Ask, and tell whether all answered; owners with a wrong clock may doubt the certificates of their group."""
    try:
        answer = await up.provider.ask(count(), method=method, fresh=True)
    except TooFewHeard:
        assert not certain
        return False
    assert (answer.value, answer.missing) == (world.everybody, 0)
    return True


def test_an_owner_whose_clock_jumps_pays_and_answers_as_ever(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(4)
        clock = world.folder / "clock"
        clock.write_text("0")
        async with running_provider(world.config) as up:
            world.start_owners(clock=str(clock))
            await until(lambda: len(up.provider.desk.present) == world.owners)
            answers = 0
            for jump in JUMPS_S:
                clock.write_text(str(jump))
                for method in ("dp", "cohorts"):
                    answers += await answered(world, up, method, certain=method == "dp" or not jump)
                assert set(world.all_spent().values()) == {answers * PRECISE.nano}
            assert answers >= len(JUMPS_S) + 2
            found = epochs(world, world.names[0])
            assert {epoch for epoch, _ in found} == {0}
            assert len(found) >= 3  # the jumps were seen, and changed nothing but dates

    asyncio.run(story())


def test_an_owner_that_is_started_anew_under_another_date_has_spent_what_it_spent(
    world_of: Callable[..., World],
) -> None:
    async def story() -> None:
        world = world_of(3)
        clock = world.folder / "clock"
        async with running_provider(world.config) as up:
            for jump in (-60 * 86_400, 0, 60 * 86_400):
                clock.write_text("0")
                world.start_owners(clock=str(clock))
                await until(lambda: len(up.provider.desk.present) == world.owners)
                clock.write_text(str(jump))
                answer = await up.provider.ask(count(), method="dp", fresh=True)
                assert answer.value == world.everybody
                world.end()
                await until(lambda: not up.provider.desk.present)
            assert set(world.all_spent().values()) == {3 * PRECISE.nano}

    asyncio.run(story())


def test_a_provider_whose_clock_jumps_hears_owners_again_and_charges_exactly(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3)
        clock = world.folder / "clock"
        clock.write_text("0")
        token = world.add_user("ann")
        world.start("provider", clock=str(clock))
        world.start_owners(hasty=True)
        async with aconnect(f"http://127.0.0.1:{world.http_port}", token) as client:
            for asked, jump in enumerate(JUMPS_S, start=1):
                clock.write_text(str(jump))
                world.kill(world.names[0])
                before = attempts(world, world.names[0])
                world.start(world.names[0], hasty=True)  # comes while certificates may look outdated, or of the future
                await until(lambda name=world.names[0], tried=before: attempts(world, name) > tried)
                clock.write_text("0")
                await until_all_are_here(client, world)
                clock.write_text(str(jump))
                answer = await client.count(PLACE, epsilon=float(PRECISE), method="dp", fresh=True)
                assert (answer.value, answer.missing) == (world.everybody, 0)
                assert world.user_spent("ann") == asked * PRECISE.nano

    asyncio.run(story())
