"""One group has so many members at most: what needs more is refused before anybody is charged, or made into several."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from fedgroup.cli.main import main
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.settings import LiveSettings, UsualGrouping
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import Box, PublicMap

Service = Callable[..., Any]


@pytest.mark.parametrize("said", [{}, {"fresh": True}, {"dry_run": True}])
def test_mpc_of_too_many_owners_is_refused_with_the_number_before_anybody_is_charged(
    said: dict[str, Any], service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(5, mpc_most=4) as here, here.client() as ann:
            refused = await ann.post("/v1/queries", json=question | {"method": "mpc"} | said)
            assert (refused.status_code, refused.json()["type"][-13:]) == (422, "invalid-query")
            assert "5 owners are here" in refused.json()["detail"]
            assert "at most 4" in refused.json()["detail"]
            assert "cohorts" in refused.json()["detail"]
            assert (here.spent(), here.owners_spent()) == (Epsilon(0), {Epsilon(0)})
            assert "mpc" not in (await ann.get("/v1/federation")).json()["methods"]
            assert (await ann.post("/v1/queries", json=question | {"method": "cohorts"} | said)).status_code == 200

    asyncio.run(story())


def test_mpc_of_as_many_owners_as_are_allowed_is_answered(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4, mpc_most=4) as here, here.client() as ann:
            answer = (await ann.post("/v1/queries", json=question | {"method": "mpc"})).json()
            assert (answer["groups"], answer["heard"]) == (1, 4)
            assert "mpc" in (await ann.get("/v1/federation")).json()["methods"]

    asyncio.run(story())


def test_owners_who_come_while_mpc_is_asked_make_two_groups_and_no_error(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(5, mpc_most=4) as here, here.client() as ann:
            here.city.provider.require_possible = lambda _method: None  # as when the fifth came just after
            answer = (await ann.post("/v1/queries", json=question | {"method": "mpc"})).json()
            assert (answer["groups"], answer["heard"]) == (2, 5)

    asyncio.run(story())


def test_the_command_exits_with_2_and_says_what_to_do(
    running: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(owners=5, mpc_most=4) as up:
        monkeypatch.setenv("FEDGROUP_TOKEN", up.here.tokens["ann"])
        words = ["ask", "count", "--near", "5,5", "--within", "3", "--epsilon", "1", "--method", "mpc", "--url", up.url]
        monkeypatch.setattr("sys.argv", ["fedgroup", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 2
    assert "at most 4" in capsys.readouterr().err


@pytest.mark.parametrize("said", [{"cohort_size": 5}, {"largest": 5}])
def test_a_plan_of_groups_that_are_too_large_is_refused_before_anybody_is_charged(
    said: dict[str, Any], service: Service
) -> None:
    async def story() -> None:
        async with service(2, mpc_most=4) as here, here.client("op") as operator:
            refused = await operator.post("/v1/plans", json={"epsilon": 1} | said)
            assert (refused.status_code, "at most 4" in refused.json()["detail"]) == (422, True)
            assert (here.spent("op"), here.owners_spent()) == (Epsilon(0), {Epsilon(0)})

    asyncio.run(story())


def test_similar_owners_who_are_too_many_for_one_group_form_several(service: Service) -> None:
    one_cell = UsualGrouping(columns=1, rows=1, graph="topcell", leftovers="alone")

    async def story() -> None:
        async with service(10, mpc_most=4, grouping=one_cell) as here, here.client("op") as operator:
            made = (await operator.post("/v1/plans", json={"epsilon": 20})).json()
            assert (made["sizes"], made["alone"]) == ([4, 3, 3], 0)

    asyncio.run(story())


@pytest.mark.parametrize("said", [{"mpc_most": 1}, {"mpc_most": 2_001}, {"cohort_size": 501}, {"cohort_size": 0}])
def test_a_file_with_groups_that_are_too_large_or_empty_is_refused(said: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=json.dumps(next(iter(said.values())))):
        LiveSettings("city", PublicMap(Box(0, 0, 10, 10)), Protection(), **said)
