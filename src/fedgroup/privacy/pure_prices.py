"""Prices of what is released with Laplace noise in any case, said as an epsilon or as a rho: count vectors, and the
three rounds of a published map.

Guarantee: the parts of what a rho bought count no more than that rho together, in whole units of the ledger, and what
           is told of them is what they count. Where pure epsilon is counted, a rho is refused: it buys nothing there.
Proof:     docs/guarantees.md#concentrated-accounting
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.accounting import Accounting
from fedgroup.questions.said import some_price
from fedgroup.rho import PICO, Rho

Parts = Callable[[Epsilon], Sequence[Epsilon]]
"""What an epsilon is split into; of a larger one no part is smaller, and together they are all of it."""


def whole(epsilon: Epsilon) -> Sequence[Epsilon]:
    """Return an epsilon that is not split."""
    return (epsilon,)


def pure_price(
    epsilon: float | Epsilon | None, rho: float | Rho | None, accounting: Accounting, *, parts: Parts = whole
) -> Epsilon:
    """Return the epsilon of a price that was said in one way; of a rho the largest whose parts count no more.

    Parts of a rho are cheaper than the whole: the squares of shares add up to less than the square of their sum.
    """
    price = some_price(epsilon, rho)
    if rho is None:
        return price
    limit = Rho.of(rho)
    accounting.units_of(price, limit)  # refused where epsilon is counted
    low, high = 0, len(parts(price)) * price.nano + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _within(parts(Epsilon(middle)), limit) else (low, middle)
    return Epsilon(low)


def counted_rho(parts: Iterable[Epsilon], accounting: Accounting) -> float | None:
    """Return what releases for these epsilons count as a rho together; None where epsilon is counted."""
    if accounting.delta is None:
        return None
    return sum(accounting.units_of(part, None) for part in parts) / PICO


def _within(parts: Sequence[Epsilon], limit: Rho) -> bool:
    largest = limit.pure
    return all(part <= largest for part in parts) and sum(Rho.of_pure(part).pico for part in parts) <= limit.pico
