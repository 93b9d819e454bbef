"""Exact negative-binomial variables: a table for small scales, a sum of log-series variables for large ones.

Requires:  uniform bits; a scale that is an exact fraction, as Delta / epsilon is; t >= 1 parts, a whole number or an
           exact fraction.
Guarantee: a draw takes k = 0, 1, 2, ... with probability exactly C(k + 1/t - 1, k) (1-a)^(1/t) a^k, a = exp(-1/scale).
           No floating-point number takes part in a decision, and no tail is cut.
Proof:     the table's in table.py and series_inverse.py; the sum's in share_laws.py and log_series.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.log_series import draw_log_series
from fedgroup.privacy.rejection import Ints
from fedgroup.privacy.series_inverse import SeriesInverse, SeriesLaw, thresholds
from fedgroup.privacy.share_laws import NegativeBinomial, NumberOfTerms
from fedgroup.privacy.table import TableSampler

LARGEST_TABLE_SCALE = 512
"""Up to here all outcomes but a share of 2^-64 fit 16 bits, as P(X > k) <= a^(k+1); the others are drawn too."""

_AT_ONCE = 2**16
"""So many sums are drawn together: enough to be fast, few enough that their terms fit the memory."""


def draw_negative_binomial(stream: Keystream, scale: Fraction, *, parts: int | Fraction, count: int) -> Ints:
    """Return `count` independent draws of shape 1/parts."""
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
