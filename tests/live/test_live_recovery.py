"""Owners and providers that come back: nobody stays out of its group, and nobody silent holds the others up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from live_world import PATIENCE_S, until

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, LedgerUnavailable
from fedgroup.live.desk import Desk
from fedgroup.live.provider import LiveProvider
from fedgroup.live.replies import MOMENT_S
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.codec import decode, encode

PRECISE = Epsilon.of(30)
QUERY = RangeQuery("count", Circle(5, 5, 3.2), PRECISE)


async def restarted(here: Any, name: str) -> None:
    """Kill an owner and start it again; it has its ledger, and has forgotten its groups."""
    owner, arrivals = here.owners[name], here.provider.desk.arrivals
    came = arrivals[name]
    await here.kill(name)
    owner.node = here.node(owner.keys, owner.silo, owner.ledger, {})
    await here.start(owner)
    while arrivals[name] == came:
        await asyncio.sleep(0.001)


def test_an_owner_that_restarts_is_taken_into_the_groups_of_every_method(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, cap=1000) as here:
            await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(1), grid=(2, 2))
            methods = ("fedgroup", "cohorts", "mpc")
            usual = [await here.provider.ask(QUERY, method=method, fresh=True) for method in methods]
            await restarted(here, "owner-3")
            again = [await here.provider.ask(QUERY, method=method, fresh=True) for method in methods]
            assert [(a.groups, a.heard) for a in again] == [(a.groups, a.heard) for a in usual]
            assert all(answer.missing == 0 for answer in again)

    asyncio.run(story())


def test_a_federation_that_starts_anew_as_a_whole_has_its_groups_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8, cap=1000) as here:
            plan = await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2))
            for name in here.owners:
                await restarted(here, name)
            again = await provider_again(here)
            answer = await again.ask(QUERY, fresh=True)
            assert (answer.groups, answer.heard, answer.missing) == (2, 8, 0)
            assert again.plan is not None
            assert again.plan.sizes() == plan.sizes()
            assert {owner.ledger.spent() for owner in here.owners.values()} == {Epsilon.of(50)}

    asyncio.run(story())


async def provider_again(here: Any) -> LiveProvider:
    """Return a provider that knows nothing but what is stored."""
    desk = Desk(here.hub.provider(), encode=encode, decode=decode, verify=here.provider.desk.verify)
    here.listening = asyncio.create_task(desk.listen())
    assert await desk.until_present(len(here.owners), PATIENCE_S)
    return LiveProvider(desk, here.provider.settings, store=here.state)


def test_an_owner_that_was_away_when_its_group_was_mended_is_in_it_later(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(8) as here:
            plan = await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(1), grid=(2, 2))
            first, second = plan.groups[0].members[1:3]
            await here.kill(first)
            await restarted(here, second)
            without = await here.provider.ask(QUERY, fresh=True)
            assert (without.groups, without.heard) == (2, 7)
            await here.start(here.owners[first])
            await here.provider.desk.until_present(8, PATIENCE_S)
            answer = await here.provider.ask(QUERY, fresh=True)
            assert (answer.groups, answer.heard, answer.missing) == (2, 8, 0)

    asyncio.run(story())


def test_a_group_that_fell_silent_in_the_middle_has_time_for_its_second_round(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, dropouts=0.2, seconds=1, recovery=False) as here:
            here.provider.settings.__dict__["cohort_size"] = 6
            await here.provider.ask(QUERY, method="cohorts")
            for owner in here.owners.values():
                owner.link.say = partial(asyncio.get_running_loop().call_later, 0.05, owner.link.say)
            node = here.owners["owner-5"].node
            usual, gone = node.prepare, []

            def falls_silent(sender: str, message: Any, **named: Any) -> Any:
                gone.extend([1] if type(message).__name__ == "Go" else [])
                return [] if gone else usual(sender, message, **named)

            node.prepare = falls_silent
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing) == (5, 1)
            assert abs(answer.value - here.true_count(QUERY, [n for n in here.owners if n != "owner-5"])) <= 2
            assert here.owners["owner-0"].ledger.spent() == Epsilon.of(90)

    in_driven_time(story())


def test_an_owner_that_cannot_answer_says_so_before_the_roster_is_fixed(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, dropouts=0.4, cap=1000) as here:
            here.provider.settings.__dict__["cohort_size"] = 6
            here.owners["owner-1"].ledger.set_cap(Epsilon.of(29))
            here.owners["owner-2"].silo.broken = True
            answer = await here.provider.ask(QUERY, method="cohorts")
            assert (answer.heard, answer.missing, answer.epsilon) == (4, 2, 30)
            spent = [owner.ledger.spent() for owner in here.owners.values()]
            assert spent == [PRECISE, Epsilon(0), Epsilon(0), PRECISE, PRECISE, PRECISE]

    asyncio.run(story())


@pytest.mark.parametrize("fault", ["gone", "poor", "broken"])
def test_a_trusted_group_does_not_pay_for_ever_for_a_leader_that_cannot_lead(
    fault: str, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(8, cap=1000) as here:
            plan = await here.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2), mode="trusted")
            leader = here.owners[plan.groups[0].members[0]]
            if fault == "gone":
                await here.kill(leader.name)
            elif fault == "poor":
                leader.ledger.set_cap(Epsilon.of(21))
            leader.silo.broken = fault == "broken"
            await here.provider.ask(QUERY, fresh=True)
            before = {name: owner.ledger.spent().nano for name, owner in here.owners.items()}
            answer = await here.provider.ask(QUERY, fresh=True)
            assert (answer.heard, answer.missing) == (7, 1)
            paid = {name: owner.ledger.spent().nano - before[name] for name, owner in here.owners.items()}
            assert paid.pop(leader.name) == 0
            assert set(paid.values()) == {PRECISE.nano}

    asyncio.run(story())


def test_leftover_cohorts_of_a_trusted_plan_stay_masked(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, cap=1000) as here:
            for number, place in enumerate([(9, 1), (1, 9)]):
                await here.add(f"lone-{number}", where=place, cap=1000)
            await here.provider.desk.until_present(6, PATIENCE_S)
            settings = GroupingSettings(leftovers="cohort")
            await here.provider.regroup(settings, epsilon=Epsilon.of(30), grid=(2, 2), mode="trusted")
            await restarted(here, "lone-1")
            assert (await here.provider.ask(QUERY, fresh=True)).heard == 6
            modes = {name: group.mode for group in here.provider.plan.groups for name in group.members}
            assert {modes[f"lone-{number}"] for number in range(2)} == {"masked"}
            assert modes["owner-0"] == "trusted"

    asyncio.run(story())


def test_a_silent_owner_holds_the_others_up_once(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(4, seconds=10.0, cap=1e4) as here:
            node = here.owners["owner-2"].node
            usual = node.prepare
            node.prepare = lambda sender, message, **named: []
            assert [await timed(here) for _ in range(3)] == pytest.approx([10.0, MOMENT_S, MOMENT_S])
            node.prepare = usual  # it is asked all the time, so that it is heard as soon as it says something
            answer = await here.provider.ask(QUERY, method="dp", fresh=True)
            assert (answer.heard, answer.missing) == (4, 0)

    in_driven_time(story())


async def timed(here: Any) -> float:
    """How long the provider waited for an answer without one owner; all others answer in no time."""
    clock = asyncio.get_running_loop().time
    started = clock()
    answer = await here.provider.ask(QUERY, method="dp", fresh=True)
    assert (answer.heard, answer.missing) == (3, 1)
    return clock() - started


def test_owners_whose_certificates_hold_again_are_here_again(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3, cap=1000) as here:
            desk = here.provider.desk
            usual = desk.verify
            desk.verify = outdated
            desk._look_again()
            assert desk.present == set()
            desk.verify = usual
            await until(lambda: len(desk.present) == 3)  # certificates are looked at once a second
            assert (await here.provider.ask(QUERY, method="dp")).heard == 3

    asyncio.run(story())


def test_the_provider_hears_on_when_a_certificate_cannot_be_checked_for_a_while(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            desk = here.provider.desk
            usual = desk.verify
            desk.verify = outdated
            await here.add("early")
            await until(lambda: desk.refused_messages == 1)
            desk.verify = usual
            await here.add("late")
            assert await desk.until_present(4, PATIENCE_S)
            assert (await here.provider.ask(QUERY, method="dp")).heard == 4

    asyncio.run(story())


def outdated(der: bytes) -> Any:
    raise InvalidInput("the list of revocations ran out")


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(3) as here:
            here.provider.store = Full(here.state)
            answer = await here.provider.ask(QUERY, method="dp")
            assert answer.heard == 3
            assert not (await here.provider.ask(QUERY, method="dp")).stored

    asyncio.run(story())


class Full:
    """A store without room for answers."""

    def __init__(self, state: ProviderState) -> None:
        self.earlier = state.earlier

    def keep(self, *_: Any) -> None:
        raise LedgerUnavailable("no room")

    keep_owners = keep


def test_a_second_round_that_cannot_be_charged_is_not_run(tmp_path: Any) -> None:
    state = ProviderState(tmp_path / "provider.db")
    state.add_user("ann", allowance=Epsilon.of(10))
    question = state.begin("ann", {}, Epsilon.of(1))
    state._connection.execute("PRAGMA query_only = ON")
    assert not state.spend_more(question, Epsilon.of(1))
    state._connection.execute("PRAGMA query_only = OFF")
    assert state.spend_more(question, Epsilon.of(1))
    assert state.user("ann").spent == Epsilon.of(2)
    state.close()
