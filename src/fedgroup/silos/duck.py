"""DuckDB inside this process: SELECTs over Parquet and CSV files, or over a DuckDB file that is only read."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from fedgroup.silos.batches import ROWS
from fedgroup.silos.faults import Foreign, driver
from fedgroup.silos.select import Parameters

_ALONE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""DuckDB would fetch what it lacks from the network."""


class DuckDatabase:
    """DuckDB without a file, or a file that is opened for each SELECT: while it is open, nobody can write to it.

    Files that a SELECT names are looked for in `folder`, if there is one, and then where this process is.
    """

    def __init__(self, path: Path | None = None, *, folder: Path | None = None) -> None:
        self._path = path
        self._folder = folder
        self._duckdb: Any = driver("duckdb", kind="parquet, csv or sql")
        self._connection: Any = None

    def __repr__(self) -> str:
        return "DuckDatabase(<private>)"

    @property
    def foreign(self) -> Foreign:
        """The errors that the driver raises, and those of files that are read beside it."""
        return (self._duckdb.Error, pa.ArrowException, OSError, RuntimeError, UnicodeError, EOFError, csv.Error)

    @staticmethod
    def spell(name: str) -> str:
        """Return the placeholder of a parameter."""
        return f"${name}"

    @staticmethod
    def quoted(name: str) -> str:
        """Return a name as an identifier."""
        return '"' + name.replace('"', '""') + '"'

    @staticmethod
    def literal(text: str) -> str:
        """Return a text as a literal."""
        return "'" + text.replace("'", "''") + "'"

    def columns(self, text: str, parameters: Parameters) -> Iterator[Sequence[Any]]:
        """Yield the rows of a SELECT as they are at one moment, some at a time, column by column."""
        with (
            self._connected() as connection,
            closing(connection.sql(text, params=parameters).to_arrow_reader(ROWS)) as reader,
        ):
            for batch in reader:
                yield [_array(column) for column in batch.columns]

    def row(self, text: str, parameters: Parameters | None = None) -> tuple[Any, ...]:
        """Return the only row of a SELECT."""
        with self._connected() as connection:
            return tuple(connection.sql(text, params=parameters or {}).fetchone() or ())

    def types(self, text: str, parameters: Parameters) -> dict[str, str]:
        """Return the name of each column of a SELECT with the name of its type."""
        with self._connected() as connection:
            relation = connection.sql(text, params=parameters)
            return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        if self._path is None:
            if self._connection is None:
                self._connection = self._placed(self._duckdb.connect(":memory:", config=_ALONE))
            yield self._connection
        else:
            with closing(self._duckdb.connect(str(self._path), read_only=True, config=_ALONE)) as connection:
                yield self._placed(connection)

    def _placed(self, connection: Any) -> Any:
        if self._folder is not None:
            connection.execute(f"SET file_search_path = {self.literal(str(self._folder))}")
        return connection


def _array(column: pa.Array) -> Any:
    if pa.types.is_string(column.type):
        return column  # texts are told apart faster where they are
    numbers = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    return column.to_numpy(zero_copy_only=False) if numbers else column.to_pylist()
