"""Members that fall silent after the roster is fixed: their groups answer without them, and nobody pays twice."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from driven_time import in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.errors import TooFewHeard
from fedgroup.live import waves
from fedgroup.live.plans import LivePlan
from fedgroup.live.tally import Counted, SecondStep, Tally
from fedgroup.messages.asked import Unmask
from fedgroup.messages.said import Masked
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.methods import METHODS
from fedgroup.questions.query import RangeQuery
from fedgroup.secure import mask_graph
from fedgroup.space import Box, Circle, Grid

ONE = Epsilon.of(30)
QUERY = RangeQuery("count", Circle(5, 5, 3.2), ONE)
MAP = RangeQuery("count", Grid(Box(0, 0, 10, 10), 9, 9), ONE)
"""More words than are looked at as one."""


@pytest.fixture(params=[200, 1], autouse=True, ids=["one lane", "side by side"])
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All groups go through the steps together, or few owners go in lanes as many do."""
    monkeypatch.setattr(waves, "_LEAST_IN_LANE", request.param)


class Ignoring:
    """Makes an owner ignore messages of a kind, so many times."""

    def __init__(self, owner: Any, kind: str, *, times: int = 1_000) -> None:
        self._usual, self._kind, self._left = owner.node.prepare, kind, times
        owner.node.prepare = self._receive

    def _receive(self, sender: str, message: Any, **named: Any) -> Any:
        if type(message).__name__ == self._kind and self._left:
            self._left -= 1
            return []
        return self._usual(sender, message, **named)


async def asked_once(here: Any, method: str = "cohorts") -> list[tuple[str, ...]]:
    """Ask a first question, so that groups are formed, and return their members."""
    await here.provider.ask(QUERY, method=method)
    return [group.members for group in here.provider.plans[method].groups]


def spent(here: Any) -> dict[str, float]:
    return {name: float(owner.ledger.spent()) for name, owner in here.owners.items()}


@pytest.mark.parametrize("query", [QUERY, MAP], ids=["count", "map"])
def test_up_to_a_tenth_of_each_cohort_falls_silent_and_everybody_pays_once(
    query: RangeQuery, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(22, cohort_size=11, cap=1e4) as here:
            cohorts = await asked_once(here)
            silent = {name for members in cohorts for name in members[3:5]}
            for name in silent:
                Ignoring(here.owners[name], "Go")
            ask = here.provider.ask if query is QUERY else here.provider.map
            answer = await ask(query, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing, answer.groups, answer.epsilon) == (18, 4, 2, 30)
            assert answer.noises == pytest.approx(2 * 9 / 8)
            heard = [name for name in here.owners if name not in silent]
            if query is QUERY:
                assert answer.value == here.true_count(QUERY, heard)
            else:
                assert answer.values.sum() == 40 * len(heard)
            assert any("answered without them" in note for note in answer.notes)
            assert {name for name, epsilon in spent(here).items() if epsilon == 60} == set(heard)
            assert {spent(here)[name] for name in silent} == {30}

    in_driven_time(story())


def test_more_than_a_tenth_of_one_cohort_silent_and_only_that_cohort_gives_nothing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(14, cohort_size=7, cap=1e4) as here:
            first, second = await asked_once(here)
            for name in first[:2]:
                Ignoring(here.owners[name], "Go")
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing, answer.epsilon) == (7, 7, 30)
            assert answer.value == here.true_count(QUERY, second)
            assert "1 masked group gave nothing: too few of its members answered" in answer.notes
            assert {spent(here)[name] for name in (*first[2:], *second)} == {60}

    in_driven_time(story())


@pytest.mark.parametrize(("kind", "reruns"), [("Ask", 0), ("Go", 1)])
def test_as_few_members_as_must_be_heard_give_an_answer(kind: str, reruns: int, city: Callable[..., Any]) -> None:
    """Where many may be silent nobody pays in a round of too few: one of ten is to spare, and three are silent."""

    async def story() -> None:
        async with city(10, cohort_size=10, cap=1e4, dropouts=0.3) as here:
            (members,) = await asked_once(here)
            for name in members[:3]:
                Ignoring(here.owners[name], kind)
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing, answer.epsilon) == (7, 3, 30 * (1 + reruns))
            assert answer.value == here.true_count(QUERY, members[3:])
            assert {spent(here)[name] for name in members[3:]} == {60 + 30 * reruns}

    in_driven_time(story())


