"""A live question for an error: it costs as little as that takes, and a share needs something to be a share of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.service.client import connect

CIRCLE = {"circle": {"x": 5, "y": 5, "radius": 3.2}}


def test_an_error_is_priced_by_the_owners_that_are_here(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            wanted = {"kind": "count", "method": "dp", **CIRCLE}
            found = (await ann.post("/v1/queries", json={**wanted, "error": "10% of 100"})).json()
            low, high = found["interval"]
            assert 0 < high - low <= 20
            assert here.owners_spent() == {here.spent()} == {Epsilon.of(found["epsilon"])}
            less = {**wanted, "epsilon": found["epsilon"] * 0.9, "dry_run": True}
            told = (await ann.post("/v1/queries", json=less)).json()
            assert told["errors"]["count"]["half_width"] > 10
            made = (await ann.post("/v1/maps", json={"grid": [2, 2], "error": 10, "method": "dp"})).json()
            assert made["epsilon"] == pytest.approx(found["epsilon"])
            spent = here.spent()
            for wrong, why in (
                ({"error": "10%"}, "a guess of it"),
                ({"error": 5, "epsilon": 1}, "one price"),
                ({"error": "soon"}, "an error is"),
            ):
                refused = await ann.post("/v1/queries", json={**wanted, **wrong})
                assert (refused.status_code, why in refused.json()["detail"]) == (422, True), refused.text
            assert here.spent() == spent

    asyncio.run(story())


def test_a_client_takes_its_guess_from_a_published_map(running: Callable[..., Any]) -> None:
    with running(owners=4) as up, connect(up.url, up.here.tokens["ann"]) as federation:
        everywhere = fg.Rectangle(0, 0, 10, 10)
        with pytest.raises(InvalidInput, match="publish one"):
            federation.count(everywhere, error="10%", method="dp")
        federation.publish(epsilon=40, method="dp", records=160, most_cells=1_024)
        answer = federation.count(everywhere, error="10%", method="dp")
        low, high = answer.interval
        assert 24 < high - low <= 33  # 160 records: 16 to either side
        with pytest.raises(InvalidQuery, match="one price"):
            federation.count(everywhere, error="10%", epsilon=1)
