"""Owners tell what is left of their caps if they want to, and only then; nobody else's message changes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from live_world import until

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.live.desk import Desk
from fedgroup.messages.asked import Balance
from fedgroup.messages.said import Left
from fedgroup.owner.node import PROVIDER
from fedgroup.questions.answers import OwnersLeft
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.codec import decode

ONE = Epsilon.of(1)
COUNT = RangeQuery("count", Circle(5, 5, 3), ONE)


def left_of(desk: Desk) -> OwnersLeft:
    return desk.balances.of(desk.present, price=ONE)


def test_owners_that_tell_do_so_when_they_come_and_after_each_charge(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, tell_left=True, cap=9.0) as here:
            desk = here.provider.desk
            await until(lambda: left_of(desk).telling == 3)
            assert (left_of(desk).lowest, left_of(desk).unknown) == (9.0, 0)
            await here.provider.ask(COUNT, method="dp")
            await until(lambda: left_of(desk).lowest == left_of(desk).median == 8.0)
            await here.provider.ask(COUNT, method="mpc")
            await until(lambda: left_of(desk).lowest == left_of(desk).median == 7.0)

    asyncio.run(story())


def test_owners_tell_nothing_unless_their_policies_say_so(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            await here.provider.ask(COUNT, method="dp")
            known = await here.provider.owners_left_now(ONE)
            assert (known.telling, known.unknown) == (0, 3)
            node = here.owners["owner-0"].node
            ((_, said),) = node.receive(PROVIDER, Balance(b"b" * 16))
            assert decode(said, (Left,)) == Left(b"b" * 16, None)

    asyncio.run(story())


def test_what_is_left_is_asked_for_anew_so_that_an_epoch_or_a_cap_shows(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, tell_left=True, cap=2.0) as here:
            await until(lambda: left_of(here.provider.desk).telling == 3)
            await here.provider.ask(COUNT, method="dp")
            here.owners["owner-0"].ledger.begin_epoch()
            here.owners["owner-1"].ledger.set_cap(Epsilon.of(5))
            known = await here.provider.owners_left_now(ONE)
            assert (known.lowest, known.median) == (1.0, 2.0)

    in_driven_time(story())


def test_who_tells_no_more_is_unknown_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2, tell_left=True) as here:
            await until(lambda: left_of(here.provider.desk).telling == 2)
            node = here.owners["owner-0"].node
            node.policy = replace(node.policy, tell_left=False)
            known = await here.provider.owners_left_now(ONE)
            assert (known.telling, known.unknown) == (1, 1)

    asyncio.run(story())


def test_an_owner_that_is_too_busy_to_tell_is_waited_for_as_before(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2, tell_left=True, cap=9.0) as here:
            desk = here.provider.desk
            await until(lambda: left_of(desk).telling == 2)
            usual, here.owners["owner-0"].node.prepare = here.owners["owner-0"].node.prepare, lambda *_, **__: []
            assert (await here.provider.owners_left_now(ONE)).telling == 2
            here.owners["owner-0"].node.prepare = usual
            assert "owner-0" not in desk._quiet

    in_driven_time(story())


def test_to_be_asked_what_is_left_charges_and_renews_nothing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(1, tell_left=True, cap=1.0) as here:
            owner = here.owners["owner-0"]
            await here.provider.ask(COUNT, method="dp")
            before = owner.ledger.mark(), owner.ledger.spent()
            for _ in range(3):
                assert (await here.provider.owners_left_now(ONE)).lowest == 0
            assert (owner.ledger.mark(), owner.ledger.spent()) == before

    asyncio.run(story())
