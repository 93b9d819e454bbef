"""An owner that says ready and then nothing costs its group one round, not one a question, where masks stay on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import TooFewHeard
from fedgroup.live.mending import MOST_OWED, Lapses
from fedgroup.messages.asked import Ask, Go
from fedgroup.messages.said import Masked
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.codec import decode, encode

ONE = Epsilon.of(30)
QUERY = RangeQuery("count", Circle(5, 5, 3.2), ONE)


class Faltering:
    """Makes an owner ignore messages of some kinds; `mended` ends that."""

    def __init__(self, owner: Any, *kinds: str) -> None:
        self._node, self._usual, self.kinds = owner.node, owner.node.prepare, kinds
        self._node.prepare = self._receive

    def _receive(self, sender: str, message: Any, **named: Any) -> Any:
        ignored = type(message).__name__ in self.kinds
        return [] if ignored else self._usual(sender, message, **named)

    def mended(self) -> None:
        self._node.prepare = self._usual


class Books:
    """What questions cost the others of a federation."""

    def __init__(self, here: Any, name: str) -> None:
        self._others = [owner for each, owner in here.owners.items() if each != name]
        self._before = self._spent()

    def _spent(self) -> list[int]:
        return [owner.ledger.spent().nano for owner in self._others]

    def rounds_paid(self) -> set[int]:
        """How many rounds each other owner paid for since this was asked the last time."""
        before, self._before = self._before, self._spent()
        return {(now - then) // ONE.nano for now, then in zip(self._before, before, strict=True)}


async def asked(here: Any, method: str) -> tuple[int, int, float]:
    answer = await here.provider.ask(QUERY, method=method, fresh=True)
    return answer.heard, answer.missing, answer.epsilon


@pytest.mark.parametrize("method", ["cohorts", "fedgroup"])
def test_a_silent_member_makes_its_group_pay_twice_once_only(method: str, city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1e4, recovery=False) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=ONE, grid=(2, 2))
            await here.provider.ask(QUERY, method=method)
            silent, books = Faltering(here.owners["owner-5"], "Go"), Books(here, "owner-5")
            assert await asked(here, method) == (7, 1, 60)
            assert books.rounds_paid() == {1, 2}
            silent.kinds = ("Ask", "Go")
            for _ in range(3):
                assert await asked(here, method) == (7, 1, 30)
                assert books.rounds_paid() == {1}
            silent.mended()
            for noises in (1, 0):  # alone, and then with its group again
                answer = await here.provider.ask(QUERY, method=method, fresh=True)
                assert (answer.heard, answer.missing, answer.groups) == (8, 0, 2 + noises)
                assert books.rounds_paid() == {1}

    in_driven_time(story())


def test_an_owner_that_fails_in_its_group_only_is_put_to_the_test_more_and_more_rarely(
    city: Callable[..., Any],
) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1e4, recovery=False) as here:
            here.provider.settings.__dict__["cohort_size"] = 8
            await here.provider.ask(QUERY, method="cohorts")
            Faltering(here.owners["owner-5"], "Go")
            epsilons = [(await here.provider.ask(QUERY, method="cohorts", fresh=True)).epsilon for _ in range(9)]
            assert epsilons == [60, 30, 60, 30, 30, 60, 30, 30, 30]

    in_driven_time(story())


def test_a_group_that_is_too_small_without_it_is_formed_anew(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, dropouts=0.0, cap=1e4) as here:
            await here.provider.ask(QUERY, method="mpc")
            silent = Faltering(here.owners["owner-2"], "Go")
            with pytest.raises(TooFewHeard):  # no member may be missing, so there is no second round
                await asked(here, "mpc")
            answer = await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert (answer.groups, answer.heard, answer.missing) == (2, 4, 0)
            silent.mended()
            answer = await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert (answer.groups, answer.heard, answer.missing) == (1, 4, 0)

    in_driven_time(story())


def test_when_nobody_of_a_group_answers_the_line_is_to_blame(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, dropouts=0.3, cap=1e4) as here:
            await here.provider.ask(QUERY, method="mpc")
            silent = [Faltering(owner, "Go") for owner in here.owners.values()]
            with pytest.raises(TooFewHeard, match=r"1 masked group gave nothing.*4 owners that are here said nothing"):
                await asked(here, "mpc")
            for each in silent:
                each.mended()
            answer = await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert (answer.groups, answer.heard) == (1, 4)

    in_driven_time(story())


def test_the_error_to_expect_counts_who_is_asked_alone(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1e4) as here:
            here.provider.settings.__dict__["cohort_size"] = 8
            await here.provider.ask(QUERY, method="cohorts")
            Faltering(here.owners["owner-5"], "Go")
            await asked(here, "cohorts")
            groups, noises = here.provider.partition(here.provider._plans["cohorts"])
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (groups, noises) == (answer.groups, pytest.approx(answer.noises))

    in_driven_time(story())


def test_what_is_owed_doubles_until_the_owner_answers_with_its_group_or_comes_anew() -> None:
    arrivals = {"ann": 1}
    lapses = Lapses(arrivals)

    def owed() -> int:
        lapses.note_failed(["ann"])
        lapses.note_failed(["ann"])  # by another question that was under way
        count = 0
        while lapses.left_out:
            lapses.note_alone(["ann"])
            count += 1
        return count

    assert [owed() for _ in range(8)] == [1, 2, 4, 8, 16, 32, MOST_OWED, MOST_OWED]
    lapses.note_together(["ann"])
    assert [owed(), owed()] == [1, 2]
    arrivals["ann"] = 2
    assert owed() == 1


def test_a_member_whose_masked_values_do_not_fit_spoils_one_question_only(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, dropouts=0.3, cap=1e4, recovery=False) as here:
            await here.provider.ask(QUERY, method="mpc")
            node = here.owners["owner-5"].node
            usual, books = node.prepare, Books(here, "owner-5")

            def too_long(sender: str, message: Any, **named: Any) -> Any:
                letters = usual(sender, message, **named)
                if not isinstance(message, Go):
                    return letters
                said = [decode(data, (Masked,)) for _, data in letters]
                return [(sender, encode(Masked(each.round, each.words + bytes(8)))) for each in said]

            node.prepare = too_long
            assert await asked(here, "mpc") == (7, 1, 60)
            assert books.rounds_paid() == {2}
            assert await asked(here, "mpc") == (8, 0, 30)  # alone now, and with noise of its own
            assert books.rounds_paid() == {1}

    in_driven_time(story())


def test_an_owner_alone_is_told_how_long_it_is_waited_for(city: Callable[..., Any]) -> None:
    """With groups to wait for in a second step, answers of the first step have half of the time."""

    async def story() -> None:
        async with city(4, seconds=2.0, cap=1e4) as here:
            lone = await here.add("owner-x", modes=(), cap=1e4)
            await here.provider.ask(QUERY, method="cohorts")
            asks = []
            usual = lone.node.prepare

            def noting(sender: str, message: Any, **named: Any) -> Any:
                asks.append(message)
                return usual(sender, message, **named)

            lone.node.prepare = noting
            for method in ("dp", "cohorts"):
                await here.provider.ask(QUERY, method=method, fresh=True)
            assert [each.within_ms for each in asks if isinstance(each, Ask)] == [2_000, 1_000]

    in_driven_time(story())


@pytest.mark.parametrize(("place", "within_ms"), [(0, 2_000), (1, 1_000)])
def test_members_of_trusted_groups_have_the_first_step_and_their_leader_has_both(
    place: int, within_ms: int, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(6, seconds=2.0, cap=1e4, modes=("trusted",), trusted_with=("*",)) as here:
            plan = await here.provider.regroup(GroupingSettings(), epsilon=ONE, grid=(2, 2), mode="trusted")
            node = here.owners[plan.groups[0].members[place]].node
            asks, usual = [], node.prepare

            def noting(sender: str, message: Any, **named: Any) -> Any:
                asks.append(message)
                return usual(sender, message, **named)

            node.prepare = noting
            await here.provider.ask(QUERY, method="fedgroup")
            assert [each.within_ms for each in asks if isinstance(each, Ask)] == [within_ms]

    in_driven_time(story())
