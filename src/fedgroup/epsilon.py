"""Privacy budgets as exact integers of nano-epsilon: they add up without rounding."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction

from fedgroup.errors import InvalidInput

NANO = 10**9
LARGEST = 1_000_000


@dataclass(frozen=True, order=True)
class Epsilon:
    """An amount of privacy budget, counted in billionths."""

    nano: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "nano", operator.index(self.nano))
        if not 0 <= self.nano <= LARGEST * NANO:
            raise InvalidInput(f"an epsilon lies between 0 and {LARGEST}, got {Decimal(self.nano) / NANO:g}")

    @classmethod
    def of(cls, value: float | str | Decimal | Epsilon, *, name: str = "epsilon") -> Epsilon:
        """Return `value` rounded up to the next nano-epsilon.

        Rounding up means that what is charged, and what noise is calibrated to, is the same number.
        """
        if isinstance(value, Epsilon):
            return value
        try:
            decimal = Decimal(str(value))
        except InvalidOperation:
            raise InvalidInput(f"{name} must be a number, got {value!r}") from None
        if not decimal.is_finite() or not 0 < decimal <= LARGEST:
            raise InvalidInput(f"{name} must be greater than 0 and at most {LARGEST}, got {value}")
        # A context of its own: the caller's may round to a few digits.
        context = Context(prec=max(60, len(decimal.as_tuple().digits) + 20), rounding=ROUND_CEILING)
        return cls(int(context.multiply(decimal, Decimal(NANO)).to_integral_value(ROUND_CEILING, context)))

    @property
    def exact(self) -> Fraction:
        """The amount as a fraction, for calibrating noise."""
        return Fraction(self.nano, NANO)

    def split(self, parts: int) -> Epsilon:
        """Return one of `parts` equal shares, rounded down so that all of them cost at most the whole."""
        if parts < 1:
            raise InvalidInput(f"an epsilon can be split into 1 part or more, got {parts}")
        if self.nano < parts:
            raise InvalidInput(f"epsilon {self} is too small to be split into {parts} parts")
        return Epsilon(self.nano // parts)

    def __add__(self, other: Epsilon) -> Epsilon:
        return Epsilon(self.nano + other.nano)

    def __mul__(self, times: int) -> Epsilon:
        return Epsilon(self.nano * times)

    def __float__(self) -> float:
        return self.nano / NANO

    def __str__(self) -> str:
        return f"{float(self):.12g}"


NOTHING = Epsilon(0)
