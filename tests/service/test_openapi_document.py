"""The OpenAPI document is valid, and whatever it allows or forbids is replied to as it says, never with a 500."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 30


def test_every_reply_to_invented_requests_is_one_that_is_documented(running: Callable[..., Any]) -> None:
    with running(owners=3, allowance=1e6, per_minute=1_000_000, cap=1e6) as up:
        document = schemathesis.openapi.from_url(f"{up.url}/openapi.json")
        document.validate()
        operations = [found.ok() for found in document.get_all_operations()]  # type: ignore[union-attr]
        assert len(operations) == 28
        for operation in operations:
            for headers in ({"Authorization": f"Bearer {up.here.tokens['op']}"}, {}):
                try_out(operation, headers, examples=EXAMPLES if headers else 5)


def try_out(operation: Any, headers: dict[str, str], *, examples: int) -> None:
    """Send requests that fit the document and requests that do not."""
    both = operation.as_strategy() | operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(case=both)
    def send(case: Any) -> None:
        reply = case.call_and_validate(headers=headers, checks=CHECKS)
        assert reply.status_code != 500  # 503 is what owners who refuse look like

    send()


NUMBER = st.floats(-20, 20) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 15)
POINT = st.tuples(st.integers(-1, 11) | NUMBER, st.integers(-1, 11) | NUMBER)
RING = st.lists(POINT, min_size=3, max_size=6)
POLYGON = st.lists(RING, min_size=1, max_size=2).map(lambda rings: {"type": "Polygon", "coordinates": rings})
RANGE = st.one_of(
    st.fixed_dictionaries({"circle": st.fixed_dictionaries(dict.fromkeys(("x", "y", "radius"), NUMBER))}),
    st.fixed_dictionaries(
        {"rectangle": st.fixed_dictionaries(dict.fromkeys(("west", "south", "east", "north"), NUMBER))}
    ),
    st.fixed_dictionaries({"polygon": POLYGON}),
)
MEASURE = st.fixed_dictionaries({"attribute": st.sampled_from(["fare", "tip"]), "clip": NUMBER, "resolution": NUMBER})
REST = st.fixed_dictionaries(
    {"kind": st.sampled_from(["count", "sum", "avg"]), "epsilon": st.sampled_from([0.3, 1, 5]) | NUMBER},
    optional={
        "method": st.sampled_from(["dp", "cohorts", "mpc"]), "since": NUMBER | st.text(max_size=8),
        "until": NUMBER, "signed": st.booleans(), "fresh": st.booleans(), "dry_run": st.booleans(),
    },
)  # fmt: skip


def test_invented_questions_are_answered_or_refused_by_the_book(running: Callable[..., Any]) -> None:
    seen = set()
    with running(owners=2, allowance=1e6, per_minute=1_000_000, cap=1e6) as up:
        headers = {"Authorization": f"Bearer {up.here.tokens['ann']}"}
        with httpx.Client(base_url=up.url, headers=headers) as ann:

            @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
            @given(where=RANGE, rest=REST, measure=MEASURE | st.just({}))
            def send(where: dict[str, Any], rest: dict[str, Any], measure: dict[str, Any]) -> None:
                before = up.here.spent()
                reply = ann.post("/v1/queries", json={**where, **rest, **measure})
                seen.add(reply.status_code)
                assert reply.status_code in (200, 422, 503), reply.text
                if reply.status_code == 422:
                    assert up.here.spent() == before

            send()
            assert ann.get("/v1/queries").status_code == 200
    assert seen >= {200, 422}
