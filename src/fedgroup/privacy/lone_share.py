"""What an owner's own share of noise is worth if nobody else's is there: the epsilon it would then really spend.

A share is the difference of two negative binomials of shape 1/t (`share_laws`). Two exact values that differ by the
sensitivity D are told apart best where the law is steepest, at 0 against D: the epsilon there is ln P(0) - ln P(D).
P(D) is the sum over k of p(k) p(k + D); its first terms are added up one by one, the long smooth rest by quadrature
over the logarithm of k, so that the effort is the same at every scale.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Floats = npt.NDArray[np.float64]

_ONE_BY_ONE = 4_096
_NODES = 4_096
_REACH = 80.0
"""Beyond so many scales nothing is left of the law."""


@lru_cache(maxsize=256)
def epsilon_if_alone(sensitivity: int, scale: Fraction, parts: int) -> float:
    """Return how much one share of noise hides, to about four digits: for owners to see, not for accounting."""
    same = _log_overlap(0, float(scale), 1 / parts)
    apart = _log_overlap(sensitivity, float(scale), 1 / parts)
    return same - apart if math.isfinite(apart) else math.inf


def _log_overlap(shift: int, scale: float, shape: float) -> float:
    """Return ln of the sum over k of p(k) p(k + shift), up to a constant that is the same for every shift."""
    first = np.arange(_ONE_BY_ONE, dtype=np.float64)
    ends = math.log(_ONE_BY_ONE - 0.5), math.log(_ONE_BY_ONE + _REACH * scale + 1)
    u = np.linspace(*ends, _NODES)
    k = np.exp(u)
    weight = np.full(_NODES, u[1] - u[0])
    weight[[0, -1]] /= 2
    logs = np.concatenate(
        [_log_terms(first, shift, scale, shape), _log_terms(k, shift, scale, shape) + u + np.log(weight)]
    )
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def _log_terms(k: Floats, shift: int, scale: float, shape: float) -> Floats:
    """Return ln p(k) + ln p(k + shift), up to a constant."""
    terms: Floats = _log_law(k, scale, shape) + _log_law(k + shift, scale, shape)
    return terms


def _log_law(k: Floats, scale: float, shape: float) -> Floats:
    law: Floats = gammaln(k + shape) - gammaln(k + 1) - k / scale
    return law
