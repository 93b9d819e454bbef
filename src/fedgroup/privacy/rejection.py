"""Exact discrete Laplace noise of any scale, by rejection among uniform whole numbers.

The method is that of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (NeurIPS 2020),
Algorithms 1 and 2, carried out for many draws at once.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fedgroup.privacy.keystream import Keystream

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def draw_by_rejection(stream: Keystream, scale: Fraction, count: int) -> Ints:
    """Return `count` independent draws; the scale's numerator is below 2^62."""
    drawn = np.empty(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        outcome, accepted = _propose(stream, scale, len(waiting))
        drawn[waiting[accepted]] = outcome[accepted]
        waiting = waiting[~accepted]
    return drawn


def _propose(stream: Keystream, scale: Fraction, count: int) -> tuple[Ints, Bools]:
    """Return candidates |X| = floor((U + t V) / s) with a sign, and which of them count."""
    t, s = scale.numerator, scale.denominator
    u = uniform_below(stream, t, count)
    kept = bernoulli_exp(stream, u, t)
    v = _successes_of_exp_one(stream, count)
    # floor((u + t v) / s) without leaving 64 bits, since t v may: t = (t // s) s + t % s.
    magnitude = v * (t // s) + (v * (t % s) + u) // s
    negative = uniform_below(stream, 2, count) == 1
    return np.where(negative, -magnitude, magnitude), kept & ~(negative & (magnitude == 0))


def uniform_below(stream: Keystream, bound: int, count: int) -> Ints:
    """Return uniform whole numbers 0..bound-1."""
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    drawn = np.empty(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        candidate = (stream.words(len(waiting), np.uint64) & mask).astype(np.int64)
        fits = candidate < bound
        drawn[waiting[fits]] = candidate[fits]
        waiting = waiting[~fits]
    return drawn


def bernoulli_exp(stream: Keystream, u: Ints, t: int) -> Bools:
    """Return independent coins, the i-th true with probability exp(-u[i] / t), 0 <= u[i] <= t."""
    rounds = np.ones(len(u), dtype=np.int64)
    running = np.arange(len(u))
    k = 1
    while len(running):
        on = (uniform_below(stream, k, len(running)) == 0) & (uniform_below(stream, t, len(running)) < u[running])
        running = running[on]
        rounds[running] += 1
        k += 1
    odd: Bools = rounds % 2 == 1
    return odd


def _successes_of_exp_one(stream: Keystream, count: int) -> Ints:
    """Return how many coins of probability exp(-1) come up true before the first false one."""
    successes = np.zeros(count, dtype=np.int64)
    running = np.arange(count)
    while len(running):
        running = running[bernoulli_exp(stream, np.ones(len(running), dtype=np.int64), 1)]
        successes[running] += 1
    return successes
