"""Questions over HTTP: every kind and range, charged first and to the last nano, given back where they are free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.live.provider import LiveSettings
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.answers import PrivateAnswer
from fedgroup.questions.methods import PRIVATE
from fedgroup.questions.query import RangeQuery
from fedgroup.service.requests import QuestionAsked, range_query
from fedgroup.space import Box, Circle, PublicMap, Rectangle

Service = Callable[..., Any]
SQUARE = {"type": "Polygon", "coordinates": [[[1, 1], [9, 1], [9, 9], [1, 9], [1, 1]]]}
RANGES: list[dict[str, Any]] = [
    {"circle": {"x": 5, "y": 5, "radius": 20}},
    {"rectangle": {"west": 0, "south": 0, "east": 10, "north": 10}},
    {"polygon": SQUARE},
    {"polygon": {"type": "Feature", "properties": {"name": "square"}, "geometry": SQUARE}},
    {"polygon": {"type": "MultiPolygon", "coordinates": [SQUARE["coordinates"]]}},
]


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def test_every_range_is_counted_within_its_noise(service: Service) -> None:
    async def story() -> None:
        async with service(4, allowance=1000) as here, here.client() as ann:
            for where in RANGES:
                reply = await ann.post("/v1/queries", json={"kind": "count", "epsilon": 30, **where})
                assert reply.status_code == 200, reply.text
                assert abs(reply.json()["value"] - 160) <= 3
            assert here.spent() == Epsilon.of(90)  # three spellings of one polygon are one question

    run(story())


def test_sums_and_means_are_answered(service: Service) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            asked = {"rectangle": RANGES[1]["rectangle"], "epsilon": 20, "attribute": "fare", "clip": 4}
            total = (await ann.post("/v1/queries", json={"kind": "sum", **asked})).json()
            mean = (await ann.post("/v1/queries", json={"kind": "avg", **asked})).json()
            assert total["value"] == pytest.approx(320, abs=3)
            assert mean["value"] == pytest.approx(2, abs=0.1)
            assert mean["interval"][0] <= 2 <= mean["interval"][1]

    run(story())


def test_a_reply_holds_what_the_command_prints_and_an_id(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            reply = (await ann.post("/v1/queries", json=question)).json()
            assert set(reply) == {*(each.name for each in fields(PrivateAnswer)), "id", "lonlat"}
            assert (reply["heard"], reply["missing"], reply["private"], reply["charged"]) == (4, 0, True, 1)
            assert "asked by ann" in here.city.owners["owner-0"].ledger.entries()[-1].question

    run(story())


def test_a_dry_run_tells_the_error_to_expect_and_spends_nothing(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(6, allowance=2) as here, here.client() as ann:
            for method, noises in (("dp", 6), ("mpc", 6 / 4)):
                asked = question | {"method": method, "dry_run": True, "epsilon": 0.3}
                told = (await ann.post("/v1/queries", json=asked)).json()
                query = RangeQuery("count", Circle(5, 5, 3.2), Epsilon.of(0.3))
                async with here.city.provider.question(query, method=method) as asked:
                    expected = await asked.expect(left=Epsilon.of(2))
                assert told["errors"]["count"]["half_width"] == expected.errors["count"].half_width
                assert told["noises"] == pytest.approx(noises)
                assert (told["left"], told["affordable"], told["charge"]) == (2, True, 0.3)
            dear = await ann.post("/v1/queries", json=question | {"dry_run": True, "epsilon": 2.1})
            assert not dear.json()["affordable"]
            assert (here.spent(), here.owners_spent()) == (Epsilon(0), {Epsilon(0)})

    run(story())


def test_the_same_again_is_free_and_fresh_is_not(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            first, again = [(await ann.post("/v1/queries", json=question)).json() for _ in range(2)]
            assert (again["value"], again["stored"], again["charged"]) == (first["value"], True, 0)
            assert again["id"] != first["id"]
            assert here.spent() == Epsilon.of(1)
            await ann.post("/v1/queries", json=question | {"fresh": True})
            assert (here.spent(), here.owners_spent()) == (Epsilon.of(2), {Epsilon.of(2)})

    run(story())


def test_an_allowance_is_kept_to_the_last_nano(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2, allowance=0.3) as here, here.client() as ann:
            too_much = await ann.post("/v1/queries", json=question | {"epsilon": 0.300000001})
            assert too_much.status_code == 403
            assert (too_much.json()["asked"], too_much.json()["left"]) == (0.300000001, 0.3)
            for _ in range(3):
                paid = await ann.post("/v1/queries", json=question | {"epsilon": 0.1, "fresh": True})
                assert paid.status_code == 200
            assert here.city.state.user("ann").left == Epsilon(0)
            last = await ann.post("/v1/queries", json=question | {"epsilon": 0.000001, "fresh": True})
            assert last.json()["type"] == "urn:fedgroup:problem:budget-exhausted"
            assert (await ann.get("/v1/budget")).json()["left"] == 0
            assert here.owners_spent() == {Epsilon.of(0.3)}

    run(story())


def falls_silent(here: Any, name: str) -> None:
    """Make an owner say nothing from its next `Go` on: its masked group's round is spoilt."""
    node, fallen = here.city.owners[name].node, []
    usual = node.prepare

    def receive(sender: str, message: Any, **named: Any) -> Any:
        if fallen or type(message).__name__ == "Go":
            fallen.append(1)
            return []
        return usual(sender, message, **named)

    node.prepare = receive


