"""Exact log-series variables of large scale, by rejection among uniform whole numbers.

Requires:  uniform bits; a scale above 1 that is an exact fraction, its numerator below 2^54.
Guarantee: a draw of scale s takes k = 1, 2, ... with probability exactly proportional to exp(-k/s) / k.
Proof:     Let 2^b >= s. Pick j in 0..b with equal chances and i >= 0 with probability (1 - 1/e) e^-i. For j < b demand
           i = 0. Let w = 2^j, and k uniform in [w (1 + i), w (2 + i)), which for j < b covers each k in [1, 2^b) once
           and for j = b each k from 2^b up once. Accept k with probability w/k and exp(-(k/s - i)), where k/s >= i.
           Then k is proposed and accepted with probability 1/(b+1) (1 - 1/e) e^-i 1/w w/k e^(i - k/s), which is
           exp(-k/s) / k times a constant.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.rejection import Bools, Ints, bernoulli_exp, uniform_below
from fedgroup.privacy.series_inverse import SeriesInverse, thresholds
from fedgroup.privacy.share_laws import NegativeBinomial
from fedgroup.privacy.table import TableSampler


def draw_log_series(stream: Keystream, scale: Fraction, count: int) -> Ints:
    """Return `count` independent draws."""
    accepted = [np.empty(0, dtype=np.int64)]
    missing = count
    while missing:
        # Two in five are accepted.
        accepted.append(_accepted(stream, scale, 5 * missing // 2 + 8)[:missing])
        missing -= len(accepted[-1])
    return np.concatenate(accepted)


def _accepted(stream: Keystream, scale: Fraction, proposals: int) -> Ints:
    """Return those of so many proposals that count; the names are those of the proof above."""
    b = (math.ceil(scale) - 1).bit_length()
    j = uniform_below(stream, b + 1, proposals)
    i = _successes_of_exp_one(stream, proposals)
    allowed = (i == 0) | (j == b)
    i, w = i[allowed], np.left_shift(1, j[allowed])
    k = w * (1 + i) + (_words(stream, len(w)) & (w - 1))
    kept = np.flatnonzero(_uniform_below_each(stream, k) < w)
    k, i = k[kept], i[kept]
    # An i above 250, which would leave 64 bits here, has probability e^-250: it is never seen.
    accepted: Ints = k[coins_of_exp(stream, k * scale.denominator - i * scale.numerator, scale.numerator)]
    return accepted


def coins_of_exp(stream: Keystream, u: Ints, t: int) -> Bools:
    """Return independent coins, the n-th true with probability exp(-u[n] / t): whole steps of 1/e and one coin more."""
    whole = u // t
    coins = _successes_of_exp_one(stream, len(u)) >= whole
    running = np.flatnonzero(coins)
    coins[running] = bernoulli_exp(stream, u[running] - whole[running] * t, t)
    return coins


def _successes_of_exp_one(stream: Keystream, count: int) -> Ints:
    """Return how many coins of probability 1/e come up true before the first false one."""
    return _geometric_of_scale_one().draw(stream, count)


@lru_cache(maxsize=1)
def _geometric_of_scale_one() -> TableSampler:
    law = NegativeBinomial(Fraction(1), parts=1)
    return TableSampler(thresholds(law), 0, resolve=SeriesInverse(law))


def _uniform_below_each(stream: Keystream, bounds: Ints) -> Ints:
    """Return independent uniform whole numbers, the n-th of 0..bounds[n]-1."""
    masks = bounds - 1
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> shift
    drawn = _words(stream, len(bounds)) & masks
    waiting = np.flatnonzero(drawn >= bounds)
    while len(waiting):
        drawn[waiting] = _words(stream, len(waiting)) & masks[waiting]
        waiting = waiting[drawn[waiting] >= bounds[waiting]]
    return drawn


def _words(stream: Keystream, count: int) -> Ints:
    """Return uniform words of 64 bits, the uppermost of which stands for the sign."""
    words: Ints = stream.words(count, np.uint64).view(np.int64)
    return words
