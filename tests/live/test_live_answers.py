"""Questions to live owners by every method: right within their noise, charged exactly, honest about who is missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from live_world import PATIENCE_S

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, TooFewHeard
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

CIRCLE = Circle(5, 5, 3.2)
PRECISE = Epsilon.of(30)
"""So large that noise is 0 nearly always."""


def count(epsilon: Epsilon = PRECISE, circle: Circle = CIRCLE) -> RangeQuery:
    return RangeQuery("count", circle, epsilon)


async def expected(provider: Any, query: RangeQuery, method: str) -> Any:
    async with provider.question(query, method=method) as asked:
        return (await asked.expect(left=Epsilon.of(1))).errors


def run(coroutine: Any) -> None:
    asyncio.run(coroutine)


@pytest.mark.parametrize("method", ["dp", "cohorts", "mpc"])
def test_every_owner_is_heard_once_and_pays_once(method: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            answer = await here.provider.ask(count(), method=method, by="ann")
            assert abs(answer.value - here.true_count(count())) <= 2
            assert (answer.heard, answer.missing, answer.owners) == (6, 0, 6)
            assert answer.private
            assert {owner.ledger.spent() for owner in here.owners.values()} == {PRECISE}
            assert "asked by ann" in here.owners["owner-0"].ledger.entries()[-1].question

    run(story())


@pytest.mark.parametrize("mode", ["trusted", "masked"])
@pytest.mark.parametrize("graph", ["topcell", "noisy", "likely"])
def test_owners_are_grouped_by_similarity_and_answer_together(graph: str, mode: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8) as here:
            settings = GroupingSettings(graph=graph)
            plan = await here.provider.regroup(settings, epsilon=Epsilon.of(20), grid=(2, 2), mode=mode)
            assert plan.sizes() == [4, 4]
            answer = await here.provider.ask(count())
            assert abs(answer.value - here.true_count(count())) <= 2
            assert (answer.method, answer.in_group, answer.groups, answer.heard) == ("fedgroup", mode, 2, 8)
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon.of(50)}

    run(story())


@pytest.mark.parametrize("graph", ["hybrid", "secure"])
def test_owners_that_opted_in_are_compared_securely(graph: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, comparisons=20) as here:
            await here.add("shy", where=(3, 3))
            await here.provider.desk.until_present(7, PATIENCE_S)
            settings = GroupingSettings(graph=graph)
            plan = await here.provider.regroup(settings, epsilon=Epsilon.of(0.05), grid=(2, 2))
            assert plan.sizes() == [3, 3]
            assert "not epsilon-DP" in plan.guarantee
            assert "shy" not in plan.members
            made = [owner.ledger.comparisons() for owner in here.owners.values()]
            assert 2 <= max(made) <= 6
            assert here.owners["shy"].ledger.comparisons() == 0
            texts = [entry.question for entry in here.owners["owner-0"].ledger.entries()]
            assert any("each shows one exact bit" in text for text in texts)

    run(story())


def test_comparisons_end_at_the_owners_cap_and_stay_on_one_grid(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, comparisons=1, cap=100) as here:
            settings = GroupingSettings(graph="secure")
            await here.provider.regroup(settings, epsilon=Epsilon.of(1), grid=(2, 2))
            await here.provider.regroup(settings, epsilon=Epsilon.of(1), grid=(3, 3))
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon(0)}
            assert max(owner.ledger.comparisons() for owner in here.owners.values()) == 1

    run(story())


def test_the_interval_covers_what_was_heard(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, cap=1e4) as here:
            query = count(Epsilon.of(0.5))
            truth = here.true_count(query)
            for method, noises in (("dp", 6), ("cohorts", 2 * 3 / 1)):
                answers = [await here.provider.ask(query, method=method, fresh=True) for _ in range(60)]
                assert answers[0].noises == pytest.approx(noises)
                inside = sum(a.interval[0] <= truth <= a.interval[1] for a in answers)
                assert inside >= 49
                assert len({a.value for a in answers}) > 10

    run(story())


def test_missing_owners_are_counted_and_not_extrapolated(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            here.owners["owner-2"].silo.broken = True
            await here.kill("owner-3")
            answer = await here.provider.ask(count(), method="dp")
            heard = [name for name in here.owners if name not in ("owner-2", "owner-3")]
            assert abs(answer.value - here.true_count(count(), heard)) <= 2
            assert (answer.heard, answer.missing, answer.absent) == (4, 2, 1)
            assert any("nothing is extrapolated" in note for note in answer.notes)

    run(story())


def test_a_masked_group_goes_on_without_a_few_and_is_formed_anew_without_more(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(10, dropouts=0.2) as here:
            here.provider.settings.__dict__["cohort_size"] = 10
            assert (await here.provider.ask(count(), method="cohorts")).heard == 10
            for name in ("owner-1", "owner-2"):
                await here.kill(name)
            answer = await here.provider.ask(count(), method="cohorts")
            assert (answer.heard, answer.missing) == (8, 2)
            assert answer.noises == pytest.approx(8 / 7)
            await here.kill("owner-4")
            answer = await here.provider.ask(count(), method="cohorts")  # too few for that group: it is formed anew
            assert (answer.groups, answer.heard) == (1, 7)
            assert answer.noises == pytest.approx(7 / 4)

    run(story())


def test_a_group_spoilt_in_the_middle_is_run_once_more_and_charged_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, dropouts=0.2, recovery=False) as here:
            here.provider.settings.__dict__["cohort_size"] = 6
            await here.provider.ask(count(), method="cohorts")
            node = here.owners["owner-5"].node
            usual, fallen = node.prepare, []

            def falls_silent(sender: str, message: Any, **named: Any) -> Any:
                if type(message).__name__ == "Go" and not fallen:
                    fallen.append(1)
                    return []
                return usual(sender, message, **named) if not fallen else []

            node.prepare = falls_silent
            answer = await here.provider.ask(count(), method="cohorts", fresh=True)
            heard = [name for name in here.owners if name != "owner-5"]
            assert (answer.heard, answer.missing) == (5, 1)
            assert abs(answer.value - here.true_count(count(), heard)) <= 2
            assert answer.epsilon == pytest.approx(60)
            assert here.owners["owner-0"].ledger.spent() == Epsilon.of(90)

    in_driven_time(story())


def test_the_same_question_is_free_until_somebodys_data_changes(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            query = count(Epsilon.of(1))
            first = await here.provider.ask(query, method="dp")
            again = await here.provider.ask(query, method="dp")
            assert (again.value, again.stored, again.charged) == (first.value, True, 0.0)
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon.of(1)}
            here.owners["owner-1"].silo.changes += 1
            new = await here.provider.ask(query, method="dp")
            assert not new.stored
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon.of(2)}
            assert not (await here.provider.ask(query, method="dp", fresh=True)).stored

    run(story())


def test_an_owner_lost_in_the_middle_is_missing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4) as here:
            node = here.owners["owner-2"].node

            def lost(sender: str, message: Any, **named: Any) -> Any:
                here.owners["owner-2"].link.drop()
                return []

            node.prepare = lost
            answer = await here.provider.ask(count(), method="dp")
            assert (answer.owners, answer.heard, answer.missing) == (4, 3, 1)

    run(story())


def test_exhausted_owners_refuse_and_count_as_missing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, cap=1.0) as here:
            await here.add("poor", cap=0.1)
            await here.provider.desk.until_present(4, PATIENCE_S)
            answer = await here.provider.ask(count(Epsilon.of(0.6)), method="dp")
            assert (answer.heard, answer.missing) == (3, 1)
            with pytest.raises(TooFewHeard):
                await here.provider.ask(count(Epsilon.of(0.6)), method="dp", fresh=True)
            assert here.owners["poor"].ledger.spent() == Epsilon(0)

    run(story())


def test_newcomers_are_alone_until_the_next_grouping(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2))
            await here.add("late")
            await here.provider.desk.until_present(9, PATIENCE_S)
            answer = await here.provider.ask(count())
            assert (answer.groups, answer.heard) == (3, 9)

    run(story())


def test_an_owner_that_restarts_is_taken_into_its_group_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2))
            owner = here.owners["owner-3"]
            await here.kill("owner-3")
            owner.node = here.node(owner.keys, owner.silo, owner.ledger, {})
            await here.start(owner)
            await here.provider.desk.until_present(8, PATIENCE_S)
            answer = await here.provider.ask(count())
            assert (answer.groups, answer.heard, answer.missing) == (2, 8, 0)
            assert owner.ledger.spent() == Epsilon.of(50)

    run(story())


def test_a_plan_survives_the_provider(city: Callable[..., Any]) -> None:
    async def story() -> None:
        from fedgroup.live.provider import LiveProvider

        async with city(8) as here:
            plan = await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2))
            again = LiveProvider(here.provider.desk, here.provider.settings, store=here.state)
            assert again.plan == plan
            assert (await again.ask(count())).groups == 2

    run(story())


def test_owners_that_refuse_a_group_stay_alone(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(5) as here:
            await here.add("shy", modes=())
            await here.provider.desk.until_present(6, PATIENCE_S)
            answer = await here.provider.ask(count(), method="mpc")
            assert (answer.groups, answer.heard) == (2, 6)

    run(story())


def test_what_cannot_be_asked_is_refused_before_anybody_is(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(2) as here:
            for wrong in ("exact", "fedgroup"):
                with pytest.raises(InvalidQuery):
                    await here.provider.ask(count(), method=wrong)
            with pytest.raises(InvalidQuery):
                await here.provider.ask(count(circle=Circle(99, 99, 1)))
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon(0)}

    run(story())


def test_the_expected_error_is_told_for_nothing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            alone, together = [
                await expected(here.provider, count(Epsilon.of(0.3)), method) for method in ("dp", "mpc")
            ]
            assert alone["count"].mean_absolute > 2 * together["count"].mean_absolute > 0
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon(0)}

    run(story())


def test_twenty_questions_at_once_get_their_own_answers(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, cap=1e4) as here:
            circles = [Circle(2 + 0.3 * i, 5, 3.5) for i in range(20)]
            methods = ["dp", "cohorts"]
            answers = await asyncio.gather(
                *(here.provider.ask(count(circle=c), method=methods[i % 2]) for i, c in enumerate(circles))
            )
            for circle, answer in zip(circles, answers, strict=True):
                assert abs(answer.value - here.true_count(count(circle=circle))) <= 2
                assert answer.heard == 6
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon.of(600)}

    run(story())
