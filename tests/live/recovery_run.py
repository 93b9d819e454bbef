"""500 owners in cohorts of 50, five of each killed after the roster was fixed: `make recovery`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

OWNERS, COHORT, SPARE = 500, 50, 5
ONE = Epsilon.of(30)
QUERY = RangeQuery("count", Circle(5, 5, 3.2), ONE)


def dies_at(here: Any, name: str, kind: str) -> None:
    """Let an owner's connection break when it is sent a message of a kind, and let it never answer."""
    owner = here.owners[name]
    usual = owner.node.prepare

    def dying(sender: str, message: Any, **named: Any) -> Any:
        if type(message).__name__ != kind:
            return usual(sender, message, **named)
        owner.link.drop()
        return []

    owner.node.prepare = dying


@pytest.mark.parametrize("kind", ["Go", "Unmask"])
def test_five_of_every_cohort_die_and_everybody_pays_once(kind: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(OWNERS, cohort_size=COHORT, cap=1e4) as here:
            await here.provider.ask(QUERY, method="cohorts")
            cohorts = [group.members for group in here.provider.plans["cohorts"].groups]
            dying = {name for members in cohorts for name in members[::10]}
            for name in dying:
                dies_at(here, name, kind)
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            heard = [name for name in here.owners if name not in dying or kind == "Unmask"]
            assert len(dying) == SPARE * len(cohorts)
            assert (answer.heard, answer.groups, answer.epsilon) == (len(heard), OWNERS // COHORT, 30)
            assert abs(answer.value - here.true_count(QUERY, heard)) <= 2
            assert {float(here.owners[name].ledger.spent()) for name in heard} == {60}

    asyncio.run(story())


def test_one_more_of_one_cohort_and_that_cohort_gives_nothing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(OWNERS, cohort_size=COHORT, cap=1e4) as here:
            await here.provider.ask(QUERY, method="cohorts")
            first = here.provider.plans["cohorts"].groups[0].members
            for name in first[: SPARE + 1]:
                dies_at(here, name, "Go")
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.groups, answer.epsilon) == (OWNERS - COHORT, OWNERS // COHORT - 1, 30)
            assert "1 masked group gave nothing: too few of its members answered" in answer.notes
            rest = [name for name in here.owners if name not in first[: SPARE + 1]]
            assert {float(here.owners[name].ledger.spent()) for name in rest} == {60}

    asyncio.run(story())
