"""New rows count at the next question, and a changed table has another snapshot, an unchanged one the same."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from silo_kinds import (
    FILES,
    HOOKED,
    SERVED,
    arrow_table,
    csv_file,
    fill_postgres,
    first_of_owner,
    opened,
    parquet,
    postgres_columns,
    sqlite_file,
    sqlite_plain,
)
from silo_worlds import NOON, PLANE, Row

from fedgroup.epsilon import Epsilon
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis")

QUERY = RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1))
ROWS = [Row(float(i % 3), 1.0, 2.5 * i, NOON + i) for i in range(8)]
MORE = [*ROWS, Row(0.5, 0.5, 1.0, NOON)]


@pytest.mark.parametrize("write", [parquet, csv_file], ids=["parquet", "csv"])
def test_a_file_that_is_replaced_is_read_anew(write: Any, tmp_path: Path) -> None:
    said, other = write(ROWS, tmp_path), write(MORE, tmp_path)
    with opened(said, PLANE) as silo:
        before = silo.snapshot()
        assert silo.totals(QUERY) == {"count": 8}
        assert silo.snapshot() == before
        os.replace(other["path"], said["path"])
        assert silo.totals(QUERY) == {"count": 9}
        assert silo.snapshot() != before


def test_a_large_file_tells_by_its_ends_that_it_was_written_within_a_tick(tmp_path: Path) -> None:
    rows = [Row(float(i % 7), i / 100_000, i * 0.37, NOON + i) for i in range(100_000)]
    said = parquet(rows, tmp_path)
    there = Path(said["path"]).stat()
    assert there.st_size > 1 << 20
    with opened(said, PLANE) as silo:
        before = silo.snapshot()
        with open(said["path"], "r+b") as file:
            file.seek(100)
            file.write(b"another")
        os.utime(said["path"], ns=(there.st_atime_ns, there.st_mtime_ns))
        assert silo.snapshot() != before


def changes(execute: Callable[[str], Any], silo: Any, table: str) -> list[tuple[str, dict[str, int]]]:
    """Change a table in every way, and return the snapshot and the count after each."""
    told = [(silo.snapshot(), silo.totals(QUERY))]
    for change in (
        f"INSERT INTO {table} (n, lon, lat) VALUES (100, 0.5, 0.5)",
        f"UPDATE {table} SET lat = 0.25 WHERE n = 100",
        f"UPDATE {table} SET fare = 77 WHERE n = 100",
        f"DELETE FROM {table} WHERE n = 100",
        f"UPDATE {table} SET lat = 900 WHERE n = 1",
    ):
        execute(change)
        told.append((silo.snapshot(), silo.totals(QUERY)))
        assert silo.snapshot() == told[-1][0]
    return told


COUNTS = [8, 9, 9, 9, 8, 7]


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_every_change_in_sqlite_is_seen(mode: str, tmp_path: Path) -> None:
    said = sqlite_plain(ROWS, tmp_path)
    with closing(sqlite3.connect(said["path"], isolation_level=None)) as writer, opened(said, PLANE) as silo:
        writer.execute(f"PRAGMA journal_mode = {mode}").fetchall()
        told = changes(writer.execute, silo, "places")
    assert [totals["count"] for _, totals in told] == COUNTS
    # the row is gone again, so the table is the same as before
    assert len({snapshot for snapshot, _ in told}) == len(told) - 1
    assert told[4][0] == told[0][0]


def test_a_snapshot_of_sqlite_outlives_the_process(tmp_path: Path) -> None:
    said = sqlite_plain(ROWS, tmp_path)
    with opened(said, PLANE) as silo, opened(said, PLANE) as another:
        before = silo.snapshot()
        assert another.snapshot() == before
        insert = f"import sqlite3; c = sqlite3.connect({said['path']!r}); "
        insert += "c.execute('INSERT INTO places (lon, lat) VALUES (1, 1)'); c.commit()"
        subprocess.run([sys.executable, "-c", insert], check=True)
        assert silo.snapshot() == another.snapshot() != before


def test_an_sqlite_file_that_is_replaced_is_opened_anew(tmp_path: Path) -> None:
    said, other = sqlite_plain(ROWS, tmp_path), sqlite_file(MORE, tmp_path)
    with opened(said, PLANE) as silo:
        before = silo.snapshot()
        assert silo.totals(QUERY) == {"count": 8}
        os.replace(other, said["path"])
        assert silo.totals(QUERY) == {"count": 9}
        assert silo.snapshot() != before


@pytest.mark.parametrize("kind", SERVED)
def test_every_change_in_postgres_is_seen(kind: str, server: Any, database: psycopg.Connection[Any]) -> None:
    table = fill_postgres(database, ROWS, 3857)

    def execute(change: str) -> None:
        database.execute(change)
        database.execute(f'UPDATE "{table}" SET geom = ST_SetSRID(ST_MakePoint(lon, lat), 3857) WHERE n IN (1, 100)')

    with opened(SERVED[kind](server.url, table), PLANE) as silo:
        told = changes(execute, silo, f'"{table}"')
        assert [totals["count"] for _, totals in told] == COUNTS
        assert len({snapshot for snapshot, _ in told}) >= len(told) - 1


def test_a_row_deleted_and_inserted_again_changes_the_snapshot_of_postgres(
    server: Any, database: psycopg.Connection[Any]
) -> None:
    table = fill_postgres(database, ROWS, 3857)
    with opened(postgres_columns(server.url, table), PLANE) as silo:
        before = silo.snapshot()
        with database.transaction():
            database.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE n = 2')
            database.execute(f'DELETE FROM "{table}" WHERE ctid = (SELECT min(ctid) FROM "{table}" WHERE n = 2)')
        assert silo.snapshot() != before
        assert silo.totals(QUERY) == {"count": 8}


def test_another_table_a_rollback_or_a_vacuum_changes_no_snapshot(
    server: Any, database: psycopg.Connection[Any]
) -> None:
    table = fill_postgres(database, ROWS, 3857)
    with opened(postgres_columns(server.url, table), PLANE) as silo:
        before = silo.snapshot()
        fill_postgres(database, MORE, 3857)
        with database.transaction(force_rollback=True):
            database.execute(f'DELETE FROM "{table}"')
        database.execute(f'VACUUM (FULL, FREEZE) "{table}"')
        assert silo.snapshot() == before


def test_a_view_is_known_by_its_rows(server: Any, database: psycopg.Connection[Any]) -> None:
    table = fill_postgres(database, ROWS, 3857)
    database.execute(f'CREATE VIEW "{table} seen" AS SELECT * FROM "{table}" WHERE n < 100')
    with opened(postgres_columns(server.url, f"{table} seen"), PLANE) as silo:
        before = silo.snapshot()
        assert silo.snapshot() == before
        database.execute(f'UPDATE "{table}" SET fare = 12 WHERE n = 3')
        assert silo.snapshot() != before


def test_the_owner_can_tell_versions_itself(tmp_path: Path) -> None:
    said = {**sqlite_plain(ROWS, tmp_path), "version": "SELECT n FROM version"}
    with closing(sqlite3.connect(said["path"], isolation_level=None)) as writer:
        writer.execute("CREATE TABLE version AS SELECT 1 AS n")
        with opened(said, PLANE) as silo:
            before = silo.snapshot()
            writer.execute("DELETE FROM places")
            assert silo.snapshot() == before
            writer.execute("UPDATE version SET n = n + 1")
            assert silo.snapshot() != before


def test_an_own_select_is_known_by_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    import pyarrow.parquet as pq

    pq.write_table(arrow_table(ROWS), path)
    query = f"SELECT lon AS x, lat AS y, t, fare FROM read_parquet('{tmp_path}/m*.parquet')"
    with opened({"kind": "sql", "url": "duckdb://", "query": query, **HOOKED}, PLANE) as silo:
        before = silo.snapshot()
        assert silo.snapshot() == before
        pq.write_table(arrow_table(MORE), path)
        assert silo.snapshot() != before
        assert silo.totals(QUERY) == {"count": 9}


@pytest.mark.parametrize("kind", FILES)
def test_with_a_cut_the_snapshot_is_of_what_counts(kind: str, tmp_path: Path) -> None:
    said = {**FILES[kind](ROWS, tmp_path), "order": "n"}
    three, four = first_of_owner(3), first_of_owner(4)
    with opened(said, PLANE, protection=three) as silo, opened(said, PLANE, protection=four) as another:
        assert silo.snapshot() == silo.snapshot()
        if kind.startswith("sqlite"):
            assert silo.snapshot() != another.snapshot()
