"""Rows of PostgreSQL fetched as one byte string per column: a million take as long as the database needs to find them.

Very many rows, and those with texts or exact decimals, are fetched one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fedgroup.silos.postgres import PostgresDatabase
from fedgroup.silos.select import Fragments, Parameters, select
from fedgroup.silos.wanted import Wanted

MOST_PACKED = 1 << 22
"""So many rows take 32 MB per column in the server."""

_DOUBLE = ("float8send", ">f8", np.float64)
_WHOLE = ("int8send", ">i8", np.int64)


def fetched_columns(database: PostgresDatabase, fragments: Fragments, wanted: Wanted) -> Iterator[Sequence[Any]]:
    """Yield the wanted rows as they are at one moment, column by column."""
    if _fits(fragments, wanted):
        count, *columns = database.row(*packed_select(fragments, wanted), binary=True)
        if count <= MOST_PACKED:
            if count:
                yield [
                    np.frombuffer(column, kind).astype(own)
                    for column, (_, kind, own) in zip(columns, _kinds(wanted), strict=True)
                ]
            return
    yield from database.columns(*select(fragments, wanted))


def packed_select(fragments: Fragments, wanted: Wanted) -> tuple[str, Parameters]:
    """Return the SELECT of how many rows there are and of each column's bytes, and its parameters."""
    text, parameters = select(fragments, wanted)
    packed = ", ".join(f"string_agg({send}(c{i}), ''::bytea)" for i, (send, _, _) in enumerate(_kinds(wanted)))
    some = f"SELECT * FROM ({text}) AS found LIMIT {MOST_PACKED + 1}"  # noqa: S608  quoted pieces
    return f"SELECT count(*), {packed} FROM ({some}) AS kept", parameters  # noqa: S608  quoted pieces


def _fits(fragments: Fragments, wanted: Wanted) -> bool:
    """Tell whether all wanted columns have eight bytes in every row; those in an order are not packed."""
    time = fragments.time.clock if wanted.with_time and fragments.time is not None else "microseconds"
    return wanted.first is None and time == "microseconds" and fragments.doubles >= {"", *wanted.attributes}


def _kinds(wanted: Wanted) -> list[tuple[str, str, Any]]:
    return [_DOUBLE, _DOUBLE, *([_WHOLE] if wanted.with_time else []), *(_DOUBLE for _ in wanted.attributes)]
