"""A ledger that lives as long as its process, and is of no use to another one."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.privacy.accounting import PURE, Accounting, require_move
from fedgroup.privacy.budget import (
    Charge,
    Entry,
    Spending,
    change_of_cap,
    entry_of,
    moved_line,
    once_per_plan,
    require_one_protection,
    settle,
    window_costs,
)
from fedgroup.privacy.comparing import Compared, Comparing, allowed_comparisons, made_line
from fedgroup.privacy.windows import (
    WindowBudget,
    WindowsSpent,
    carried_windows,
    change_of_windows,
    settle_windows,
    spent_before,
)
from fedgroup.rho import Rho

_UNPAID = -1


class MemoryLedger:
    """Balances and stored answers in memory; nothing survives the process."""

    def __init__(self, cap: Epsilon | None = None) -> None:
        self._cap = cap
        self._accounting = PURE
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._for_all = 0
        self._for_some: Counter[str] = Counter()
        self._plans: dict[str, int] = {}
        self._protection: str | None = None
        self._entries: list[Entry] = []
        self._answers: dict[str, Mapping[str, Any]] = {}
        self._compared: dict[str, Compared] = {}
        self._window_budget: WindowBudget | None = None
        self._windows = WindowsSpent()

    @property
    def cap(self) -> Epsilon | None:
        return self._cap

    @property
    def epoch(self) -> int:
        """The lifetime of the process is one epoch."""
        return 0

    @property
    def accounting(self) -> Accounting:
        return self._accounting

    def count_as(self, accounting: Accounting, *, agreed: bool = False) -> None:
        """Count otherwise from now on: a new ledger as it likes, one that is in use only if that is `agreed`."""
        with self._lock:
            if accounting != self._accounting:
                fresh = self._cap is None and not self._entries
                require_move(self._accounting, accounting, fresh=fresh, agreed=agreed)
                moved = self._spending().carried_to(accounting)
                self._accounting, self._for_all, self._for_some = accounting, moved.for_all, Counter(moved.for_some)
                if self._window_budget is not None:
                    self._windows = carried_windows(self._windows, self._window_budget.count, accounting)
                self._note(moved_line(accounting, moved))

    def set_cap(self, cap: Epsilon, *, raising: bool = True) -> None:
        """Set what every owner may spend, more than before only if `raising`; what was spent stays spent."""
        with self._lock:
            change_of_cap(self._cap, cap, raising=raising)
            self._cap = cap

    @property
    def window_budget(self) -> WindowBudget | None:
        return self._window_budget

    def set_window_budget(self, budget: WindowBudget, *, raising: bool = True) -> None:
        """Set what any few consecutive windows of time may cost, more than before only if `raising`.

        What was spent before there were such budgets counts in every window.
        """
        with self._lock:
            before = self._window_budget
            if before == budget:
                return
            self._note(change_of_windows(before, budget, raising=raising, fresh=self._windows == WindowsSpent()))
            if before is None:
                spent = self._spending()
                self._windows = spent_before(spent.units, budget, self._accounting, self._protection)
            self._window_budget = budget

    def windows_spent(self) -> WindowsSpent:
        """Return what was charged to windows of time, where they have a budget."""
        return self._windows

    def _with_windows(self, due: Sequence[Charge]) -> WindowsSpent:
        """Return what windows were charged after these charges, or refuse them all."""
        after, budget = self._windows, self._window_budget
        if budget is None:
            return after
        costs, counted = window_costs(due, self._accounting), self._accounting
        for added in settle_windows(costs, budget=budget, before=after, accounting=counted):
            after = after.after(*added)
        return after

    def charge(self, charges: Sequence[Charge]) -> Epsilon:
        """Record all of `charges`, or none and raise `BudgetExhausted`; return what one owner pays at most."""
        self._require_own_process()
        with self._lock:
            require_one_protection(self._protection, charges)
            due = self._due(charges)
            added = settle(due, cap=self.cap, before=self._spending())
            self._windows = self._with_windows(due)
            self._protection = next((charge.protection for charge in charges if charge.protection), self._protection)
            self._for_all += added.for_all
            self._for_some.update(added.for_some)
            for charge in due:
                if charge.plan is not None:
                    self._plans[charge.plan] = max(self._plans.get(charge.plan, _UNPAID), charge.epsilon.nano)
            at, epoch, counted = self.now(), self.epoch, self._accounting
            self._entries += [entry_of(charge, at=at, epoch=epoch, accounting=counted) for charge in due]
            return added.price

    def reserve_comparisons(self, wanted: Comparing) -> int:
        """Record that a plan may compare owners, and return how often; refuse what the epoch does not allow."""
        with self._lock:
            allowed = allowed_comparisons(wanted, list(self._compared.values()))
            self.charge([Charge(NOTHING, "setup", wanted.line(allowed), protection=wanted.protection)])
            self._compared[wanted.plan] = wanted.reserved(allowed)
            return allowed

    def settle_comparisons(self, plan: str, made: int) -> None:
        """Record how many comparisons a plan made; the others it might have made can be made by later ones."""
        with self._lock:
            self._compared[plan] = replace(self._compared[plan], count=min(made, self._compared[plan].count))
            self._note(made_line(plan, made))

    def price(self, charges: Sequence[Charge]) -> Epsilon:
        """Return what one owner would pay at most for `charges`, without recording them."""
        with self._lock:
            return settle(self._due(charges), cap=None, before=Spending(accounting=self._accounting)).price

    def _require_own_process(self) -> None:
        """Refuse to spend in a forked process, which has a copy of the balances: both could spend what is left."""
        if self._process != os.getpid():
            raise LedgerUnavailable("a ledger in memory cannot be shared by processes; give ledger= a file")

    def _due(self, charges: Sequence[Charge]) -> list[Charge]:
        """Leave out the setup of plans that were paid for, with no less than is asked now."""
        return once_per_plan(charges, self._knows)

    def _knows(self, charge: Charge) -> bool:
        return charge.plan is not None and self._plans.get(charge.plan, _UNPAID) >= charge.epsilon.nano

    def spent(self) -> Epsilon:
        """Return what the owner that spent most has spent."""
        with self._lock:
            return self._spending().most

    def left(self) -> Epsilon | None:
        """Return the largest epsilon that every owner can still spend on one question; None when nothing is capped."""
        with self._lock:
            return self._spending().left(self._cap)

    def left_rho(self) -> Rho | None:
        """Return what every owner can still spend as a rho; None when nothing is capped, or epsilon is counted."""
        with self._lock:
            return self._spending().left_rho(self._cap)

    def _spending(self) -> Spending:
        return Spending(self._for_all, self._for_some, self._accounting)

    def _note(self, text: str) -> None:
        self._entries.append(Entry(self.now(), self.epoch, "note", text, NOTHING, None))

    def entries(self) -> list[Entry]:
        """Return every line, oldest first."""
        with self._lock:
            return list(self._entries)

    def stored_answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer kept under `key`, if there is one."""
        return self._answers.get(key)

    def store_answers(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep answers that were paid for, each under its key."""
        self._answers.update(answers)

    def close(self) -> None:
        """Do nothing: memory needs no closing."""

    def now(self) -> str:
        """Return the time to date an answer with."""
        return datetime.now(UTC).isoformat(timespec="seconds")
