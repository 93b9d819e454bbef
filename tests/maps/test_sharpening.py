"""Paid answers together with a published map: narrower than both, never where they are of other records."""

from __future__ import annotations

from dataclasses import replace

import pytest
from published_maps import MIDDLE, federation

import fedgroup as fg
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.sharpening import agree, foreseen_half_width
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
