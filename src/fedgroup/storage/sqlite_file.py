"""One SQLite file of ours: for its user's eyes only, written ahead, safe under threads, processes, crashes and forks.

Guarantee: a transaction is on disk (WAL, synchronous=FULL) before it returns; where `flushed_later`, once `flush`
           returned, and a file that could not be flushed is used no more. A process killed at any moment leaves either
           the whole transaction or none of it.

SQLite's locks do not survive a fork: a child that inherits an open connection, even one it never touches, holds no
lock on the file, and loses its charges when its parent closes it. So every file is closed just before a fork, and
opened again by whoever uses it next.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from fedgroup.errors import FedgroupError, InvalidInput, LedgerUnavailable
from fedgroup.given import path_like

_CANNOT_LOCK = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)

_PAGE_BYTES = 1_024
"""Of a live owner's ledger: SQLite keeps 20 pages in memory for each file, and writes whole ones."""
_STATEMENTS = 16
"""How many statements a connection keeps ready; a charge takes fewer."""
_SOON_S = 0.01
_HURRY_S = 0.5
"""A live owner's ledger that somebody else writes in for longer refuses, once it is open."""
_MARKS = """
SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
       (SELECT count(*) FROM sqlite_master)
"""

_to_disk = getattr(os, "fdatasync", os.fsync)


