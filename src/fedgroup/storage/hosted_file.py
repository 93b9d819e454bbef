"""One file with the ledgers of all owners that one process hosts: one connection, one log, and one flush for many.

Guarantee: as of a ledger of its own (`owner_ledger`): what is written is on disk once `flush` returned, and a file that
           could not be flushed is used no more, by none of its owners. Every row belongs to one owner; no ledger reads
           or writes another's. One mark tells how far the file as a whole has come: where a mark is due for one owner,
           it tells of all.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fedgroup.errors import InvalidInput, LedgerUnavailable
from fedgroup.messages.logged import Head
from fedgroup.storage.hosted_batch import NO_REPLY, Batch
from fedgroup.storage.marks import Mark
from fedgroup.storage.sqlite_file import SQLiteFile, marks_of

if TYPE_CHECKING:
    from fedgroup.storage.hosted_ledger import HostedLedger

APPLICATION_ID = 0x46454448  # "FEDH"
_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE file (name TEXT NOT NULL);
CREATE TABLE holders (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, ledger TEXT NOT NULL, epoch INTEGER NOT NULL DEFAULT 0,
    cap INTEGER, delta INTEGER, units INTEGER NOT NULL DEFAULT 0 CHECK (units >= 0), protection TEXT,
    lines INTEGER NOT NULL DEFAULT 0, line INTEGER NOT NULL DEFAULT 0, log INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0, offers INTEGER NOT NULL DEFAULT 0);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, before INTEGER NOT NULL, at TEXT NOT NULL, epoch INTEGER NOT NULL,
    purpose TEXT NOT NULL, question TEXT NOT NULL, nano INTEGER NOT NULL CHECK (nano >= 0), pico INTEGER);
CREATE TABLE rounds (
    id BLOB NOT NULL, owner INTEGER NOT NULL, reply BLOB NOT NULL, snapshot TEXT NOT NULL,
    PRIMARY KEY (id, owner)) WITHOUT ROWID;
CREATE TABLE survivors (
    round BLOB NOT NULL, owner INTEGER NOT NULL, positions BLOB NOT NULL, PRIMARY KEY (round, owner)) WITHOUT ROWID;
CREATE TABLE ages (at TEXT NOT NULL, round BLOB NOT NULL, PRIMARY KEY (at, round)) WITHOUT ROWID;
CREATE TABLE comparisons (
    owner INTEGER NOT NULL, epoch INTEGER NOT NULL, session BLOB NOT NULL,
    PRIMARY KEY (owner, epoch, session)) WITHOUT ROWID;
CREATE TABLE frozen (
    owner INTEGER NOT NULL, epoch INTEGER NOT NULL, over TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (owner, epoch)) WITHOUT ROWID;
CREATE TABLE heads (
    id INTEGER PRIMARY KEY, number INTEGER NOT NULL, head BLOB NOT NULL, signature BLOB NOT NULL, round BLOB NOT NULL,
    tag BLOB NOT NULL, UNIQUE (number, head, signature, round, tag));
CREATE TABLE seen (
    id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, before INTEGER NOT NULL, log INTEGER NOT NULL,
    head INTEGER NOT NULL);
CREATE TABLE forks (
    owner INTEGER NOT NULL, log INTEGER NOT NULL, number INTEGER NOT NULL, head BLOB NOT NULL, signature BLOB NOT NULL,
    base BLOB NOT NULL, links BLOB NOT NULL, PRIMARY KEY (owner, log, number, head)) WITHOUT ROWID;
"""
"""Lines and heads are added at the end, each with the one before it of the same owner: many owners of one round write
few pages, and one owner's are read without a look at the others'. A head that many saw is kept once."""

_MARK = """
SELECT (SELECT name FROM file), (SELECT coalesce(max(epoch), 0) FROM holders),
    (SELECT coalesce(max(id), 0) FROM entries), (SELECT count(*) FROM comparisons), (SELECT max(cap) FROM holders)
"""
_NEW_HEAD = "INSERT OR IGNORE INTO heads (number, head, signature, round, tag) VALUES (?, ?, ?, ?, ?)"
_HEAD = "SELECT id FROM heads WHERE number = ? AND head = ? AND signature = ? AND round = ? AND tag = ?"
_OLD_ROUNDS = "SELECT at, round FROM ages WHERE at < ? ORDER BY at LIMIT 2"
_HOUR = len("2026-01-01T00")
_HEADS_KNOWN = 1_024
_ROUNDS_KNOWN = 256

