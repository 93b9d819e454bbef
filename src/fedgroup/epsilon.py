"""Privacy budgets as exact integers of nano-epsilon: they add up without rounding."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction

from fedgroup.errors import InvalidInput
from fedgroup.given import written

NANO = 10**9
LARGEST = 1_000_000
SMALLEST = Decimal("1e-9")
"""One nano-epsilon: less cannot be charged, and charging more than was asked for would be a lie."""


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
        decimal = _decimal(value)
        if decimal is None:
            raise InvalidInput(f"{name} must be a number, got {written(value)}")
        if not decimal.is_finite() or not 0 < decimal <= LARGEST:
            raise InvalidInput(f"{name} must be greater than 0 and at most {LARGEST}, got {written(value)}")
        if decimal < SMALLEST:
            raise InvalidInput(
                f"{name} must be at least 1e-9, the smallest amount that can be charged, got {written(value)}"
            )
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


def _decimal(value: object) -> Decimal | None:
    try:
        return Decimal(str(value))
    except (InvalidOperation, ValueError):  # a whole number of thousands of digits is no text
        return None


NOTHING = Epsilon(0)
HARDLY_PROTECTS = Epsilon(10 * NANO)
"""Above it one record may change the odds of an answer more than 22,000-fold."""


def weak_notes(epsilon: Epsilon) -> tuple[str, ...]:
    """Return a note for the reader of whatever cost this much, if so much protects hardly anything."""
    if epsilon <= HARDLY_PROTECTS:
        return ()
    return (f"epsilon {epsilon} protects hardly anything: take one of 10 at most, better 1 or less",)
