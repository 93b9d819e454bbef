"""A map takes the provider as much memory for many owners as for few: vectors are added up as they come."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from typing import Any, get_args

from live_world import PATIENCE_S

from fedgroup.epsilon import Epsilon
from fedgroup.live.desk import Desk
from fedgroup.live.provider import LiveProvider
from fedgroup.live.settings import LiveSettings
from fedgroup.live.waves import Flow
from fedgroup.messages.live import ToOwner
from fedgroup.messages.said import Noisy
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.round import MaskSettings
from fedgroup.space import Box, PublicMap
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub, MemoryOwnerLink
from fedgroup.transport.topics import PROVIDER
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))
SIDE = 64
VECTOR_BYTES = 8 * SIDE * SIDE
AT_ONCE = 4
ONES = [1] * (SIDE * SIDE)


async def answers(link: MemoryOwnerLink) -> None:
    """Be an owner that has nothing of its own: one in every bin of every question."""
    async for _, payload in link.received():
        asked = decode(payload, get_args(ToOwner))
        link.say([(PROVIDER, encode(Noisy(asked.round, ONES, [0])))])


async def peak_of(owners: int, folder: Path) -> tuple[int, Any]:
    """Return the most bytes that a map of so many owners took at a time, and the map."""
    hub, state = MemoryHub(), ProviderState(folder / f"provider-{owners}.db")
    desk = Desk(hub.provider(), encode=encode, decode=decode, verify=believed)
    settings = LiveSettings("city", MAP, Protection(), MaskSettings(1, 0.1), cohort_size=4, seconds=PATIENCE_S)
    provider = LiveProvider(desk, settings, store=state)
    provider._asking._flow = Flow(AT_ONCE * VECTOR_BYTES)
    listening = asyncio.create_task(desk.listen())
    names = [f"owner-{at:03d}" for at in range(owners)]
    playing = [asyncio.create_task(answers(hub.owner(name, Keys(name).der))) for name in names]
    assert await desk.until_present(owners, PATIENCE_S)
    query = RangeQuery("count", MAP.grid(SIDE, SIDE), Epsilon.of(1))
    tracemalloc.start()
    try:
        made = await provider.map(query, method="dp")
        return tracemalloc.get_traced_memory()[1], made
    finally:
        tracemalloc.stop()
        for task in (listening, *playing):
            task.cancel()
        await asyncio.gather(listening, *playing, return_exceptions=True)
        state.close()


def test_four_times_the_owners_take_the_provider_no_more_memory(tmp_path: Path) -> None:
    async def story() -> None:
        await peak_of(8, tmp_path)  # what is made once is made
        few, _ = await peak_of(12, tmp_path)
        many, made = await peak_of(48, tmp_path)
        assert made.values.tolist() == [48] * SIDE * SIDE
        # an owner's name is kept, and what it was asked; of its vector nothing
        assert many - few < 36 * VECTOR_BYTES / 4

    asyncio.run(story())
