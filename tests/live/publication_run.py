"""A map published by 200 live owners while the provider and 5 % of the owners are killed between its rounds.

Owners run in 20 processes of 10. After two rounds are kept the provider dies by kill -9, and so does one process of
owners. The provider is started again, waits for its owners, and asks the last round. Then every book must add up: who
was heard paid for three rounds, who died for two, the user for one map; reading costs nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from live_world import Nursery, World, until_all_are_here

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError
from fedgroup.maps.published import PublishedMap
from fedgroup.service.client import AsyncClient, aconnect
from fedgroup.space import Circle

MUCH = Epsilon.of(640)
"""So large that noise is 0 in every round."""
PATIENCE_S = 600.0


def main() -> None:
    said = argparse.ArgumentParser()
    said.add_argument("--owners", type=int, default=200)
    said.add_argument("--processes", type=int, default=20)
    asked = said.parse_args()
    nursery = Nursery()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "city", nursery, asked.owners, records_of=lambda number: 1 + number % 3)
        try:
            print(asyncio.run(_story(world, asked.processes)))
        finally:
            world.end()
            nursery.close()


async def _story(world: World, processes: int) -> str:
    token = world.add_user("ann")
    world.start("provider", dies="published 2")
    killed, *_ = world.start_shared(processes)
    gone = set(world.names[0::processes])
    async with aconnect(f"http://127.0.0.1:{world.http_port}", token, timeout=PATIENCE_S) as client:
        await until_all_are_here(client, world, PATIENCE_S)
        world.doom()
        began = time.monotonic()
        going = asyncio.create_task(_published(client))
        await asyncio.to_thread(world.died, "provider")
        world.kill(killed)
        died, first_two = time.monotonic(), world.all_spent()
        world.start("provider")
        made = await going
        ended = time.monotonic()
        paid = world.all_spent()
        shares = made.publication.sizes.shares
        truth = sum(1 + number % 3 for number, name in enumerate(world.names) if name not in gone)
        assert set(first_two.values()) == {(shares[0] + shares[1]).nano}
        assert {paid[name] for name in gone} == {(shares[0] + shares[1]).nano}
        assert {paid[name] for name in world.names if name not in gone} == {MUCH.nano}
        assert world.user_spent("ann") == MUCH.nano
        assert (made.heard, made.missing) == (world.owners - len(gone), len(gone))
        assert round(made.total().value or 0) == round(made.values.sum()) == truth
        for radius in range(500, 5_500, 500):
            free = await client.count(Circle(10_000, 10_000, float(radius)), from_map=True)
            assert free.interval[0] <= truth <= free.interval[1]
        assert world.all_spent() == paid
    return (
        f"{world.owners} owners, {len(gone)} of them and the provider killed after two rounds: a map of {made.bins:,} "
        f"cells by {made.method}, {made.heard} heard, exact; {died - began:.1f} s to the kill, {ended - died:.1f} s "
        "from it to the map; ledgers hold what owners answered, the user paid once, 10 circles were free"
    )


async def _published(client: AsyncClient) -> PublishedMap:
    """Publish a map; a connection that is lost is found again with the same key."""
    while True:
        with suppress(FedgroupError):
            return await client.publish(epsilon=float(MUCH), records=400, most_cells=4_096, key="map")
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    main()
