"""Secure comparisons as a SQLite ledger counts them, beside the lines that announced them."""

from __future__ import annotations

import sqlite3

from fedgroup.privacy.comparing import ANNOUNCED, Compared

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
