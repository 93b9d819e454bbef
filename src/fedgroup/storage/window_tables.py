"""What was charged to windows of time, in a ledger's file: a row where the amount changes, for any number of windows.

Guarantee: a charge is checked and written inside the transaction that writes the charge itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.windows import (
    FIRST,
    LAST,
    Cost,
    WindowBudget,
    WindowsSpent,
    carried_windows,
    settle_windows,
)

_TABLES = (
    "CREATE TABLE IF NOT EXISTS spent_by_every_window (epoch INTEGER PRIMARY KEY, units INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS window_steps (epoch INTEGER NOT NULL, first INTEGER NOT NULL,"
    " units INTEGER NOT NULL CHECK (units >= 0), PRIMARY KEY (epoch, first)) WITHOUT ROWID",
)
_FACTS = ("window_length", "window_cap", "window_count")
_STATED = """
    SELECT (SELECT value FROM facts WHERE name = 'window_length'), (SELECT value FROM facts WHERE name = 'window_cap'),
        (SELECT value FROM facts WHERE name = 'window_count')
"""
_MORE_BY_EVERY = (
    "INSERT INTO spent_by_every_window VALUES (?, ?) ON CONFLICT DO UPDATE SET units = units + excluded.units"
)
_STEP_AT = "SELECT units FROM window_steps WHERE epoch = ? AND first <= ? ORDER BY first DESC LIMIT 1"


def stated_budget(connection: sqlite3.Connection) -> WindowBudget | None:
    """Return the budget of windows that a ledger has."""
    length, cap, count = connection.execute(_STATED).fetchone()
    return None if length is None else WindowBudget(length, Epsilon(cap), count)


def state_budget(connection: sqlite3.Connection, budget: WindowBudget) -> None:
    """Write down the budget of windows from now on."""
    for table in _TABLES:
        connection.execute(table)
    values = (budget.length, budget.cap.nano, budget.count)
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", zip(_FACTS, values, strict=True))


def spent_in_windows(connection: sqlite3.Connection, epoch: int, first: int = FIRST, last: int = LAST) -> WindowsSpent:
    """Return what was charged to windows in an epoch, as far as it can be seen in these."""
    row = connection.execute("SELECT units FROM spent_by_every_window WHERE epoch = ?", (epoch,)).fetchone()
    before = connection.execute(_STEP_AT, (epoch, first)).fetchone()
    within = "SELECT first, units FROM window_steps WHERE epoch = ? AND first > ? AND first <= ? ORDER BY first"
    steps = [tuple(step) for step in connection.execute(within, (epoch, first, last))]
    begins = [] if before is None else [(first, before[0])]
    return WindowsSpent(0 if row is None else row[0], (*begins, *steps))


def charge_windows(
    connection: sqlite3.Connection, costs: Sequence[Cost], *, budget: WindowBudget, epoch: int, accounting: Accounting
) -> None:
    """Charge windows with all of these costs, or raise `BudgetExhausted` and charge none."""
    for first, last, units in _settled(connection, costs, budget=budget, epoch=epoch, accounting=accounting):
        _write(connection, epoch, first, last, units)


def require_windows(
    connection: sqlite3.Connection, costs: Sequence[Cost], *, budget: WindowBudget, epoch: int, accounting: Accounting
) -> None:
    """Raise `BudgetExhausted` where `charge_windows` would; nothing is charged."""
    _settled(connection, costs, budget=budget, epoch=epoch, accounting=accounting)


def count_in_every_window(connection: sqlite3.Connection, epoch: int, units: int) -> None:
    """Count an amount in each of all windows, whatever the budget."""
    connection.execute(_MORE_BY_EVERY, (epoch, units))


def carry_windows(connection: sqlite3.Connection, budget: WindowBudget, accounting: Accounting) -> None:
    """Let everything that was charged to windows count as another accounting counts it."""
    epochs = "SELECT epoch FROM spent_by_every_window UNION SELECT epoch FROM window_steps"
    for (epoch,) in connection.execute(epochs).fetchall():
        moved = carried_windows(spent_in_windows(connection, epoch), budget.count, accounting)
        connection.execute("DELETE FROM spent_by_every_window WHERE epoch = ?", (epoch,))
        connection.execute("DELETE FROM window_steps WHERE epoch = ?", (epoch,))
        count_in_every_window(connection, epoch, moved.every)
        rows = ((epoch, first, units) for first, units in moved.steps)
        connection.executemany("INSERT INTO window_steps VALUES (?, ?, ?)", rows)


def _settled(
    connection: sqlite3.Connection, costs: Sequence[Cost], *, budget: WindowBudget, epoch: int, accounting: Accounting
) -> list[tuple[int, int, int]]:
    if not costs:
        return []
    met = [budget.met_by(span) for _, span in costs]
    first, last = min(each[0] for each in met), max(each[1] for each in met)
    before = spent_in_windows(connection, epoch, first - budget.count, last + budget.count)
    return settle_windows(costs, budget=budget, before=before, accounting=accounting)


def _write(connection: sqlite3.Connection, epoch: int, first: int, last: int, units: int) -> None:
    if first <= FIRST and last >= LAST:
        count_in_every_window(connection, epoch, units)
        return
    for place in (first, last + 1):
        here = connection.execute(_STEP_AT, (epoch, place)).fetchone()
        row = (epoch, place, 0 if here is None else here[0])
        connection.execute("INSERT OR IGNORE INTO window_steps VALUES (?, ?, ?)", row)
    more = "UPDATE window_steps SET units = units + ? WHERE epoch = ? AND first BETWEEN ? AND ?"
    connection.execute(more, (units, epoch, first, last))
