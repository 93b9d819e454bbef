"""What an owner's own share of noise is worth if nobody else's is there: the epsilon it would then really spend.

A share is the difference of two negative binomials of shape 1/t (`share_laws`). Two exact values that differ by the
sensitivity D are told apart best where the law is steepest, at 0 against D: the epsilon there is ln P(0) - ln P(D).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

_LONGEST = 2_000
"""Larger sensitivities are scaled down to this one, with their noise: the law hardly depends on the unit."""


@lru_cache(maxsize=256)
def epsilon_if_alone(sensitivity: int, scale: Fraction, parts: int) -> float:
    """Return about how much one share of noise hides: for owners to see, not for accounting."""
    shift = min(sensitivity, _LONGEST)
    spread = float(scale) * shift / sensitivity
    k = np.arange(shift + math.ceil(60 * spread) + 2)
    # ln of C(k + 1/t - 1, k) a^k, up to a constant that cancels in the ratio
    steps = np.log((k[:-1] + 1 / parts) / (k[:-1] + 1)) - 1 / spread
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    law = np.exp(logs)
    same, apart = float(law @ law), float(law[:-shift] @ law[shift:])
    return math.log(same / apart) if apart > 0 else math.inf
