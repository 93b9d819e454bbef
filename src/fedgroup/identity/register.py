"""Every certificate that an authority ever issued, in one SQLite file: names stay unique, revocations stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fedgroup.errors import InvalidInput
from fedgroup.identity.certificate import Certificate
from fedgroup.identity.naming import Role
from fedgroup.identity.requests import Request, fingerprint

REGISTER_FILE = "register.db"
_BUSY_SECONDS = 30
_SCHEMA = """
CREATE TABLE IF NOT EXISTS issued (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, serial TEXT NOT NULL UNIQUE,
    tls_key BLOB NOT NULL, exchange_key BLOB NOT NULL, not_after INTEGER NOT NULL, revoked_at INTEGER);
CREATE INDEX IF NOT EXISTS issued_names ON issued (name);
CREATE INDEX IF NOT EXISTS issued_tls_keys ON issued (tls_key);
CREATE INDEX IF NOT EXISTS issued_exchange_keys ON issued (exchange_key);
CREATE INDEX IF NOT EXISTS issued_revoked ON issued (revoked_at) WHERE revoked_at IS NOT NULL;
"""
_COLUMNS = "name, role, serial, tls_key, exchange_key, not_after, revoked_at"


@dataclass(frozen=True)
class Registered:
    """One certificate that was issued."""

    name: str
    role: Role
    serial: int
    tls_key: bytes
    exchange_key: bytes
    not_after: datetime
    revoked_at: datetime | None = None

    @property
    def keys(self) -> tuple[bytes, bytes]:
        return self.tls_key, self.exchange_key

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.tls_key + self.exchange_key)

    def state(self, at: datetime) -> str:
        """Return `valid`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "valid" if at <= self.not_after else "expired"


class Register:
    """The file; `writing` is the only way to change it, one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Yield the register for changes that happen all or not at all, while everybody else waits."""
        with self._open() as connection:
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Writing(connection)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def entries(self) -> list[Registered]:
        """Return every certificate, oldest first."""
        if not self._path.exists():
            return []
        with self._open() as connection:
            return _found(connection, "ORDER BY id")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            with closing(connection):
                connection.execute("PRAGMA synchronous = FULL")
                yield connection
        except sqlite3.Error as fault:
            raise InvalidInput(f"the register {self._path} cannot be used: {fault}") from None


class Writing:
    """A register inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def related(self, request: Request) -> list[Registered]:
        """Return all that was issued to this name or to one of these keys."""
        where = "WHERE name = ? OR tls_key = ? OR exchange_key = ? ORDER BY id"
        return _found(self._connection, where, request.name, request.tls_key, request.exchange_key)

    def of(self, name: str) -> list[Registered]:
        return _found(self._connection, "WHERE name = ? ORDER BY id", name)

    def revoked(self) -> list[Registered]:
        return _found(self._connection, "WHERE revoked_at IS NOT NULL ORDER BY id")

    def add(self, issued: Certificate) -> None:
        row = (issued.name, issued.role, f"{issued.serial:x}", issued.tls_key, issued.exchange_key)
        command = "INSERT INTO issued (name, role, serial, tls_key, exchange_key, not_after) VALUES (?, ?, ?, ?, ?, ?)"
        self._connection.execute(command, (*row, int(issued.not_after.timestamp())))

    def revoke(self, entry: Registered, at: datetime) -> None:
        command = "UPDATE issued SET revoked_at = ? WHERE serial = ? AND revoked_at IS NULL"
        self._connection.execute(command, (int(at.timestamp()), f"{entry.serial:x}"))


def _found(connection: sqlite3.Connection, where: str, *values: object) -> list[Registered]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM issued {where}", values)  # noqa: S608 - only constants
    return [
        Registered(
            name, role, int(serial, 16), tls_key, exchange_key, _time(end), None if since is None else _time(since)
        )
        for name, role, serial, tls_key, exchange_key, end, since in rows
    ]


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
