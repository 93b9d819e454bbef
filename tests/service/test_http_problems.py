"""What goes wrong is told by RFC 9457, in words that programs can rely on, and without anything private."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import (
    BudgetExhausted,
    FedgroupError,
    InvalidInput,
    InvalidQuery,
    LedgerUnavailable,
    ServiceUnavailable,
    TooFewHeard,
)
from fedgroup.service.bodies import LimitedBodies
from fedgroup.service.problems import KINDS, PREFIX, Problem, error_of, problem_of

Service = Callable[..., Any]
JSON = {"Content-Type": "application/json"}


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def test_problems_have_the_members_and_the_media_type_of_the_standard(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2, allowance=1) as here, here.client() as ann:
            replies = [
                await ann.post("/v1/queries", json=question | {"epsilon": 2}),
                await ann.post("/v1/queries", json={}),
                await ann.get("/v1/queries/unknown"),
                await ann.get("/nowhere"),
                await ann.delete("/health"),
                await ann.get("/v1/budget", headers={"Authorization": "Bearer x"}),
            ]
            assert [reply.status_code for reply in replies] == [403, 422, 404, 404, 405, 401]
            for reply in replies:
                assert reply.headers["content-type"] == "application/problem+json"
                body = reply.json()
                assert body["status"] == reply.status_code
                assert body["type"].startswith(PREFIX) or body["type"] == "about:blank"
                assert body["title"]
                assert body["detail"]

    run(story())


BODIES = [
    b"", b"{", b"null", b"[]", b'"text"', b"\xff", b'{"epsilon": NaN}', b"[" * 30_000, b'{"kind": "\\ud800"}',
    b'{"kind": "count", "epsilon": 1' + b"0" * 5_000 + b"}",
    b'{"kind": "count", "epsilon": 1, "circle": {"x": 1e999, "y": 1, "radius": 1}}',
    b'{"kind": "count", "epsilon": 1, "circle": {"x": 1' + b"0" * 400 + b', "y": 1, "radius": 1}}',
    b'{"kind": "count", "epsilon": 1, "polygon": {"type": "Polygon", "coordinates": ' + b"[" * 900 + b"]" * 900 + b"}}",
    b'{"kind": "count", "epsilon": 1, "polygon": {"type": "Polygon", "coordinates": [[[NaN, 1], [2, 3], [3, 1]]]}}',
    b'{"kind": "count", "epsilon": 1, "polygon": {"type": "\\ud800", "coordinates": []}}',
    b'{"kind": "count", "epsilon": 1, "polygon": {"type": "Feature", "geometry": null}}',
    b'{"kind": "count", "epsilon": 1, "polygon": {}}',
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_is_no_question_is_refused_and_not_repeated(body: bytes, service: Service) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            reply = await ann.post("/v1/queries", content=body, headers=JSON)
            assert reply.status_code == 422, reply.text
            assert len(reply.content) < 2_000
            assert here.spent() == Epsilon(0)

    run(story())


def test_odd_geojson_that_means_a_polygon_is_kept_in_plain_words(service: Service) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            odd = (
                b'{"kind": "count", "epsilon": 1, "polygon": {"type": "Feature",'
                b'"properties": {"a": NaN, "b": "\\ud800"},'
                b'"geometry": {"type": "Polygon", "coordinates": [[[0, 0, "\\ud800"], [9, 0, NaN], [9, 9], [0, 9]]]}}}'
            )
            assert (await ann.post("/v1/queries", content=odd, headers=JSON)).status_code == 200
            (kept,) = (await ann.get("/v1/queries")).json()["queries"]
            ring = [[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]
            assert kept["request"]["polygon"] == {"type": "Polygon", "coordinates": [ring]}
            assert here.spent() == Epsilon.of(1)

    run(story())


@pytest.mark.parametrize("chunked", [False, True])
def test_large_requests_are_refused_whether_they_say_so_or_not(chunked: bool, service: Service) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(65):
            yield b" " * 1024

    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            content = parts() if chunked else b" " * (65 * 1024)
            reply = await ann.post("/v1/queries", content=content, headers=JSON)
            assert (reply.status_code, reply.json()["type"]) == (413, PREFIX + "too-large")

    run(story())


def test_a_request_that_never_ends_is_given_up() -> None:
    async def never() -> Any:
        await asyncio.Event().wait()

    async def story() -> None:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await LimitedBodies(never, most_seconds=0.01)({"type": "http"}, never, send)
        assert sent[0]["status"] == 408

    run(story())


def test_keys_that_are_no_keys_are_refused(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(1) as here, here.client() as ann:
            for key in ("", "two words", "x" * 256, "k\xe9y"):
                headers = {b"Idempotency-Key": key.encode("latin-1")}
                assert (await ann.post("/v1/queries", json=question, headers=headers)).status_code == 422, key
            assert here.spent() == Epsilon(0)

    run(story())


SECRET = "/srv/private/provider.db row 17"


@pytest.mark.parametrize(
    ("fault", "status"), [(LedgerUnavailable(SECRET), 503), (InvalidInput(SECRET), 500), (RuntimeError(SECRET), 500)]
)
@pytest.mark.parametrize("place", ["user_of", "begin", "earlier"])
def test_unforeseen_errors_tell_nothing(
    fault: Exception, status: int, place: str, service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(1) as here, here.client(raise_app_exceptions=False) as ann:

            def fails(*_words: Any, **_named: Any) -> None:
                raise fault

            setattr(here.city.state, place, fails)
            reply = await ann.post("/v1/queries", json=question)
            assert reply.status_code == status
            assert "private" not in reply.text
            assert "Traceback" not in reply.text
            if status == 503:
                assert reply.headers["Retry-After"]

    run(story())


ERRORS = [
    BudgetExhausted(asked=0.5, left=0.25, cap=1),
    InvalidQuery("a radius is greater than 0"),
    TooFewHeard(heard=3, needed=4),
    TooFewHeard(heard=0, needed=1, refused={"budget": 2, "radius": 1}),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{type(error).__name__}-{len(str(error))}")
def test_errors_come_back_as_they_were(error: FedgroupError) -> None:
    problem = problem_of(error)
    again = error_of(problem.status, problem.body())
    assert (type(again), str(again)) == (type(error), str(error))


def test_that_nothing_was_charged_comes_back_too() -> None:
    error = TooFewHeard(heard=0, needed=1, refused={"radius": 1}, charged=False)
    again: Any = error_of(503, problem_of(error, charged=False).body())
    assert (again.charged, str(again)) == (False, str(error))
    again = error_of(503, problem_of(error, charged=True).body())
    assert again.charged is True


def test_an_older_service_that_tells_no_reasons_is_understood() -> None:
    body = problem_of(TooFewHeard(heard=0, needed=1, refused={"budget": 2})).body()
    told: Any = error_of(503, body)
    assert told.refused == {"budget": 2}
    del body["refused"]
    told = error_of(503, body)
    assert told.refused == {}


@pytest.mark.parametrize("kind", KINDS)
def test_every_problem_becomes_an_error_with_an_exit_code_that_fits(kind: str) -> None:
    problem = Problem(kind, "told", asked=1, left=0, cap=0, heard=0, needed=1)
    error = error_of(problem.status, problem.body())
    later = problem.status in (408, 429, 500, 503) or kind == "question-failed"
    assert error.exit_code == (3 if kind == "budget-exhausted" else 75 if later else 2)


ODD: list[dict[str, Any]] = [
    {},
    {"type": PREFIX + "budget-exhausted"},
    {"type": PREFIX + "too-few-heard", "heard": 0, "needed": 1, "refused": [3]},
    {"type": 5, "detail": ["x"], "errors": 3},
]


@pytest.mark.parametrize("body", ODD)
def test_replies_of_other_programs_become_errors_too(body: dict[str, Any]) -> None:
    assert isinstance(error_of(502, body), ServiceUnavailable)


def test_every_problem_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/errors.md").read_text(encoding="utf-8")
    for kind, (status, _title) in KINDS.items():
        assert f"| `{kind}` | {status} |" in page, kind
