"""A durable ledger in one SQLite file, shared safely by threads and processes.

Guarantee: a charge is on disk before `charge` returns (see `sqlite_file`), so nothing is released that is not recorded.
A charge that is alike for all owners is one row, whatever their number.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.privacy.accounting import PURE, Accounting, require_move
from fedgroup.privacy.budget import (
    Charge,
    Entry,
    Spending,
    change_of_cap,
    moved_line,
    once_per_plan,
    require_one_protection,
    settle,
    window_costs,
)
from fedgroup.privacy.comparing import ANNOUNCED, Compared, Comparing, allowed_comparisons, made_line
from fedgroup.privacy.windows import WindowBudget, WindowsSpent, change_of_windows, spent_before
from fedgroup.rho import Delta, Rho
from fedgroup.storage import window_tables
from fedgroup.storage.sqlite_file import SQLiteFile, marks_of

_TABLE = """
CREATE TABLE IF NOT EXISTS compared (
    entry INTEGER PRIMARY KEY, plan TEXT NOT NULL, over TEXT NOT NULL, count INTEGER NOT NULL, cap INTEGER)
"""
_BEFORE = """
SELECT entries.question, over, count, cap FROM entries LEFT JOIN compared ON compared.entry = entries.id
WHERE epoch = ? AND question LIKE ? ORDER BY entries.id
"""


def compared_before(connection: sqlite3.Connection, epoch: int) -> list[Compared]:
    """Return the comparisons of an epoch, oldest first; a line without a count is from before there were counts."""
    connection.execute(_TABLE)
    rows = connection.execute(_BEFORE, (epoch, f"{ANNOUNCED}%")).fetchall()
    return [Compared(over or line, count or 0, cap) for line, over, count, cap in rows]


def note_compared(connection: sqlite3.Connection, plan: str, compared: Compared) -> None:
    """Count comparisons for the line that was just written."""
    (entry,) = connection.execute("SELECT max(id) FROM entries").fetchone()
    row = (entry, plan, compared.over, compared.count, compared.cap)
    connection.execute("INSERT INTO compared VALUES (?, ?, ?, ?, ?)", row)


def count_compared(connection: sqlite3.Connection, plan: str, made: int) -> None:
    """Count those that a plan made instead of those that it might have made."""
    connection.execute("UPDATE compared SET count = min(count, ?) WHERE plan = ?", (made, plan))


_SCHEMA_VERSION = 1
_CONCENTRATED_VERSION = 2
"""A ledger of concentrated accounting: its amounts are rho, and whoever knows epsilon only must not read it."""
_WINDOWED = 2
"""Is added to the version of a ledger that has budgets per window, which others would pass over."""
_APPLICATION_ID = 0x46454447  # "FEDG"
_VERSIONS = {base + windowed for base in (_SCHEMA_VERSION, _CONCENTRATED_VERSION) for windowed in (0, _WINDOWED)}
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
INSERT INTO facts VALUES ('epoch', 0), ('cap', NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, epoch INTEGER NOT NULL, purpose TEXT NOT NULL, question TEXT NOT NULL,
    plan TEXT, nano INTEGER NOT NULL CHECK (nano >= 0), owners INTEGER, protection TEXT);
CREATE INDEX entries_of_plans ON entries (plan) WHERE plan IS NOT NULL;
CREATE TABLE spent_by_all (epoch INTEGER PRIMARY KEY, nano INTEGER NOT NULL CHECK (nano >= 0));
CREATE TABLE spent_by_some (
    epoch INTEGER NOT NULL, owner TEXT NOT NULL, nano INTEGER NOT NULL CHECK (nano >= 0),
    PRIMARY KEY (epoch, owner)) WITHOUT ROWID;
CREATE TABLE answers (key TEXT PRIMARY KEY, at TEXT NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
"""

