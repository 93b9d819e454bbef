"""The laws that noise shares are made of: the negative binomial, and the number of terms in its other form.

With a = exp(-1/scale) and t >= 1 parts, a whole number or a fraction, the negative binomial of shape 1/t takes k = 0,
1, 2, ... with probability C(k + 1/t - 1, k) (1-a)^(1/t) a^k. It is also the sum of N independent log-series variables,
P(k) = a^k / k divided by -ln(1-a), where N is Poisson of mean -ln(1-a) / t: both have the generating function
((1-a) / (1-az))^(1/t).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction


@dataclass(frozen=True)
class NegativeBinomial:
    """The negative binomial of shape 1/parts; of one part, the geometric law (1-a) a^k."""

    scale: Fraction
    parts: int | Fraction

    def first(self, context: Context) -> Decimal:
        """Return P(0) = (1-a)^(1/t)."""
        return context.exp(_mean_terms(self.scale, self.parts, context).copy_negate())

    def factor(self, context: Context) -> Decimal:
        """Return a."""
        return _a(self.scale, context)

    def step(self, k: int) -> tuple[int, int]:
        """Return (k + 1/t) / (k + 1)."""
        whole, over = self.parts.numerator, self.parts.denominator
        return k * whole + over, (k + 1) * whole


@dataclass(frozen=True)
class NumberOfTerms:
    """The Poisson law of how many log-series variables make one negative binomial of shape 1/parts."""

    scale: Fraction
    parts: int | Fraction

    def first(self, context: Context) -> Decimal:
        """Return P(0) = exp(-mean)."""
        return context.exp(_mean_terms(self.scale, self.parts, context).copy_negate())

    def factor(self, context: Context) -> Decimal:
        """Return the mean."""
        return _mean_terms(self.scale, self.parts, context)

    def step(self, k: int) -> tuple[int, int]:
        """Return 1 / (k + 1)."""
        return 1, k + 1


# Operators on Decimal, even the sign, round to the context of the thread; the methods of `context` to its own.


def _mean_terms(scale: Fraction, parts: int | Fraction, context: Context) -> Decimal:
    """Return -ln(1-a) / t."""
    log = context.ln(context.subtract(Decimal(1), _a(scale, context)))
    part = context.multiply(log.copy_negate(), Decimal(parts.denominator))
    return context.divide(part, Decimal(parts.numerator))


def _a(scale: Fraction, context: Context) -> Decimal:
    """Return exp(-1/scale)."""
    return context.exp(context.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
