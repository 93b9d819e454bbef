"""What a user reads out of noisy totals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.messages import NoisyTotals
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Circle
from fedgroup.user.role import expect, read

CIRCLE = Circle(0, 0, 1)
FARE = Measure("fare", 50, resolution=0.01)


def totals(noises: float = 1, **parts: int) -> NoisyTotals:
    sums = {part: np.array([total]) for part, total in parts.items()}
    return NoisyTotals(sums, dict.fromkeys(parts, Fraction(10, 3)), continuous=False, noises=noises, heard=1)


def test_a_count_is_whole_and_so_is_its_interval() -> None:
    reading = read(RangeQuery("count", CIRCLE, Epsilon.of(0.3)), totals(count=42))
    assert reading.value == 42
    assert reading.interval == (32, 52)
    assert isinstance(reading.value, int)


def test_a_sum_is_told_in_the_attributes_unit() -> None:
    reading = read(RangeQuery("sum", CIRCLE, Epsilon.of(0.3), FARE), totals(sum=12345))
    assert reading.value == 123.45
    assert reading.interval == pytest.approx((123.35, 123.55))


def test_an_average_is_the_quotient_within_the_clip_range() -> None:
    query = RangeQuery("avg", CIRCLE, Epsilon.of(0.3), FARE)
    reading = read(query, totals(sum=200_000, count=100))
    assert reading.value == 20.0
    assert 0 <= reading.interval[0] < 20 < reading.interval[1] <= 50


@pytest.mark.parametrize("count", [0, -7])
def test_an_average_over_no_noisy_records_has_no_value(count: int) -> None:
    reading = read(RangeQuery("avg", CIRCLE, Epsilon.of(0.3), FARE), totals(sum=500, count=count))
    assert reading.value is None
    assert reading.interval == (0.0, 50.0)


@pytest.mark.parametrize(("count", "said"), [(-7, "there is no mean"), (5, "the interval is wide"), (500, None)])
def test_an_average_over_few_noisy_records_explains_itself(count: int, said: str | None) -> None:
    reading = read(RangeQuery("avg", CIRCLE, Epsilon.of(0.3), FARE), totals(sum=500, count=count))
    assert len(reading.notes) == (0 if said is None else 1)
    for note in reading.notes:
        assert said is not None
        assert said in note
        assert f"the noisy count is {count}" in note
        assert "a larger range" in note
        assert "a larger epsilon" in note


@pytest.mark.parametrize(("epsilon", "notes"), [(10, 0), (11, 1)])
@pytest.mark.parametrize(("kind", "measure"), [("count", None), ("avg", FARE)])
def test_a_reading_at_an_epsilon_above_10_says_so(kind: str, measure: Measure | None, epsilon: int, notes: int) -> None:
    reading = read(RangeQuery(kind, CIRCLE, Epsilon.of(epsilon), measure), totals(sum=500, count=500))
    assert len([note for note in reading.notes if "protects hardly anything" in note]) == notes


def test_a_signed_average_may_be_negative() -> None:
    signed = Measure("fare", 50, signed=True, resolution=0.01)
    reading = read(RangeQuery("avg", CIRCLE, Epsilon.of(0.3), signed), totals(sum=-99_999_999, count=3))
    assert reading.value == -50
    assert reading.interval[0] == -50


@pytest.mark.parametrize("total", [-90_000_000, 90_000_000])
def test_an_average_that_noise_moved_out_of_all_bounds_may_be_any(total: int) -> None:
    reading = read(RangeQuery("avg", CIRCLE, Epsilon.of(0.3), FARE), totals(sum=total, count=30))
    assert (reading.value, reading.interval) == (0.0 if total < 0 else 50.0, (0.0, 50.0))


def test_an_average_tells_the_errors_of_both_parts() -> None:
    query = RangeQuery("avg", CIRCLE, Epsilon.of(0.3), FARE)
    errors = expect(query, scales={"sum": Fraction(5000), "count": Fraction(1)}, noises=4, continuous=False)
    assert errors["sum"].standard_deviation == pytest.approx(0.01 * 5000 * 8**0.5, rel=1e-3)
    assert errors["count"].mean_absolute < errors["sum"].mean_absolute