_NEW_ENTRY = (
    "INSERT INTO entries (at, epoch, purpose, question, plan, nano, owners, protection) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_NEW_RHO_ENTRY = (
    "INSERT INTO entries (at, epoch, purpose, question, plan, nano, owners, protection, pico) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_MORE_BY_ALL = "INSERT INTO spent_by_all VALUES (?, ?) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano"
_MORE_BY_SOME = "INSERT INTO spent_by_some VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano"

_EPOCH = "(SELECT value FROM facts WHERE name = 'epoch')"
STANDING = f"""
    {_EPOCH}, (SELECT value FROM facts WHERE name = 'cap'),
    (SELECT nano FROM spent_by_all WHERE epoch = {_EPOCH}),
    (SELECT max(nano) FROM spent_by_some WHERE epoch = {_EPOCH}),
    (SELECT protection FROM entries WHERE protection IS NOT NULL LIMIT 1),
    (SELECT value FROM facts WHERE name = 'delta'),
    (SELECT value FROM facts WHERE name = 'window_length')
"""  # noqa: S608 - of our own words
"""The columns of a `Standing`, read by one statement."""


@dataclass(frozen=True)
class Standing:
    """Where a ledger stands: its epoch, its cap, what was spent (of some owners the most), and what that protects.

    `windowed` tells that windows of time have a budget, too.
    """

    epoch: int
    cap: Epsilon | None
    spending: Spending
    protection: str | None
    windowed: bool = False

    @property
    def accounting(self) -> Accounting:
        return self.spending.accounting

    @classmethod
    def of(cls, row: Sequence[Any]) -> Standing:
        """Return the standing that these columns tell."""
        epoch, cap, for_all, for_some, protection, delta, window_length = row
        accounting = PURE if delta is None else Accounting(Delta(delta))
        spending = Spending(for_all or 0, {} if for_some is None else {"": for_some}, accounting)
        windowed = window_length is not None
        return cls(epoch, None if cap is None else Epsilon(cap), spending, protection, windowed)

    def after(self, charge: Charge, added: Spending) -> Standing:
        """Return where a ledger stands after a charge to all of its owners, which added so much."""
        before = self.spending
        spent = Spending(before.for_all + added.for_all, before.for_some, before.accounting)
        return Standing(self.epoch, self.cap, spent, self.protection or charge.protection, self.windowed)


class SQLiteLedger(SQLiteFile):
    """Balances, every question asked, and stored answers in a file that survives crashes."""

    @property
    def cap(self) -> Epsilon | None:
        nano = self._fact("cap")
        return None if nano is None else Epsilon(nano)

    @property
    def epoch(self) -> int:
        return self._fact("epoch") or 0

    @property
    def accounting(self) -> Accounting:
        atto = self._fact("delta")
        return PURE if atto is None else Accounting(Delta(atto))

    def count_as(self, accounting: Accounting, *, agreed: bool = False) -> None:
        """Count otherwise from now on: a new ledger as it likes, one that is in use only if that is `agreed`.

        What was spent is carried over in the same transaction, of every epoch and owner.
        """
        with self._transaction() as connection:
            standing = self._standing(connection)
            if accounting != standing.accounting:
                (lines,) = connection.execute("SELECT count(*) FROM entries").fetchone()
                fresh = lines == 0 and standing.cap is None
                require_move(standing.accounting, accounting, fresh=fresh, agreed=agreed)
                _carry_over(connection, accounting)
                self._note(connection, moved_line(accounting, self._standing(connection).spending))

    def set_cap(self, cap: Epsilon, *, raising: bool = True) -> None:
        """Set what every owner may spend per epoch, more than before only if `raising`; what was spent stays spent."""
        with self._transaction() as connection:
            before = self.cap
            if before != cap:
                told = change_of_cap(before, cap, raising=raising)
                connection.execute("UPDATE facts SET value = ? WHERE name = 'cap'", (cap.nano,))
                self._note(connection, told)

    @property
    def window_budget(self) -> WindowBudget | None:
        with self._reading() as connection:
            return window_tables.stated_budget(connection)

    def set_window_budget(self, budget: WindowBudget, *, raising: bool = True) -> None:
        """Set what any few consecutive windows of time may cost, more than before only if `raising`.

        What was spent before there were such budgets counts in every window.
        """
        with self._transaction() as connection:
            before, standing = window_tables.stated_budget(connection), self._standing(connection)
            if before == budget:
                return
            fresh = before is not None and window_tables.spent_in_windows(connection, standing.epoch) == WindowsSpent()
            told = change_of_windows(before, budget, raising=raising, fresh=fresh)
            window_tables.state_budget(connection, budget)
            if before is None:
                spent = spent_before(standing.spending.units, budget, standing.accounting, standing.protection)
                window_tables.count_in_every_window(connection, standing.epoch, spent.every)
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                connection.execute(f"PRAGMA user_version = {version + _WINDOWED}")
            self._note(connection, told)

    def windows_spent(self) -> WindowsSpent:
        """Return what was charged to windows of time in this epoch, where they have a budget."""
        with self._reading() as connection:
            standing = self._standing(connection)
            return window_tables.spent_in_windows(connection, standing.epoch) if standing.windowed else WindowsSpent()

    def begin_epoch(self) -> int:
        """Start the next epoch with fresh balances and return its number; a record that lives on pays again."""
        with self._transaction() as connection:
            connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'epoch'")
            self._note(connection, f"epoch {self.epoch} begins")
            return self.epoch

    def charge(self, charges: Sequence[Charge]) -> Epsilon:
        """Record all of `charges`, or none and raise `BudgetExhausted`; return what one owner pays at most."""
        with self._transaction() as connection:
            return self._charge(connection, charges)

    def reserve_comparisons(self, wanted: Comparing) -> int:
        """Record that a plan may compare owners, and return how often; refuse what the epoch does not allow."""
        with self._transaction() as connection:
            allowed = allowed_comparisons(wanted, compared_before(connection, self.epoch))
            self._charge(connection, [Charge(NOTHING, "setup", wanted.line(allowed), protection=wanted.protection)])
            note_compared(connection, wanted.plan, wanted.reserved(allowed))
            return allowed

    def settle_comparisons(self, plan: str, made: int) -> None:
        """Record how many comparisons a plan made; the others it might have made can be made by later ones."""
        with self._transaction() as connection:
            count_compared(connection, plan, made)
            self._note(connection, made_line(plan, made))

    def price(self, charges: Sequence[Charge]) -> Epsilon:
        """Return what one owner would pay at most for `charges`, without recording them."""
        with self._reading() as connection:
            return settle(self._due(connection, charges), cap=None, before=Spending(accounting=self.accounting)).price

    def spent(self) -> Epsilon:
        """Return what the owner that spent most has spent in this epoch."""
        with self._reading() as connection:
            return self._standing(connection).spending.most

    def left(self) -> Epsilon | None:
        """Return the largest epsilon that every owner can still spend on one question; None when nothing is capped."""
        with self._reading() as connection:
            standing = self._standing(connection)
            return standing.spending.left(standing.cap)

    def left_rho(self) -> Rho | None:
        """Return what every owner can still spend as a rho; None when nothing is capped, or epsilon is counted."""
        with self._reading() as connection:
            standing = self._standing(connection)
            return standing.spending.left_rho(standing.cap)

    def entries(self) -> list[Entry]:
        """Return every line, oldest first."""
        with self._reading() as connection:
            pico = "NULL" if self.accounting == PURE else "pico"
            lines = f"SELECT at, epoch, purpose, question, nano, owners, {pico} FROM entries ORDER BY id"  # noqa: S608
            return [_entry(row) for row in connection.execute(lines)]

    def stored_answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer kept under `key`, if there is one."""
        with self._reading() as connection:
            row = connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            return None if row is None else json.loads(row[0])

    def store_answers(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep answers that were paid for, each under its key."""
        rows = [(key, self.now(), json.dumps(answer)) for key, answer in answers.items()]
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)

    def now(self) -> str:
        """Return the time to date an answer with."""
        return now_in_words()

    # --- inside a transaction -----------------------------------------------------------------------------------

    def _charge(self, connection: sqlite3.Connection, charges: Sequence[Charge]) -> Epsilon:
        standing = self._standing(connection)
        self._charge_windows(connection, charges, standing)
        return self._write(connection, charges, standing).price

    def _charge_windows(
        self, connection: sqlite3.Connection, charges: Sequence[Charge], standing: Standing, *, looking: bool = False
    ) -> None:
        """Charge the windows that are met, or refuse all of it; with `looking`, only refuse."""
        budget = window_tables.stated_budget(connection) if standing.windowed else None
        if budget is not None:
            charge = window_tables.require_windows if looking else window_tables.charge_windows
            costs = window_costs(self._due(connection, charges), standing.accounting)
            charge(connection, costs, budget=budget, epoch=standing.epoch, accounting=standing.accounting)

    def _write(self, connection: sqlite3.Connection, charges: Sequence[Charge], standing: Standing) -> Spending:
        require_one_protection(standing.protection, charges)
        due = self._due(connection, charges)
        by_name = any(charge.owners is not None for charge in due)
        before = self._spending_by_name(connection, standing) if by_name else standing.spending
        added = settle(due, cap=standing.cap, before=before)
        at = self.now()
        for charge in due:
            _write_line(connection, _row(charge, at, standing.epoch), standing.accounting, charge)
        connection.execute(_MORE_BY_ALL, (standing.epoch, added.for_all))
        if added.for_some:
            rows = ((standing.epoch, owner, nano) for owner, nano in added.for_some.items())
            connection.executemany(_MORE_BY_SOME, rows)
        return added

    def _due(self, connection: sqlite3.Connection, charges: Sequence[Charge]) -> list[Charge]:
        """Leave out the setup of plans that this ledger has paid for."""
        return once_per_plan(charges, lambda charge: self._knows(connection, charge))

    def _knows(self, connection: sqlite3.Connection, charge: Charge) -> bool:
        """Tell whether this plan was paid for, and with no less than is asked now."""
        known = "SELECT 1 FROM entries WHERE plan = ? AND nano >= ? LIMIT 1"
        return connection.execute(known, (charge.plan, charge.epsilon.nano)).fetchone() is not None

    def _standing(self, connection: sqlite3.Connection) -> Standing:
        return Standing.of(connection.execute(f"SELECT {STANDING}").fetchone())

    def _spending_by_name(self, connection: sqlite3.Connection, standing: Standing) -> Spending:
        found = connection.execute("SELECT owner, nano FROM spent_by_some WHERE epoch = ?", (standing.epoch,))
        return Spending(standing.spending.for_all, dict(found), standing.accounting)

    def _note(self, connection: sqlite3.Connection, text: str) -> None:
        connection.execute(
            "INSERT INTO entries (at, epoch, purpose, question, nano) VALUES (?, ?, 'note', ?, 0)",
            (self.now(), self.epoch, text),
        )

    def _count_lost(
        self, connection: sqlite3.Connection, epoch: int, units: int, why: str, *, window_cap: Epsilon | None
    ) -> None:
        """Count an amount that no question is known for as spent by all, and the highest cap in every window."""
        if self.accounting == PURE:
            connection.execute(_NEW_ENTRY, (self.now(), epoch, "lost", why, None, units, None, None))
        else:
            connection.execute(_NEW_RHO_ENTRY, (self.now(), epoch, "lost", why, None, 0, None, None, units))
        connection.execute(_MORE_BY_ALL, (epoch, units))
        budget = window_tables.stated_budget(connection)
        if budget is not None:
            # one window's worth of the whole cap in each: whatever is met, nothing is left of it
            whole = self.accounting.units_within(max(budget.cap, window_cap or budget.cap))
            window_tables.count_in_every_window(connection, epoch, whole)

    def _fact(self, name: str) -> int | None:
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
            return None if row is None or row[0] is None else int(row[0])

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """Lay out a new file; refuse one that is something else, and leave it as it is."""
        found = marks_of(connection)
        if found == (0, 0, 0):
            connection.execute("BEGIN IMMEDIATE")
            if marks_of(connection) == found:
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            connection.execute("COMMIT")
            found = marks_of(connection)
        if found[0] != _APPLICATION_ID or found[1] not in _VERSIONS:
            raise InvalidInput(f"{self.path} is not a fedgroup ledger of version {_SCHEMA_VERSION}; name another file")


