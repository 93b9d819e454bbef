"""What can be asked about is told, and all else is refused before it is charged; plans have one default."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.live.settings import UsualGrouping
from fedgroup.privacy.sensitivity import Protection
from fedgroup.service.requests import PlanAsked, grid_of, grouping_settings

Service = Callable[..., Any]
SUM = {"kind": "sum", "circle": {"x": 5, "y": 5, "radius": 3.2}, "epsilon": 1, "clip": 4, "method": "dp"}


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def test_attributes_and_times_are_public_facts(service: Service) -> None:
    async def story() -> None:
        async with service(1, attributes=("fare", "tip"), times=False) as here, here.client() as ann:
            told = (await ann.get("/v1/federation")).json()
            assert (told["attributes"], told["times"], told["name"]) == (["fare", "tip"], False, "city")

    run(story())


def test_what_nobody_said_is_unknown_and_owners_decide(service: Service) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            told = (await ann.get("/v1/federation")).json()
            assert (told["attributes"], told["times"]) == (None, None)
            assert (await ann.post("/v1/queries", json=SUM | {"attribute": "fare"})).status_code == 200
            refused = await ann.post("/v1/queries", json=SUM | {"attribute": "tip"})
            assert (refused.status_code, refused.json()["refused"]) == (503, {"attribute": 1})
            assert "no such attribute" in refused.json()["detail"]

    run(story())


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_attribute_that_is_not_listed_is_refused_with_those_that_are(dry_run: bool, service: Service) -> None:
    async def story() -> None:
        async with service(1, attributes=("fare",)) as here, here.client() as ann:
            asked = SUM | {"dry_run": dry_run}
            refused = await ann.post("/v1/queries", json=asked | {"attribute": "tip"})
            assert (refused.status_code, refused.json()["type"][-13:]) == (422, "invalid-query")
            assert "'tip'" in refused.json()["detail"]
            assert "can be asked about: fare" in refused.json()["detail"]
            assert (here.spent(), here.owners_spent()) == (Epsilon(0), {Epsilon(0)})
            assert (await ann.post("/v1/queries", json=asked | {"attribute": "fare"})).status_code == 200

    run(story())


def test_a_time_window_where_there_are_no_times_is_refused(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(1, times=False) as here, here.client() as ann:
            for end in ("since", "until"):
                refused = await ann.post("/v1/queries", json=question | {end: "2026-01-05"})
                assert (refused.status_code, "no times" in refused.json()["detail"]) == (422, True)
            assert here.spent() == Epsilon(0)
            assert (await ann.post("/v1/queries", json=question)).status_code == 200

    run(story())


def test_a_plan_takes_what_it_does_not_say_from_the_providers_file() -> None:
    usual, bare = UsualGrouping(columns=3, rows=4, graph="noisy", leftovers="alone"), PlanAsked(epsilon=1)
    assert grid_of(bare, usual) == (3, 4)
    found = grouping_settings(bare, usual, Protection())
    assert (found.graph, found.leftovers) == ("noisy", "alone")
    said = PlanAsked(epsilon=1, columns=9, rows=8, graph="topcell", leftovers="cohort")
    found = grouping_settings(said, usual, Protection())
    assert (grid_of(said, usual), found.graph, found.leftovers) == ((9, 8), "topcell", "cohort")


def test_an_operator_is_told_when_most_owners_are_alone(service: Service) -> None:
    lonely = {"epsilon": 20, "columns": 64, "rows": 64, "graph": "topcell", "leftovers": "alone"}

    async def story() -> None:
        usual = UsualGrouping(columns=2, rows=2, graph="topcell", leftovers="alone")
        async with service(4, grouping=usual) as here, here.client("op") as operator:
            alone = (await operator.post("/v1/plans", json=lonely | {"largest": 1})).json()
            note = "4 of 4 owners are in no group: a coarser grid or a larger epsilon may help"
            assert (alone["alone"], alone["notes"]) == (4, [note])
            made = (await operator.post("/v1/plans", json={"epsilon": 20})).json()
            assert (made["sizes"], made["alone"], made["notes"]) == ([2, 2], 0, [])

    run(story())


@pytest.mark.parametrize("header", [{}, {"Content-Type": "application/x-www-form-urlencoded"}])
def test_a_body_that_does_not_say_it_is_json_is_told_the_header(header: dict[str, str], service: Service) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            reply = await ann.post("/v1/queries", content=b'{"kind": "count"}', headers=header)
            assert reply.status_code == 422
            assert "Content-Type: application/json" in reply.json()["detail"]
            assert "dictionary" not in reply.text
            wrong = await ann.post("/v1/queries", json={"epsilon": 0.1})
            assert wrong.json()["errors"][0]["where"] == "body.kind"

    run(story())
