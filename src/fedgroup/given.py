"""What was given, checked and written: every fault of a number, a choice or a type becomes one sentence."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from fedgroup.errors import InvalidInput

_LONGEST = 80


def written(value: object) -> str:
    """Return a number, a text or a path as people write it, for a sentence about it: 3 for 3.0, and texts in quotes.

    Of anything else the type is told: it may be large, or private.
    """
    if isinstance(value, float):
        return repr(float(value)).removesuffix(".0")
    if value is None or isinstance(value, numbers.Number) or _is_flag(value):
        return _cut(_digits(value))
    return _cut(repr(os.fspath(value))) if isinstance(value, str | os.PathLike) else kind_of(value)


def kind_of(value: object) -> str:
    """Return what something is, in words."""
    return f"a value of type {type(value).__name__}"


def whole_number(
    value: Any, *, name: str, least: int, most: int | None = None, refusal: type[InvalidInput] = InvalidInput
) -> int:
    """Return a whole number from `least` up, or refuse it."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        found = int(value)
        if found >= least and (most is None or found <= most):
            return found
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise refusal(f"{name} must be a whole number {allowed}, got {written(value)}")


def is_number(value: object) -> bool:
    """Tell whether a value is one finite number; truth values and texts are none."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def number(value: Any, *, name: str, refusal: type[InvalidInput] = InvalidInput) -> float:
    """Return one finite number as a float, or refuse it."""
    if not (is_number(value) or (isinstance(value, Decimal) and value.is_finite())):
        raise refusal(f"{name} must be a number, got {written(value)}")
    return float(value)


def one_of(value: Any, allowed: Sequence[str], *, name: str, refusal: type[InvalidInput] = InvalidInput) -> Any:
    """Return one of some words, or refuse it."""
    if not (isinstance(value, str) and value in allowed):
        words = " or ".join(allowed) if len(allowed) == 2 else f"one of {', '.join(allowed)}"
        raise refusal(f"{name} is {words}, got {written(value)}")
    return value


def yes_or_no(value: Any, *, name: str, refusal: type[InvalidInput] = InvalidInput) -> bool:
    """Return a truth value, or refuse it: a text such as "no" would count as a yes."""
    if not _is_flag(value):
        raise refusal(f"{name} is True or False, got {written(value)}")
    return bool(value)


def path_like(value: Any, *, name: str) -> str | os.PathLike[str]:
    """Return a name of a file, or refuse it."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise InvalidInput(f"{name} is the name of a file, got {written(value)}")
    return value


def is_list(value: Any) -> bool:
    """Tell whether a value holds others, one after the other; texts do not."""
    try:
        iter(value)
    except TypeError:
        return False
    return not isinstance(value, str | bytes)


def _is_flag(value: Any) -> bool:
    """Tell whether a value is a truth value of Python's or of numpy's, which is not imported for it."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return isinstance(value, bool) or (kind == "b" and getattr(value, "ndim", None) == 0)


def _digits(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # a whole number of thousands of digits
        return "a number that is far too large"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
