"""The same question again costs nothing, whoever asks and whatever is left of an allowance; all else is paid first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable

Service = Callable[..., Any]
KEY = {"Idempotency-Key": "a-key"}


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def test_a_user_with_nothing_left_may_still_ask_the_same_again(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(3, allowance=1) as here, here.client() as ann:
            first = (await ann.post("/v1/queries", json=question)).json()
            assert here.city.state.user("ann").left == Epsilon(0)
            again = await ann.post("/v1/queries", json=question, headers=KEY)
            assert (again.status_code, again.json()["stored"]) == (200, True)
            assert (again.json()["value"], again.json()["charged"]) == (first["value"], 0)
            assert (await ann.post("/v1/queries", json=question, headers=KEY)).json() == again.json()
            for other in ({"epsilon": 0.5}, {"fresh": True}):
                assert (await ann.post("/v1/queries", json=question | other)).status_code == 403
            kept = (await ann.get("/v1/queries")).json()["queries"]
            assert [(each["state"], each["epsilon"]) for each in kept] == [("answered", 0), ("answered", 1)]
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(1), {Epsilon.of(1)})

    run(story())


def test_when_data_changed_the_same_question_is_paid_for_or_refused(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2, allowance=2) as here, here.client() as ann:
            await ann.post("/v1/queries", json=question)
            silo = here.city.owners["owner-1"].silo
            silo.snapshot = lambda: "changed"
            assert not (await ann.post("/v1/queries", json=question)).json()["stored"]
            assert here.spent() == Epsilon.of(2)
            silo.snapshot = lambda: "changed again"
            assert (await ann.post("/v1/queries", json=question)).status_code == 403
            assert here.owners_spent() == {Epsilon.of(2)}

    run(story())


def test_questions_that_are_the_same_at_the_same_time_are_all_paid_for(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2, allowance=3) as here, here.client() as ann:
            replies = await asyncio.gather(*(ann.post("/v1/queries", json=question) for _ in range(6)))
            asked = [reply.json() for reply in replies if reply.status_code == 200 and not reply.json()["stored"]]
            assert {reply.status_code for reply in replies} <= {200, 403}
            assert sum(each["charged"] for each in asked) == float(here.spent()) == len(asked)
            assert here.owners_spent() == {Epsilon.of(len(asked))}
            assert len(asked) <= 3

    run(story())


def test_the_same_question_of_another_user_is_free_too(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client("bob") as bob:
            first = (await ann.post("/v1/queries", json=question)).json()
            again = (await bob.post("/v1/queries", json=question)).json()
            assert (again["stored"], again["value"], again["asked_at"]) == (True, first["value"], first["asked_at"])
            assert (here.spent("bob"), here.owners_spent()) == (Epsilon(0), {Epsilon.of(1)})
            assert len((await bob.get("/v1/queries")).json()["queries"]) == 1

    run(story())


def test_a_repeat_that_cannot_be_written_down_is_refused_and_nothing_is_spent(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            await ann.post("/v1/queries", json=question)

            def busy(*_words: Any, **_named: Any) -> None:
                raise LedgerUnavailable("the disk is full")

            here.city.state.begin = busy
            assert (await ann.post("/v1/queries", json=question)).status_code == 503
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(1), {Epsilon.of(1)})

    run(story())


def test_why_owners_refuse_is_told_by_number_and_reason(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann:
            here.city.owners["owner-1"].ledger.set_cap(Epsilon.of(0.5))
            reply = await ann.post("/v1/queries", json=question)
            assert (reply.json()["refused"], reply.json()["missing"]) == ({"budget": 1}, 1)
            assert "1 owner refused: the owner's budget does not cover it" in reply.json()["notes"]
            (kept,) = (await ann.get("/v1/queries")).json()["queries"]
            assert kept["answer"]["refused"] == {"budget": 1}
            here.city.break_silos()
            failed = (await ann.post("/v1/queries", json=question | {"fresh": True})).json()
            assert failed["type"] == "urn:fedgroup:problem:too-few-heard"
            assert failed["refused"] == {"budget": 1, "silo": 2}
            assert "owner-1" not in reply.text + str(failed)

    run(story())
