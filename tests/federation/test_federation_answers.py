"""Answers of a federation: what they hold, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.errors import InvalidInput
from fedgroup.privacy.release import Disclosed

DOMAIN = fg.Box(0, 0, 10, 10)
ALL = fg.Rectangle(0, 0, 10, 10)
HUGE = 1_000_000
"""An epsilon so large that noise is 0 but for a chance below 1e-400000."""


def records(**changes: Any) -> fg.Records:
    columns: Mapping[str, Any] = {
        "owner": [1, 1, 2, 2, 3],
        "x": [1.0, 2.0, 3.0, 50.0, 4.0],
        "y": [1.0, 1.0, 1.0, 1.0, 1.0],
        "attributes": {"fare": [5.0, 100.0, -3.0, 7.0, np.nan]},
        "time": [0, 100, 200, 300, 400],
    }
    return fg.Records(**(columns | changes))


def federation(**settings: Any) -> fg.Federation:
    return fg.Federation(records(), DOMAIN, **settings)


def test_a_count_leaves_out_records_outside_the_domain() -> None:
    answer = federation().count(fg.Rectangle(0, 0, 100, 100), epsilon=HUGE)
    assert (answer.value, answer.interval) == (4, (4, 4))
    assert "outside the domain" in answer.notes[0]


@pytest.mark.parametrize(("signed", "total"), [(False, 15), (True, 12)])
def test_a_sum_clips_values_and_skips_absent_ones(signed: bool, total: float) -> None:
    answer = federation().sum(ALL, attribute="fare", clip=10, signed=signed, resolution=1, epsilon=HUGE)
    assert answer.value == total
    assert "cut to the clip range" in answer.notes[1]


def test_a_sum_is_rounded_to_its_resolution_record_by_record() -> None:
    half = fg.Federation(records(attributes={"fare": [0.4, 0.4, 0.4, 0.4, 0.4]}), DOMAIN)
    assert half.sum(ALL, attribute="fare", clip=10, resolution=1, epsilon=HUGE).value == 0
    assert half.sum(ALL, attribute="fare", clip=10, resolution=0.2, epsilon=HUGE).value == 1.6


def test_an_average_divides_by_the_records_that_have_a_value() -> None:
    answer = federation().avg(ALL, attribute="fare", clip=10, resolution=1, epsilon=HUGE)
    assert answer.value == pytest.approx(5)


def test_an_average_that_the_noise_hides_has_no_value_and_the_whole_clip_range() -> None:
    empty = fg.Federation(fg.Records(owner=[], x=[], y=[], attributes={"fare": []}, owners=[1, 2]), DOMAIN, seed=1)
    answers = [empty.avg(ALL, attribute="fare", clip=10, epsilon=0.1, fresh=True) for _ in range(20)]
    assert any(answer.value is None for answer in answers)
    for answer in answers:
        assert answer.value is not None or answer.interval == (0, 10)
        assert answer.value is None or 0 <= answer.value <= 10


def test_a_time_window_is_half_open() -> None:
    assert federation().count(ALL, since=100, until=200, epsilon=HUGE).value == 1
    assert federation().count(ALL, since=100, until=201, epsilon=HUGE).value == 2


def test_each_owner_contributes_at_most_its_first_records() -> None:
    answer = federation(unit="owner", max_records=1).count(ALL, epsilon=HUGE)
    assert answer.value == 3


def test_an_answer_states_its_price_and_its_parties() -> None:
    answer = federation().count(ALL, epsilon=0.3)
    assert (answer.method, answer.in_group, answer.groups, answer.owners) == ("dp", None, 3, 3)
    assert (answer.heard, answer.missing, answer.private, answer.stored) == (3, 0, True, False)
    assert (answer.epsilon, answer.charged, answer.confidence) == (0.3, 0.3, 0.95)
    assert answer.asked_at is not None
    assert answer.seconds > 0


def test_listed_owners_without_records_draw_noise_too() -> None:
    listed = fg.Federation(records(owners=[1, 2, 3, 4, 5]), DOMAIN)
    answer = listed.count(ALL, epsilon=HUGE)
    assert (answer.value, answer.groups, answer.owners) == (4, 5, 5)


def test_an_exact_answer_is_free_and_not_private() -> None:
    asked = federation(budget=1, evaluation=True)
    answer = asked.count(ALL, method="exact")
    assert (answer.value, answer.interval, answer.epsilon, answer.private) == (4, (4, 4), 0, False)
    assert asked.spent == 0
    assert asked.avg(fg.Circle(9, 9, 0.5), method="exact", attribute="fare", clip=5).value is None


def test_sums_and_averages_tell_the_true_value_and_the_one_after_clipping() -> None:
    fares = fg.Records(owner=[1, 2], x=[1, 2], y=[1, 1], attributes={"fare": [2.0, 100.0]})
    federation = fg.Federation(fares, fg.Box(0, 0, 10, 10), seed=1)
    everywhere = fg.Rectangle(0, 0, 10, 10)
    told = {
        kind: federation.ask(kind, everywhere, epsilon=1, attribute="fare", clip=10, evaluate=True)
        for kind in ("sum", "avg")
    }
    assert (told["sum"].true_value, told["sum"].true_value_clipped) == (102, 12)
    assert (told["avg"].true_value, told["avg"].true_value_clipped) == (51, 6)


def test_with_owners_cut_to_some_records_the_true_value_is_of_all_records() -> None:
    many = fg.Records(owner=[1, 1, 1], x=[1, 2, 3], y=[1, 1, 1])
    federation = fg.Federation(many, fg.Box(0, 0, 10, 10), unit="owner", max_records=2, seed=1)
    answer = federation.count(fg.Rectangle(0, 0, 10, 10), epsilon=1, evaluate=True)
    assert (answer.true_value, answer.true_value_clipped) == (3, 2)


def test_the_mean_absolute_error_is_that_of_all_answers() -> None:
    one = fg.Records(owner=[1], x=[1], y=[1])
    federation = fg.Federation(one, fg.Box(0, 0, 10, 10), seed=1)
    answer = federation.count(fg.Circle(1, 1, 1), epsilon=0.1, repeat=4, evaluate=True)
    assert answer.mean_absolute_error == sum(abs((value or 0) - 1) for value in answer.values) / 4 > 0
    assert federation.count(fg.Circle(1, 1, 1), epsilon=0.1).mean_absolute_error is None


def test_a_true_value_makes_an_answer_not_private_and_is_not_stored() -> None:
    asked = federation(evaluation=True)
    answer = asked.count(ALL, epsilon=0.3, evaluate=True)
    assert (answer.true_value, answer.private) == (4, False)
    again = asked.count(ALL, epsilon=0.3)
    assert (again.true_value, again.stored, again.value) == (None, True, answer.value)


@pytest.mark.parametrize("weak", [{"seed": 1}, {"evaluation": True}, {"noise": fg.FloatingPointLaplace(1)}])
def test_weak_noise_and_chosen_owners_are_not_private(weak: dict[str, Any]) -> None:
    asked = federation(**weak)
    assert not asked.private
    assert not asked.count(ALL, epsilon=1).private
    assert not asked.group(epsilon=1, grid=(2, 2)).private


def test_a_seed_gives_the_same_answers_and_another_seed_others() -> None:
    first, same, other = (federation(seed=seed).count(ALL, epsilon=0.01).value for seed in (1, 1, 2))
    assert first == same != other


def test_repeated_answers_are_all_charged_and_not_private() -> None:
    asked = federation(budget=1)
    answer = asked.count(ALL, epsilon=0.1, repeat=4)
    assert len(answer.values) == 4
    assert (answer.value, answer.epsilon, answer.charged) == (answer.values[0], 0.4, 0.4)
    assert not answer.private
    assert float(asked.ledger.spent()) == 0.4
    with pytest.raises(fg.BudgetExhausted):
        asked.count(ALL, epsilon=0.1, repeat=7)
    assert float(asked.ledger.spent()) == 0.4


def test_an_expectation_tells_the_price_and_spends_nothing() -> None:
    asked = federation(budget=1)
    expected = asked.expect("count", ALL, epsilon=0.6)
    assert (expected.charge, expected.left, expected.affordable) == (0.6, 1, True)
    assert asked.ledger.entries() == []
    asked.count(ALL, epsilon=0.6)
    again = asked.expect("count", ALL, epsilon=0.6)
    assert (again.charge, again.affordable) == (0.6, False)
    assert asked.expect("count", ALL, epsilon=0.1, repeat=3).charge == pytest.approx(0.3)


def test_nothing_private_prints() -> None:
    asked = federation()
    plan = asked.group(epsilon=1, grid=(2, 2))
    assert repr(asked) == f"Federation({DOMAIN}, <private records>)"
    assert repr(asked._owners) == "DataOwners(<private>)"
    assert repr(Disclosed({"count": np.array([7])})) == "Disclosed(<private>)"
    assert repr(plan) == f"Plan(id={plan.id!r}, owners=3, groups={plan.groups})"


def test_a_plan_is_judged_by_exact_records() -> None:
    asked = federation(evaluation=True)
    plan = asked.group(graph="exact", grid=(2, 2), threshold=0.5)
    assert (plan.groups, plan.epsilon, plan.private) == (1, 0, False)
    found = asked.judge(plan, threshold=0.5)
    assert {"false_pair_share", "misplaced_share"} <= set(found)
    assert set(found.values()) == {0}


def test_a_plan_with_strangers_cannot_be_judged() -> None:
    plan = federation(evaluation=True).group(graph="exact", grid=(2, 2))
    fewer = fg.Federation(records(owner=[1, 1, 2, 2, 2]), DOMAIN, evaluation=True)
    with pytest.raises(InvalidInput, match="all of its owners"):
        fewer.judge(plan, threshold=0.5)
