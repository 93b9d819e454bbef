"""One key, one charge: in parallel, later, after a failure, and whoever hangs up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.service.serving import served

Service = Callable[..., Any]
KEY = {"Idempotency-Key": "a-key"}


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


class Gate:
    """Holds the provider's questions back until it is opened."""

    def __init__(self, provider: Any) -> None:
        self.reached, self._open = asyncio.Event(), asyncio.Event()
        self._put, provider.put = provider.put, self._wait

    async def _wait(self, *words: Any, **named: Any) -> Any:
        self.reached.set()
        await self._open.wait()
        return await self._put(*words, **named)

    def open(self) -> None:
        self._open.set()


def test_twenty_requests_with_one_key_are_one_question(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            asked = [ann.post("/v1/queries", json=question, headers=KEY) for _ in range(20)]
            replies = [reply.json() for reply in await asyncio.gather(*asked)]
            assert all(reply == replies[0] for reply in replies)
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(1), {Epsilon.of(1)})
            assert len((await ann.get("/v1/queries")).json()["queries"]) == 1

    run(story())


def test_a_key_gives_its_answer_again_even_when_the_owners_are_gone(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            first = await ann.post("/v1/queries", json=question, headers=KEY)
            await here.city.drop_all()
            again = await ann.post("/v1/queries", json=question, headers=KEY)
            assert (again.status_code, again.json()) == (200, first.json())
            assert here.spent() == Epsilon.of(1)

    run(story())


def test_a_key_cannot_be_used_for_something_else(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            gate, other = Gate(here.city.provider), question | {"epsilon": 2}
            first = asyncio.create_task(ann.post("/v1/queries", json=question, headers=KEY))
            await gate.reached.wait()
            meanwhile = await ann.post("/v1/queries", json=other, headers=KEY)
            gate.open()
            assert (await first).status_code == 200
            later = await ann.post("/v1/queries", json=other, headers=KEY)
            for reply in (meanwhile, later):
                assert (reply.status_code, reply.json()["type"]) == (409, "urn:fedgroup:problem:key-reused")
            assert here.spent() == Epsilon.of(1)

    run(story())


def test_the_same_request_in_other_words_is_the_same(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            spelled = question | {"epsilon": 1.0, "fresh": False, "attribute": None, "dry_run": False}
            first = await ann.post("/v1/queries", json=question, headers=KEY)
            again = await ann.post("/v1/queries", json=spelled, headers=KEY)
            assert first.json() == again.json()

    run(story())


def test_users_do_not_share_keys(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client("bob") as bob:
            asked = question | {"fresh": True}
            first = await ann.post("/v1/queries", json=asked, headers=KEY)
            second = await bob.post("/v1/queries", json=asked, headers=KEY)
            assert first.json()["id"] != second.json()["id"]
            assert (here.spent("ann"), here.spent("bob")) == (Epsilon.of(1), Epsilon.of(1))

    run(story())


def test_a_key_whose_question_failed_or_was_interrupted_needs_a_new_one(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            here.city.hush("owner-0")
            failed = await ann.post("/v1/queries", json=question, headers=KEY)
            again = await ann.post("/v1/queries", json=question, headers=KEY)
            assert (failed.status_code, again.status_code) == (503, 409)
            assert again.json()["type"] == "urn:fedgroup:problem:question-failed"
            assert (again.json()["id"], again.json()["charged"]) == (failed.json()["id"], True)
            # what a process that died after the charge leaves behind
            kept = here.city.state.question(failed.json()["id"]).request
            here.city.state.begin("ann", kept, Epsilon.of(1), key="interrupted")
            after = await ann.post("/v1/queries", json=question, headers={"Idempotency-Key": "interrupted"})
            assert after.status_code == 409
            assert here.spent() == Epsilon.of(2)

    in_driven_time(story())


def test_who_hangs_up_pays_and_finds_the_answer_later(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            gate = Gate(here.city.provider)
            asked = asyncio.create_task(ann.post("/v1/queries", json=question, headers=KEY))
            await gate.reached.wait()
            asked.cancel()
            with suppress(asyncio.CancelledError):
                await asked
            (kept,) = (await ann.get("/v1/queries")).json()["queries"]
            assert (kept["state"], here.spent()) == ("asked", Epsilon.of(1))
            gate.open()
            await here.work.all_done()
            found = (await ann.get(f"/v1/queries/{kept['id']}")).json()
            assert (found["state"], found["answer"]["heard"]) == ("answered", 2)
            again = await ann.post("/v1/queries", json=question, headers=KEY)
            assert again.json() == found["answer"]
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(1), {Epsilon.of(1)})

    run(story())


def test_who_hangs_up_before_the_charge_is_written_changes_nothing(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            for turns in (0, *(2**n for n in range(9))):
                asked = asyncio.create_task(ann.post("/v1/queries", json=question | {"fresh": True}))
                for _ in range(turns):
                    await asyncio.sleep(0)
                asked.cancel()
                with suppress(asyncio.CancelledError):
                    await asked
            await here.work.all_done()
            kept = (await ann.get("/v1/queries")).json()["queries"]
            assert all(each["state"] == "answered" for each in kept)
            assert here.spent() == Epsilon.of(1) * len(kept)
            assert here.owners_spent() == {Epsilon.of(1) * len(kept)}

    run(story())


async def open_once_closed(url: httpx.URL, gate: Gate) -> None:
    """Let questions go on when the service lets nobody in any more."""
    with suppress(OSError):
        while True:
            _, writer = await asyncio.open_connection(url.host, url.port)
            writer.close()
            await asyncio.sleep(0.02)
    gate.open()


def test_a_service_that_stops_finishes_what_it_charged(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here:
            gate = Gate(here.city.provider)
            async with served(here.app) as url:
                headers = {"Authorization": f"Bearer {here.tokens['ann']}"}
                async with httpx.AsyncClient(base_url=url, headers=headers, timeout=None) as hasty:
                    asked = asyncio.create_task(hasty.post("/v1/queries", json=question))
                    await gate.reached.wait()
                    asked.cancel()
                    with suppress(asyncio.CancelledError):
                        await asked
                opening = asyncio.create_task(open_once_closed(httpx.URL(url), gate))
            await opening
            (kept,) = here.city.state.questions_of("ann")
            assert (kept.state, kept.epsilon) == ("answered", Epsilon.of(1))

    run(story())


def test_an_answer_whose_end_could_not_be_noted_is_given_all_the_same(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:

            def busy(*_words: Any, **_named: Any) -> None:
                raise LedgerUnavailable("the disk is full")

            here.city.state.finish = busy
            assert (await ann.post("/v1/queries", json=question)).status_code == 200
            assert here.spent() == Epsilon.of(1)

    run(story())


def test_a_plan_with_a_key_is_made_and_paid_for_once(service: Service) -> None:
    async def story() -> None:
        async with service(4) as here, here.client("op") as operator:
            wish = {"epsilon": 20, "columns": 2, "rows": 2, "graph": "topcell"}
            asked = [operator.post("/v1/plans", json=wish, headers=KEY) for _ in range(3)]
            replies = await asyncio.gather(*asked)
            assert [reply.json()["sizes"] for reply in replies] == [[2, 2]] * 3
            assert (here.spent("op"), here.owners_spent()) == (Epsilon.of(20), {Epsilon.of(20)})
            assert (await operator.get("/v1/queries")).json() == {"queries": []}

    run(story())
