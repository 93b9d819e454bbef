"""Exact Skellam noise, the difference of two equal Poisson variables: sums of it are Skellam again, so it is shared.

Requires:  uniform bits; a variance that is an exact fraction.
Guarantee: a draw of variance s takes the integer k with probability exactly exp(-s) I_|k|(s), I the modified Bessel
           function. No floating-point number takes part in a decision, and no tail is cut. Sums of independent draws
           have exactly the law of the sum of their variances: t shares of s / t are one noise of s. Added to a vector
           of known L1 and squared L2 sensitivities, in every entry, it costs `skellam_rho` at every whole order.
Proof:     docs/guarantees.md#skellam-noise (a concavity argument of ours; the bound is Agarwal and others', 2021)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.rejection import Ints
from fedgroup.privacy.symmetric_table import table_of
from fedgroup.rho import Rho

LARGEST_TABLE_VARIANCE = 2**16
"""Up to here all outcomes but a share of 2^-64 fit 16 bits; the others are drawn too."""

LARGEST_WIDE_VARIANCE = 2**20
"""Noise that takes very many draws is drawn from a larger table, which is worth its making."""

MANY_DRAWS = 2**10
LARGEST_SHARED_VARIANCE = 2**40

_AT_ONCE = 1 << 20
_FINE = 2**20
"""Variances are whole multiples of one part in so many of 1, or coarser where they are large: always rounded up."""


def skellam_rho(variance: Fraction, *, reach: int, squared: int) -> Fraction:
    """Return what Skellam noise costs at L1 sensitivity `reach` and a squared L2 sensitivity: at every whole order.

    The bound at order a, divided by a, is D2 / (2s) + min(((2 - 1/a) D2 + 6 D1 / a) / (4 s^2), 3 D1 / (2 a s)). Over
    a >= 2 the first of the two is largest at a = 2 or for a without end, the second at a = 2.

    Guarantee: the Renyi divergence of every whole order a >= 2 is at most a times this.
    Proof:     docs/guarantees.md#skellam-noise
    """
    of_squares = max(Fraction(3 * squared + 6 * reach, 8), Fraction(squared, 2)) / variance**2
    return Fraction(squared) / (2 * variance) + min(of_squares, Fraction(3 * reach, 4) / variance)


def skellam_variance(reach: int, squared: int, rho: Rho) -> Fraction:
    """Return the variance of Skellam noise that costs `rho`, or a little less: the least of them up to rounding."""
    exact = rho.exact
    bound = max(Fraction(3 * squared + 6 * reach, 8), Fraction(squared, 2))
    linear = (Fraction(squared, 2) + Fraction(3 * reach, 4)) / exact
    # the root of rho s^2 - (D2 / 2) s - bound = 0, rounded up
    half = Fraction(squared, 4) / exact
    root = _root_up(half**2 + bound / exact)
    return _rounded_up(min(linear, half + root))


def draw_skellam(stream: Keystream, variance: Fraction, count: int) -> Ints:
    """Return `count` independent draws; of a large variance each is a sum of several."""
    draws = _draws(variance)
    table = table_of(SkellamLaw(variance / draws))
    if draws == 1:
        return table.draw(stream, count)
    if draws > _AT_ONCE:
        return np.fromiter((_one_sum(stream, variance, draws) for _ in range(count)), dtype=np.int64, count=count)
    at_once = max(1, _AT_ONCE // draws)
    sums = [
        table.draw(stream, size * draws).reshape(size, draws).sum(axis=1)
        for size in (min(at_once, count - start) for start in range(0, count, at_once))
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *sums])


def _draws(variance: Fraction) -> int:
    """Return of how many draws from a table one of this variance is made."""
    draws = -(-math.ceil(variance) // LARGEST_TABLE_VARIANCE)
    return draws if draws <= MANY_DRAWS else -(-math.ceil(variance) // LARGEST_WIDE_VARIANCE)


def _one_sum(stream: Keystream, variance: Fraction, draws: int) -> int:
    table = table_of(SkellamLaw(variance / draws))
    return sum(table.draw_sum(stream, min(_AT_ONCE, draws - begun)) for begun in range(0, draws, _AT_ONCE))


def require_shared_variance(variance: Fraction) -> None:
    """Refuse shares of noise that would take too many draws."""
    if variance > LARGEST_SHARED_VARIANCE:
        raise InvalidInput(
            f"noise shares of standard deviation {math.sqrt(variance):g} cannot be drawn in good time; "
            "use a coarser resolution or a larger rho"
        )


def _root_up(square: Fraction) -> Fraction:
    """Return a square root, rounded up to 2^-64 of 1 or finer."""
    scaled = square.numerator * 2**128 // square.denominator + 1
    return Fraction(math.isqrt(scaled) + 1, 2**64)


def _rounded_up(variance: Fraction) -> Fraction:
    unit = _FINE
    while variance * unit > 2**40:
        unit //= 2
        if unit == 0:
            return Fraction(math.ceil(variance))
    return Fraction(math.ceil(variance * unit), unit)


@dataclass(frozen=True)
class SkellamLaw:
    """The law exp(-s) I_|k|(s), by its ratios I_k / I_(k-1), bracketed by their continued fraction.

    I_(k-1) = I_(k+1) + (2k / s) I_k, so the ratio at k is 1 / (2k/s + the ratio at k+1), which is between 0 and
    s / (2k+2). Each step back multiplies what is unknown by the square of a ratio, which is below 1.
    """

    s: Fraction

    def reach(self, bits: int) -> int:
        """Return a k beyond which less than 2^-bits of P(0) is in any outcome."""
        least, s = bits * math.log(2), float(self.s)
        k = 2
        while k * math.asinh(k / s) - math.hypot(k, s) + s < least:
            k += 1 + k // 16
        return k

    def ratios(self, count: int, bits: int) -> list[tuple[int, int]]:
        """Return whole numbers that enclose 2^bits P(k) / P(k-1), for k = 1..count."""
        over, under = self.s.numerator, self.s.denominator
        one = 1 << (2 * bits)
        start = math.isqrt(count**2 + math.ceil(bits * self.s)) + 16
        low, high = 0, -((-over << bits) // (2 * (start + 1) * under))
        ratios = []
        for k in range(start, 0, -1):
            step_low = (2 * k * under << bits) // over
            low, high = one // (step_low + 1 + high), -(-one // max(1, step_low + low))
            if k <= count:
                ratios.append((low, min(high, (1 << bits) - 1)))
        return ratios[::-1]
