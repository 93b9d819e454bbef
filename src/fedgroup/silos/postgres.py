"""PostgreSQL: a connection that only reads. Every SELECT is a transaction of its own, so that it sees one moment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fedgroup.silos.batches import ROWS
from fedgroup.silos.faults import Foreign, driver
from fedgroup.silos.select import Parameters

if TYPE_CHECKING:
    import psycopg

_CONNECT_S = 10
_SILENT_S = 15
"""After so long a silence, and twice as long again, a server that is gone is noticed."""


class PostgresDatabase:
    """A database at a url; libpq's environment variables and password files count too."""

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self._url = url
        self._timeout_ms = int(timeout_s * 1000)
        self._psycopg: Any = driver("psycopg", kind="postgres")
        self._connection: psycopg.Connection[Any] | None = None
        self._connections = 0

    def __repr__(self) -> str:
        return "PostgresDatabase(<private>)"

    @property
    def foreign(self) -> Foreign:
        """The errors that the driver raises."""
        return (self._psycopg.Error, OSError)

    @staticmethod
    def spell(name: str) -> str:
        """Return the placeholder of a parameter."""
        return f"%({name})s"

    @staticmethod
    def quoted(name: str) -> str:
        """Return a name as an identifier; a percent sign would begin a placeholder."""
        return '"' + name.replace('"', '""').replace("%", "%%") + '"'

    def columns(self, text: str, parameters: Parameters) -> Iterator[Sequence[Any]]:
        """Yield the rows of a SELECT as they are at one moment, some at a time, column by column."""
        # Rows of one answer: a cursor in the server would take several messages to and fro.
        several = ROWS if self._psycopg.capabilities.has_stream_chunked() else 1
        with self._connected().cursor() as cursor:
            stream = cursor.stream(text, parameters, binary=True, size=several)
            while rows := list(itertools.islice(stream, ROWS)):
                yield list(zip(*rows, strict=True))

    def row(self, text: str, parameters: Parameters | None = None, *, binary: bool = False) -> tuple[Any, ...]:
        """Return the only row of a SELECT."""
        return tuple(self._connected().execute(text, parameters, binary=binary).fetchone() or ())

    def types(self, text: str, parameters: Parameters) -> dict[str, str]:
        """Return the name of each column of a SELECT with the name of its type."""
        connection = self._connected()
        described = connection.execute(text, parameters).description or []
        oids = sorted({column.type_code for column in described})
        found = connection.execute("SELECT oid, typname FROM pg_type WHERE oid = ANY(%(oids)s)", {"oids": oids})
        names = dict(found.fetchall())
        return {column.name: names.get(column.type_code, "unknown") for column in described}

    def mark(self) -> str:
        """Return which transactions are over: as long as this stays the same, no table changed."""
        (snapshot,) = self.row("SELECT pg_current_snapshot()::text")
        # Another connection may be to another server, restored from a copy.
        return f"{self._connections} {snapshot}"

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = self._opened()
            self._connections += 1
        return self._connection

    def _opened(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = self._psycopg.connect(
            self._url,
            connect_timeout=_CONNECT_S,
            keepalives_idle=_SILENT_S,
            keepalives_interval=_SILENT_S,
            keepalives_count=2,
            tcp_user_timeout=self._timeout_ms,
            application_name="fedgroup",
            autocommit=True,
            prepare_threshold=None,  # a plan for all bounds would guess how many rows lie between them
        )
        try:
            for name, value in (("default_transaction_read_only", "on"), ("statement_timeout", str(self._timeout_ms))):
                said = {"name": name, "value": value}
                connection.execute("SELECT set_config(%(name)s, %(value)s, false)", said)
        except BaseException:
            connection.close()
            raise
        return connection