DROPPED = b"\0"
"""A reply that was sent so long ago that its bytes are not kept any more."""


class HostedFile(SQLiteFile):
    """The file. Ledgers in it are `HostedLedger`s; those that one process uses share this object."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 60.0,
        flushed_later: bool = True,
        read_only: bool = False,
    ) -> None:
        """Whoever only looks, or changes one thing, is not `flushed_later`: what it wrote is on disk at once."""
        self.ledgers: list[HostedLedger] = []
        self._tell: Callable[[Mark], None] | None = None
        self._marks_wanted = self._marks_told = 0
        self._heads: OrderedDict[Head, int] = OrderedDict()
        self._aged: set[bytes] = set()
        self._dropped_in = ""
        self.keep_days: int | None = None
        self._batch = Batch()
        self._in_batch = False
        super().__init__(path, busy_seconds=busy_seconds, flushed_later=flushed_later, read_only=read_only)

    def _take_turns(self) -> None:
        super()._take_turns()
        self._marking = threading.Lock()

    # --- owners -------------------------------------------------------------------------------------------------------

    def holders(self) -> list[str]:
        """Return whose ledgers are in here."""
        with self._reading() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM holders ORDER BY name")]

    def number_of(self, holder: str) -> int | None:
        """Return the number of an owner's ledger; None if it has none here."""
        with self._reading() as connection:
            row = connection.execute("SELECT number FROM holders WHERE name = ?", (holder,)).fetchone()
            return None if row is None else int(row[0])

    def add(self, holder: str) -> int:
        """Make a new ledger for an owner that has none here, and return its number."""
        with self._transaction() as connection:
            row = (holder, new_name())
            return int(connection.execute("INSERT INTO holders (name, ledger) VALUES (?, ?)", row).lastrowid or 0)

    @property
    def position(self) -> int:
        """How much was written so far: what was written up to here is on disk once `on_disk` is as much."""
        return self._written

    @property
    def on_disk(self) -> int:
        """How much of what was written is on disk; nothing any more once a flush has failed."""
        return -1 if self._lost else self._flushed

    # --- writing together ---------------------------------------------------------------------------------------------

    @contextmanager
    def together(self) -> Iterator[Batch]:
        """Let owners write in one transaction, which ends with the context; inside of another one, it is that one.

        Guarantee: all of it is in the file when the context is over, or, where that raises, none of it.
        """
        with self._turn:
            if self._in_batch:
                yield self._batch
                return
            try:
                with self._transaction() as connection:
                    self._in_batch = True
                    self._batch.begin(connection)
                    yield self._batch
                    if not connection.in_transaction:  # SQLite ends it by itself where a disk is full or fails
                        raise LedgerUnavailable(f"the ledger {self.path} cannot be used now; nothing was released")
                    self._batch.write()
            except BaseException:
                self._forget()
                raise
            finally:
                self._in_batch = False
            self._batch.end()

    def note_found(self) -> None:
        """Take in that something was read that may not be on disk yet; what is remembered of rows stays."""
        super()._note_unflushed()

    def _note_unflushed(self) -> None:
        super()._note_unflushed()
        if not self._in_batch:  # whatever it was may have changed rows that are remembered
            self._batch.forget()

    def _open(self, *, create: bool) -> sqlite3.Connection:
        self._forget()
        return super()._open(create=create)

    def _forget(self) -> None:
        """Forget what is known of rows: what was written with them may not have been committed."""
        self._batch.forget()
        self._heads.clear()
        self._aged.clear()

    # --- marks --------------------------------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Return which file this is and how far it has come: the latest epoch and the highest cap are of any owner."""
        with self._reading() as connection:
            return Mark(*connection.execute(_MARK).fetchone())

    def keep_marked(self, tell: Callable[[Mark], None]) -> None:
        """Let `flush` call `tell` with a mark as soon as one is due for any owner; it returns once that is on disk."""
        self._tell = tell

    @property
    def is_marked(self) -> bool:
        """Whether somebody keeps a mark of this file."""
        return self._tell is not None

    def ask_for_mark(self) -> None:
        """Let the next flush write a mark before it returns."""
        self._marks_wanted += 1

    def write_mark(self) -> None:
        """Tell how far the file has come, once that is on disk; one thread after the other, so no mark goes back."""
        with self._marking:
            with self._reading():
                here, wanted = self.mark(), self._marks_wanted
                counted = [(ledger, ledger.counted) for ledger in self.ledgers]
            super().flush()
            if self._tell is not None:
                self._tell(here)
            for ledger, sums in counted:
                ledger.note_marked(sums)
            self._marks_told = wanted

    @property
    def unflushed(self) -> bool:
        """Whether something may not be on disk yet, or a mark is due."""
        return super().unflushed or self._mark_is_due

    def flush(self) -> None:
        """Return when everything so far is on disk, and told by a mark as far as it has to be."""
        super().flush()
        if self._mark_is_due:
            try:
                self.write_mark()
            except InvalidInput as error:
                raise LedgerUnavailable(str(error)) from None

    @property
    def _mark_is_due(self) -> bool:
        return self._tell is not None and self._marks_wanted > self._marks_told

    def take_another_name(self) -> None:
        """Be another file from now on: should a newer copy of this one be found again, it lacks what follows here."""
        with self._transaction() as connection:
            connection.execute("UPDATE file SET name = ?", (new_name(),))

    # --- inside a transaction -----------------------------------------------------------------------------------------

    def head_number(self, connection: sqlite3.Connection, head: Head) -> int:
        """Return the number under which a head is kept, once for all who saw it."""
        known = self._heads.get(head)
        if known is None:
            row = (head.number, head.head, head.signature, head.round, head.tag)
            connection.execute(_NEW_HEAD, row)
            (known,) = connection.execute(_HEAD, row).fetchone()
            self._heads[head] = int(known)
            if len(self._heads) > _HEADS_KNOWN:
                self._heads.popitem(last=False)
        return int(known)

    def note_age(self, connection: sqlite3.Connection, round_id: bytes, now: str) -> None:
        """Note when a round was first begun, once for all owners, and drop some replies that are too old."""
        if round_id in self._aged:
            return
        connection.execute("INSERT OR IGNORE INTO ages VALUES (?, ?)", (now, round_id))
        if self.keep_days is not None and now[:_HOUR] != self._dropped_in:
            until = (datetime.fromisoformat(now) - timedelta(days=self.keep_days)).isoformat(timespec="seconds")
            old = connection.execute(_OLD_ROUNDS, (until,)).fetchall()
            for at, each in old:
                connection.execute("UPDATE rounds SET reply = ? WHERE id = ? AND reply <> ?", (DROPPED, each, NO_REPLY))
                connection.execute("DELETE FROM ages WHERE at = ? AND round = ?", (at, each))
            self._dropped_in = now[:_HOUR] if not old else ""
        if len(self._aged) >= _ROUNDS_KNOWN:
            self._aged.clear()
        self._aged.add(round_id)

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """Lay out a new file; refuse one that is something else, and leave it as it is."""
        if marks_of(connection) == (0, 0, 0) and not self._read_only:
            connection.execute("BEGIN IMMEDIATE")
            if marks_of(connection) == (0, 0, 0):
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute("INSERT INTO file VALUES (?)", (new_name(),))
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            connection.execute("COMMIT")
        if marks_of(connection)[:2] != (APPLICATION_ID, _SCHEMA_VERSION):
            raise InvalidInput(
                f"{self.path} is not a file of many owners' ledgers of version {_SCHEMA_VERSION}; name another file"
            )


def is_hosted(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file holds the ledgers of many owners, by its first bytes."""
    try:
        with open(path, "rb") as opened:
            return opened.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")
    except OSError:
        return False


def new_name() -> str:
    """Return a name that no other ledger has."""
    return secrets.token_hex(16)
