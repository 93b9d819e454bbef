"""Who is known, who is here, and how many are needed: numbers of an answer come from one look, and add up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from live_world import until

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, TooFewHere
from fedgroup.live.attendance import Attendance, Quorum
from fedgroup.live.desk import Desk
from fedgroup.live.provider import LiveProvider
from fedgroup.questions.answers import Answer
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.codec import decode, encode
from owner_keys import believed

QUERY = RangeQuery("count", Circle(5, 5, 3.2), Epsilon.of(1))


def told(answer: Answer) -> tuple[int, int, int, int]:
    assert answer.owners == answer.heard + answer.missing
    assert answer.absent <= answer.missing
    return answer.owners, answer.heard, answer.missing, answer.absent


async def without(here: Any, *names: str) -> None:
    for name in names:
        await here.kill(name)
    await until(lambda: not here.provider.desk.present.intersection(names))


def test_known_owners_are_remembered_across_restarts(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            assert told(await here.provider.ask(QUERY, method="dp")) == (4, 4, 0, 0)
            await without(here, "owner-1", "owner-2", "owner-3")
            store = here.provider.store
            assert set(store.owners()) == {f"owner-{i}" for i in range(4)}
            desk = Desk(here.hub.provider(), encode=encode, decode=decode, verify=believed, known=store.owners())
            listening = asyncio.create_task(desk.listen())
            anew = LiveProvider(desk, here.provider.settings, store=store)
            await until(lambda: len(desk.present) == 1)
            answer = await anew.ask(QUERY, method="dp", fresh=True)
            assert told(answer) == (4, 1, 3, 3)
            assert "3 owners that were here before are away; their records are not counted" in answer.notes
            listening.cancel()

    asyncio.run(story())


def test_who_comes_during_a_question_is_not_asked_and_the_numbers_add_up(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            await here.add("late")
            await until(lambda: "late" in here.provider.desk.present)
            await here.provider.attendance()
            await without(here, "late")
            usual = here.provider.desk.ask

            async def meanwhile(*given: Any, **named: Any) -> Any:
                here.provider.desk.ask = usual
                await here.start(here.owners["late"])
                await until(lambda: "late" in here.provider.desk.present)
                return await usual(*given, **named)

            here.provider.desk.ask = meanwhile
            assert told(await here.provider.ask(QUERY, method="dp", fresh=True)) == (4, 3, 1, 1)
            assert here.owners["late"].ledger.spent() == Epsilon(0)
            assert told(await here.provider.ask(QUERY, method="dp", fresh=True)) == (4, 4, 0, 0)

    asyncio.run(story())


def test_an_owner_that_left_for_good_is_retired_by_the_operator(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            await here.provider.attendance()
            with pytest.raises(InvalidQuery, match="here"):
                await here.provider.retire("owner-2")
            await without(here, "owner-2")
            assert told(await here.provider.ask(QUERY, method="dp")) == (3, 2, 1, 1)
            assert await here.provider.retire("owner-2")
            assert not await here.provider.retire("owner-2")
            assert told(await here.provider.ask(QUERY, method="dp", fresh=True)) == (2, 2, 0, 0)
            assert "owner-2" not in here.provider.store.owners()
            await here.start(here.owners["owner-2"])
            await until(lambda: "owner-2" in here.provider.desk.present)
            assert told(await here.provider.ask(QUERY, method="dp", fresh=True)) == (3, 3, 0, 0)

    asyncio.run(story())


def test_below_a_quorum_nobody_is_asked_or_charged(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            await here.provider.attendance()
            await without(here, "owner-3")
            for quorum in (Quorum(4), Quorum(1, 0.76)):
                with pytest.raises(TooFewHere) as refused:
                    await here.provider.ask(QUERY, method="dp", quorum=quorum)
                assert (refused.value.here, refused.value.known, refused.value.needed) == (3, 4, 4)
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon(0)}
            assert (await here.provider.ask(QUERY, method="dp", quorum=Quorum(3, 0.75))).heard == 3

    asyncio.run(story())


def test_users_can_ask_for_more_owners_than_the_operator_and_never_for_fewer() -> None:
    assert Quorum(3, 0.5).stricter(2, 0.9) == Quorum(3, 0.9)
    assert Quorum(3, 0.5).stricter(None, None) == Quorum(3, 0.5)
    known = frozenset(map(str, range(10)))
    assert [Quorum(1, share).needed(Attendance(known, known)) for share in (0, 0.1, 0.11, 0.3, 1)] == [1, 1, 2, 3, 10]
