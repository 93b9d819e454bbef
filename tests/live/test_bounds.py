"""Lies are bounded: sums that honest owners could not give are not counted, and liars are found by elimination."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, TooFewHeard
from fedgroup.lab.experiments.liars import CHECKED, NONE, UNCHECKED, liars_measured
from fedgroup.live.asking import NamedRound
from fedgroup.live.bounds import Bounds
from fedgroup.live.doubts import Doubts
from fedgroup.live.plans import LiveGroup
from fedgroup.live.tally import Counted, FirstStep, SecondStep, Tally, Unfit
from fedgroup.messages.asked import Go
from fedgroup.messages.said import Masked, Noisy
from fedgroup.owner.policy import Policy
from fedgroup.owner.rounds import cut_to
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.secure.terms import MaskedTerms
from fedgroup.space import Box, Circle, Grid

PRECISE = Epsilon.of(50)
COUNT = RangeQuery("count", Circle(5, 5, 3), PRECISE)
MAP = RangeQuery("count", Grid(Box(0, 0, 10, 10), 3, 3), PRECISE)
AVERAGE = RangeQuery("avg", Circle(5, 5, 3), PRECISE, Measure("fare", 10.0, False, 1.0))
SIGNED = RangeQuery("sum", Circle(5, 5, 3), PRECISE, Measure("fare", 10.0, True, 1.0))
PAIR = ("ann", "bob")


def possible(query: RangeQuery, *sums: int, bounds: Bounds | None = None, parts: int = 0) -> bool:
    return (bounds or Bounds(Protection(), {"ann": 5, "bob": None}, 7)).possible(
        query, np.array(sums), PAIR, parts=parts
    )


def test_counts_lie_between_nothing_and_the_bounds_of_all_members_but_for_noise() -> None:
    assert all(possible(COUNT, each) for each in (0, 6, 12))  # 5 as ann says, 7 as the operator does of bob
    assert not any(possible(COUNT, each) for each in (-3, 15, 1 << 62, -(1 << 62)))
    assert possible(MAP, *[12] * 9)
    assert not possible(MAP, *[0] * 8, 15)
    unbounded = Bounds(Protection(), {"ann": 5})
    assert possible(COUNT, 1 << 40, bounds=unbounded)
    assert not possible(COUNT, -9, bounds=unbounded)


def test_every_part_has_its_own_bounds_and_only_signed_sums_are_negative() -> None:
    assert possible(AVERAGE, 12 * 10, 12)
    assert not possible(AVERAGE, 12 * 10 + 60, 12)
    assert not possible(AVERAGE, 12 * 10, 30)
    assert not possible(AVERAGE, -60, 0)
    assert possible(SIGNED, -120)
    assert not possible(SIGNED, -180)


def test_where_owners_are_the_unit_their_records_are_bounded_in_all_bins_together() -> None:
    bounds = Bounds(Protection(unit="owner", max_records=4), {})
    assert possible(MAP, 8, *[0] * 8, bounds=bounds)
    assert not possible(MAP, *[8] * 9, bounds=bounds)


def test_honest_noise_is_never_taken_for_a_lie() -> None:
    rng = np.random.default_rng(5)
    query = RangeQuery("count", Circle(5, 5, 3), Epsilon.of(0.1))
    draws = rng.geometric(1 - np.exp(-0.1), (2, 20_000))
    bounds = Bounds(Protection(), {}, 1)
    assert all(bounds.possible(query, np.array([each]), PAIR) for each in draws[0] - draws[1])
    assert not bounds.possible(query, np.array([500]), PAIR)


@given(st.lists(st.integers(-50, 50), min_size=9, max_size=9), st.lists(st.integers(-50, 50), min_size=9, max_size=9))
def test_what_an_owner_cuts_to_its_bound_brings_no_two_vectors_farther_apart(one: list[int], two: list[int]) -> None:
    cut = [cut_to(20, {"count": np.array(each)}, MAP)["count"] for each in (one, two)]
    assert all(each.min() >= 0 and each.max() <= 20 for each in cut)
    before, after = np.abs(np.array(one) - np.array(two)), np.abs(cut[0] - cut[1])
    assert (after <= before).all()


def test_no_owner_brings_totals_beyond_64_bits_whatever_it_says_of_itself() -> None:
    tally = Tally(COUNT, set(), frozenset({"ann", "bob", "cy"}))
    tally.rounds.append(bytes(16))
    tally.possible = partial(Bounds(Protection(), {"ann": None, "bob": None, "cy": 10**18}).possible, COUNT)
    taking = FirstStep(tally, tally.present)
    for liar, sums in (("ann", (1 << 63) - 1), ("cy", (1 << 53) + 1)):
        assert isinstance(taking(liar, Noisy(bytes(16), [sums], [0])), Unfit)
    assert isinstance(taking("bob", Noisy(bytes(16), [7], [0])), Counted)
    assert (tally.sums.tolist(), tally.refused) == ([7], {"ann": "bounds", "cy": "bounds"})
    tally.possible = lambda *_sums, **_parts: True
    heard = sum(
        tally.admits(np.array([1 << 53]), ["ann"]) and not tally.add([1 << 53], heard=["ann"]) for _ in "a" * 600
    )
    assert (heard, tally.sums.tolist()) == (511, [511 * (1 << 53) + 7])  # a crowd of liars does not either


@pytest.mark.parametrize("sums", [(1 << 63) - 1, -(1 << 63), 1 << 60])
def test_masked_sums_are_looked_at_once_their_masks_are_gone(sums: int) -> None:
    group = LiveGroup("g", "masked", PAIR, MaskedTerms(2, 1, 0))
    tally = Tally(COUNT, set(), frozenset(PAIR))
    tally.rounds.append(bytes(16))
    step = SecondStep(tally, [group], {"g": [0, 1]}, Protection())
    words = [(sums - 5) % (1 << 64), 5]
    for name, word in zip(PAIR, words, strict=True):
        assert isinstance(step(name, Masked(bytes(16), word.to_bytes(8, "little"))), Counted)
    assert step.finish(group, PAIR)
    assert (tally.masked, tally.refused) == (0, dict.fromkeys(PAIR, "bounds"))


def test_who_fell_silent_in_a_group_with_impossible_sums_is_doubted_with_the_others() -> None:
    """What it dealt before took the masks off: a wrong share of it spoils the sum as a wrong value does."""
    group = LiveGroup("g", "masked", ("ann", "bob", "cy"), MaskedTerms(3, 1, 1))
    tally = Tally(COUNT, set(), frozenset(group.members))
    tally.rounds.append(bytes(16))
    step = SecondStep(tally, [group], {"g": [0, 1, 2]}, Protection())
    for name in ("ann", "bob"):
        step(name, Masked(bytes(16), (1 << 61).to_bytes(8, "little")))
    step.add_up(group, ["ann", "bob"])
    assert (tally.masked, tally.impossible) == (0, {"ann", "bob", "cy"})
    assert tally.refused == {"ann": "bounds", "bob": "bounds"}


def test_a_bound_is_a_number_of_records() -> None:
    with pytest.raises(InvalidInput, match="most_records"):
        Policy(most_records=0)


def lie(owner: Any, by: int) -> None:
    """Let an owner count so many records more than it has."""
    honest = owner.silo.totals
    owner.silo.totals = lambda query: {part: sums + by for part, sums in honest(query).items()}


@pytest.mark.parametrize("by", [10**6, -(10**6)])
def test_a_liar_in_a_cohort_is_found_by_elimination_and_the_others_are_heard_again(
    city: Callable[..., Any], by: int
) -> None:
    async def run() -> None:
        async with city(owners=12, most_records=100, cap=1_000) as found:
            lie(found.owners["owner-5"], by)
            for number in (1, 2):
                answer = await found.provider.ask(question(number), method="cohorts")
                assert (answer.heard, answer.refused) == (8, {"bounds": 4})
                honest = set(found.owners) - {name for name, times in found.provider.doubted.items() if times}
                assert (len(honest), "owner-5" in honest) == (8, False)
                assert answer.value == found.true_count(question(number), honest)
            for number in (3, 4):
                answer = await found.provider.ask(question(number), method="cohorts")
                assert (answer.heard, answer.refused) == (11, {"bounds": 1})
                honest = [name for name in found.owners if name != "owner-5"]
                assert answer.value == found.true_count(question(number), honest)
                assert set(found.provider.doubted) == {"owner-5"}
            assert {float(owner.ledger.spent()) for owner in found.owners.values()} == {4 * 50.0}  # nobody paid twice

    asyncio.run(run())


def test_cohorts_drawn_anew_follow_from_the_numbers_of_those_before(city: Callable[..., Any]) -> None:
    async def run() -> None:
        async with city(owners=12, most_records=100, cap=1_000) as found:
            lie(found.owners["owner-5"], 10**6)
            drawn, seeds = [], []
            for number in (1, 2):
                await found.provider.ask(question(number), method="cohorts")
                plan = found.provider.plans["cohorts"]
                drawn.append({frozenset(roster.members) for roster in plan.rosters})
                seeds.append(plan.joint_seed)
            ordered = sorted(
                found.owners, key=lambda name: sha256(b"fedgroup cohorts v1" + seeds[0] + name.encode()).digest()
            )
            assert drawn[1] == {frozenset(ordered[start::3]) for start in range(3)}
            assert seeds[0] != seeds[1]
            told = plan.groups[0]
            other = replace(plan, groups=(replace(told, seed="00" * 32), *plan.groups[1:]))
            assert other.joint_seed != plan.joint_seed  # every group's numbers are in it

    asyncio.run(run())


async def heard_in(found: Any, number: int, method: str) -> tuple[int, dict[str, int]]:
    try:
        answer = await found.provider.ask(question(number), method=method)
    except TooFewHeard as nobody:
        return 0, dict(nobody.refused)
    honest = [name for name in found.owners if name not in found.provider.doubted]
    assert answer.value == found.true_count(question(number), honest)
    return answer.heard, answer.refused


async def trusted_groups(found: Any) -> tuple[str, ...]:
    """Form two groups of four, and return the members of the first one, its leader first."""
    plan = await found.provider.regroup(GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2), mode="trusted")
    assert plan.sizes() == [4, 4]
    return plan.groups[0].members


def test_a_liar_in_a_trusted_group_is_found_and_the_others_answer_together_again(city: Callable[..., Any]) -> None:
    async def run() -> None:
        async with city(owners=8, most_records=100, cap=1_000) as found:
            liar = (await trusted_groups(found))[2]
            lie(found.owners[liar], 10**6)
            said = [await heard_in(found, number, "fedgroup") for number in range(5)]
            assert said == [(4, {"bounds": 4})] * 2 + [(7, {"bounds": 1})] * 3
            assert set(found.provider.doubted) == found.provider.left_out == {liar}
            assert (await found.provider.ask(question(7), method="fedgroup")).groups == 2
            assert (await found.provider.ask(question(8), method="cohorts")).heard == 7

    asyncio.run(run())


def test_a_leader_that_lies_for_its_group_leads_it_once(city: Callable[..., Any]) -> None:
    async def run() -> None:
        async with city(owners=8, most_records=100, cap=1_000) as found:
            leader, *members = await trusted_groups(found)
            node = found.owners[leader].node
            honest = node._noisy
            node._noisy = lambda exact, query: [each + 10**6 for each in honest(exact, query)]
            said = [await heard_in(found, number, "fedgroup") for number in range(3)]
            assert said == [(4, {"bounds": 4}), (8, {}), (8, {})]
            assert found.provider.plan.groups[-1].members[0] in members

    asyncio.run(run())


def test_a_liar_that_is_honest_alone_is_with_others_more_and_more_rarely(city: Callable[..., Any]) -> None:
    async def run() -> None:
        async with city(owners=4, most_records=100, cap=1_000) as found:
            owner = found.owners["owner-2"]
            usual, honest, lying = owner.node.prepare, owner.silo.totals, False

            def told(sender: str, message: Any, **named: Any) -> Any:
                nonlocal lying
                lying = isinstance(message, Go)
                return usual(sender, message, **named)

            owner.node.prepare = told
            owner.silo.totals = lambda query: {part: s + 10**6 * lying for part, s in honest(query).items()}
            heard = [(await heard_in(found, number, "mpc"))[0] for number in range(13)]
            assert heard == [0, 0, 4, 0, 0, 4, 4, 0, 0, 4, 4, 4, 4]

    asyncio.run(run())


def test_the_same_bytes_in_a_round_that_is_run_again_are_doubted_once(city: Callable[..., Any]) -> None:
    async def keep(*_kept: Any) -> None:
        """Nothing dies here."""

    async def run() -> None:
        async with city(owners=4, most_records=100, cap=1_000) as found:
            lie(found.owners["owner-2"], 10**6)
            for number in (1, 2):
                named = NamedRound(bytes([number]) * 16, frozenset(), {}, keep)
                async with found.provider.question(question(number), method="mpc") as asked:
                    for _ in range(3):
                        with pytest.raises(TooFewHeard):
                            await asked.tallied(by="ann", quorum=None, may_rerun=lambda: False, named=named)
                assert dict(found.provider.doubted) == dict.fromkeys(found.owners, number)
                assert found.provider.left_out == (set(found.owners) if number == 2 else set())

    asyncio.run(run())


def question(number: int) -> RangeQuery:
    return RangeQuery("count", Circle(5, 5, 3 + number / 100), PRECISE)


def test_a_liar_alone_and_a_lying_leader_are_refused_and_an_owner_keeps_to_its_own_bound(
    city: Callable[..., Any],
) -> None:
    async def run() -> None:
        async with city(owners=2, most_records=100) as found:
            lie(found.owners["owner-0"], 10**6)
            answer = await found.provider.ask(question(1), method="dp")
            assert (answer.heard, answer.refused, answer.missing) == (1, {"bounds": 1}, 1)
            lie(found.owners["owner-1"], 10**6)
            with pytest.raises(TooFewHeard) as nobody:
                await found.provider.ask(question(2), method="dp")
            assert (nobody.value.charged, nobody.value.refused) == (True, {"bounds": 2})
        async with city(owners=1, most_records=100) as found:
            honest = await found.add("careful", most_records=7)
            assert found.true_count(question(1), ["careful"]) > 7
            lie(found.owners["owner-0"], -found.true_count(question(1), ["owner-0"]))
            assert (await found.provider.ask(question(1), method="dp")).value == 7
            assert honest.node.policy.most_records == 7

    asyncio.run(run())


def test_doubts_end_with_a_group_whose_sums_can_be() -> None:
    doubts = Doubts()
    assert doubts.note(impossible=["ann", "bob"], possible=["eve"]) == set()
    assert doubts.note(impossible=["ann", "eve"], possible=["bob"]) == {"ann"}
    assert dict(doubts.doubted) == {"ann": 2, "eve": 1}


def test_the_measured_influence_of_liars_is_gone_once_they_are_found() -> None:
    rows = {(row.liars, row.question): row for row in liars_measured(owners=60, epsilon=0.3, cohort=20, trials=3)}
    assert rows[UNCHECKED, 4].mae > 900_000
    assert rows[CHECKED, 4].mae < 100
    assert rows[CHECKED, 4].heard == 59
    assert rows[NONE, 1].heard == 60
