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
from fedgroup.privacy.budget import (
    Charge,
    Entry,
    Spending,
    change_of_cap,
    entry_of,
    once_per_plan,
    require_one_protection,
    settle,
)
from fedgroup.privacy.comparing import Compared, Comparing, allowed_comparisons, made_line

_UNPAID = -1


class MemoryLedger:
    """Balances and stored answers in memory; nothing survives the process."""

    def __init__(self, cap: Epsilon | None = None) -> None:
        self._cap = cap
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._for_all = 0
        self._for_some: Counter[str] = Counter()
        self._plans: dict[str, int] = {}
        self._protection: str | None = None
        self._entries: list[Entry] = []
        self._answers: dict[str, Mapping[str, Any]] = {}
        self._compared: dict[str, Compared] = {}

    @property
    def cap(self) -> Epsilon | None:
        return self._cap

    @property
    def epoch(self) -> int:
        """The lifetime of the process is one epoch."""
        return 0

    def set_cap(self, cap: Epsilon, *, raising: bool = True) -> None:
        """Set what every owner may spend, more than before only if `raising`; what was spent stays spent."""
        with self._lock:
            change_of_cap(self._cap, cap, raising=raising)
            self._cap = cap

    def charge(self, charges: Sequence[Charge]) -> Epsilon:
        """Record all of `charges`, or none and raise `BudgetExhausted`; return what one owner pays at most."""
        self._require_own_process()
        with self._lock:
            require_one_protection(self._protection, charges)
            due = self._due(charges)
            added = settle(due, cap=self.cap, before=Spending(self._for_all, self._for_some))
            self._protection = next((charge.protection for charge in charges if charge.protection), self._protection)
            self._for_all += added.for_all
            self._for_some.update(added.for_some)
            for charge in due:
                if charge.plan is not None:
                    self._plans[charge.plan] = max(self._plans.get(charge.plan, _UNPAID), charge.epsilon.nano)
            self._entries += [entry_of(charge, at=self.now(), epoch=self.epoch) for charge in due]
            return added.most

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
            self._entries.append(Entry(self.now(), self.epoch, "note", made_line(plan, made), NOTHING, None))

    def price(self, charges: Sequence[Charge]) -> Epsilon:
        """Return what one owner would pay at most for `charges`, without recording them."""
        with self._lock:
            return settle(self._due(charges), cap=None, before=Spending()).most

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
            return Spending(self._for_all, self._for_some).most

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
