"""What the service says of itself is true: the broker, owners known and here, what became of a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.live.expiry import AUTHORITY, Ending, Expiries

Service = Callable[..., Any]


def test_without_a_broker_nothing_is_ready_and_questions_cost_nothing(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client(None) as anybody:
            before = (await anybody.get("/ready")).json()
            assert (before["ready"], before["broker"], before["present"], before["last_answer"]) == (
                True,
                True,
                2,
                None,
            )
            assert (await ann.post("/v1/queries", json=question)).status_code == 200
            assert (await anybody.get("/ready")).json()["last_answer"] is not None
            here.city.provider.desk._link.connected = False
            found = await anybody.get("/ready")
            assert (found.status_code, found.json()["broker"], found.json()["present"]) == (503, False, 0)
            assert found.json()["known"] == 2
            refused = await ann.post("/v1/queries", json=question | {"epsilon": 0.5})
            assert (refused.status_code, refused.json()["type"]) == (503, "urn:fedgroup:problem:no-broker")
            assert (refused.json()["charged"], here.spent().nano) == (False, 10**9)
            told = (await anybody.get("/metrics")).text
            assert "fedgroup_broker_connected 0" in told
            assert "fedgroup_owners_known 2" in told
            assert (await anybody.get("/health")).status_code == 200

    asyncio.run(story())


def test_a_quorum_is_asked_for_over_http(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann:
            reply = await ann.post("/v1/queries", json=question | {"least_owners": 4})
            assert (reply.status_code, reply.json()["type"]) == (503, "urn:fedgroup:problem:too-few-here")
            assert (reply.json()["here"], reply.json()["needed"], reply.json()["charged"]) == (3, 4, False)
            dry = question | {"least_owners": 4, "dry_run": True}
            assert (await ann.post("/v1/queries", json=dry)).status_code == 503
            assert (await ann.post("/v1/queries", json=question | {"least_share": 1})).status_code == 200
            assert here.spent().nano == 10**9

    asyncio.run(story())


def test_a_key_can_be_asked_about(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client("bob") as bob:
            state = here.city.state
            state.begin("ann", question, Epsilon.of(1), key="crashed")  # and then the process died
            found = (await ann.get("/v1/keys/crashed")).json()
            assert (found["state"], found["epsilon"], found["answer"]) == ("asked", 1.0, None)
            await ann.post("/v1/queries", json=question, headers={"Idempotency-Key": "good"})
            assert (await ann.get("/v1/keys/good")).json()["state"] == "answered"
            assert (await bob.get("/v1/keys/good")).status_code == 404
            assert (await ann.get("/v1/keys/never")).status_code == 404

    asyncio.run(story())


def test_the_key_of_a_plan_tells_what_it_was_charged(service: Service) -> None:
    async def story() -> None:
        async with service(4) as here, here.client("op") as operator:
            told = {"epsilon": 20.0, "columns": 2, "rows": 2}
            await operator.post("/v1/plans", json=told, headers={"Idempotency-Key": "plan"})
            found = (await operator.get("/v1/keys/plan")).json()
            assert (found["state"], found["epsilon"], found["answer"]) == ("answered", 20.0, None)
            assert found["request"]["plan"]["epsilon"] == 20.0

    asyncio.run(story())


@pytest.mark.parametrize(
    ("party", "what"),
    [
        (None, "the list of revocations"),
        ("provider", "the certificate of provider"),
        (AUTHORITY, "the certificate of the authority"),
    ],
)
def test_users_are_told_what_ran_out_once_nobody_is_believed(
    party: str | None, what: str, service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        ended = datetime(2026, 1, 31, tzinfo=UTC)
        expiries = Expiries(lambda: [Ending("owner-0", ended), Ending(party, ended)])
        async with service(2, expiries=expiries) as here, here.client() as ann:
            assert (await ann.post("/v1/queries", json=question)).status_code == 200  # somebody is believed still
            await here.city.drop_all()
            for asked in (question | {"fresh": True}, question | {"dry_run": True}):
                reply = await ann.post("/v1/queries", json=asked)
                assert (reply.status_code, reply.json()["type"]) == (503, "urn:fedgroup:problem:trust-ran-out")
                assert reply.json()["detail"].startswith(f"{what} ran out on 2026-01-31; nobody is believed")
                assert (reply.json()["until"], reply.json()["charged"]) == ("2026-01-31", False)
            assert here.spent() == Epsilon.of(1)

    asyncio.run(story())


def test_an_owners_certificate_that_ran_out_is_no_reason_for_all(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        expiries = Expiries(lambda: [Ending("owner-0", datetime(2026, 1, 31, tzinfo=UTC))])
        async with service(2, expiries=expiries) as here, here.client() as ann:
            await here.city.drop_all()
            reply = await ann.post("/v1/queries", json=question)
            assert (reply.status_code, reply.json()["type"]) == (503, "urn:fedgroup:problem:too-few-heard")

    asyncio.run(story())


def test_operators_see_who_is_away_and_retire_it(service: Service) -> None:
    async def story() -> None:
        async with service(3) as here, here.client("op") as operator, here.client() as ann:
            await operator.get("/v1/owners")
            gone = sorted(here.city.owners)[0]
            here.city.owners[gone].link.drop()
            while gone in here.city.provider.desk.present:
                await asyncio.sleep(0.01)
            found = (await operator.get("/v1/owners")).json()
            assert (found["present"], found["known"], found["away"]) == (2, 3, [gone])
            assert (await ann.get("/v1/owners")).json() == {"present": 2, "known": 3}
            assert (await ann.post(f"/v1/owners/{gone}/retire")).status_code == 403
            retired = (await operator.post(f"/v1/owners/{gone}/retire")).json()
            assert (retired["known"], retired["away"]) == (2, [])
            assert (await operator.post(f"/v1/owners/{gone}/retire")).status_code == 404

    asyncio.run(story())