class SQLiteFile:
    """A file that is opened when it is used, and `_lay_out` when it is new; `read_only` it is not changed."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 60.0,
        flushed_later: bool = False,
        read_only: bool = False,
    ) -> None:
        # absolute: a process may change its folder before it opens the file again
        self.path = Path(path_like(path, name="a ledger")).absolute()
        self._log: int | None = None
        self._busy_seconds = busy_seconds
        self._flushed_later = flushed_later
        self._read_only = read_only
        self._written = self._flushed = 0
        self._lost = False
        self._take_turns()
        self._connection: sqlite3.Connection | None = None
        if not self.path.parent.is_dir():
            raise InvalidInput(f"there is no folder {self.path.parent} for the ledger; make it, or name another file")
        if self.path.is_dir():
            raise InvalidInput(f"{self.path} is a folder; name a file for the ledger")
        with _ONE_AT_A_TIME:
            self._connection = self._open(create=True)
            if flushed_later:  # one of many: all others wait for their turns meanwhile
                self._busy_seconds = min(busy_seconds, _HURRY_S)
                self._connection.execute(f"PRAGMA busy_timeout = {round(self._busy_seconds * 1_000)}")
            _FILES.add(self)

    def _take_turns(self) -> None:
        """Make the locks by which threads take turns; after a fork anew."""
        self._to_disk_turn = threading.Lock()

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy to a new file, for its owner's eyes only, while others go on charging."""
        with self._reading() as connection:
            write_copy(connection, path)

    @property
    def unflushed(self) -> bool:
        """Whether something may not be on disk yet."""
        return self._lost or self._written != self._flushed

    def flush(self) -> None:
        """Return when everything written or read so far is on disk; needed where the file is `flushed_later` only.

        Many files can be flushed at the same time, in threads, each by one thread after the other. One that cannot be
        is lost: the system tells once of what it could not write, forgets it, and says nothing the next time.
        """
        with self._to_disk_turn:
            with _ONE_AT_A_TIME:
                if self._lost:
                    raise LedgerUnavailable(
                        f"the ledger {self.path} could not be written to disk; start the owner again"
                    )
                if self._written == self._flushed:
                    return
                written = self._written
                log = self._kept_log()
            try:
                _to_disk(log)
            except OSError as error:
                self._lost = True
                raise LedgerUnavailable(
                    f"the ledger {self.path} cannot be written to disk ({error.strerror})"
                ) from None
            finally:
                os.close(log)
            self._flushed = max(self._flushed, written)

    def close(self) -> None:
        """Close the file; it is opened again when it is used again."""
        with _ONE_AT_A_TIME:
            if self._connection is not None:
                self._connection.close()
                if not os.path.exists(self._log_file):  # SQLite moved all of it to the file, on disk, and threw it away
                    self._flushed = self._written
            self._connection = None
            if self._log is not None:
                os.close(self._log)
            self._log = None

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """Lay out a new file; refuse one that is something else, and leave it as it is."""
        raise NotImplementedError

    def _note_unflushed(self) -> None:
        """Remember that something written, or something read that another process wrote, may not be on disk yet."""
        self._written += self._flushed_later

    @property
    def _turn(self) -> threading.RLock:
        """Held while a file is used; who holds it may use the file."""
        return _ONE_AT_A_TIME

    def _reading(self) -> _Use:
        return _Use(self, writing=False)

    def _transaction(self) -> _Use:
        """Hold the file's only write lock; commit, or roll everything back on any error."""
        return _Use(self, writing=True)

    def _connected(self) -> sqlite3.Connection:
        if self._lost:
            raise LedgerUnavailable(f"the ledger {self.path} could not be written to disk; start the owner again")
        if self._connection is None:
            # a file that vanished is not made anew: what it recorded would be spent again
            self._connection = self._open(create=False)
        return self._connection

    @property
    def _log_file(self) -> str:
        return f"{os.path.realpath(self.path)}-wal"  # SQLite puts it beside the file that a link stands for

    def _open_log(self, connection: sqlite3.Connection) -> int:
        """Return the write-ahead log, empty, from before the first write on.

        An error in writing it is told once to everybody who had it open then, and to nobody who opens it later: SQLite
        hears of some, in checkpoints, and says nothing. What a process left in the log may never have reached the disk
        either, so it is moved to the file first. SQLite locks other files than the log: closing it unlocks nothing.
        """
        for _ in _tries(self._busy_seconds):  # SQLite gives up at once where another process moves its log, too
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return os.open(self._log_file, os.O_RDONLY)
        raise LedgerUnavailable(f"the ledger {self.path} is used by somebody else now; try later")

    def _kept_log(self) -> int:
        """Return the log once more: another thread may close this one meanwhile."""
        self._connected()
        if self._log is None or not os.fstat(self._log).st_nlink:
            raise LedgerUnavailable(f"the log of the ledger {self.path} is away")
        return os.dup(self._log)

    def _open(self, *, create: bool) -> sqlite3.Connection:
        with _our_errors(self.path):
            if self._read_only:
                return self._open_to_read()
            if create:
                make_private(self.path)
            connection = self._connect(f"mode={'rwc' if create else 'rw'}")
            try:
                if self._flushed_later:  # one of many in a process; a file that is there keeps the pages it has
                    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
                connection.execute("PRAGMA synchronous = FULL")
                self._lay_out(connection)
                _write_ahead(connection, self._busy_seconds)
                if self._flushed_later:
                    self._log = self._open_log(connection)
                    self._flushed = self._written
                    # the log is still written to disk before anything is moved out of it
                    connection.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                connection.close()
                raise
            return connection

    def _open_to_read(self) -> sqlite3.Connection:
        """Return the file as it is; while nobody has it open, and so without a log beside it, no lock is needed.

        Locks would be files of the reader's in a folder that may be another's. What is in a log belongs to the file:
        where that cannot be read, nothing is.
        """
        if not os.path.exists(self._log_file):
            return self._laid_out("mode=ro&immutable=1")
        try:
            return self._laid_out("mode=ro")
        except sqlite3.OperationalError as error:
            if os.path.getsize(self._log_file) or error.sqlite_errorcode & 0xFF not in _CANNOT_LOCK:
                raise
            return self._laid_out("mode=ro&immutable=1")

    def _laid_out(self, mode: str) -> sqlite3.Connection:
        connection = self._connect(mode)
        try:
            self._lay_out(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?{mode}",
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            cached_statements=_STATEMENTS,
            check_same_thread=False,
        )


