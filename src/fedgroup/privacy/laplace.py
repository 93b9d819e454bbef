"""Exact discrete Laplace noise: a table for small scales, rejection in whole numbers for large ones.

Requires:  uniform bits; a scale that is an exact fraction, as Delta / epsilon is.
Guarantee: a draw of scale s takes the integer k with probability exactly (1-a)/(1+a) a^|k|, a = exp(-1/s). No
           floating-point number takes part in a decision, and no tail is cut.
Proof:     docs/guarantees.md#noise
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.laplace_inverse import Inverse, thresholds
from fedgroup.privacy.rejection import Ints, draw_by_rejection
from fedgroup.privacy.table import TableSampler

LARGEST_TABLE_SCALE = 512
"""Up to here all outcomes but a share of 2^-63 fit 16 bits; the others are drawn exactly all the same."""

LARGEST_SCALE = 2**45
"""Noise beyond 100 scales is never seen, so sums of a million noises of this scale stay within 64 bits."""

LARGEST_TERM = 2**62
_AT_ONCE = 1 << 20


def draw_discrete_laplace(stream: Keystream, scale: Fraction, count: int) -> Ints:
    """Return `count` independent draws of discrete Laplace noise."""
    table = _table(scale)
    return draw_by_rejection(stream, scale, count) if table is None else table.draw(stream, count)


def draw_discrete_laplace_sum(stream: Keystream, scale: Fraction, count: int) -> int:
    """Return the sum of the same `count` draws."""
    table = _table(scale)
    return int(draw_by_rejection(stream, scale, count).sum()) if table is None else table.draw_sum(stream, count)


def draw_discrete_laplace_sums(stream: Keystream, scale: Fraction, *, each: int, count: int) -> Ints:
    """Return `count` independent sums of `each` draws; a few are drawn together, many one sum after the other."""
    if count == 1 or (each > 1 and each * count > _AT_ONCE):
        one_by_one = (draw_discrete_laplace_sum(stream, scale, each) for _ in range(count))
        return np.fromiter(one_by_one, dtype=np.int64, count=count)
    drawn = draw_discrete_laplace(stream, scale, each * count)
    sums: Ints = drawn.reshape(count, each).sum(axis=1, dtype=np.int64)
    return sums


@lru_cache(maxsize=256)
def require_drawable(scale: Fraction) -> None:
    """Refuse scales whose noise or exact fraction leaves 64 bits."""
    fits = scale <= LARGEST_TABLE_SCALE or (scale <= LARGEST_SCALE and scale.numerator < LARGEST_TERM)
    if scale <= 0 or not fits:
        raise InvalidInput(
            f"noise of scale {float(scale):g} cannot be drawn in 64 bits; use a coarser resolution or a rounder epsilon"
        )


@lru_cache(maxsize=64)
def _table(scale: Fraction) -> TableSampler | None:
    """Return the table of a scale that can be drawn; None for a large one."""
    require_drawable(scale)
    if scale > LARGEST_TABLE_SCALE:
        return None
    low, edges = thresholds(scale)
    return TableSampler(edges, low, resolve=Inverse(scale))
