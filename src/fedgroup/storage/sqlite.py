"""A durable ledger in one SQLite file, shared safely by threads and processes.

Guarantee: a charge is on disk (WAL, synchronous=FULL) before `charge` returns, so nothing is released that is not
           recorded; a process killed at any moment leaves either the whole charge or none of it.
A charge that is alike for all owners is one row, whatever their number.

SQLite's locks do not survive a fork: a child that inherits an open connection, even one it never touches, holds no
lock on the file, and loses its charges when its parent closes it. So every ledger is closed just before a fork, and
opened again by whoever uses it next.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, LedgerUnavailable
from fedgroup.privacy.budget import Charge, Entry, Spending, require_one_protection, settle

_SCHEMA_VERSION = 1
_APPLICATION_ID = 0x46454447  # "FEDG"
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


class SQLiteLedger:
    """Balances, every question asked, and stored answers in a file that survives crashes."""

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 60.0) -> None:
        # absolute: a process may change its folder before it opens the file again
        self.path = Path(path).absolute()
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        if not self.path.parent.is_dir():
            raise InvalidInput(f"there is no folder {self.path.parent} for the ledger; make it, or name another file")
        if self.path.is_dir():
            raise InvalidInput(f"{self.path} is a folder; name a file for the ledger")
        with _ONE_AT_A_TIME:
            self._connection = self._open(create=True)
            _LEDGERS.add(self)

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
            return self._charge(connection, charges)

    def price(self, charges: Sequence[Charge]) -> Epsilon:
        """Return what one owner would pay at most for `charges`, without recording them."""
        with self._reading() as connection:
            return settle(self._due(connection, charges), cap=None, before=Spending()).most

    def spent(self) -> Epsilon:
        """Return what the owner that spent most has spent in this epoch."""
        with self._reading() as connection:
            return self._spending(connection, by_name=False).most

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

    def store_answers(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep answers that were paid for, each under its key."""
        rows = [(key, self.now(), json.dumps(answer)) for key, answer in answers.items()]
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", rows)

    def now(self) -> str:
        """Return the time to date an answer with."""
        return datetime.now(UTC).isoformat(timespec="seconds")

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy to a new file, for its owner's eyes only, while others go on charging."""
        place = Path(path).absolute()
        try:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise InvalidInput(f"{place} is there already; name another file for the copy") from None
        try:
            with self._reading() as connection, closing(sqlite3.connect(place)) as copy:
                connection.backup(copy)
        except BaseException:
            place.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Close the file; it is opened again when the ledger is used again."""
        with _ONE_AT_A_TIME:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    # --- inside a transaction -----------------------------------------------------------------------------------

    def _charge(self, connection: sqlite3.Connection, charges: Sequence[Charge]) -> Epsilon:
        require_one_protection(self._protection(connection), charges)
        due = self._due(connection, charges)
        before = self._spending(connection, by_name=any(charge.owners is not None for charge in due))
        added = settle(due, cap=self.cap, before=before)
        for charge in due:
            self._write_entry(connection, charge)
        self._add(connection, added)
        return added.most

    def _due(self, connection: sqlite3.Connection, charges: Sequence[Charge]) -> list[Charge]:
        """Leave out the setup of plans that this ledger has paid for."""
        return [charge for charge in charges if charge.plan is None or not self._knows(connection, charge)]

    def _protection(self, connection: sqlite3.Connection) -> str | None:
        query = "SELECT protection FROM entries WHERE protection IS NOT NULL LIMIT 1"
        row = connection.execute(query).fetchone()
        return None if row is None else str(row[0])

    def _knows(self, connection: sqlite3.Connection, charge: Charge) -> bool:
        """Tell whether this plan was paid for, and with no less than is asked now."""
        known = "SELECT 1 FROM entries WHERE plan = ? AND nano >= ? LIMIT 1"
        return connection.execute(known, (charge.plan, charge.epsilon.nano)).fetchone() is not None

    def _spending(self, connection: sqlite3.Connection, *, by_name: bool) -> Spending:
        """Return what was spent in this epoch; unless `by_name`, of some owners the one that spent most."""
        epoch = (self.epoch,)
        row = connection.execute("SELECT nano FROM spent_by_all WHERE epoch = ?", epoch).fetchone()
        order = "" if by_name else "ORDER BY nano DESC LIMIT 1"
        some = connection.execute(f"SELECT owner, nano FROM spent_by_some WHERE epoch = ? {order}", epoch)  # noqa: S608
        return Spending(0 if row is None else row[0], dict(some))

    def _write_entry(self, connection: sqlite3.Connection, charge: Charge) -> None:
        owners = None if charge.owners is None else len(charge.owners)
        row = (self.now(), self.epoch, charge.purpose, charge.question, charge.plan, charge.epsilon.nano, owners)
        connection.execute(
            "INSERT INTO entries (at, epoch, purpose, question, plan, nano, owners, protection)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, charge.protection),
        )

    def _add(self, connection: sqlite3.Connection, added: Spending) -> None:
        epoch = self.epoch
        connection.execute(
            "INSERT INTO spent_by_all VALUES (?, ?) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano",
            (epoch, added.for_all),
        )
        connection.executemany(
            "INSERT INTO spent_by_some VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET nano = nano + excluded.nano",
            ((epoch, owner, nano) for owner, nano in added.for_some.items()),
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
        with _ONE_AT_A_TIME, _foreign_errors(self.path):
            yield self._connected()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the file's only write lock; commit to disk, or roll everything back on any error."""
        with _ONE_AT_A_TIME, _foreign_errors(self.path):
            connection = self._connected()
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            # a file that vanished is not made anew: what it recorded would be spent again
            self._connection = self._open(create=False)
        return self._connection

    def _open(self, *, create: bool) -> sqlite3.Connection:
        with _foreign_errors(self.path):
            if create:
                make_private(self.path)
            connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}",
                uri=True,
                timeout=self._busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                connection.execute("PRAGMA synchronous = FULL")
                _prepare(connection, self.path)
                _write_ahead(connection, self._busy_seconds)
            except BaseException:
                connection.close()
                raise
            return connection