@pytest.mark.parametrize(("mute", "heard"), [(2, 7), (3, 0)])
def test_members_may_fall_silent_after_their_values_left_as_long_as_enough_tell_shares(
    mute: int, heard: int, city: Callable[..., Any]
) -> None:
    """Of 7 members 5 give a secret. With fewer, some masks may be off: the group is not asked again."""

    async def story() -> None:
        async with city(13, cohort_size=7, cap=1e4) as here:
            first, second = sorted(await asked_once(here), key=len)
            for name in second[:mute]:
                Ignoring(here.owners[name], "Unmask")
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.epsilon) == (heard + len(first), 30)
            assert any("gave nothing" in note for note in answer.notes) == (not heard)
            assert {spent(here)[name] for name in here.owners} == {60}

    in_driven_time(story())


def test_a_request_that_is_lost_is_sent_once_more(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, cohort_size=6, cap=1e4) as here:
            await asked_once(here)
            for owner in here.owners.values():
                Ignoring(owner, "Unmask", times=1)
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing, answer.epsilon) == (6, 0, 30)

    in_driven_time(story())


def test_a_round_that_is_spoilt_before_any_mask_came_off_is_run_again_and_says_so(city: Callable[..., Any]) -> None:
    """Of 6 members 2 may be missing, but only 1 can be recovered."""

    async def story() -> None:
        async with city(6, dropouts=0.2, cohort_size=6, cap=1e4) as here:
            await asked_once(here)
            for name in ("owner-1", "owner-4"):
                Ignoring(here.owners[name], "Go")
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing, answer.epsilon) == (4, 2, 60)
            assert any("at the same price once more" in note for note in answer.notes)

    in_driven_time(story())


