"""Paid answers together with a published map: narrower than both, never where they are of other records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from published_maps import CITY, MIDDLE, federation, records

import fedgroup as fg
from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import NOTHING
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.sharpening import ALONE, agree, foreseen_half_width
from fedgroup.maps.shelf import newest
from fedgroup.questions.answers import Answer

QUIET = fg.Circle(2_000, 17_000, 1_500)
PRICE = 0.2


@pytest.fixture(scope="module")
def city() -> fg.Federation:
    return federation()


@pytest.fixture(scope="module")
def made(city: fg.Federation) -> PublishedMap:
    return city.publish(epsilon=0.5)


@pytest.fixture(scope="module")
def paid(city: fg.Federation) -> Answer:
    return city.count(MIDDLE, epsilon=PRICE, method="mpc")


def half(answer: Answer) -> float:
    return (answer.interval[1] - answer.interval[0]) / 2


def test_both_together_are_narrower_than_each_and_reach_as_far_as_was_foreseen(
    city: fg.Federation, made: PublishedMap, paid: Answer
) -> None:
    free, both = made.count(MIDDLE), made.combined(paid)
    assert half(both) < min(half(paid), half(free))
    assert min(paid.value, free.value) < both.value < max(paid.value, free.value)
    expected = city.expect("count", MIDDLE, epsilon=PRICE, method="mpc")
    foreseen = foreseen_half_width(free, expected.errors["count"].half_width, noises=expected.noises)
    assert both.value - both.interval[0] == pytest.approx(foreseen, rel=0.01)


def test_what_was_paid_makes_a_comparison_sharper_and_noise_of_the_map_still_cancels(
    city: fg.Federation, made: PublishedMap, paid: Answer
) -> None:
    free, sharper = made.compare(MIDDLE, QUIET), made.compare(MIDDLE, QUIET, paid=(paid, None))
    assert sharper.noise**2 + sharper.uneven**2 < free.noise**2 + free.uneven**2
    assert sharper.difference == pytest.approx(made.combined(paid).value - made.count(QUIET).value, abs=1)
    twice = made.compare(MIDDLE, MIDDLE, paid=(paid, paid))
    assert twice.difference == pytest.approx(0)
    assert not twice.certain


def test_answers_of_other_records_or_owners_stand_alone(made: PublishedMap, paid: Answer) -> None:
    free = made.count(MIDDLE)
    assert agree(paid, free)
    assert not agree(replace(paid, heard=paid.heard - 1), free)
    doubled = replace(paid, value=paid.value * 2, interval=tuple(end + paid.value for end in paid.interval))
    assert not agree(doubled, free)
    alone = made.compare(MIDDLE, QUIET, paid=(doubled, None))
    assert alone.difference == pytest.approx(doubled.value - made.count(QUIET).value, abs=1)


def test_both_together_are_told_as_the_paid_answer_is_and_private_only_if_both_are(
    made: PublishedMap, paid: Answer
) -> None:
    told = replace(paid, private=True, trust="a leader", method="fedgroup", delta=1e-9, rho=0.5, log_entry=7)
    free = replace(made.count(MIDDLE), private=True, notes=("what the map says",))
    both = made.combined(told, free=free)
    assert (both.private, both.trust, both.method, both.delta, both.rho, both.log_entry) == (
        True, "a leader", "fedgroup", 1e-9, 0.5, 7,
    )  # fmt: skip
    assert (both.epsilon, both.charged, both.heard) == (paid.epsilon, paid.charged, paid.heard)
    assert "what the map says" in both.notes
    assert not made.combined(replace(told, private=False), free=free).private
    assert not made.combined(told, free=replace(free, private=False)).private


def test_whether_there_may_be_nothing_is_told_by_both_together(made: PublishedMap, paid: Answer) -> None:
    free = replace(made.count(MIDDLE), notes=("what the map says", NOTHING))
    both = made.combined(paid, free=free)
    assert both.interval[0] > 0
    assert "what the map says" in both.notes
    assert NOTHING not in both.notes
    none = replace(paid, value=0.0, interval=(-half(paid), half(paid)))
    assert NOTHING in made.combined(none, free=replace(free, value=0.0, notes=())).notes


def test_they_are_joined_only_as_far_apart_as_chance_explains(made: PublishedMap, paid: Answer) -> None:
    free = made.count(MIDDLE)
    spread = ((half(paid) / 2) ** 2 + free.noise**2 + free.uneven**2) ** 0.5

    def apart(gap: float) -> Answer:
        low, high = (end - paid.value + free.value + gap for end in paid.interval)
        return replace(paid, value=free.value + gap, interval=(low, high))

    assert agree(apart(1.5 * spread), free)
    assert not agree(apart(4 * spread), free)
    assert not agree(apart(-4 * spread), free)


def test_a_price_in_error_joins_no_map_of_other_records_and_no_exact_value() -> None:
    made = federation().publish(epsilon=0.5)
    twice = records()
    x, y = (np.tile(column, 2) for column in (twice.x, twice.y))
    grown = fg.Federation(
        fg.Records(owner=np.tile(np.arange(8_000) % 100, 2), x=x, y=y, owners=range(100)), CITY, evaluation=True
    )
    grown.take_map(made)
    truth = int(((x - MIDDLE.x) ** 2 + (y - MIDDLE.y) ** 2 <= MIDDLE.radius**2).sum())
    answer = grown.count(MIDDLE, error=5, method="mpc")
    assert ALONE in answer.notes
    assert answer.value == pytest.approx(truth, abs=20)
    exact = grown.count(MIDDLE, error=5, method="exact")
    assert (exact.value, exact.private, exact.method) == (truth, False, "exact")
    with pytest.raises(InvalidQuery, match="protects"):
        federation(settings={"seed": 1, "neighbours": "replace"}).take_map(made)


@pytest.mark.parametrize(
    ("epsilons", "shown"), [([], None), ([1.0], 0), ([1.0, 0.5], 1), ([1.0, 0.49], 0), ([0.1, 1.0, 0.2, 0.6], 3)]
)
def test_a_cheap_map_does_not_hide_a_good_one(epsilons: list[float], shown: int | None) -> None:
    assert newest(enumerate(epsilons)) == shown
