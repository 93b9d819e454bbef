"""A question that no owner can have paid for costs its user nothing: its charge is given back once, or not at all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable, TooFewHeard
from fedgroup.messages.said import REASONS, perhaps_charged
from fedgroup.service.charged_work import ChargedWork, Order, PaidWork
from fedgroup.service.problems import Problem
from fedgroup.service.turns import Turns
from fedgroup.storage.provider_state import ProviderState

Service = Callable[..., Any]
PRICE = Epsilon.of(0.4)
KEY = {"Idempotency-Key": "one"}
NOTHING = Epsilon(0)
PLAN = {"epsilon": 1, "columns": 2, "rows": 2, "graph": "topcell"}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ProviderState]:
    found = ProviderState(tmp_path / "provider.db")
    found.add_user("ann", allowance=Epsilon.of(10))
    yield found
    found.close()


def refused(asked: list[int], *, charged: bool = False) -> Order:
    async def nobody_paid(_: Any) -> dict[str, Any]:
        asked.append(1)
        await asyncio.sleep(1.0)
        raise TooFewHeard(heard=0, needed=1, refused={"radius": 2}, charged=charged)

    return Order({"a": 1}, PRICE, lambda: nullcontext(PaidWork(nobody_paid)))


async def failed(work: ChargedWork, order: Order, key: str | None = None) -> Problem:
    with pytest.raises(Problem) as told:
        await work.run("ann", order, key=key)
    return told.value


def test_what_every_owner_refused_is_given_back_and_on_record(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            here.city.break_silos()
            reply = await ann.post("/v1/queries", json=question)
            assert (reply.status_code, reply.json()["charged"]) == (503, False)
            assert "nothing was charged" in reply.json()["detail"]
            assert (here.spent(), here.owners_spent()) == (NOTHING, {NOTHING})
            kept = (await ann.get(f"/v1/queries/{reply.json()['id']}")).json()
            assert (kept["state"], kept["answer"], kept["epsilon"]) == ("failed", None, 0)

    asyncio.run(story())


def test_one_owner_that_may_have_paid_is_enough_to_keep_the_charge(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann:
            here.city.hush("owner-0")
            for name in ("owner-1", "owner-2"):
                here.city.owners[name].silo.broken = True
            reply = await ann.post("/v1/queries", json=question)
            assert (reply.status_code, reply.json()["charged"]) == (503, True)
            assert here.spent() == Epsilon.of(1)
            assert here.city.owners["owner-0"].ledger.spent() == Epsilon.of(1)

    in_driven_time(story())


def test_masked_groups_that_were_not_told_to_go_cost_nothing(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            asked = question | {"method": "mpc", "fresh": True}
            assert (await ann.post("/v1/queries", json=asked)).status_code == 200
            here.city.owners["owner-1"].ledger.set_cap(Epsilon.of(1))
            here.city.owners["owner-2"].ledger.set_cap(Epsilon.of(1))
            reply = await ann.post("/v1/queries", json=asked)
            assert (reply.json()["refused"], reply.json()["charged"]) == ({"budget": 2}, False)
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(1), {Epsilon.of(1)})

    asyncio.run(story())


def test_members_of_trusted_groups_may_have_written_to_a_leader_that_refused(service: Service) -> None:
    async def story() -> None:
        async with service(4) as here, here.client("op") as op:
            assert (await op.post("/v1/plans", json=PLAN | {"mode": "trusted"})).status_code == 200
            before = here.spent("op")
            for group in here.city.provider.plan.groups:
                here.city.owners[group.members[0]].ledger.set_cap(Epsilon.of(1))
            asked = {"kind": "count", "circle": {"x": 5, "y": 5, "radius": 3}, "epsilon": 1, "method": "fedgroup"}
            reply = await op.post("/v1/queries", json=asked)
            assert (reply.status_code, reply.json()["charged"]) == (503, True)
            assert here.spent("op").nano - before.nano == Epsilon.of(1).nano
            assert here.owners_spent() == {Epsilon.of(1), Epsilon.of(2)}

    asyncio.run(story())


def test_a_plan_that_everybody_refused_is_given_back_too(service: Service) -> None:
    async def story() -> None:
        async with service(2, cap=0.5) as here, here.client("op") as op:
            reply = await op.post("/v1/plans", json=PLAN)
            assert (reply.json()["refused"], reply.json()["charged"]) == ({"budget": 2}, False)
            assert here.spent("op") == NOTHING

    asyncio.run(story())


def test_a_plan_whose_vectors_came_too_late_stays_charged(service: Service) -> None:
    async def story() -> None:
        async with service(1) as here, here.client("op") as op:
            here.city.hush("owner-0")
            reply = await op.post("/v1/plans", json=PLAN)
            assert (reply.json()["charged"], here.spent("op")) == (True, Epsilon.of(1))

    in_driven_time(story())


def test_requests_with_one_key_are_given_back_once_and_told_the_same(state: ProviderState) -> None:
    async def story() -> None:
        work, asked = ChargedWork(state, Turns(lambda: 4)), []
        paid = state.begin("ann", {"b": 1}, PRICE)
        told = await asyncio.gather(*(failed(work, refused(asked), "key") for _ in range(5)))
        again = await failed(work, refused(asked), "key")
        assert {each.kind for each in told} == {"too-few-heard"}
        assert (again.kind, again.facts) == ("question-failed", {"id": told[0].facts["id"], "charged": False})
        assert (len(asked), state.user("ann").spent) == (1, PRICE)
        assert state.question(paid.id).epsilon == PRICE

    in_driven_time(story())


def test_what_owners_may_have_paid_for_stays_charged_also_under_its_key(state: ProviderState) -> None:
    async def story() -> None:
        work, asked = ChargedWork(state, Turns(lambda: 4)), []
        for _ in range(2):
            told = await failed(work, refused(asked, charged=True), "key")
            assert told.facts["charged"] is True
        assert (len(asked), state.user("ann").spent) == (1, PRICE)

    in_driven_time(story())


def test_a_charge_that_cannot_be_given_back_is_told_as_one(state: ProviderState) -> None:
    def unwritable(_: Any) -> None:
        raise LedgerUnavailable("no room")

    state.give_back = unwritable
    told = in_driven_time(failed(ChargedWork(state, Turns(lambda: 4)), refused([])))
    assert (told.facts["charged"], "nothing was charged" in told.detail) == (True, False)
    assert state.user("ann").spent == PRICE


def test_a_question_is_given_back_once_with_all_its_rounds_and_not_after_its_end(state: ProviderState) -> None:
    asked, answered = (state.begin("ann", {}, PRICE) for _ in range(2))
    assert state.spend_more(asked, PRICE)
    state.finish(answered, {"value": 1})
    for _ in range(2):
        state.give_back(asked)
        state.give_back(answered)
    assert state.user("ann").spent == PRICE
    assert (state.question(asked.id).state, state.question(asked.id).epsilon) == ("failed", NOTHING)
    assert state.question(answered.id).answer == {"value": 1}


def test_a_process_that_dies_before_it_gives_back_leaves_the_charge(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        state = ProviderState(tmp_path / "provider.db")
        state.add_user("ann", allowance=Epsilon.of(10))
        state.begin("ann", {}, PRICE, key="key")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    state = ProviderState(tmp_path / "provider.db")
    told = asyncio.run(
        failed(ChargedWork(state, Turns(lambda: 4)), Order({}, PRICE, lambda: nullcontext(PaidWork(None))), "key")
    )
    assert (told.kind, told.facts["charged"], state.user("ann").spent) == ("question-failed", True, PRICE)
    state.close()


def test_only_refusals_before_the_charge_are_without_doubt() -> None:
    assert {reason for reason in REASONS if perhaps_charged([reason])} == {
        "bounds",
        "failed",
        "ledger",
        "protocol",
        "round",
    }