def marks_of(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return whose file this is, of which version, and how many tables it has; an empty file has none of these.

    All in one statement: whoever lays the file out meanwhile did so before it or after it, never in its middle.
    """
    marks: tuple[int, int, int] = connection.execute(_MARKS).fetchone()
    return marks


def write_copy(connection: sqlite3.Connection, path: str | os.PathLike[str]) -> None:
    """Write what a connection sees at one moment to a new file, for its owner's eyes only."""
    place = Path(path).absolute()
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise InvalidInput(f"{place} is there already; name another file for the copy") from None
    try:
        with closing(sqlite3.connect(place)) as copy:
            connection.backup(copy)
    except BaseException:
        place.unlink(missing_ok=True)
        raise


def make_private(path: Path) -> None:
    """Make a file that its user alone can read, unless it is there; SQLite's files beside it get the same rights."""
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise LedgerUnavailable(f"the file {path} cannot be made ({error.strerror}); nothing was released") from None


def _write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Make SQLite keep a write-ahead log; it gives up at once where another process does the same, so ask again."""
    for _ in _tries(busy_seconds):
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            trouble = error
        else:
            if mode != "wal":
                raise sqlite3.OperationalError("no write-ahead log can be kept there; use a local disk")
            return
    raise trouble


def _tries(seconds: float) -> Iterator[None]:
    """Yield at once, and over and over until so many seconds have passed."""
    deadline = time.monotonic() + seconds
    yield
    while time.monotonic() < deadline:
        time.sleep(_SOON_S)
        yield


class _Use:
    """One use of a file, in its turn: it yields the connection, and in a transaction if it is for `writing`.

    A class and not a generator: an owner uses its ledger four times for an answer.
    """

    __slots__ = ("_connection", "_file", "_turn", "_writing")

    def __init__(self, file: SQLiteFile, *, writing: bool) -> None:
        self._file = file
        self._writing = writing

    def __enter__(self) -> sqlite3.Connection:
        self._turn = _ONE_AT_A_TIME
        self._turn.acquire()
        try:
            self._connection = self._file._connected()
            if self._writing:
                self._connection.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._leave(error)
            raise
        return self._connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and self._writing:
                self._connection.execute("COMMIT")
                self._file._note_unflushed()
        except BaseException as trouble:
            error = trouble
            raise
        finally:
            try:
                self._undo()
            finally:
                self._leave(error)

    def _undo(self) -> None:
        if self._writing and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _leave(self, error: BaseException | None) -> None:
        """End the turn; of an error of SQLite's, raise ours instead."""
        self._turn.release()
        if isinstance(error, sqlite3.DatabaseError):
            raise _our_error(self._file.path, error) from None


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _our_error(path, error) from None


def _our_error(path: Path, error: sqlite3.DatabaseError) -> FedgroupError:
    """Return our error for one of SQLite's; none of them holds a private value."""
    if isinstance(error, sqlite3.OperationalError):
        return LedgerUnavailable(f"the ledger {path} cannot be used now ({error}); nothing was released, try later")
    return InvalidInput(
        f"{path} is not a usable ledger ({error}); name another file (a backup forgets the charges made since)"
    )


_ONE_AT_A_TIME = threading.RLock()
"""Held while a file is used: threads take turns, and no fork happens meanwhile."""

_FILES: weakref.WeakSet[SQLiteFile] = weakref.WeakSet()
"""Every file of this process. SQLite keeps its locks per process, so the turns cannot be kept per file either."""


def _before_fork() -> None:
    _ONE_AT_A_TIME.acquire()
    for file in list(_FILES):
        file.close()


def _after_fork_in_parent() -> None:
    _ONE_AT_A_TIME.release()


def _after_fork_in_child() -> None:
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.RLock()
    for file in list(_FILES):
        file._take_turns()  # whoever held a lock is in the parent only


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
