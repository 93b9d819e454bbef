"""A vector that came too late is not paid for twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.identity import Identity
from fedgroup.live.public_log import USUAL_LINKS
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

LITTLE = Epsilon.of(0.1)
SETUP = Epsilon.of(20)


class Late:
    """An owner whose replies to `Describe` are held back until it is let go."""

    def __init__(self, owner: Any) -> None:
        self._owner, self._usual, self._say = owner, owner.node.prepare, owner.link.say
        self._describing = False
        owner.node.prepare, owner.link.say = self._receive, self._lost

    def _receive(self, sender: str, message: Any, **named: Any) -> Any:
        self._describing = type(message).__name__ == "Describe"
        return self._usual(sender, message, **named)

    def _lost(self, messages: Any) -> None:
        if not self._describing:
            self._say(messages)

    def in_time(self) -> None:
        self._owner.node.prepare, self._owner.link.say = self._usual, self._say


async def regrouped(here: Any, epsilon: Epsilon = SETUP) -> Any:
    return await here.provider.regroup(GroupingSettings(), epsilon=epsilon, grid=(2, 2))


def spent(here: Any, name: str) -> Epsilon:
    return here.owners[name].ledger.spent()


def test_who_was_too_late_gives_the_vector_it_paid_for_at_the_next_grouping(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            late = Late(here.owners["owner-4"])
            for _ in range(2):
                assert (await regrouped(here)).sizes() == [3, 2]
                assert spent(here, "owner-4") == SETUP
            late.in_time()
            assert (await regrouped(here)).sizes() == [3, 3]
            assert (spent(here, "owner-4"), spent(here, "owner-0")) == (SETUP, Epsilon.of(60))
            await regrouped(here)
            assert spent(here, "owner-4") == Epsilon.of(40)

    in_driven_time(story())


def test_another_grid_or_epsilon_is_another_vector(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            late = Late(here.owners["owner-4"])
            await regrouped(here)
            late.in_time()
            assert (await regrouped(here, Epsilon.of(25))).sizes() == [3, 3]
            assert spent(here, "owner-4") == Epsilon.of(45)

    in_driven_time(story())


def test_a_quiet_owner_is_waited_for_where_its_vector_costs_it(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, seconds=2.0) as here:
            owner = here.owners["owner-4"]
            here.provider.desk._quiet.add("owner-4")
            owner.link.say = partial(asyncio.get_running_loop().call_later, 0.6, owner.link.say)
            assert (await regrouped(here)).sizes() == [3, 3]

    in_driven_time(story())


async def log_goes_on(here: Any) -> Epsilon:
    """Ask until the log leads no more from its head to what stands there now; return what that cost every owner."""
    for number in range(3 * USUAL_LINKS):  # two entries each
        await here.provider.ask(RangeQuery("count", Circle(5, 5, 1 + number / 10), LITTLE), method="dp")
    return LITTLE * (3 * USUAL_LINKS)


def test_a_late_vector_is_not_paid_for_twice_however_far_the_log_went_on(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def story() -> None:
        async with city(4, signer=signer) as here:
            late = Late(here.owners["owner-3"])
            assert (await regrouped(here)).sizes() == [2]
            asked = await log_goes_on(here)
            late.in_time()
            assert (await regrouped(here)).sizes() == [2, 2]
            assert spent(here, "owner-3") == SETUP + asked

    in_driven_time(story())


def test_who_never_heard_of_a_vector_is_not_asked_for_it_for_ever(city: Callable[..., Any], signer: Identity) -> None:
    async def story() -> None:
        async with city(4, signer=signer) as here:
            deaf = here.owners["owner-3"].node
            usual, deaf.prepare = deaf.prepare, lambda *_said, **_named: []
            assert (await regrouped(here)).sizes() == [2]
            deaf.prepare = usual
            asked = await log_goes_on(here)
            assert (await regrouped(here)).sizes() == [2]  # it stands too far back in the log
            assert spent(here, "owner-3") == asked
            assert (await regrouped(here)).sizes() == [2, 2]
            assert spent(here, "owner-3") == asked + SETUP

    in_driven_time(story())
