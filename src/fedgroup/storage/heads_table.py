"""The heads of the provider's log that an owner saw, in its ledger, and proofs that it was shown two logs.

Guarantee: heads are written with the next charge, in its transaction, so they are on disk before anything leaves for
           it. A proof of two logs is on disk when `flush` returns; of each log the first `MOST_FORKS` are kept, for one
           is enough. None is ever removed: where another log was accepted, the heads of the one before stay beside it.
"""

from __future__ import annotations

import sqlite3
from collections import deque

from fedgroup.messages.logged import Head

MOST_WAITING = 1_024
"""Heads of questions that were not charged; the oldest are forgotten, for nothing left for them."""
MOST_FORKS = 8
"""Proofs of a second log beside one, each of 128 KiB at most."""
ANOTHER_LOG = "another log of the provider is believed from here on"
"""The line of a ledger from which on charges name entries of the next log."""

TABLES = (
    """
CREATE TABLE IF NOT EXISTS heads (
    log INTEGER NOT NULL, number INTEGER NOT NULL, head BLOB NOT NULL, signature BLOB NOT NULL, round BLOB NOT NULL,
    tag BLOB NOT NULL, PRIMARY KEY (log, number, head)) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS forks (
    log INTEGER NOT NULL, number INTEGER NOT NULL, head BLOB NOT NULL, signature BLOB NOT NULL, base BLOB NOT NULL,
    links BLOB NOT NULL, PRIMARY KEY (log, number, head)) WITHOUT ROWID
""",
    "CREATE TABLE IF NOT EXISTS logs (log INTEGER PRIMARY KEY, at TEXT NOT NULL)",
)
_LOG = "(SELECT coalesce(max(log), 0) FROM logs)"
_NEW = f"INSERT OR IGNORE INTO heads VALUES ({_LOG}, ?, ?, ?, ?, ?)"  # noqa: S608  all our own
_FORKS = f"SELECT count(*) FROM forks WHERE log = {_LOG}"  # noqa: S608
_FORK = f"INSERT OR IGNORE INTO forks SELECT {_LOG}, ?, ?, ?, ?, ? WHERE ({_FORKS}) < {MOST_FORKS}"
_LAST = f"SELECT number, head FROM heads WHERE log = {_LOG} ORDER BY number DESC LIMIT 1"  # noqa: S608
_ALL = f"SELECT number, head, signature, round, tag FROM heads WHERE log = {_LOG} ORDER BY number"  # noqa: S608


class WaitingHeads:
    """Heads that are not written yet."""

    def __init__(self) -> None:
        self._heads: deque[Head] = deque(maxlen=MOST_WAITING)

    def add(self, head: Head) -> None:
        if not self._heads or self._heads[-1] != head:
            self._heads.append(head)

    def write(self, connection: sqlite3.Connection) -> int:
        """Write them in a transaction that is open; return how many, for `written` once it is committed."""
        rows = [(each.number, each.head, each.signature, each.round, each.tag) for each in self._heads]
        if rows:
            connection.executemany(_NEW, rows)
        return len(rows)

    def written(self, count: int) -> None:
        """Forget the first so many: they are in the file."""
        for _ in range(min(count, len(self._heads))):
            self._heads.popleft()


def last_head(connection: sqlite3.Connection) -> tuple[int, bytes] | None:
    """Return the number and the head that were seen last."""
    row = connection.execute(_LAST).fetchone()
    return None if row is None else (int(row[0]), bytes(row[1]))


def heads_in(connection: sqlite3.Connection) -> list[Head]:
    """Return the heads that were seen of the log in use, by number; none in a file without such tables."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'heads'").fetchone() is None:
        return []
    return [Head(row[0], *(bytes(each) for each in row[1:])) for row in connection.execute(_ALL)]


def write_fork(connection: sqlite3.Connection, head: Head, *, base: bytes, links: bytes) -> None:
    """Keep a head that the provider signed and that is of another log, unless there are enough."""
    connection.execute(_FORK, (head.number, head.head, head.signature, base, links))


def begin_log(connection: sqlite3.Connection, now: str) -> None:
    """Believe the next log that is shown, whatever the one before was."""
    connection.execute(f"INSERT INTO logs VALUES ({_LOG} + 1, ?)", (now,))  # noqa: S608
