"""Exact shares of discrete Laplace noise, of which any t make one whole noise.

Requires:  uniform bits; a scale that is an exact fraction, as Delta / epsilon is; t >= 1.
Guarantee: a share is a whole number. The sum of any t shares has exactly the law of one discrete Laplace noise, and the
           sum of n of them exactly the law of n/t noises, whose characteristic function is phi^(n/t). For n >= t it
           hides at least as much as one noise; fewer than t shares alone do not.
Proof:     A share is X - Y with X and Y negative binomial of shape 1/t, so its characteristic function is
           ((1-a) / (1-az))^(1/t) ((1-a) / (1-a/z))^(1/t) = phi^(1/t) at z = e^(iu), where phi is that of discrete
           Laplace noise. More than t shares are one noise and others independent of it.

Negative binomials come from a table for small scales, and are sums of log-series variables for large ones.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.laplace import draw_discrete_laplace_sums, require_drawable
from fedgroup.privacy.log_series import draw_log_series
from fedgroup.privacy.rejection import Ints
from fedgroup.privacy.series_inverse import SeriesInverse, SeriesLaw, thresholds
from fedgroup.privacy.share_laws import NegativeBinomial, NumberOfTerms
from fedgroup.privacy.table import TableSampler

LARGEST_TABLE_SCALE = 512
"""Up to here all outcomes but a share of 2^-64 fit 16 bits, as P(X > k) <= a^(k+1); the others are drawn too."""
LARGEST_SHARED_SCALE = 2**40
LARGEST_SHARED_TERM = 2**54

_AT_ONCE = 2**16
"""So many sums are drawn together: enough to be fast, few enough that their terms fit the memory."""


def draw_laplace_shares(stream: Keystream, scale: Fraction, parts: int | Fraction, count: int) -> Ints:
    """Return `count` independent shares, of which `parts` make one discrete Laplace noise."""
    require_shareable(scale, parts)
    both = draw_negative_binomial(stream, scale, parts=parts, count=2 * count)
    shares: Ints = both[:count] - both[count:]
    return shares


def draw_sums_of_shares(stream: Keystream, scale: Fraction, *, parts: int, shares: int, count: int) -> Ints:
    """Return `count` independent sums of so many `shares`, of which `parts` make one noise, from the law of the sum.

    Guarantee: the exact law: n shares are n // t whole noises and one more share of n % t parts of t, since the
               characteristic function of a share is phi^(1/t) and they multiply.
    """
    require_shareable(scale, parts)
    whole, rest = divmod(shares, parts)
    total = draw_discrete_laplace_sums(stream, scale, each=whole, count=count)
    return total + draw_laplace_shares(stream, scale, Fraction(parts, rest), count) if rest else total


def require_shareable(scale: Fraction, parts: int | Fraction) -> None:
    """Refuse scales whose shares or exact fraction leave 64 bits, and noise in less than one part."""
    require_drawable(scale)
    fits = scale <= LARGEST_SHARED_SCALE and scale.numerator < LARGEST_SHARED_TERM
    if scale > LARGEST_TABLE_SCALE and not fits:
        raise InvalidInput(
            f"noise shares of scale {float(scale):g} cannot be drawn in 64 bits; "
            "use a coarser resolution or a rounder epsilon"
        )
    if parts < 1:
        raise InvalidInput(f"noise is made of one share or more, got {parts} parts")


def draw_negative_binomial(stream: Keystream, scale: Fraction, *, parts: int | Fraction, count: int) -> Ints:
    """Return `count` independent draws of shape 1/parts, a whole number or an exact fraction.

    Guarantee: a draw takes k = 0, 1, 2, ... with probability exactly C(k + 1/t - 1, k) (1-a)^(1/t) a^k, where t is
               `parts` and a = exp(-1/scale). No floating-point number takes part in a decision, and no tail is cut.
    Proof:     the table's in table.py and series_inverse.py; the sum's in share_laws.py and log_series.py.
    """
    if scale <= LARGEST_TABLE_SCALE:
        return _table(NegativeBinomial(scale, parts)).draw(stream, count)
    sizes = [min(_AT_ONCE, count - start) for start in range(0, count, _AT_ONCE)]
    sums = [_draw_sums(stream, scale, parts=parts, count=size) for size in sizes]
    return np.concatenate([np.empty(0, dtype=np.int64), *sums])


def _draw_sums(stream: Keystream, scale: Fraction, *, parts: int | Fraction, count: int) -> Ints:
    """Return `count` independent sums, each of a Poisson number of log-series variables."""
    terms = _table(NumberOfTerms(scale, parts)).draw(stream, count)
    ends = np.cumsum(terms)
    running = np.zeros(ends[-1] + 1, dtype=np.int64)
    np.cumsum(draw_log_series(stream, scale, int(ends[-1])), out=running[1:])
    sums: Ints = running[ends] - running[ends - terms]
    return sums


@lru_cache(maxsize=256)
def _table(law: SeriesLaw) -> TableSampler:
    return TableSampler(thresholds(law), 0, resolve=SeriesInverse(law))
