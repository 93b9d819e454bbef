"""A live question for an error: it costs as little as that takes, and a share needs something to be a share of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from service_city import PATIENCE_S

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.sharpening import ALONE
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
        free = federation.count(everywhere, error="10%", method="dp")
        assert free.value == pytest.approx(160)
        assert free.charged == 0
        answer = federation.count(everywhere, error="10%", method="dp", fresh=True)
        low, high = answer.interval
        assert 24 < high - low <= 33  # 160 records: 16 to either side
        assert answer.charged > 0
        with pytest.raises(InvalidQuery, match="one price"):
            federation.count(everywhere, error="10%", epsilon=1)


PUBLISH = {"adaptive": True, "epsilon": 0.3, "method": "dp", "records": 160, "most_cells": 1_024}


def half_width(answer: dict[str, Any]) -> float:
    """How far an interval reaches to the farther side."""
    low, high = answer["interval"]
    return max(high - answer["value"], answer["value"] - low)


def test_what_a_published_map_knows_is_not_paid_and_of_the_rest_only_what_is_missing(
    service: Callable[..., Any],
) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann, here.client("bob") as bob:
            wanted = {"kind": "count", "method": "dp", "rectangle": {"west": 0, "south": 0, "east": 10, "north": 10}}
            made = (await ann.post("/v1/maps", json=PUBLISH)).json()
            known = (await ann.get(f"/v1/maps/{made['id']}/count?rectangle=0,0,10,10")).json()
            enough, before = half_width(known) * 1.01, here.spent("bob")

            told = (await bob.post("/v1/queries", json={**wanted, "error": enough, "dry_run": True})).json()
            free = (await bob.post("/v1/queries", json={**wanted, "error": enough})).json()
            assert (told["charge"], free["charged"], free["value"]) == (0, 0, known["value"])
            assert here.spent("bob") == before
            assert here.owners_spent() == {Epsilon.of(0.3)}

            sharper = {**wanted, "error": half_width(known) / 2}
            dear = (await bob.post("/v1/queries", json={**sharper, "fresh": True, "dry_run": True})).json()
            paid = (await bob.post("/v1/queries", json=sharper)).json()
            assert 0 < paid["charged"] < 0.95 * dear["charge"]
            assert any("published map" in note for note in paid["notes"])
            assert here.spent("bob") == Epsilon.of(paid["charged"])
            assert here.owners_spent() == {Epsilon(Epsilon.of(0.3).nano + here.spent("bob").nano)}
            # in one of a hundred cases both differ by more than chance explains, and owners' answer stands alone
            assert ALONE in paid["notes"] or half_width(paid) <= sharper["error"] * 1.05

            if known["value"] >= 1:  # in one of some hundred maps noise leaves nothing that could have a share
                percent = f"{100 * enough / known['value']:.1f}%"
                share = (await bob.post("/v1/queries", json={**wanted, "error": percent})).json()
                assert (share["charged"], share["value"]) == (0, known["value"])  # of what the map expects

    asyncio.run(story())


def test_a_map_of_something_else_or_of_other_owners_is_not_taken(service: Callable[..., Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            wanted = {"kind": "count", "method": "dp", "rectangle": {"west": 0, "south": 0, "east": 10, "north": 10}}
            await ann.post("/v1/maps", json={**PUBLISH, "epsilon": 40})
            told = {"error": 100, "dry_run": True}
            assert (await ann.post("/v1/queries", json={**wanted, **told})).json()["charge"] == 0
            for other in ({"kind": "people"}, {"since": "2026-03-02"}, {"fresh": True}):
                assert (await ann.post("/v1/queries", json={**wanted, **told, **other})).json()["charge"] > 0
            here.city.add("newcomer", 3.0, cap=100)
            await here.city.provider.desk.until_present(5, PATIENCE_S)
            assert (await ann.post("/v1/queries", json={**wanted, **told})).json()["charge"] > 0

    asyncio.run(story())
