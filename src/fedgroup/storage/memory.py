"""A ledger that lives as long as its process, and is of no use to another one."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.privacy.budget import Charge, Entry, Spending, entry_of, require_one_protection, settle

_UNPAID = -1


class MemoryLedger:
    """Balances and stored answers in memory; nothing survives the process."""

    def __init__(self, cap: Epsilon | None = None) -> None:
        self._cap = cap
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._for_all = 0
        self._for_some: Counter[str] = Counter()
        self._plans: dict[str, int] = {}
        self._protection: str | None = None
        self._entries: list[Entry] = []
        self._answers: dict[str, Mapping[str, Any]] = {}

    @property
    def cap(self) -> Epsilon | None:
        return self._cap

    @property
    def epoch(self) -> int:
        """The lifetime of the process is one epoch."""
        return 0

    def set_cap(self, cap: Epsilon) -> None:
        """Set what every owner may spend; what was spent stays spent."""
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
        return [charge for charge in charges if not self._knows(charge)]

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
