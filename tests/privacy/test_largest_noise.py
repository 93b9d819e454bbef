"""What noise exceeds only with a stated chance: never too little, by the exact laws, and not much too much."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fedgroup.messages import Variances
from fedgroup.privacy.concentrated import law_of_noise
from fedgroup.privacy.largest_noise import largest_noise

VARIANCES = [Variances(Fraction(variance), Fraction(variance) + 1) for variance in (Fraction(1, 2), 30, 5_000)]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10, 3), Fraction(500), *VARIANCES], ids=str)
@pytest.mark.parametrize(("noises", "shared"), [(1.0, False), (1.25, True), (1.25 * 64, True)])
def test_noise_exceeds_it_with_no_more_than_the_chance(
    scale: Fraction | Variances, noises: float, shared: bool
) -> None:
    law = law_of_noise(scale, noises=noises, shared=noises if shared else 0.0, continuous=False)
    for chance in (1e-2, 1e-6):
        most = largest_noise(scale, noises=noises, shared=shared, chance=chance)
        assert 1 - law.coverage(most) <= chance
        assert most <= 2 * law.half_width(1 - chance) + 3


def test_rarer_and_more_noises_reach_farther() -> None:
    reach = [largest_noise(Fraction(3), noises=1.0, shared=False, chance=2.0**-power) for power in (10, 40, 80)]
    assert reach == sorted(set(reach))
    assert largest_noise(Fraction(3), noises=9.0, shared=True, chance=1e-9) > reach[1]