def make_private(path: Path) -> None:
    """Make a file that its user alone can read, unless it is there; SQLite's files beside it get the same rights."""
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerUnavailable(f"the file {path} cannot be made ({error.strerror}); nothing was released") from None


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Lay out a new file; refuse one that is something else, and leave it as it is."""
    found = _marks(connection)
    if found == (0, 0, 0):
        connection.execute("BEGIN IMMEDIATE")
        if _marks(connection) == found:
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        connection.execute("COMMIT")
        found = _marks(connection)
    if found[:2] != (_APPLICATION_ID, _SCHEMA_VERSION):
        raise InvalidInput(f"{path} is not a fedgroup ledger of version {_SCHEMA_VERSION}; name another file")


def _marks(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return whose file this is, of which version, and how many tables it has; an empty file has none of these."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return application, version, tables


def _write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Make SQLite keep a write-ahead log; it gives up at once where another process does the same, so ask again."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            if mode != "wal":
                raise sqlite3.OperationalError("no write-ahead log can be kept there; use a local disk")
            return


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
        raise InvalidInput(
            f"{path} is not a usable ledger ({error}); name another file (a backup forgets the charges made since)"
        ) from None


_ONE_AT_A_TIME = threading.RLock()
"""Held while a ledger is used: threads take turns, and no fork happens meanwhile."""

_LEDGERS: weakref.WeakSet[SQLiteLedger] = weakref.WeakSet()
"""Every ledger of this process. SQLite keeps its locks per process, so these cannot be kept per ledger either."""


def _before_fork() -> None:
    _ONE_AT_A_TIME.acquire()
    for ledger in list(_LEDGERS):
        ledger.close()


def _after_fork_in_parent() -> None:
    _ONE_AT_A_TIME.release()


def _after_fork_in_child() -> None:
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
