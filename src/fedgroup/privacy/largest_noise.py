"""How far noise moves a sum at most, but for a chance that is stated: what is farther off is no noise.

Guarantee: `largest_noise` is not exceeded, on either side, except with at most the given chance.
Proof:     for every y > 0, P(|X| > x) <= 2 exp(-y x) E exp(y X), as the laws are symmetric (Chernoff); so x = (ln(2 /
           chance) + ln E exp(y X)) / y will do, for any y, and the best of a few is taken. One discrete Laplace noise
           of scale s has E exp(y X / s) <= 1 / (1 - y^2) for 0 < y < 1 (secure/widths.py), k of them the k-th power,
           also where they come in shares. A discrete Gaussian of variance parameter c has E exp(y X) <= exp(y^2 c / 2),
           as Canonne, Kamath and Steinke (2020) show, k of them the k-th power. Skellam noise of variance V has
           E exp(y X) = exp(V (cosh(y) - 1)). Rounding: x is raised by 1 part in 10^9 and to the next whole number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from fedgroup.messages import NoiseScale

_STEPS = 64
_SLACK = 1 + 1e-9


@lru_cache(maxsize=1024)
def largest_noise(scale: NoiseScale, *, noises: float, shared: bool, chance: float) -> int:
    """Return what the sum of so many noises exceeds, whatever its sign, with a chance of at most `chance`.

    `shared` noises come in shares, from a masked group.
    """
    log = math.log(2 / chance)
    if isinstance(scale, Fraction):
        steps = (step / _STEPS for step in range(1, _STEPS))
        most = float(scale) * min((log - noises * math.log1p(-y * y)) / y for y in steps)
    elif shared:
        variance = float(scale.skellam) * noises
        usual = math.sqrt(2 * log / variance)
        steps = (usual * 2.0 ** (power / 4) for power in range(-24, 5))
        most = min((log + variance * (math.cosh(y) - 1)) / y for y in steps if y < 300)
    else:
        most = math.sqrt(2 * log * float(scale.gaussian) * noises)
    return math.ceil(most * _SLACK)
