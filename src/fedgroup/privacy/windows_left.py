"""What is left in windows of time, where a ledger has a budget for them besides the one for everything.

Guarantee: what is told is what the ledger's own rule allows: a charge of as much is taken, one of more is refused. It
           is a fact of charges, which are public, and costs nothing.
Proof:     docs/guarantees.md#windows-of-time
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from fedgroup.epsilon import NANO, Epsilon
from fedgroup.errors import BudgetExhausted
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.budget import Ledger
from fedgroup.privacy.windows import Span, WindowBudget, WindowsSpent, settle_windows
from fedgroup.rho import PICO, Rho


@dataclass(frozen=True)
class Stretch:
    """Consecutive windows that were charged alike: from when until when, in microseconds, how much, and what is left.

    Amounts are epsilon, or rho where that is counted; `left` is what the dearest of them has left.
    """

    since: int
    until: int
    spent: float
    left: float


@dataclass(frozen=True)
class WindowsLeft:
    """The budget of windows, and what was charged to them."""

    budget: WindowBudget
    spent: WindowsSpent
    accounting: Accounting

    def units(self, span: Span) -> int:
        """Return the most that one release may cost which depends on the records of this time, in whole units."""
        low, high = 0, self.accounting.units_within(self.budget.cap) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._allows(middle, span) else (low, middle)
        return low

    def left(self, span: Span) -> Epsilon:
        """Return the same as the epsilon of one question."""
        return self.accounting.largest(self.units(span))

    def left_rho(self, span: Span) -> Rho | None:
        """Return the same as a rho; None where epsilon is counted."""
        return None if self.accounting == PURE else self.accounting.as_rho(self.units(span))

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The windows that were charged something of their own, the earliest first."""
        unit, begin_of = NANO if self.accounting == PURE else PICO, self.budget.begin_of
        most = self.accounting.units_within(self.budget.cap)
        return tuple(
            Stretch(
                begin_of(first),
                begin_of(last + 1),
                units / unit,
                max(0, most - self.spent.most_in_a_row(self.budget.count, first, last)) / unit,
            )
            for first, last, units in self.spent.spread()
        )

    def __str__(self) -> str:
        """Return what is left, in one sentence: where nothing was asked about alone, and where most was."""
        counted, unit = ("epsilon", NANO) if self.accounting == PURE else ("rho", PICO)
        fresh = max(0, self.accounting.units_within(self.budget.cap) - self.budget.count * self.spent.every) / unit
        told = f"{self.budget}: {counted} {fresh:.12g} is left"
        dearest = min(self.stretches, key=lambda each: each.left, default=None)
        if dearest is None:
            return told
        since, until = instant_in_words(dearest.since), instant_in_words(dearest.until)
        return f"{told}, but {dearest.left:.12g} from {since} until {until}, of which most was asked"

    def _allows(self, cost: int, span: Span) -> bool:
        try:
            settle_windows([(cost, span)], budget=self.budget, before=self.spent, accounting=self.accounting)
        except BudgetExhausted:
            return False
        return True


class Windowed(Protocol):
    """A ledger, as far as windows of time are concerned."""

    @property
    def window_budget(self) -> WindowBudget | None: ...

    @property
    def accounting(self) -> Accounting: ...

    def windows_spent(self) -> WindowsSpent: ...


def windows_left(ledger: Windowed) -> WindowsLeft | None:
    """Return what the windows of a ledger have left; None where they have no budget of their own."""
    budget = ledger.window_budget
    return None if budget is None else WindowsLeft(budget, ledger.windows_spent(), ledger.accounting)


def left_for(ledger: Ledger, span: Span) -> Epsilon | None:
    """Return the largest epsilon of one question about a time, within all caps; None when nothing is capped."""
    in_all, windows = ledger.left(), windows_left(ledger)
    in_windows = None if windows is None else windows.left(span)
    caps = [each for each in (in_all, in_windows) if each is not None]
    return min(caps) if caps else None


def instant_in_words(microseconds: int) -> str:
    """Return a time as ISO text; beyond the years that can be written, where windows go on for ever."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return "the beginning" if microseconds < 0 else "for ever"
