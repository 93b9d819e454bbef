"""What one share of noise is worth alone: against the sum term by term, and at any scale without much effort."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fedgroup.privacy.lone_share import epsilon_if_alone


def term_by_term(sensitivity: int, scale: float, parts: int) -> float:
    k = np.arange(sensitivity + math.ceil(60 * scale) + 2)
    steps = np.log((k[:-1] + 1 / parts) / (k[:-1] + 1)) - 1 / scale
    law = np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
    return math.log(law @ law / (law[:-sensitivity] @ law[sensitivity:]))


@pytest.mark.parametrize("parts", [1, 2, 7, 44])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 0.3), (1, 0.01), (100, 0.3), (5_000, 0.5)])
def test_it_is_the_ratio_of_the_law_at_0_and_at_the_sensitivity(sensitivity: int, epsilon: float, parts: int) -> None:
    scale = Fraction(sensitivity) / Fraction(str(epsilon))
    assert epsilon_if_alone(sensitivity, scale, parts) == pytest.approx(
        term_by_term(sensitivity, float(scale), parts), rel=1e-4
    )


def test_a_whole_noise_alone_is_worth_its_epsilon() -> None:
    assert epsilon_if_alone(1, Fraction(10, 3), 1) == pytest.approx(0.3)
    assert epsilon_if_alone(4_000_000_000, Fraction(40_000_000_000, 3), 1) == pytest.approx(0.3, rel=1e-3)


def test_tiny_epsilons_and_large_sums_take_no_memory() -> None:
    assert epsilon_if_alone(1, Fraction(10**9), 44) == pytest.approx(3.76, abs=0.01)
    assert 20 < epsilon_if_alone(4_000_000_000, Fraction(4 * 10**12), 44) < 30
    assert epsilon_if_alone(1, Fraction(1, 10_000), 3) > 5_000
