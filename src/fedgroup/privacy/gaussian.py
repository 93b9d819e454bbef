"""Exact discrete Gaussian noise: a table for small variances, rejection in whole numbers for large ones.

Requires:  uniform bits; a variance that `drawable_variance` returns: an exact fraction, or a whole number times a
           power of four.
Guarantee: a draw of variance parameter c takes the integer k with probability exactly proportional to
           exp(-k^2 / (2c)). No floating-point number takes part in a decision, and no tail is cut. Added to a vector
           whose squared L2 sensitivity is D, in every entry, it costs rho = D / (2c) (Canonne, Kamath, Steinke 2020).
Proof:     docs/guarantees.md#gaussian-noise
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.log_series import coins_of_exp
from fedgroup.privacy.rejection import Ints
from fedgroup.privacy.symmetric_table import table_of
from fedgroup.rho import Rho

LARGEST_TABLE_VARIANCE = 2**16
"""Up to here all outcomes but a share of 2^-64 fit 16 bits; the others are drawn too."""

LARGEST_DOUBLINGS = 22
_AT_ONCE = 1 << 20


def gaussian_variance(squared: int, rho: Rho) -> Fraction:
    """Return the variance parameter of noise that costs `rho` at a squared L2 sensitivity, or a little less."""
    return drawable_variance(Fraction(squared) / (2 * rho.exact))


def drawable_variance(least: Fraction) -> Fraction:
    """Return the smallest variance from `least` up that can be drawn in 64 bits; larger by 2^-14 of it at most."""
    doublings = _doublings(least)
    if least <= 0 or doublings > LARGEST_DOUBLINGS:
        raise InvalidInput(
            f"noise of standard deviation {math.sqrt(least) if least > 0 else 0:g} cannot be drawn in 64 bits; "
            "use a coarser resolution or a larger rho"
        )
    return least if doublings == 0 else Fraction(math.ceil(least / 4**doublings) * 4**doublings)


def draw_gaussian(stream: Keystream, variance: Fraction, count: int) -> Ints:
    """Return `count` independent draws."""
    doublings = _doublings(variance)
    if doublings == 0:
        return table_of(GaussianLaw(variance)).draw(stream, count)
    drawn = np.empty(count, dtype=np.int64)
    waiting = np.arange(count)
    while len(waiting):
        outcome = _accepted(stream, variance, doublings, 2 * len(waiting) + 64)[: len(waiting)]
        drawn[waiting[: len(outcome)]] = outcome
        waiting = waiting[len(outcome) :]
    return drawn


def draw_gaussian_sums(stream: Keystream, variance: Fraction, *, each: int, count: int) -> Ints:
    """Return `count` independent sums of `each` draws; a few are drawn together, many one sum after the other."""
    if each * count <= _AT_ONCE or each <= 1:
        few: Ints = draw_gaussian(stream, variance, each * count).reshape(count, each).sum(axis=1, dtype=np.int64)
        return few
    sums = np.zeros(count, dtype=np.int64)
    at_once = max(1, _AT_ONCE // each)
    for start in range(0, count, at_once):
        some = sums[start : start + at_once]
        for begun in range(0, each, _AT_ONCE):
            size = min(_AT_ONCE, each - begun)
            some += draw_gaussian(stream, variance, size * len(some)).reshape(len(some), size).sum(axis=1)
    return sums


def _doublings(variance: Fraction) -> int:
    """Return how often the deviation is halved until a table holds it."""
    doublings = 0
    while variance > LARGEST_TABLE_VARIANCE * 4**doublings:
        doublings += 1
    return doublings


def _accepted(stream: Keystream, variance: Fraction, doublings: int, proposals: int) -> Ints:
    """Return those of so many proposals that count; the names are those of the proof."""
    t = 1 << doublings
    c = int(variance) >> (2 * doublings)
    v = table_of(GaussianLaw(Fraction(c))).draw(stream, proposals)
    v = v[v >= 0]
    bits: Ints = stream.words(len(v), np.uint64).view(np.int64)
    u, negative = bits & (t - 1), bits < 0
    # u (2 v t + u) stays below 2^62 unless v is beyond 2^17, which is never seen: its chance is below exp(-2^17)
    kept = coins_of_exp(stream, u * (2 * v * t + u), 2 * c * t * t)
    magnitude = v * t + u
    kept &= ~(negative & (magnitude == 0))
    outcome: Ints = np.where(negative, -magnitude, magnitude)[kept]
    return outcome


@dataclass(frozen=True)
class GaussianLaw:
    """The law P(k) proportional to exp(-k^2 / (2c)), by its ratios exp(-(2k-1) / (2c))."""

    c: Fraction

    def reach(self, bits: int) -> int:
        """Return a k beyond which less than 2^-bits of P(0) is in any outcome."""
        return math.isqrt(math.ceil(2 * bits * self.c)) + 2

    def ratios(self, count: int, bits: int) -> list[tuple[int, int]]:
        """Return whole numbers that enclose 2^bits P(k) / P(k-1), for k = 1..count."""
        low, high = self._exp_of_minus(1, 2, bits)
        step_low, step_high = self._exp_of_minus(1, 1, bits)
        ratios = []
        for _ in range(count):
            ratios.append((low, high))
            low, high = (low * step_low) >> bits, -((-high * step_high) >> bits)
        return ratios

    def _exp_of_minus(self, over: int, under: int, bits: int) -> tuple[int, int]:
        """Return whole numbers that enclose 2^bits exp(-over / (under c))."""
        context = Context(prec=bits // 3 + 40)
        power = context.divide(Decimal(-over * self.c.denominator), Decimal(under * self.c.numerator))
        multiple = int(context.multiply(context.exp(power), Decimal(1 << bits)))
        return max(0, multiple - 1), min(multiple + 2, (1 << bits) - 1)
