"""Live owners compared many at once: 200 of them, and messages that are lost or come twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from live_world import PATIENCE_S

from fedgroup.epsilon import Epsilon
from fedgroup.live.comparing import Learnt, LiveComparing
from fedgroup.messages.asked import Recall, RelayMany
from fedgroup.owner.node import OwnerNode
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.settings import GroupingSettings


def opened(shares: tuple[np.ndarray, np.ndarray]) -> list[int]:
    return (shares[0] ^ shares[1]).tolist()


def comparing(here: Any) -> LiveComparing:
    return LiveComparing(here.provider.desk, grid=(2, 2), threshold=0.5, seconds=PATIENCE_S)


def test_all_pairs_of_a_wave_take_the_rounds_of_one(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, comparisons=20) as here:
            names = sorted(here.owners)
            pairs = [(one, other) for one in names for other in names if one < other]
            compare = comparing(here)
            alike = [int(int(one[-1]) % 2 == int(other[-1]) % 2) for one, other in pairs]
            assert opened(await compare.shares(pairs)) == alike
            assert compare.rounds == 7
            assert {owner.ledger.comparisons() for owner in here.owners.values()} == {3}

    asyncio.run(story())


@pytest.mark.parametrize("what", ["request", "reply"])
def test_a_step_that_was_lost_is_said_again_and_counted_once(
    what: str, city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[bytes] = []
    prepare = OwnerNode.prepare

    def deaf_once(self: OwnerNode, sender: str, message: Any, **how: Any) -> Any:
        is_new = isinstance(message, RelayMany) and self.name == "owner-0" and len(lost) < 2
        if is_new and message.round not in lost:
            lost.append(message.round)
            if what == "reply":
                prepare(self, sender, message, **how)
            return []
        return prepare(self, sender, message, **how)

    monkeypatch.setattr(OwnerNode, "prepare", deaf_once)

    async def story() -> None:
        async with city(2, comparisons=20) as here:
            compare = LiveComparing(here.provider.desk, grid=(2, 2), threshold=0.5, seconds=0.2)
            assert opened(await compare.shares([("owner-0", "owner-1")])) == [0]
            assert compare.refused == set()
            assert len(lost) == 2
            assert {owner.ledger.comparisons() for owner in here.owners.values()} == {1}

    asyncio.run(story())


def test_an_owner_that_stays_silent_is_a_no_and_others_go_on(
    city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = OwnerNode.prepare

    def deaf(self: OwnerNode, sender: str, message: Any, **how: Any) -> Any:
        if isinstance(message, RelayMany) and self.name == "owner-2":
            return []
        return prepare(self, sender, message, **how)

    monkeypatch.setattr(OwnerNode, "prepare", deaf)

    async def story() -> None:
        async with city(5, comparisons=20) as here:
            compare = LiveComparing(here.provider.desk, grid=(2, 2), threshold=0.5, seconds=0.2)
            pairs = [("owner-0", "owner-2"), ("owner-0", "owner-4"), ("owner-2", "owner-4")]
            assert opened(await compare.shares(pairs)) == [0, 1, 0]
            assert compare.refused == {"owner-2"}

    asyncio.run(story())


def made(here: Any) -> list[int]:
    return [owner.ledger.comparisons() for owner in here.owners.values()]


def test_a_later_plan_of_the_epoch_compares_no_pair_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, comparisons=3) as here:
            settings = GroupingSettings(graph="secure")
            plan = await here.provider.regroup(settings, epsilon=Epsilon.of(1), grid=(2, 2))
            compared = made(here)
            assert sum(compared) > 0
            again = await here.provider.regroup(settings, epsilon=Epsilon.of(1), grid=(2, 2))
            assert {each.members for each in again.groups} == {each.members for each in plan.groups}
            assert sorted(again.sizes()) == [2, 2]
            assert made(here) == compared

    asyncio.run(story())


def test_a_pair_is_compared_again_once_an_owner_is_in_another_epoch(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, comparisons=20) as here:
            names = sorted(here.owners)
            pairs = [(one, other) for one in names for other in names if one < other]
            learnt = Learnt()

            async def compared(over: tuple[int, int] = (2, 2)) -> tuple[list[int], int]:
                compare = LiveComparing(here.provider.desk, grid=over, threshold=0.5, seconds=PATIENCE_S, learnt=learnt)
                await compare.recall(names)
                turned = [(other, one) for one, other in pairs]
                return opened(await compare.shares(turned)), compare.rounds

            first, _ = await compared()
            assert await compared() == (first, 1)  # the round in which owners say what they began
            here.owners["owner-0"].ledger.begin_epoch()
            assert (await compared())[0] == first
            assert made(here) == [3, 4, 4, 4]  # the three pairs of that owner
            here.owners["owner-0"].ledger.begin_epoch()
            none = LiveComparing(here.provider.desk, grid=(2, 2), threshold=0.5, seconds=PATIENCE_S, learnt=learnt)
            await none.recall(names)
            assert len(learnt.among(names, (2, 2, 0.5))) == 3  # of pairs without it; its own bits hold no more
            await compared((4, 4))
            assert made(here) == [3, 4, 4, 4]  # another grid waits for another epoch, and no bit is taken for its

    asyncio.run(story())


@pytest.mark.parametrize("what", ["silent", "out"])
def test_who_does_not_recall_a_comparison_is_compared_anew_or_not_at_all(
    what: str, city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = OwnerNode.prepare

    def deaf(self: OwnerNode, sender: str, message: Any, **how: Any) -> Any:
        return [] if what == "silent" and isinstance(message, Recall) else prepare(self, sender, message, **how)

    monkeypatch.setattr(OwnerNode, "prepare", deaf)

    async def story() -> None:
        async with city(3, comparisons=20) as here:
            learnt, found = Learnt(), []
            for _ in range(2):
                compare = LiveComparing(here.provider.desk, grid=(2, 2), threshold=0.5, seconds=0.2, learnt=learnt)
                await compare.recall(here.owners)
                found.append(opened(await compare.shares([("owner-0", "owner-2")])))
                if what == "out":
                    node = here.owners["owner-2"].node
                    node.policy = replace(node.policy, comparisons=0)
            assert found == ([[1], [1]] if what == "silent" else [[1], [0]])
            assert made(here) == ([2, 0, 2] if what == "silent" else [2, 0, 1])

    asyncio.run(story())


def test_two_hundred_live_owners_are_grouped_by_the_hybrid_graph(
    city: Callable[..., Any], record_property: Callable[[str, object], None]
) -> None:
    async def story() -> None:
        async with city(200, comparisons=200) as here:
            settings = GroupingSettings(graph="hybrid", limits=Limits(largest=2), lower=-1.0, upper=1.0)
            began = time.monotonic()
            plan = await here.provider.regroup(settings, epsilon=Epsilon.of(1), grid=(2, 2))
            told = f"{plan.settings['comparisons']} comparisons in {plan.settings['waves']} waves"
            record_property("live", f"200 owners: {told}, {time.monotonic() - began:.1f} s")
            print(told, f"{time.monotonic() - began:.1f} s")
            assert plan.sizes() == [2] * 100
            assert all(int(one[6:]) % 2 == int(other[6:]) % 2 for one, other in (each.members for each in plan.groups))
            assert sum(made(here)) == 2 * plan.settings["comparisons"] >= 100

    asyncio.run(story())
