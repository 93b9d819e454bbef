"""Owners that are away are told in every answer, until they come back or are revoked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from live_world import PATIENCE_S, until

from fedgroup.epsilon import Epsilon
from fedgroup.live.attendance import Attendance
from fedgroup.live.desk import Desk
from fedgroup.live.provider import LiveProvider
from fedgroup.live.question import with_attendance
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions import methods as trust
from fedgroup.questions.answers import Answer
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.codec import decode, encode
from owner_keys import believed

QUERY = RangeQuery("count", Circle(5, 5, 3.2), Epsilon.of(1))
NOTE = "1 owner that was here before is away; its records are not counted"
MASKED = trust.MASKED.format(1)


def told(answer: Answer) -> tuple[int, int, int, int]:
    return answer.owners, answer.heard, answer.missing, answer.absent


async def without(here: Any, *names: str) -> None:
    for name in names:
        await here.kill(name)
    await until(lambda: not here.provider.desk.present.intersection(names))


def test_an_owner_that_went_is_missing_whatever_the_method(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, dropouts=0.4) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(1), grid=(2, 2))
            for method in ("dp", "fedgroup", "cohorts", "mpc"):
                answer = await here.provider.ask(QUERY, method=method)
                assert told(answer) == (6, 6, 0, 0)
                assert "away" not in str(answer.notes)
            await without(here, "owner-2")
            for method in ("dp", "fedgroup", "cohorts", "mpc"):
                answer = await here.provider.ask(QUERY, method=method)
                assert told(answer) == (6, 5, 1, 1)
                assert NOTE in answer.notes
            await without(here, "owner-3")
            answer = await here.provider.ask(QUERY, method="dp")
            assert told(answer) == (6, 4, 2, 2)
            assert "2 owners that were here before are away; their records are not counted" in answer.notes
            await here.start(here.owners["owner-2"])
            await here.start(here.owners["owner-3"])
            await here.provider.desk.until_present(6, PATIENCE_S)
            assert told(await here.provider.ask(QUERY, method="dp", fresh=True)) == (6, 6, 0, 0)

    asyncio.run(story())


def test_an_answer_that_is_given_again_tells_who_is_away_now(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            assert told(await here.provider.ask(QUERY, method="dp")) == (2, 2, 0, 0)
            await here.add("guest")
            await here.provider.desk.until_present(3, PATIENCE_S)
            await without(here, "guest")
            again = await here.provider.ask(QUERY, method="dp")
            assert (again.stored, told(again), again.notes.count(NOTE)) == (True, (3, 2, 1, 1), 1)

    asyncio.run(story())


def test_a_revoked_owner_is_not_away_but_out(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            here.provider.desk.verify = lambda der: here.vouched("provider", der)
            here.revoked["provider"] = {here.owners["owner-1"].keys.der}
            await until(lambda: len(here.provider.desk.present) == 2)
            assert told(await here.provider.ask(QUERY, method="dp")) == (2, 2, 0, 0)

    asyncio.run(story())


def test_a_provider_that_began_anew_misses_the_owners_of_its_plan(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(1), grid=(2, 2))
            await without(here, "owner-0")
            desk = Desk(here.hub.provider(), encode=encode, decode=decode, verify=believed)
            listening = asyncio.create_task(desk.listen())
            assert await desk.until_present(3, PATIENCE_S)
            again = LiveProvider(desk, here.provider.settings, store=here.state)
            assert told(await again.ask(QUERY, method="dp")) == (4, 3, 1, 1)
            listening.cancel()

    asyncio.run(story())


def test_a_paused_owner_is_missing_and_says_why(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            await here.add("shy", paused=True)
            await here.provider.desk.until_present(3, PATIENCE_S)
            answer = await here.provider.ask(QUERY, method="dp")
            assert (told(answer), answer.refused) == ((3, 2, 1, 0), {"paused": 1})

    asyncio.run(story())


def test_who_refused_and_goes_while_an_answer_is_given_again_is_in_one_number(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            await here.add("shy", paused=True)
            await here.provider.desk.until_present(3, PATIENCE_S)
            answer = await here.provider.ask(QUERY, method="dp")
            before = await here.provider.attendance()
            gone = Attendance(before.known, before.present - {"shy"})
            again = with_attendance(answer, gone, heard=before.present - {"shy"})
            assert (told(again), again.refused) == ((3, 2, 1, 1), {})
            again = with_attendance(answer, before, heard=before.present - {"shy"})
            assert (told(again), again.refused) == ((3, 2, 1, 0), answer.refused)

    asyncio.run(story())


def test_answers_say_whom_they_trust_as_they_came_about(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            masked = await here.provider.ask(QUERY, method="mpc")
            assert masked.trust == MASKED
            await here.add("single", modes=())
            await here.provider.desk.until_present(5, PATIENCE_S)
            mixed = await here.provider.ask(QUERY, method="mpc")
            assert mixed.trust == f"{MASKED}; owners in no group add their own noise"

    asyncio.run(story())


def test_where_nobody_is_in_a_group_no_masks_are_claimed(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, modes=()) as here:
            answer = await here.provider.ask(QUERY, method="cohorts")
            assert (answer.groups, answer.trust) == (3, trust.ALONE)
            plan = here.provider._plans["cohorts"]
            assert here.provider.trust(plan) == answer.trust

    asyncio.run(story())
