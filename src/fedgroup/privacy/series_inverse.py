"""The cumulative law of a count whose probabilities follow from one another, and its inverse.

Requires:  a law on 0, 1, 2, ... with P(k+1) = P(k) * factor * step(k), step(k) a fraction.
Guarantee: every bound encloses the exact value, to as many digits as a draw needs.
Proof:     all sums are whole multiples of 2^-bits that are rounded outwards at every step: what starts as a bracket
           of P(0) and of the factor remains one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import count
from typing import Protocol

_BEYOND = 2**62
_LAST_THRESHOLD = 2**64 - 1


class SeriesLaw(Protocol):
    """A law on 0, 1, 2, ... by its first probability and what leads from each to the next."""

    def first(self, context: Context) -> Decimal:
        """Return P(0), wrong by less than 10^(20 - precision)."""
        ...

    def factor(self, context: Context) -> Decimal:
        """Return the factor common to all steps, at most 100 and wrong by less than 10^(20 - precision)."""
        ...

    def step(self, k: int) -> tuple[int, int]:
        """Return the numerator and the denominator of P(k+1) / P(k) / factor."""
        ...


def thresholds(law: SeriesLaw) -> list[int]:
    """Return 0 = F(-1) and floor(2^64 F(k)) for k = 0, 1, ... up to the first k with less than 2^-64 beyond it."""
    for bits in (192, 512, 4096):
        edges = _separated(law, bits)
        if edges is not None:
            return edges
    raise ArithmeticError(f"the thresholds of {law} could not be separated")


def _separated(law: SeriesLaw, bits: int) -> list[int] | None:
    """Return the thresholds, or none where both bounds of some F(k) do not agree on its 64 leading bits."""
    edges = [0]
    bounds = cumulative_bounds(law, bits)
    while edges[-1] < _LAST_THRESHOLD:
        at_least, at_most = (bound >> (bits - 64) for bound in next(bounds))
        if at_least != at_most:
            return None
        edges.append(at_least)
    return edges


def cumulative_bounds(law: SeriesLaw, bits: int) -> Iterator[tuple[int, int]]:
    """Yield whole numbers that enclose 2^bits F(k), for k = 0, 1, 2, ..., the upper ones below 2^bits as F(k) < 1."""
    context = Context(prec=bits // 3 + 40)
    low, high = _bracket(law.first(context), bits, context)
    low_factor, high_factor = _bracket(law.factor(context), bits, context)
    sum_of_low = sum_of_high = 0
    for k in count():
        sum_of_low, sum_of_high = sum_of_low + low, sum_of_high + high
        yield sum_of_low, min(sum_of_high, (1 << bits) - 1)
        numerator, denominator = law.step(k)
        low = (low * low_factor * numerator // denominator) >> bits
        high = -((-high * high_factor * numerator // denominator) >> bits)


def _bracket(value: Decimal, bits: int, context: Context) -> tuple[int, int]:
    """Return whole numbers that enclose 2^bits times the positive number that `value` stands for."""
    multiple = int(context.multiply(value, Decimal(1 << bits)))
    return max(0, multiple - 1), multiple + 2


@dataclass(frozen=True)
class SeriesInverse:
    """Tells which outcomes are possible when only the leading bits of the uniform U are known."""

    law: SeriesLaw

    def __call__(self, u: int, bits: int) -> tuple[int, int]:
        """Return the smallest and largest outcome, min {k: F(k) > U}, for U in [u / 2^bits, (u + 1) / 2^bits)."""
        # The spare bits make the brackets far narrower than 2^-bits, so that the sums pass every (u + 1) / 2^bits < 1.
        spare = bits + 128
        start, end = u << spare, (u + 1) << spare
        smallest = _first_above(start, cumulative_bounds(self.law, bits + spare))
        if u + 1 == 1 << bits:
            return smallest, _BEYOND
        return smallest, _first_reaching(end, cumulative_bounds(self.law, bits + spare))


def _first_above(start: int, bounds: Iterator[tuple[int, int]]) -> int:
    return next(k for k, (_, at_most) in enumerate(bounds) if at_most > start)


def _first_reaching(end: int, bounds: Iterator[tuple[int, int]]) -> int:
    return next(k for k, (at_least, _) in enumerate(bounds) if at_least >= end)
