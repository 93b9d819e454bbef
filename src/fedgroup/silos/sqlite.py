"""SQLite: a file that is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fedgroup.silos.batches import ROWS
from fedgroup.silos.faults import Foreign
from fedgroup.silos.select import Parameters


class SqliteDatabase:
    """A database file; one that was replaced by another of its name is opened anew."""

    foreign: Foreign = (sqlite3.Error, OSError)

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._connections = 0

    def __repr__(self) -> str:
        return "SqliteDatabase(<private>)"

    @staticmethod
    def spell(name: str) -> str:
        """Return the placeholder of a parameter."""
        return f":{name}"

    @staticmethod
    def quoted(name: str) -> str:
        """Return a name as an identifier."""
        return '"' + name.replace('"', '""') + '"'

    def columns(self, text: str, parameters: Parameters) -> Iterator[Sequence[Any]]:
        """Yield the rows of a SELECT as they are at one moment, some at a time, column by column."""
        with closing(self._connected().execute(text, parameters)) as cursor:
            while rows := cursor.fetchmany(ROWS):
                yield list(zip(*rows, strict=True))

    def row(self, text: str, parameters: Parameters | None = None) -> tuple[Any, ...]:
        """Return the only row of a SELECT."""
        with closing(self._connected().execute(text, parameters or {})) as cursor:
            return tuple(cursor.fetchone() or ())

    def rows(self, text: str, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Return all rows of a SELECT."""
        with closing(self._connected().execute(text, parameters)) as cursor:
            return cursor.fetchall()

    def types(self, text: str, parameters: Parameters) -> dict[str, str]:
        """Return the names of the columns of a SELECT; SQLite declares no types for them."""
        with closing(self._connected().execute(text, parameters)) as cursor:
            return {column[0]: "" for column in cursor.description or ()}

    def mark(self) -> str:
        """Return a number that SQLite changes for this connection whenever another one commits."""
        (version,) = self.row("PRAGMA data_version")
        return f"{self._connections} {version}"

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> sqlite3.Connection:
        there = self._path.stat()
        if self._connection is None or self._file != (there.st_dev, there.st_ino):
            self.close()
            self._connection = self._opened()
            self._file = (there.st_dev, there.st_ino)
            self._connections += 1
        return self._connection

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=ro",
            uri=True,
            timeout=self._timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = lambda text: text.decode(errors="replace")
        connection.execute("PRAGMA query_only = ON").close()
        return connection
