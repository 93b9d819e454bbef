"""A federation that counts rho, over HTTP: prices, refusals, and what is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import fedgroup as fg
from fedgroup.privacy.accounting import Accounting
from fedgroup.rho import Delta, Rho

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


def test_pure_epsilon_is_told_and_takes_no_rho(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            told = (await ann.get("/v1/federation")).json()
            assert (told["accounting"], told["delta"]) == ("pure", None)
            refused = await ann.post("/v1/queries", json={"kind": "count", "rho": 0.5, **CIRCLE})
            assert refused.status_code == 422
            assert "pure epsilon" in refused.json()["detail"]
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
        with pytest.raises(fg.InvalidInput):
            federation.count(fg.Circle(5, 5, 3.2))
