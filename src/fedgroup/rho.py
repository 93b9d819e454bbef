"""Budgets of zero-concentrated differential privacy as exact integers: rho in millionths of a millionth, and delta.

What a rho promises, and what epsilon it comes to, is in `fedgroup.privacy.zcdp`.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from fedgroup.epsilon import LARGEST as LARGEST_EPSILON
from fedgroup.epsilon import NANO, Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.given import written

PICO = 10**12
LARGEST = 1_000_000
ATTO = 10**18


@dataclass(frozen=True, order=True)
class Rho:
    """An amount of concentrated privacy budget, counted in parts of 10^-12."""

    pico: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "pico", operator.index(self.pico))
        if not 0 <= self.pico <= LARGEST * PICO:
            raise InvalidInput(f"a rho lies between 0 and {LARGEST}, got {Decimal(self.pico) / PICO:g}")

    @classmethod
    def of(cls, value: float | str | Decimal | Rho, *, name: str = "rho") -> Rho:
        """Return `value` rounded up to the next 10^-12: what is charged and what noise is calibrated to is the same."""
        if isinstance(value, Rho):
            return value
        decimal = _decimal(value, name)
        if not 0 < decimal <= LARGEST:
            raise InvalidInput(f"{name} must be greater than 0 and at most {LARGEST}, got {written(value)}")
        if decimal < Decimal("1e-12"):
            raise InvalidInput(
                f"{name} must be at least 1e-12, the smallest amount that can be charged, got {written(value)}"
            )
        return cls(_whole(decimal, PICO, ROUND_CEILING))

    @classmethod
    def of_pure(cls, epsilon: Epsilon) -> Rho:
        """Return epsilon^2 / 2, rounded up: what an epsilon-DP release costs (Bun, Steinke 2016)."""
        pico = -(-(epsilon.nano**2) * PICO // (2 * NANO**2))
        if pico > LARGEST * PICO:
            raise InvalidInput(f"epsilon {epsilon} is more than concentrated accounting can count; take 1,414 at most")
        return cls(pico)

    @property
    def pure(self) -> Epsilon:
        """The largest epsilon of a pure release that costs no more."""
        return Epsilon(min(math.isqrt(self.pico * 2 * NANO**2 // PICO), LARGEST_EPSILON * NANO))

    @property
    def exact(self) -> Fraction:
        """The amount as a fraction, for calibrating noise."""
        return Fraction(self.pico, PICO)

    def split(self, parts: int) -> Rho:
        """Return one of `parts` equal shares, rounded down so that all of them cost at most the whole."""
        if parts < 1:
            raise InvalidInput(f"a rho can be split into 1 part or more, got {parts}")
        if self.pico < parts:
            raise InvalidInput(f"rho {self} is too small to be split into {parts} parts")
        return Rho(self.pico // parts)

    def __add__(self, other: Rho) -> Rho:
        return Rho(self.pico + other.pico)

    def __mul__(self, times: int) -> Rho:
        return Rho(self.pico * times)

    def __float__(self) -> float:
        return self.pico / PICO

    def __str__(self) -> str:
        return f"{float(self):.12g}"


@dataclass(frozen=True, order=True)
class Delta:
    """The chance that a stated epsilon does not hold, counted in parts of 10^-18."""

    atto: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "atto", operator.index(self.atto))
        if not 0 < self.atto < ATTO:
            raise InvalidInput(f"a delta lies between 0 and 1, got {Decimal(self.atto) / ATTO:g}")

    @classmethod
    def of(cls, value: float | str | Decimal | Delta, *, name: str = "delta") -> Delta:
        """Return `value` rounded down to a whole 10^-18: a smaller delta is the stricter promise."""
        if isinstance(value, Delta):
            return value
        decimal = _decimal(value, name)
        if not Decimal("1e-18") <= decimal < 1:
            raise InvalidInput(f"{name} must be at least 1e-18 and less than 1, such as 1e-6, got {written(value)}")
        return cls(_whole(decimal, ATTO, ROUND_FLOOR))

    @property
    def exact(self) -> Fraction:
        return Fraction(self.atto, ATTO)

    def __float__(self) -> float:
        return self.atto / ATTO

    def __str__(self) -> str:
        return f"{float(self):.12g}"


def _whole(decimal: Decimal, unit: int, rounding: str) -> int:
    """Return how many units a number has, rounded; in a context of its own, not the caller's."""
    context = Context(prec=max(60, len(decimal.as_tuple().digits) + 30), rounding=rounding)
    return int(context.multiply(decimal, Decimal(unit)).to_integral_value(rounding, context))


def _decimal(value: Any, name: str) -> Decimal:
    try:
        decimal = Decimal(str(value))
    except (InvalidOperation, ValueError):
        decimal = Decimal("nan")
    if not decimal.is_finite():
        raise InvalidInput(f"{name} must be a number, got {written(value)}")
    return decimal


NO_RHO = Rho(0)
