"""Who sees what: tokens, rates, one's own history, counts and sizes for users, names for operators."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx

from fedgroup.epsilon import Epsilon
from fedgroup.service.rates import Rates

Service = Callable[..., Any]


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


def test_nothing_but_health_the_public_log_and_the_document_is_for_strangers(
    service: Service, question: dict[str, Any]
) -> None:
    async def story() -> None:
        async with service(2) as here, here.client(None) as stranger:
            document = (await stranger.get("/openapi.json")).json()
            assert (await stranger.get("/docs")).status_code == 200
            for path, verb in [(path, verb) for path, verbs in document["paths"].items() for verb in verbs]:
                body = question if verb == "post" else None
                for words in ("Bearer unknown", "Basic YTpi", ""):
                    reply = await stranger.request(verb, path, json=body, headers={"Authorization": words})
                    open_to_all = path in ("/health", "/ready", "/v1/log") or (
                        path == "/metrics" and words != "Bearer unknown"
                    )
                    assert reply.status_code == (200 if open_to_all else 401), (path, words)
            assert (await stranger.get("/health")).json() == {"ok": True}
            assert here.spent() == Epsilon(0)

    run(story())


def test_a_removed_users_token_is_worthless(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here, here.client() as ann:
            assert (await ann.get("/v1/budget")).status_code == 200
            here.city.state.remove_user("ann")
            reply = await ann.get("/v1/budget")
            assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, "Bearer")

    run(story())


def test_nobody_sees_anothers_questions(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann, here.client("bob") as bob, here.client("op") as operator:
            mine = (await ann.post("/v1/queries", json=question)).json()
            assert (await ann.get(f"/v1/queries/{mine['id']}")).json()["answer"] == mine
            unknown = await bob.get("/v1/queries/0123456789abcdef01234567")
            for other in (bob, operator):
                reply = await other.get(f"/v1/queries/{mine['id']}")
                assert (reply.status_code, reply.json()) == (404, unknown.json())
                assert (await other.get("/v1/queries")).json() == {"queries": []}

    run(story())


def test_history_is_the_newest_first_and_as_long_as_wished(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2) as here, here.client() as ann:
            for epsilon in (1, 2, 3):
                await ann.post("/v1/queries", json=question | {"epsilon": epsilon})
            found = (await ann.get("/v1/queries", params={"limit": 2})).json()["queries"]
            assert [each["request"]["epsilon"] for each in found] == [3, 2]
            assert (await ann.get("/v1/queries", params={"limit": 101})).status_code == 422

    run(story())


def test_users_see_counts_and_sizes_and_operators_names(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann, here.client("op") as operator:
            made = await operator.post("/v1/plans", json={"epsilon": 20, "columns": 2, "rows": 2, "graph": "topcell"})
            assert sorted(map(sorted, made.json()["members"])) == [["owner-0", "owner-2"], ["owner-1", "owner-3"]]
            await ann.post("/v1/queries", json=question | {"method": "cohorts"})
            for path in ("/v1/owners", "/v1/groups", "/v1/federation", "/v1/budget", "/v1/queries"):
                assert "owner-" not in (await ann.get(path)).text, path
            assert (await ann.get("/v1/owners")).json() == {"present": 4, "known": 4}
            plans = {plan["method"]: plan for plan in (await ann.get("/v1/groups")).json()["plans"]}
            assert (plans["fedgroup"]["groups"], plans["fedgroup"]["sizes"], plans["fedgroup"]["epsilon"]) == (
                2,
                [2, 2],
                20,
            )
            assert "epsilon-DP" in plans["fedgroup"]["guarantee"]
            assert (await operator.get("/v1/owners")).json()["names"] == [f"owner-{i}" for i in range(4)]
            assert "owner-1" in (await operator.get("/v1/groups")).text
            here.city.provider.desk.differing.add("owner-9")
            assert (await operator.get("/v1/owners")).json()["differing"] == ["owner-9"]
            assert (await ann.get("/v1/owners")).json() == {"present": 4, "known": 4}

    run(story())


def test_a_dry_run_promises_masks_only_where_there_are_groups(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(4) as here, here.client() as ann:
            alone = await ann.post("/v1/queries", json=question | {"method": "dp", "dry_run": True})
            assert alone.json()["trust"] == "nobody is trusted: every owner adds its own noise"
            await ann.post("/v1/queries", json=question | {"method": "cohorts"})
            together = await ann.post("/v1/queries", json=question | {"method": "cohorts", "dry_run": True})
            assert "under masks" in together.json()["trust"]

    run(story())


def test_only_operators_regroup_and_it_costs_their_allowance(service: Service) -> None:
    async def story() -> None:
        async with service(4, allowance=30) as here, here.client() as ann, here.client("op") as operator:
            wish = {"epsilon": 20, "columns": 2, "rows": 2, "mode": "trusted", "graph": "noisy", "algorithm": "dsatur"}
            refused = await ann.post("/v1/plans", json=wish)
            assert (refused.status_code, refused.json()["type"]) == (403, "urn:fedgroup:problem:operators-only")
            assert (await operator.post("/v1/plans", json=wish)).json()["mode"] == "trusted"
            assert (await operator.post("/v1/plans", json=wish)).status_code == 403
            wrong = await operator.post("/v1/plans", json=wish | {"graph": "topcell"})
            assert (wrong.status_code, wrong.json()["type"]) == (422, "urn:fedgroup:problem:invalid-query")
            assert (here.spent("op"), here.owners_spent()) == (Epsilon.of(20), {Epsilon.of(20)})
            answer = await ann.post(
                "/v1/queries", json={"kind": "count", "circle": {"x": 5, "y": 5, "radius": 9}, "epsilon": 1}
            )
            assert (answer.json()["method"], answer.json()["groups"]) == ("fedgroup", 2)

    run(story())


def test_a_rate_is_kept_for_each_user_and_regained_over_a_minute(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        now = [0.0]
        rates = Rates(lambda: now[0])
        async with service(2, per_minute=3, rates=rates) as here, here.client() as ann, here.client("bob") as bob:
            asked = question | {"dry_run": True}
            statuses = [(await ann.post("/v1/queries", json=asked)).status_code for _ in range(3)]
            refused = await ann.post("/v1/queries", json=asked)
            assert (statuses, refused.status_code) == ([200] * 3, 429)
            assert refused.headers["Retry-After"] == "20"
            assert (await bob.post("/v1/queries", json=asked)).status_code == 200
            assert (await ann.get("/v1/budget")).status_code == 200
            now[0] = 20
            assert (await ann.post("/v1/queries", json=asked)).status_code == 200
            assert (await ann.post("/v1/queries", json=asked)).status_code == 429

    run(story())


def test_the_account_and_the_federation_are_told(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(2, allowance=3) as here, here.client() as ann:
            await ann.post("/v1/queries", json=question)
            account = (await ann.get("/v1/budget")).json()
            assert (account["allowance"], account["spent"], account["left"], account["per_minute"]) == (3, 1, 2, 1000)
            assert account["protection"] == "one record, add-remove"
            told = (await ann.get("/v1/federation")).json()
            assert (told["domain"], told["lonlat"], told["methods"]) == (
                [0, 0, 10, 10],
                False,
                ["dp", "cohorts", "mpc"],
            )

    run(story())


def from_afar(here: Any, headers: dict[str, str] | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(here.app, client=("192.0.2.7", 1234))
    return httpx.AsyncClient(transport=transport, base_url="http://service", headers=headers)


def test_metrics_are_for_operators_and_this_machine(service: Service) -> None:
    async def story() -> None:
        async with service(2) as here, here.client(None) as local, from_afar(here) as far:
            assert (await local.get("/metrics")).status_code == 200
            assert (await local.get("/metrics", headers={"X-Forwarded-For": "192.0.2.7"})).status_code == 401
            assert (await far.get("/metrics")).status_code == 401
            for user, status in (("ann", 403), ("op", 200)):
                bearer = {"Authorization": f"Bearer {here.tokens[user]}"}
                assert (await far.get("/metrics", headers=bearer)).status_code == status

    run(story())


def test_metrics_tell_what_owners_let_be_told_of_their_budgets(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann, here.client(None) as local:
            found = parsed((await local.get("/metrics")).text)
            assert (found["fedgroup_owners_telling_left"], "fedgroup_owners_left_lowest" in found) == (0, False)
            for cap, owner in enumerate(list(here.city.owners.values())[:2], start=3):
                owner.node.policy = replace(owner.node.policy, tell_left=True)
                owner.ledger.set_cap(Epsilon.of(cap))
            await ann.post("/v1/queries", json=question | {"epsilon": 1, "method": "dp"})
            while here.city.provider.owners_left(Epsilon.of(1)).telling < 2:
                await asyncio.sleep(0)
            found = parsed((await local.get("/metrics")).text)
            told = [found[f"fedgroup_owners_{name}"] for name in ("telling_left", "left_lowest", "left_median")]
            assert told == [2, 2.0, 2.5]

    run(story())


def test_metrics_count_questions_and_hold_no_private_fact(service: Service, question: dict[str, Any]) -> None:
    async def story() -> None:
        async with service(3) as here, here.client() as ann, here.client(None) as local:
            value = (await ann.post("/v1/queries", json=question)).json()["value"]
            await ann.post("/v1/queries", json=question)
            await ann.post("/v1/queries", json=question | {"epsilon": 1000})
            await ann.post("/v1/queries", content=b"{}")
            reply = await local.get("/metrics")
            assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
            found = parsed(reply.text)
            assert found['fedgroup_questions_total{method="dp",outcome="answered"}'] == 1
            assert found['fedgroup_questions_total{method="dp",outcome="stored"}'] == 1
            assert found['fedgroup_problems_total{kind="budget-exhausted"}'] == 1
            assert found["fedgroup_owners_present"] == 3
            assert found["fedgroup_question_seconds_count"] == found['fedgroup_question_seconds_bucket{le="+Inf"}'] == 2
            for fact in ("ann", "owner-", "3.2", str(value)):
                assert not any(fact in name for name in found), fact

    run(story())


def parsed(text: str) -> dict[str, float]:
    """The samples of Prometheus' text format; every one has a type."""
    found, types = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            types.add(line.split()[2])
        elif not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
            bare = name.partition("{")[0]
            assert bare in types or bare.rpartition("_")[0] in types
    assert text.endswith("\n")
    return found


def test_tokens_are_kept_as_hashes_only(service: Service) -> None:
    async def story() -> None:
        async with service(0) as here:
            stored = b"".join(path.read_bytes() for path in here.city.folder.glob("provider.db*"))
            assert not any(token.encode() in stored for token in here.tokens.values())
            assert json.dumps(repr(here.app)).count(here.tokens["ann"]) == 0

    run(story())