def test_large_groups_recover_too_once_enough_members_signed_who_was_heard(
    city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of 32 mask along a random graph here; three fall silent, and three more once they signed."""
    monkeypatch.setattr(mask_graph, "ALL_PAIRS", 16)

    async def story() -> None:
        async with city(32, cap=1e4) as here:
            (members,) = await asked_once(here, "mpc")
            assert max(map(len, here.provider.plans["mpc"].groups[0].neighbours)) < 31
            for name in members[:3]:
                Ignoring(here.owners[name], "Go")
            for name in members[3:6]:
                Ignoring(here.owners[name], "Unmask", times=2)
            answer = await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert (answer.heard, answer.missing, answer.epsilon) == (29, 3, 30)
            assert answer.value == here.true_count(QUERY, members[3:])

    in_driven_time(story())


class SignsNothing:
    """An owner's identity whose signatures are none."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)

    def sign(self, _stated: bytes) -> bytes:
        return bytes(64)


def test_who_signs_something_else_spoils_nothing_and_lapses(
    city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its position is the first, so that its signature would be among those shown to all others."""
    monkeypatch.setattr(mask_graph, "ALL_PAIRS", 16)

    async def story() -> None:
        async with city(32, cap=1e4) as here:
            (members,) = await asked_once(here, "mpc")
            liar = here.owners[members[0]].node._unmaskings
            liar._identity = SignsNothing(liar._identity)
            plan = here.provider.plans["mpc"]
            assert LivePlan.of(json.loads(json.dumps(asdict(plan)))).groups == plan.groups
            answer = await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert (answer.heard, answer.groups, answer.epsilon) == (32, 1, 30)
            assert answer.value == here.true_count(QUERY, members)
            assert here.provider._asking._lapses.left_out == {members[0]}

    in_driven_time(story())


def test_signatures_that_come_after_enough_of_them_do_not_stand_for_shares(
    city: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 32 members 17 sign at once; the signatures of the others arrive right before their shares."""
    monkeypatch.setattr(mask_graph, "ALL_PAIRS", 16)

    async def story() -> None:
        async with city(32, cap=1e4) as here:
            (members,) = await asked_once(here, "mpc")
            for name in members[17:]:
                owner, usual, held = here.owners[name], here.owners[name].node.prepare, []

                def late(sender: str, message: Any, usual: Any = usual, held: Any = held, **named: Any) -> Any:
                    letters = usual(sender, message, **named)
                    if isinstance(message, Unmask) and not message.signers:
                        held += letters
                        return []
                    return [*held, *letters]

                owner.node.prepare = late
            answer = await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert (answer.heard, answer.missing, answer.epsilon) == (32, 0, 30)
            assert answer.value == here.true_count(QUERY, members)

    in_driven_time(story())


@pytest.mark.parametrize("kind", ["Offer", "Reveal", "Seal"])
def test_who_is_silent_while_its_group_is_formed_is_in_it_once_it_has_answered_alone(
    kind: str, city: Callable[..., Any]
) -> None:
    async def story() -> None:
        async with city(6, cap=1e4) as here:
            for name in ("owner-1", "owner-4"):
                Ignoring(here.owners[name], kind, times=1)
            found = [await here.provider.ask(QUERY, method="mpc", fresh=True) for _ in range(3)]
            assert [(each.heard, each.groups) for each in found] == [(6, 3), (6, 1), (6, 1)]

    in_driven_time(story())


def test_a_question_that_nobody_is_heard_in_says_which_groups_gave_nothing_and_who_paid(
    city: Callable[..., Any],
) -> None:
    async def story() -> None:
        async with city(6, cap=1e4) as here:
            await asked_once(here, "mpc")
            for name in ("owner-1", "owner-2", "owner-4"):
                Ignoring(here.owners[name], "Unmask")
            with pytest.raises(TooFewHeard) as late:
                await here.provider.ask(QUERY, method="mpc", fresh=True)
            told = "1 masked group gave nothing: too few of its members answered"
            assert str(late.value).startswith(told)
            assert "you have" in str(late.value)
            assert (late.value.charged, late.value.gave_nothing) == (True, 1)
            for name in here.owners:
                Ignoring(here.owners[name], "Ask")
            with pytest.raises(TooFewHeard) as early:
                await here.provider.ask(QUERY, method="mpc", fresh=True)
            assert "6 owners that are here said nothing in time; nothing was charged" in str(early.value)
            assert pickle.loads(pickle.dumps(early.value)).silent == 6
            assert early.value.as_charged().silent == 6

    in_driven_time(story())


def test_notes_tell_how_many_owners_said_nothing(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(12, cohort_size=12, cap=1e4) as here:
            ((*members,),) = await asked_once(here)
            Ignoring(here.owners[members[0]], "Ask")
            Ignoring(here.owners[members[1]], "Go")
            answer = await here.provider.ask(QUERY, method="cohorts", fresh=True)
            assert (answer.heard, answer.missing) == (10, 2)
            assert "2 owners that are here said nothing in time" in answer.notes

    in_driven_time(story())


def test_a_silent_member_is_asked_alone_until_it_answers(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6, cohort_size=6, cap=1e4) as here:
            await asked_once(here)
            Ignoring(here.owners["owner-2"], "Go", times=2)  # it is told to go twice, as messages may be lost
            found = [await here.provider.ask(QUERY, method="cohorts", fresh=True) for _ in range(3)]
            assert [(each.heard, each.groups, each.epsilon) for each in found] == [(5, 1, 30), (6, 2, 30), (6, 1, 30)]

    in_driven_time(story())


def test_a_value_without_shares_for_all_neighbours_in_the_roster_is_not_counted(city: Callable[..., Any]) -> None:
    async def story() -> None:
        async with city(6) as here:
            plan = await here.provider._cohorts(METHODS["mpc"], METHODS["mpc"].together)
            (group,) = plan.groups
            taking = SecondStep(
                Tally(QUERY), [group], {group.name: [0, 1, 2, 4, 5]}, Protection(), dealing=[group.name]
            )
            words = bytes(8)
            kept = [taking(group.members[0], Masked(b"r" * 16, words, bytes(20 * shares))) for shares in (0, 5, 4)]
            assert [isinstance(each, Counted) for each in kept] == [False, False, True]
            assert kept[2].dealt == bytes(80)

    in_driven_time(story())
