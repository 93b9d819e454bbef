"""A federation that counts rho, over HTTP: prices, refusals, and what is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import fedgroup as fg
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.privacy.accounting import RHO_IN_PURE, Accounting
from fedgroup.rho import PICO, Delta, Rho

ZCDP = Accounting(Delta.of("1e-6"))
CIRCLE = {"circle": {"x": 5, "y": 5, "radius": 3.2}}


def test_a_question_has_one_price(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4, accounting=ZCDP) as here, here.client() as ann:
            told = (await ann.get("/v1/federation")).json()
            assert (told["accounting"], told["delta"]) == ("zcdp", 1e-6)
            reply = (await ann.post("/v1/queries", json={"kind": "count", "rho": 0.5, **CIRCLE})).json()
            assert (reply["rho"], reply["delta"], reply["charged"]) == (0.5, 1e-6, 1.0)
            made = (await ann.post("/v1/maps", json={"grid": [2, 2], "rho": 0.5})).json()
            assert (made["rho"], len(made["values"])) == (0.5, 4)
            for wrong in ({}, {"rho": 0.5, "epsilon": 1}, {"rho": -1}, {"rho": 1e-13}):
                refused = await ann.post("/v1/queries", json={"kind": "count", **CIRCLE, **wrong})
                assert refused.status_code == 422, refused.text
            spent = {owner.ledger.left_rho() for owner in here.city.owners.values()}
            assert len(spent) == 1
            lines = here.city.owners["owner-0"].ledger.entries()
            assert [line.rho for line in lines if line.purpose == "query"] == [Rho.of(0.5)] * 2

    asyncio.run(story())


def counted(here: Any) -> set[int]:
    """What owners counted in all, in parts of 10^-12."""
    return {sum(line.rho.pico for line in owner.ledger.entries() if line.rho) for owner in here.city.owners.values()}


def test_maps_and_plans_are_charged_the_rho_that_they_tell(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4, accounting=ZCDP, cap=1_000.0) as here, here.client() as ann, here.client("op") as op:
            said = {"adaptive": True, "rho": 50, "records": 24, "most_cells": 256, "method": "mpc"}
            expected = (await ann.post("/v1/maps", json={**said, "dry_run": True})).json()
            made = (await ann.post("/v1/maps", json=said)).json()
            assert 49.99 < made["rho"] <= 50
            assert counted(here) == {round(made["rho"] * PICO)}
            assert (expected["rho"], expected["charge"]) == (made["rho"], made["epsilon"])
            assert made["delta"] == 0  # it holds as a pure release too: its noise is Laplace noise
            assert made["epsilon"] == pytest.approx((2 * 50 / (154 / 256)) ** 0.5)
            assert float(here.spent()) == made["epsilon"] == made["charged"]
            assert (await ann.get(f"/v1/maps/{made['id']}")).json() == made
            grouping = {"rho": 200, "columns": 2, "rows": 2, "graph": "topcell"}
            plan = (await op.post("/v1/plans", json=grouping, headers={"Idempotency-Key": "k"})).json()
            assert (plan["epsilon"], plan["rho"], here.spent("op")) == (20, 200, Epsilon.of(20))
            assert counted(here) == {round(made["rho"] * PICO) + 200 * PICO}
            again = await op.post("/v1/plans", json=grouping, headers={"Idempotency-Key": "k"})
            assert (again.json(), here.spent("op")) == (plan, Epsilon.of(20))
            (shown,) = [each for each in (await ann.get("/v1/groups")).json()["plans"] if each["method"] == "fedgroup"]
            assert shown["rho"] == 200
            for wrong in ({"epsilon": 1}, {"error": 10}):
                refused = await ann.post("/v1/maps", json={**said, **wrong})
                assert (refused.status_code, "one price" in refused.json()["detail"]) == (422, True)
            assert (await op.post("/v1/plans", json={**grouping, "epsilon": 1})).status_code == 422

    asyncio.run(story())


def test_pure_epsilon_is_told_and_takes_no_rho(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            told = (await ann.get("/v1/federation")).json()
            assert (told["accounting"], told["delta"]) == ("pure", None)
            refused = await ann.post("/v1/queries", json={"kind": "count", "rho": 0.5, **CIRCLE})
            assert refused.status_code == 422
            assert "pure epsilon" in refused.json()["detail"]
            async with here.client("op") as op:
                told = [await ann.post("/v1/maps", json={"adaptive": True, "rho": 0.5, "records": 24})]
                for graph in ("topcell", "secure"):
                    told.append(await op.post("/v1/plans", json={"rho": 0.5, "graph": graph}))
            assert [(each.status_code, each.json()["detail"]) for each in told] == [(422, RHO_IN_PURE)] * 3
            assert (here.spent(), here.spent("op"), here.owners_spent()) == (NOTHING, NOTHING, {NOTHING})
            reply = (await ann.post("/v1/queries", json={"kind": "count", "epsilon": 1, **CIRCLE})).json()
            assert (reply["rho"], reply["delta"]) == (None, 0.0)

    asyncio.run(story())


def test_a_client_asks_for_a_rho(running: Callable[..., Any]) -> None:
    with running(owners=4, accounting=ZCDP) as up, fg.connect(up.url, up.here.tokens["ann"]) as federation:
        answer = federation.count(fg.Circle(5, 5, 3.2), rho=2)
        assert answer.rho == 2.0
        made = federation.map(grid=(2, 2), rho=2)
        assert (made.rho, made.query.rho) == (2.0, Rho.of(2))
        assert federation.expect("count", fg.Circle(5, 5, 3.2), rho=2).rho == 2.0
        shown = federation.publish(rho=2, records=24, most_cells=256, method="dp")
        assert 1.999 < federation.published().rho == shown.rho <= 2
        assert federation.expect_map(adaptive=True, rho=2, records=24, most_cells=256, method="dp").rho == shown.rho
        with pytest.raises(fg.InvalidQuery, match="one price"):
            federation.publish(rho=2, epsilon=1)
        with fg.connect(up.url, up.here.tokens["op"]) as operator:
            assert operator.regroup(rho=2, columns=2, rows=2, graph="topcell")["rho"] == 2
        with pytest.raises(fg.InvalidInput):
            federation.count(fg.Circle(5, 5, 3.2))