def now_in_words() -> str:
    """Return the time to date a line with."""
    return _as_text(int(time.time()))


@lru_cache(maxsize=1)
def _as_text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _carry_over(connection: sqlite3.Connection, accounting: Accounting) -> None:
    """Let every amount that was spent count in the units of another accounting, and say so in the file."""
    by_all = dict(connection.execute("SELECT epoch, nano FROM spent_by_all").fetchall())
    by_some: dict[int, dict[str, int]] = {}
    for epoch, owner, nano in connection.execute("SELECT epoch, owner, nano FROM spent_by_some"):
        by_some.setdefault(epoch, {})[owner] = nano
    connection.execute("DELETE FROM spent_by_all")
    connection.execute("DELETE FROM spent_by_some")
    for epoch in sorted({*by_all, *by_some}):
        moved = Spending(by_all.get(epoch, 0), by_some.get(epoch, {})).carried_to(accounting)
        connection.execute(_MORE_BY_ALL, (epoch, moved.for_all))
        connection.executemany(_MORE_BY_SOME, ((epoch, owner, units) for owner, units in moved.for_some.items()))
    assert accounting.delta is not None  # noqa: S101  nothing is moved to pure epsilon
    connection.execute("INSERT INTO facts VALUES ('delta', ?)", (accounting.delta.atto,))
    connection.execute("ALTER TABLE entries ADD COLUMN pico INTEGER")
    budget = window_tables.stated_budget(connection)
    if budget is not None:
        window_tables.carry_windows(connection, budget, accounting)
    windowed = 0 if budget is None else _WINDOWED
    connection.execute(f"PRAGMA user_version = {_CONCENTRATED_VERSION + windowed}")


def _write_line(connection: sqlite3.Connection, row: tuple[Any, ...], accounting: Accounting, charge: Charge) -> None:
    if accounting == PURE:
        connection.execute(_NEW_ENTRY, row)
    else:
        connection.execute(_NEW_RHO_ENTRY, (*row, charge.units(accounting)))


def _entry(row: Sequence[Any]) -> Entry:
    at, epoch, purpose, text, nano, owners, pico = row
    return Entry(at, epoch, purpose, text, Epsilon(nano), owners, None if pico is None else Rho(pico))


def _row(charge: Charge, at: str, epoch: int) -> tuple[Any, ...]:
    owners = None if charge.owners is None else len(charge.owners)
    nano = charge.epsilon.nano if charge.rho is None else 0
    return (at, epoch, charge.purpose, charge.question, charge.plan, nano, owners, charge.protection)
