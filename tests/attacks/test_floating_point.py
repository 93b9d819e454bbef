"""Numbers betray nothing by their last digits: neither noise nor sums are floating-point numbers.

An attacker may learn what the law of the noise tells: epsilon. From floating-point noise it learns the count itself
(Mironov, CCS 2012).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.lab.audit.worlds import MAP
from fedgroup.owner.counting import total_units
from fedgroup.privacy.noise import FloatingPointLaplace
from fedgroup.privacy.release import release_sum
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Rectangle
from fixed_noise import fixed_noise

SCALE = Fraction(3)
DRAWS = 2_000


def finer_than_ones_grid(noisy: np.ndarray) -> np.ndarray:
    """Tell which outcomes have digits that no sum of 1 and a floating-point number has."""
    return noisy * 2.0**53 != np.rint(noisy * 2.0**53)


def test_floating_point_noise_tells_a_count_of_0_from_1_for_certain() -> None:
    """Adding 1 loses the last digits of small noises: where they are there, nothing was added."""
    noise = FloatingPointLaplace(5).laplace(SCALE, DRAWS)
    assert finer_than_ones_grid(0 + noise).mean() > 0.05
    assert not finer_than_ones_grid(1 + noise).any()


def test_whole_noise_has_no_last_digits_and_one_support_in_all_worlds() -> None:
    query = RangeQuery("count", Rectangle(0, 0, 2, 2), Epsilon.of(1))
    released = [
        release_sum(
            {"count": np.full(DRAWS, there)}, groups=1, query=query, protection=Protection(),
            noise=fixed_noise(f"whole {there}"), heard=1,
        ).parts["count"]
        for there in (0, 1)
    ]  # fmt: skip
    assert all(side.dtype == np.int64 and not finer_than_ones_grid(side).any() for side in released)
    assert all(set(range(-3, 5)) <= set(side.tolist()) for side in released)


@settings(max_examples=40)
@given(
    st.lists(st.floats(-1e18, 1e18, allow_nan=False), min_size=1, max_size=8),
    st.floats(-1e18, 1e18, allow_nan=False),
    st.randoms(use_true_random=False),
)
def test_one_record_never_moves_a_sum_by_more_than_its_clip(values: list[float], more: float, order: object) -> None:
    """Sums of floating-point numbers depend on their order, and one record may move them by more than itself."""
    shuffled = [*values, more]
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    query = RangeQuery("sum", Rectangle(0, 0, 4, 4), Epsilon.of(1), Measure("fare", 10.0, True, 0.001))
    with_it, without = (total_units(records(some), query, MAP)["sum"][0] for some in (shuffled, values))
    assert abs(int(with_it) - int(without)) <= 10_000


def records(values: list[float]) -> fg.Records:
    ones = np.ones(len(values))
    return fg.Records(owner=[0] * len(values), x=ones, y=ones, attributes={"fare": np.array(values)}, owners=[0])
