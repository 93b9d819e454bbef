"""A plan mends itself: who forgot its group, or refuses it for a revoked member, is soon in one again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.messages.asked import Ask, Leave
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.topics import PROVIDER

PRECISE = Epsilon.of(30)
QUERY = RangeQuery("count", Circle(5, 5, 3.2), PRECISE)


async def asked(here: Any, method: str) -> tuple[int, int, dict[str, int]]:
    answer = await here.provider.ask(QUERY, method=method, fresh=True)
    return answer.groups, answer.heard, answer.refused


async def ready(here: Any, method: str, mode: str) -> None:
    """Form the groups of a method: two of four owners each."""
    if method == "fedgroup":
        await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2), mode=mode)
    assert await asked(here, method) == (2, 8, {})


KINDS = [("fedgroup", "masked"), ("fedgroup", "trusted"), ("cohorts", "masked")]


@pytest.mark.parametrize(("method", "mode"), KINDS)
def test_an_owner_that_forgot_its_group_is_in_one_again_at_the_next_question(
    method: str, mode: str, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1000) as here:
            await ready(here, method, mode)
            group = here.provider._plans[method].groups[0]
            here.owners[group.members[1]].node.receive(PROVIDER, Leave(group.name))
            assert await asked(here, method) == (2, 7, {"plan": 1})
            assert await asked(here, method) == (2, 8, {})

    asyncio.run(story())


def test_an_owner_that_forgets_again_and_again_is_asked_alone(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1000) as here:
            await ready(here, "fedgroup", "masked")
            node = here.owners["owner-3"].node
            usual = node.prepare

            def forgetful(sender: str, message: Any, **named: Any) -> Any:
                if isinstance(message, Ask) and message.plan is not None:
                    usual(sender, Leave(message.plan))
                return usual(sender, message, **named)

            node.prepare = forgetful
            assert await asked(here, "fedgroup") == (2, 7, {"plan": 1})
            assert await asked(here, "fedgroup") == (2, 7, {"plan": 1})  # it was formed anew for nothing
            assert await asked(here, "fedgroup") == (3, 8, {})

    asyncio.run(story())


def revoked_for(here: Any, name: str, names: Any) -> None:
    """Make these owners believe a certificate no more."""
    here.revoked |= {each: {here.owners[name].keys.der} for each in names}


def revoked_for_the_provider(here: Any, name: str) -> None:
    revoked_for(here, name, ["provider"])
    here.provider.desk.verify = lambda der: here.vouched("provider", der)
    here.provider.desk._look_again()


@pytest.mark.parametrize(("method", "mode"), KINDS)
def test_the_others_of_a_revoked_owners_group_answer_together_again(
    method: str, mode: str, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1000) as here:
            await ready(here, method, mode)
            group = here.provider._plans[method].groups[0].members
            revoked_for(here, group[3], group[:3])
            revoked_for_the_provider(here, group[3])
            assert await asked(here, method) == (1, 4, {"roster": 3})
            assert await asked(here, method) == (2, 7, {})
            assert [name for name in here.owners if name not in here.provider._plans[method].members] == [group[3]]

    asyncio.run(story())


def test_owners_that_hear_of_a_revocation_before_the_provider_are_alone_until_it_does(
    city: Callable[..., Any],
) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1000) as here:
            await ready(here, "fedgroup", "masked")
            group = here.provider.plan.groups[0].members
            revoked_for(here, group[3], group[:3])
            assert await asked(here, "fedgroup") == (1, 4, {"roster": 3})
            assert await asked(here, "fedgroup") == (5, 8, {})
            formed = here.provider.plan.groups
            assert await asked(here, "fedgroup") == (5, 8, {})
            assert here.provider.plan.groups == formed  # nothing is tried again while nothing changed
            revoked_for_the_provider(here, group[3])
            assert await asked(here, "fedgroup") == (2, 7, {})

    asyncio.run(story())
