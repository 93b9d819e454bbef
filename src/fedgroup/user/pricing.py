"""What a price comes to in a federation's accounting, and the smallest price of an answer that is sharp enough."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fedgroup.epsilon import HARDLY_PROTECTS, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import is_number, written
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.rho import Rho
from fedgroup.user import role as user

_SHARE = re.compile(r"\s*([\d.]+)\s*%\s*(?:of\s*([\d.]+)\s*)?")

ERROR_IS = "an error is a number such as 10, or a share of a guess such as '10% of 500'"
NO_GUESS = (
    "{} is a share of an answer that nobody knows yet: say a guess of it, such as '10% of 500', or publish a map "
    "first, which tells what to expect"
)


@dataclass(frozen=True)
class Noises:
    """How many noises an answer holds, and how many of them come in shares from masked groups."""

    all: float
    shared: float = 0.0


def price_facts(query: RangeQuery, accounting: Accounting, *, times: int, delta: float) -> dict[str, Any]:
    """Return the epsilon, rho and delta of answers to a question, asked so many times; `delta` is that of masks.

    An answer for an epsilon is as private as that, whatever is counted; one for a rho has the epsilon that this alone
    comes to, with the delta that is added to it.
    """
    rho = None if query.rho is None else query.rho * times
    counted = accounting.rho_of(query.epsilon * times, rho, times=times)
    if rho is None or accounting.delta is None:
        return {"epsilon": float(query.epsilon * times), "rho": _float(counted), "delta": delta}
    stated = accounting.stated(rho.pico)
    return {"epsilon": float(stated), "rho": _float(counted), "delta": delta + float(accounting.delta)}


def error_said(error: Any, *, expected: float | None = None) -> float:
    """Return how far off an answer may be: a number, a share of a guess such as '10% of 500', or of what is `expected`.

    What is expected was released before, or is a guess of the caller's; without it '10%' is refused.
    """
    found = _SHARE.fullmatch(error) if isinstance(error, str) else None
    try:
        if found and found[2] is None:
            if expected is None or not expected > 0:
                raise InvalidQuery(NO_GUESS.format(error.strip()))
            value = float(found[1]) / 100 * expected
        else:
            value = float(found[1]) / 100 * float(found[2]) if found else float(error)
    except (TypeError, ValueError) as fault:
        if isinstance(fault, InvalidQuery):
            raise
        raise InvalidQuery(f"{ERROR_IS}, got {written(error)}") from None
    if not is_number(value) or isinstance(error, bool) or value <= 0:
        raise InvalidQuery(f"{ERROR_IS}, greater than 0, got {written(error)}")
    return value


def needs_guess(error: Any) -> bool:
    """Tell whether an error is a share of what is expected, such as '10%'."""
    found = _SHARE.fullmatch(error) if isinstance(error, str) else None
    return found is not None and found[2] is None


def with_guess(error: str, expected: float | None) -> str:
    """Return a share of what is expected with its guess, as it can be sent to who does not know it: '10% of 500'."""
    error_said(error, expected=expected)
    return f"{error.strip()} of {expected:.6f}"


def cheapest(
    query: RangeQuery,
    error: float,
    noises: Noises,
    *,
    protection: Protection,
    accounting: Accounting,
    cap: Epsilon | None,
) -> RangeQuery:
    """Return the question at the smallest price for which its 95 % interval reaches no farther than `error`.

    Where rho is counted, Laplace noise is taken if it costs less than Gaussian noise. What no budget could pay, neither
    the cap nor an epsilon that still protects anything, is refused.
    """
    if len(query.parts) > 1:
        raise InvalidQuery(
            "how far off a mean is depends on its count; price a sum or a count, and name an epsilon here"
        )

    def sharp(priced: RangeQuery) -> bool:
        scales = scales_of(priced, protection)
        expected = user.expect(priced, scales=scales, noises=noises.all, shared=noises.shared, continuous=False)
        return max(each.half_width for each in expected.values()) <= error

    most = HARDLY_PROTECTS if cap is None else min(HARDLY_PROTECTS, accounting.largest(accounting.units_within(cap)))
    found = _least(most.nano, lambda nano: sharp(replace(query, epsilon=Epsilon(nano), rho=None)))
    priced = [] if found is None else [replace(query, epsilon=Epsilon(found), rho=None)]
    if accounting.delta is not None:
        of_rho = _least(Rho.of_pure(most).pico, lambda pico: sharp(replace(query, rho=Rho(pico))))
        priced += [] if of_rho is None else [replace(query, rho=Rho(of_rho))]
    if not priced:
        limit = f"epsilon {most}" if accounting.delta is None else f"rho {Rho.of_pure(most)}"
        raise InvalidQuery(
            f"no budget could make the answer as sharp as {error:g}: even {limit} for this one question leaves more "
            "noise; ask about more records, by a method with fewer noises, or less sharply"
        )
    return min(priced, key=lambda each: accounting.units_of(each.epsilon, each.rho))


def _least(most: int, holds: Callable[[int], bool]) -> int | None:
    """Return the smallest of 1..most for which something holds that holds for all larger ones; None if for none.

    To nine digits: a price is written with fewer, and each look takes some milliseconds.
    """
    if not holds(most):
        return None
    low, high = 0, most
    while high - low > max(1, high >> 30):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _float(rho: Rho | None) -> float | None:
    return None if rho is None else float(rho)
