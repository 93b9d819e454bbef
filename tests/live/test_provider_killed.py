"""A provider killed at every step of a question: users and owners never paid less than was released."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import Any

import pytest
from live_world import PLACE, PRECISE, World, require_right, until_all_are_here

from fedgroup.errors import FedgroupError, LedgerUnavailable
from fedgroup.questions.answers import Answer
from fedgroup.service.client import AsyncClient, aconnect

ACCOUNTS = [f"{step} {moment}" for step in ("begin", "keep", "finish") for moment in ("before", "after")]
ALONE = [*ACCOUNTS[:2], "Ask sending", "Ask sent", "Noisy heard", *ACCOUNTS[2:]]
MASKED = ["Ask sending", "Offer sending", "Ask sent", "Offer sent", "Ready heard", "Reveal sent", "Go sending",
          "Seal sent", "Go sent", "Masked heard", "finish after"]  # fmt: skip
NOTHING = "nothing ever"
FORMING = ("Offer", "Reveal", "Seal")
UNCHARGED = ["begin before", *(at for at in MASKED if at.startswith(FORMING))]
"""Groups are formed, for nothing, before a question is charged."""


@pytest.fixture(autouse=True)
def _hasty_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedgroup.service.client.PAUSES", (0.02,))


async def ask(client: AsyncClient, method: str, key: str | None = None) -> Answer | None:
    try:
        return await client.count(PLACE, epsilon=float(PRECISE), method=method, fresh=True, key=key)
    except FedgroupError:
        return None


def books(world: World) -> tuple[int, dict[str, int]]:
    """Return what the user and every owner spent; no owner spent more than the user was charged."""
    user, owners = world.user_spent("ann"), world.all_spent()
    assert max(owners.values()) <= user
    return user, owners


def key_of(method: str, at: str) -> str:
    return f"{method} {at}".replace(" ", "-")


async def one_death(world: World, client: AsyncClient, method: str, at: str) -> None:
    """Let the provider die in the middle of a question."""
    user, _ = books(world)
    world.doom()
    assert await ask(client, method, key_of(method, at)) is None
    world.died("provider")
    charged, _ = books(world)
    assert charged - user in (0, PRECISE.nano)
    assert (charged - user == 0) == (at in UNCHARGED)


async def answered_again(world: World, client: AsyncClient, method: str, key: str) -> None:
    """Ask a provider that was started again: all is answered, and the old question is charged once at most."""
    user, owners = books(world)
    answer = await ask(client, method)
    assert answer is not None
    assert (answer.value, answer.heard, answer.missing) == (world.everybody, world.owners, 0)
    again = await ask(client, method, key)
    if again is not None:
        require_right(again, world.owners)
    charged, paid = books(world)
    questions = 2 if key in [key_of(method, at) for at in (NOTHING, *UNCHARGED)] else 1  # a key is charged once
    assert charged - user == questions * PRECISE.nano
    assert {paid[name] - owners[name] for name in world.names} == {questions * PRECISE.nano}


@pytest.mark.parametrize(("method", "deaths"), [("dp", ALONE), ("cohorts", MASKED)], ids=["alone", "masked"])
def test_a_provider_killed_at_any_step_charged_for_what_was_released(
    method: str, deaths: list[str], world_of: Callable[..., World]
) -> None:
    async def story() -> None:
        world = world_of(4)
        token = world.add_user("ann")
        world.start_owners(hasty=True)  # it is killed more often than links expect
        async with aconnect(f"http://127.0.0.1:{world.http_port}", token) as client:
            last = NOTHING
            for at in [*deaths, NOTHING]:
                world.start("provider", dies=at)
                await until_all_are_here(client, world)
                if not at.startswith(FORMING):
                    await answered_again(world, client, method, key_of(method, last))
                if at in deaths:
                    await one_death(world, client, method, at)
                last = at

    asyncio.run(story())


def test_a_provider_killed_in_the_middle_of_grouping_groups_again(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(4)
        token = world.add_user("ann", role="operator")
        world.start_owners(hasty=True)
        async with aconnect(f"http://127.0.0.1:{world.http_port}", token) as client:
            for at in ("Described heard", "Seal sent"):
                world.start("provider", dies=at)
                await until_all_are_here(client, world)
                world.doom()
                assert await _regroup(client) is None
                world.died("provider")
            world.start("provider")
            await until_all_are_here(client, world)
            assert await _regroup(client)
            answer = await ask(client, "fedgroup")
            assert answer is not None
            assert (answer.value, answer.groups) == (world.everybody, 1)

    asyncio.run(story())


async def _regroup(client: AsyncClient) -> Any:
    from fedgroup.service.calls import Call

    body = {"epsilon": 20.0, "columns": 2, "rows": 2}
    try:
        return await client._call(Call("POST", "/v1/plans", body))
    except FedgroupError:
        return None


def test_a_provider_without_room_on_its_disk_asks_nobody(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3)
        token = world.add_user("ann")
        world.start_owners()
        provider = world.start("provider")
        async with aconnect(f"http://127.0.0.1:{world.http_port}", token) as client:
            await until_all_are_here(client, world)
            before = books(world)
            resource.prlimit(provider, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            for _ in range(3):
                with pytest.raises(LedgerUnavailable):
                    await client.count(PLACE, epsilon=1.0, method="dp")
            assert books(world) == before
            resource.prlimit(provider, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            answer = await ask(client, "dp")
            assert answer is not None
            assert answer.value == world.everybody

    asyncio.run(story())
