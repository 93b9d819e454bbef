"""kill -9 of a provider between the rounds of a map: it goes on, and nobody pays twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest
from live_world import PLACE, World, until_all_are_here

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError
from fedgroup.maps.published import PublishedMap
from fedgroup.service.client import AsyncClient, aconnect

MUCH = Epsilon.of(640)
"""So large that noise is 0 in every round."""


async def published(client: AsyncClient, key: str) -> PublishedMap:
    """Publish a map; a connection that is lost is found again with the same key."""
    while True:
        with suppress(FedgroupError):
            return await client.publish(epsilon=float(MUCH), records=31, most_cells=1_024, key=key)
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("rounds", [2])
def test_a_killed_provider_publishes_its_map_all_the_same(rounds: int, world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(5)
        token = world.add_user("ann")
        world.start_owners(hasty=True)
        world.start("provider", dies=f"published {rounds}")
        async with aconnect(f"http://127.0.0.1:{world.http_port}", token) as client:
            await until_all_are_here(client, world)
            world.doom()
            going = asyncio.create_task(published(client, "map"))
            await asyncio.to_thread(world.died, "provider")
            before = set(world.all_spent().values())
            world.start("provider")
            made = await going
            assert 0 < max(before) < MUCH.nano
            assert set(world.all_spent().values()) == {MUCH.nano}
            assert world.user_spent("ann") == MUCH.nano
            assert (made.heard, made.missing, made.charged) == (5, 0, 640.0)
            assert made.total().value == pytest.approx(world.everybody)
            free = await client.count(PLACE, from_map=True)
            assert free.interval[0] <= world.everybody <= free.interval[1]
            assert set(world.all_spent().values()) == {MUCH.nano}

    asyncio.run(story())
