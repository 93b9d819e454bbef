"""The cumulative law of discrete Laplace noise and its inverse, to as many digits as a draw needs.

Operators on Decimal, even the sign, round to the context of the thread, which belongs to the caller: everything here
goes through the methods of a context of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import accumulate, repeat

_BEYOND = 2**62


def thresholds(scale: Fraction) -> tuple[int, list[int]]:
    """Return `low` and floor(2^64 F(k)) for k = low - 1, ..., -low, where less than 2^-64 lies beyond on each side.

    Fixed-point errors are bounded, and the precision is raised until they cannot reach any of the 64 bits.
    """
    reach = math.ceil(64 * math.log(2) * float(scale)) + 1
    for bits in (256, 512, 1024, 4096):
        tails = _tails(scale, reach + 1, bits=bits)
        error = 4 * (reach + 2)
        below, below_at_most = ([max(0, tail + e) >> (bits - 64) for tail in reversed(tails)] for e in (0, error))
        above, above_at_most = ([((1 << bits) - max(1, tail + e)) >> (bits - 64) for tail in tails] for e in (error, 0))
        if above == above_at_most and below == below_at_most:
            return -reach, [*below, *above]
    raise ArithmeticError(f"the thresholds of scale {scale} could not be separated")


def _tails(scale: Fraction, count: int, *, bits: int) -> list[int]:
    """Return P(X >= j) = a^j / (1+a) for j = 1..count as multiples of 2^-bits, too small by less than 4 (count + 1)."""
    context = Context(prec=bits // 3 + 30)
    nearly_a = context.multiply(_exp_of_minus_inverse(scale, digits=context.prec), Decimal(1 << bits))
    a = max(0, int(nearly_a) - 1)
    first = (a << bits) // ((1 << bits) + a)
    return list(accumulate(repeat(a, count - 1), lambda tail, a: (tail * a) >> bits, initial=first))


def _exp_of_minus_inverse(scale: Fraction, *, digits: int) -> Decimal:
    """Return a = exp(-1/scale) to `digits` digits."""
    context = Context(prec=digits + 10)
    return context.exp(context.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))


@dataclass(frozen=True)
class Inverse:
    """Tells which outcomes are possible when only the leading bits of the uniform U are known."""

    scale: Fraction

    def __call__(self, u: int, bits: int) -> tuple[int, int]:
        """Return the smallest and largest outcome for U in [u / 2^bits, (u + 1) / 2^bits)."""
        return self._outcomes_at(u, bits)[0], self._outcomes_at(u + 1, bits)[1]

    def _outcomes_at(self, u: int, bits: int) -> tuple[int, int]:
        """Return bounds on the outcome at U = u / 2^bits exactly.

        X = -(ceil(n) - 1) where n = -s ln(U (1+a)) > 1, X = floor(p) where p = -s ln((1-U) (1+a)) >= 1, else 0;
        n and p are known to far better than the slack that widens the bounds, which itself shrinks as bits come in.
        """
        if u == 0 or u == 1 << bits:
            beyond = -_BEYOND if u == 0 else _BEYOND
            return beyond, beyond
        context = Context(prec=bits // 3 + 60)
        slack = Decimal((0, (1,), -(bits // 3 + 30)))
        n = self._steps(u, bits, context)
        p = self._steps((1 << bits) - u, bits, context)
        return (
            _outcome(context.add(n, slack), context.subtract(p, slack)),
            _outcome(context.subtract(n, slack), context.add(p, slack)),
        )

    def _steps(self, part: int, bits: int, context: Context) -> Decimal:
        """Return -s ln(part / 2^bits (1+a))."""
        a = _exp_of_minus_inverse(self.scale, digits=context.prec)
        share = context.divide(Decimal(part), Decimal(1 << bits))
        log = context.ln(context.multiply(share, context.add(Decimal(1), a)))
        return context.divide(
            context.multiply(log.copy_negate(), Decimal(self.scale.numerator)), Decimal(self.scale.denominator)
        )


def _outcome(n: Decimal, p: Decimal) -> int:
    if n > 1:
        return 1 - int(n.to_integral_value(ROUND_CEILING))
    return int(p.to_integral_value(ROUND_FLOOR)) if p >= 1 else 0
