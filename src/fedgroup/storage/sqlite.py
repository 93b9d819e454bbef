"""A durable ledger in one SQLite file, shared safely by threads and processes.

Guarantee: a charge is on disk (WAL, synchronous=FULL) before `charge` returns, so nothing is released that is not
           recorded; a process killed at any moment leaves either the whole charge or none of it.
A charge that is alike for all owners is one row, whatever their number.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, LedgerUnavailable
from fedgroup.privacy.budget import Charge, Entry, Spending, settle

_SCHEMA_VERSION = 1
_APPLICATION_ID = 0x46454447  # "FEDG"
_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;
INSERT INTO facts VALUES ('epoch', 0), ('cap', NULL);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, epoch INTEGER NOT NULL, purpose TEXT NOT NULL, question TEXT NOT NULL,
    plan TEXT, nano INTEGER NOT NULL CHECK (nano >= 0), owners INTEGER);
CREATE INDEX entries_of_plans ON entries (plan) WHERE plan IS NOT NULL;
CREATE TABLE spent_by_all (epoch INTEGER PRIMARY KEY, nano INTEGER NOT NULL CHECK (nano >= 0));
CREATE TABLE spent_by_some (
    epoch INTEGER NOT NULL, owner TEXT NOT NULL, nano INTEGER NOT NULL CHECK (nano >= 0),
    PRIMARY KEY (epoch, owner)) WITHOUT ROWID;
CREATE TABLE answers (key TEXT PRIMARY KEY, at TEXT NOT NULL, answer TEXT NOT NULL) WITHOUT ROWID;
"""


class SQLiteLedger:
    """Balances, every question asked, and stored answers in a file that survives crashes."""

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 60.0) -> None:
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._lock = threading.RLock()
        self._connection = self._open()

    @property
    def cap(self) -> Epsilon | None:
        nano = self._fact("cap")
        return None if nano is None else Epsilon(nano)

    @property
    def epoch(self) -> int:
        return self._fact("epoch") or 0

    def set_cap(self, cap: Epsilon) -> None:
        """Set what every owner may spend per epoch; what was spent stays spent."""
        with self._transaction() as connection:
            if self._fact("cap") != cap.nano:
                connection.execute("UPDATE facts SET value = ? WHERE name = 'cap'", (cap.nano,))
                self._note(connection, f"budget set to {cap}")

    def begin_epoch(self) -> int:
        """Start the next epoch with fresh balances and return its number; a record that lives on pays again."""
        with self._transaction() as connection:
            connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'epoch'")
            self._note(connection, f"epoch {self.epoch} begins")
            return self.epoch

    def charge(self, charges: Sequence[Charge]) -> Epsilon:
        """Record all of `charges`, or none and raise `BudgetExhausted`; return what one owner pays at most."""
        with self._transaction() as connection:
            due = self._due(connection, charges)
            added = settle(due, cap=self.cap, before=self._spending(connection))
            for charge in due:
                self._record(connection, charge)
            return added.most

    def price(self, charges: Sequence[Charge]) -> Epsilon:
        """Return what one owner would pay at most for `charges`, without recording them."""
        with self._reading() as connection:
            return settle(self._due(connection, charges), cap=None, before=Spending()).most

    def spent(self) -> Epsilon:
        """Return what the owner that spent most has spent in this epoch."""
        with self._reading() as connection:
            return self._spending(connection).most

    def entries(self) -> list[Entry]:
        """Return every line, oldest first."""
        with self._reading() as connection:
            rows = connection.execute("SELECT at, epoch, purpose, question, nano, owners FROM entries ORDER BY id")
            return [Entry(at, epoch, purpose, text, Epsilon(nano), n) for at, epoch, purpose, text, nano, n in rows]

    def stored_answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer kept under `key`, if there is one."""
        with self._reading() as connection:
            row = connection.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            return None if row is None else json.loads(row[0])

    def store_answer(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer that was paid for."""
        with self._transaction() as connection:
            row = (key, self.now(), json.dumps(answer))
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", row)

    def now(self) -> str:
        """Return the time to date an answer with."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    # --- inside a transaction -----------------------------------------------------------------------------------

    def _due(self, connection: sqlite3.Connection, charges: Sequence[Charge]) -> list[Charge]:
        """Leave out the setup of plans that this ledger has paid for."""
        return [charge for charge in charges if charge.plan is None or not self._knows(connection, charge.plan)]

    def _knows(self, connection: sqlite3.Connection, plan: str) -> bool:
        return connection.execute("SELECT 1 FROM entries WHERE plan = ? LIMIT 1", (plan,)).fetchone() is not None

    def _spending(self, connection: sqlite3.Connection) -> Spending:
        epoch = (self.epoch,)
        row = connection.execute("SELECT nano FROM spent_by_all WHERE epoch = ?", epoch).fetchone()
        some = connection.execute("SELECT owner, nano FROM spent_by_some WHERE epoch = ?", epoch)
        return Spending(0 if row is None else row[0], dict(some))

    def _record(self, connection: sqlite3.Connection, charge: Charge) -> None:
        nano = charge.epsilon.nano
        owners = None if charge.owners is None else len(charge.owners)
        connection.execute(
            "INSERT INTO entries (at, epoch, purpose, question, plan, nano, owners) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.now(), self.epoch, charge.purpose, charge.question, charge.plan, nano, owners),
        )
        if charge.owners is None:
            connection.execute(
                "INSERT INTO spent_by_all VALUES (?, ?) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano",
                (self.epoch, nano),
            )
        else:
            epoch = self.epoch
            connection.executemany(
                "INSERT INTO spent_by_some VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano",
                ((epoch, owner, nano) for owner in charge.owners),
            )

    def _note(self, connection: sqlite3.Connection, text: str) -> None:
        connection.execute(
            "INSERT INTO entries (at, epoch, purpose, question, nano) VALUES (?, ?, 'note', ?, 0)",
            (self.now(), self.epoch, text),
        )

    # --- the file -------------------------------------------------------------------------------------------------

    def _fact(self, name: str) -> int | None:
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
            return None if row is None or row[0] is None else int(row[0])

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _foreign_errors(self.path):
            yield self._connected()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's only write lock; commit to disk, or roll everything back on any error."""
        with self._lock, _foreign_errors(self.path):
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _connected(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            # SQLite connections must not cross a fork.
            self._lock = threading.RLock()
            self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        self._process = os.getpid()
        with _foreign_errors(self.path):
            connection = sqlite3.connect(
                self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            _prepare(connection, self.path)
            return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Lay out a new file; refuse one that is something else."""
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables == 0:
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    connection.execute("COMMIT")
    if tables and (application != _APPLICATION_ID or version != _SCHEMA_VERSION):
        connection.close()
        raise InvalidInput(f"{path} is not a fedgroup ledger of version {_SCHEMA_VERSION}; name another file")


@contextmanager
def _foreign_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours; none of them holds a private value."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerUnavailable(
            f"the ledger {path} cannot be used now ({error}); nothing was released, try later"
        ) from None
    except sqlite3.DatabaseError as error:
        raise InvalidInput(f"{path} is not a usable ledger ({error}); restore it from a backup") from None
