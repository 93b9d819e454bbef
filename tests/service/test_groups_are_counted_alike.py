"""One meaning of 'groups' everywhere: those that can answer, each owner alone counted as a group of one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fedgroup.cli.live import _up
from fedgroup.live.plans import LiveGroup, LivePlan
from fedgroup.secure.terms import MaskedTerms
from fedgroup.service.pages.federation_view import _groups, _plan
from fedgroup.service.provider_process import Serving
from fedgroup.service.trial import _facts

WISH = {"epsilon": 20, "columns": 2, "rows": 2, "graph": "noisy", "algorithm": "dsatur", "mode": "trusted"}


def test_up_answers_dry_runs_plans_and_pages_count_groups_alike(
    service: Callable[..., Any], question: dict[str, Any], capsys: Any
) -> None:
    async def story() -> None:
        async with service(5) as here, here.client() as ann, here.client("op") as operator:
            single = here.city.owners["owner-0"].node
            single.policy = replace(single.policy, modes=())
            made = (await operator.post("/v1/plans", json=WISH | {"leftovers": "alone"})).json()
            asked = question | {"method": "fedgroup"}
            expected = (await ann.post("/v1/queries", json=asked | {"dry_run": True})).json()
            answer = (await ann.post("/v1/queries", json=asked)).json()
            (plan,) = [each for each in (await ann.get("/v1/groups")).json()["plans"] if each["method"] == "fedgroup"]
            provider = here.city.provider
            told = _facts(Serving("", 0, provider, here.city.state), provider.plan, owners=5)
            counts = [each["groups"] for each in (made, expected, answer, plan, told)]
            assert counts == [3] * 5  # two groups of two, and one owner that wants none
            assert (made["sizes"], made["alone"], told["alone"]) == ([2, 2], 1, 1)
            assert "3 groups: 2, 2 and 1 owner alone" in _groups([provider.plan], provider)
            assert "<strong>3 groups</strong>, of them 1 owner alone" in _plan(provider.plan, provider)
            _up(told | {"access": "up.json"}, as_json=False)
            assert "5 owners are here, in 3 groups, 1 of them an owner alone" in capsys.readouterr().out

    asyncio.run(story())


def test_groups_that_cannot_answer_now_are_not_counted() -> None:
    terms = MaskedTerms(4, colluders=1, dropouts=1)  # three of four must be heard
    groups = (
        LiveGroup("masked", "masked", ("a", "b", "c", "d"), terms),
        LiveGroup("led", "trusted", ("e", "f"), terms),
    )
    plan = LivePlan("id", "fedgroup", "masked", groups)
    everybody = set("abcdefg")
    assert (plan.count(everybody), plan.count(everybody - {"e"}), plan.count(set("abfg"))) == (3, 2, 1)
    assert plan.count(everybody, left_out={"a"}) == 4  # and is asked alone
    assert plan.noises(set("abfg")) == 1
