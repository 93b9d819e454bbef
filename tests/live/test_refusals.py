"""Why owners refuse reaches whoever asks: as counts of reasons out of a fixed list, without a name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from live_world import PATIENCE_S

from fedgroup.epsilon import Epsilon
from fedgroup.errors import TooFewHeard, refusals_in_words
from fedgroup.messages.said import REASONS
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

QUERY = RangeQuery("count", Circle(5, 5, 3.2), Epsilon.of(1))


def test_an_answer_tells_how_many_refused_for_which_reason(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            for name in ("poor-0", "poor-1"):
                await here.add(name, cap=0.5)
            await here.add("shy", smallest_radius=100.0)
            (await here.add("away")).silo.broken = True
            await here.provider.desk.until_present(7, PATIENCE_S)
            answer = await here.provider.ask(QUERY, method="dp")
            assert answer.refused == {"budget": 2, "radius": 1, "silo": 1}
            assert set(answer.refused) <= set(REASONS)
            assert (answer.heard, answer.missing) == (3, 4)
            assert refusals_in_words({"budget": 2, "radius": 1, "silo": 1}) in answer.notes
            assert not any(name in str(answer) for name in here.owners)

    asyncio.run(story())


def test_members_of_masked_groups_tell_their_reasons_too(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, dropouts=0.4) as here:
            here.provider.settings.__dict__["cohort_size"] = 6
            here.owners["owner-1"].ledger.set_cap(Epsilon.of(0.5))
            answer = await here.provider.ask(QUERY, method="cohorts")
            assert (answer.heard, answer.missing, answer.refused) == (5, 1, {"budget": 1})

    asyncio.run(story())


def test_an_answer_of_everybody_tells_of_no_refusal(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            answer = await here.provider.ask(QUERY, method="dp")
            assert answer.refused == {}
            assert not any("refused" in note for note in answer.notes)

    asyncio.run(story())


def test_when_nobody_answers_the_error_says_why(city: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="fedgroup.provider")

    async def story() -> None:
        async with city(3, cap=0.5) as here:
            with pytest.raises(TooFewHeard, match="no owner answered; 3 owners refused: the owner's budget") as caught:
                await here.provider.ask(QUERY, method="dp")
            assert caught.value.refused == {"budget": 3}

    asyncio.run(story())
    assert [vars(record)["reason"] for record in caplog.records if record.getMessage() == "refused"] == ["budget"] * 3


def test_a_grouping_that_everybody_refuses_says_why(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2, highest_setup=Epsilon.of(0.1)) as here:
            with pytest.raises(TooFewHeard) as caught:
                await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(1), grid=(2, 2))
            assert caught.value.refused == {"epsilon": 2}

    asyncio.run(story())