@pytest.mark.parametrize(("allowance", "status", "spent"), [(5, 200, 2), (1.5, 503, 1)])
def test_a_second_round_is_charged_before_it_is_run(
    allowance: float, status: int, spent: float, service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(4, allowance=allowance, dropouts=0.2, recovery=False) as here, here.client() as ann:
            await ann.post("/v1/queries", json=question | {"method": "cohorts", "dry_run": True})
            falls_silent(here, "owner-3")
            reply = await ann.post("/v1/queries", json=question | {"method": "cohorts"})
            assert reply.status_code == status, reply.text
            assert here.spent() == Epsilon.of(spent)
            (kept,) = (await ann.get("/v1/queries")).json()["queries"]
            assert kept["epsilon"] == spent

    in_driven_time(story())


def test_a_question_that_failed_stays_charged_and_on_record(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            here.city.hush("owner-0")
            reply = await ann.post("/v1/queries", json=question)
            assert (reply.status_code, reply.json()["type"]) == (503, "urn:fedgroup:problem:too-few-heard")
            assert int(reply.headers["Retry-After"]) >= 1
            assert reply.json()["charged"] is True
            assert here.spent() == Epsilon.of(1)
            kept = (await ann.get(f"/v1/queries/{reply.json()['id']}")).json()
            assert (kept["state"], kept["answer"], kept["epsilon"]) == ("failed", None, 1)

    in_driven_time(story())


def test_without_owners_nothing_is_asked_and_nothing_spent(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann, here.client("op") as operator:
            assert (await ann.post("/v1/queries", json=question)).status_code == 503
            assert (await operator.post("/v1/plans", json={"epsilon": 1})).status_code == 503
            assert (here.spent(), here.spent("op")) == (Epsilon(0), Epsilon(0))

    run(story())


MANY_POINTS = [[5 + 4 * (-1) ** i, i / 1000] for i in range(2001)]
CROSSED = [[0, 0], [9, 9], [9, 0], [0, 9]]
REFUSED = [
    ({"circle": {"x": 99, "y": 99, "radius": 1}}, 422, "invalid-query"),
    ({"circle": None}, 422, "invalid-query"),
    ({"rectangle": {"west": 0, "south": 0, "east": 10, "north": 10}}, 422, "invalid-query"),
    ({"circle": None, "rectangle": {"west": 5, "south": 0, "east": 1, "north": 10}}, 422, "invalid-query"),
    ({"circle": None, "polygon": {"type": "Point", "coordinates": [1, 2]}}, 422, "invalid-query"),
    ({"circle": None, "polygon": {"type": "Polygon", "coordinates": [CROSSED]}}, 422, "invalid-query"),
    ({"circle": None, "polygon": {"type": "Polygon", "coordinates": [MANY_POINTS]}}, 422, "invalid-query"),
    ({"attribute": "fare"}, 422, "invalid-query"),
    ({"kind": "sum"}, 422, "invalid-query"),
    ({"kind": "avg", "attribute": "fare", "clip": 5, "epsilon": 0.000000001}, 422, "invalid-query"),
    ({"kind": "sum", "attribute": "fare", "clip": 4e9, "resolution": 1, "epsilon": 0.00001}, 422, "invalid-query"),
    ({"since": "yesterday"}, 422, "invalid-query"),
    ({"since": 10, "until": 5}, 422, "invalid-query"),
    ({"method": "fedgroup"}, 409, "method-not-ready"),
    ({"method": "exact"}, 422, "invalid-request"),
    ({"epsilon": 0}, 422, "invalid-request"),
    ({"epsilon": "1"}, 422, "invalid-request"),
    ({"epsilom": 1}, 422, "invalid-request"),
    ({"circle": {"x": True, "y": 5, "radius": 1}}, 422, "invalid-request"),
]  # fmt: skip


def test_what_cannot_be_asked_is_refused_before_it_is_charged(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            for wrong, status, kind in REFUSED:
                reply = await ann.post("/v1/queries", json=question | wrong)
                assert (reply.status_code, reply.json()["type"]) == (status, f"urn:fedgroup:problem:{kind}"), wrong
            assert (await ann.get("/v1/queries")).json() == {"queries": []}
            assert (here.spent(), here.owners_spent()) == (Epsilon(0), {Epsilon(0)})

    run(story())


def test_thirty_questions_at_once_get_their_own_answers(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4, allowance=1000) as here, here.client() as ann:
            circles = [{"x": 2 + 0.2 * i, "y": 5, "radius": 3.5} for i in range(30)]
            asked = [question | {"circle": circle, "epsilon": 30} for circle in circles]
            replies = await asyncio.gather(*(ann.post("/v1/queries", json=each) for each in asked))
            for circle, reply in zip(circles, replies, strict=True):
                query = RangeQuery("count", Circle(**circle), Epsilon.of(30))
                assert abs(reply.json()["value"] - here.city.true_count(query)) <= 2
            assert here.spent() == Epsilon.of(900)

    run(story())


def test_a_rectangle_in_degrees_crosses_the_antimeridian_where_that_is_said() -> None:
    fiji = PublicMap(Box(177, -20, 182, -15), lonlat=True)
    sides = {"west": 179, "south": -18, "east": -179, "north": -16}

    def understood(public_map: PublicMap, **said: bool) -> RangeQuery:
        asked = QuestionAsked.model_validate({"kind": "count", "epsilon": 1, "rectangle": sides | said})
        return range_query(asked, LiveSettings("fiji", public_map, Protection()))

    assert understood(fiji, across_antimeridian=True).range == Rectangle(179, -18, 181, -16)
    with pytest.raises(InvalidQuery, match="west < east"):
        understood(fiji)
    with pytest.raises(InvalidQuery, match="in degrees"):
        understood(PublicMap(fiji.domain), across_antimeridian=True)


def test_the_methods_are_those_of_the_provider() -> None:
    (choices, _none) = QuestionAsked.model_json_schema()["properties"]["method"]["anyOf"]
    assert tuple(choices["enum"]) == PRIVATE
