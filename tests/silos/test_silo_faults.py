"""A database that is lost makes its owner missing, never wrong, and no error tells a private value."""

from __future__ import annotations

import os
import sqlite3
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from silo_kinds import (
    COLUMNS,
    HOOKED,
    SERVED,
    csv_file,
    fill_postgres,
    opened,
    parquet,
    postgres_columns,
    sqlite_plain,
)
from silo_worlds import NOON, PLANE, Row

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery, SiloUnavailable
from fedgroup.lab.bench.postgres_server import postgres_server
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.silos import open_silo
from fedgroup.space import Circle

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis")

QUERY = RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1))
FARES = RangeQuery("sum", Circle(0, 0, 5), Epsilon.of(1), Measure("fare", 50))
ROWS = [Row(float(i % 3), 1.0, 2.5 * i, NOON + i) for i in range(8)]


def told(error: BaseException) -> str:
    """Return everything that a log could show of an error, with the errors it comes from."""
    assert error.__cause__ is None
    assert error.__context__ is None
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize("kind", SERVED)
def test_a_connection_that_was_cut_is_missed_once_and_then_opened_anew(
    kind: str, server: Any, database: psycopg.Connection[Any]
) -> None:
    table = fill_postgres(database, ROWS, 3857)
    with opened(SERVED[kind](server.url, table), PLANE) as silo:
        assert silo.totals(QUERY) == {"count": 8}
        database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with pytest.raises(SiloUnavailable) as caught:
            silo.totals(QUERY)
        assert "cannot be asked now" in told(caught.value)
        assert silo.totals(QUERY) == {"count": 8}
        before = silo.snapshot()
        database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with pytest.raises(SiloUnavailable):
            silo.snapshot()
        assert silo.snapshot() == before


def test_a_server_that_is_down_makes_its_owner_missing_until_it_is_back() -> None:
    with postgres_server() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE places AS SELECT 1.0::float8 AS x, 2.0::float8 AS y")
        said = {"kind": "postgres", "url": server.url, "table": "places", "x": "x", "y": "y"}
        with opened(said, PLANE) as silo:
            assert silo.totals(QUERY) == {"count": 1}
            server.stop()
            for ask in (lambda: silo.totals(QUERY), silo.snapshot, lambda: silo.vector(PLANE.grid(2, 2))):
                with pytest.raises(SiloUnavailable):
                    ask()
            with pytest.raises(SiloUnavailable):
                open_silo(said, PLANE)
            server.start()
            assert silo.totals(QUERY) == {"count": 1}


def test_a_statement_that_takes_too_long_is_given_up(server: Any) -> None:
    query = "SELECT 1.0::float8 AS x, 1.0::float8 AS y, pg_sleep(600)"
    said = {"kind": "sql", "url": server.url, "query": query, "x": "x", "y": "y", "timeout_s": 2.0}
    with opened(said, PLANE) as silo, pytest.raises(SiloUnavailable, match="QueryCanceled 57014"):
        silo.totals(QUERY)


@pytest.mark.parametrize("write", [parquet, csv_file, sqlite_plain], ids=["parquet", "csv", "sqlite"])
def test_a_file_that_is_gone_is_missed_until_it_is_back(write: Any, tmp_path: Path) -> None:
    said = write(ROWS, tmp_path)
    with opened(said, PLANE) as silo:
        assert silo.totals(QUERY) == {"count": 8}
        os.rename(said["path"], tmp_path / "away")
        for ask in (lambda: silo.totals(QUERY), silo.snapshot):
            with pytest.raises(SiloUnavailable) as caught:
                ask()
            told(caught.value)
        os.rename(tmp_path / "away", said["path"])
        assert silo.totals(QUERY) == {"count": 8}


@pytest.mark.parametrize("write", [parquet, csv_file, sqlite_plain], ids=["parquet", "csv", "sqlite"])
def test_a_damaged_file_is_refused_at_first_and_missed_later(write: Any, tmp_path: Path) -> None:
    said = write(ROWS, tmp_path)
    with opened(said, PLANE) as silo:
        Path(said["path"]).write_bytes(b"\xff\xfesecret;48.8566;2.3522\n" * 40)
        with pytest.raises(SiloUnavailable) as caught:
            silo.totals(QUERY)
        assert "48.8566" not in told(caught.value)
        with pytest.raises((InvalidInput, SiloUnavailable)) as refused:
            open_silo(said, PLANE)
        assert "48.8566" not in str(refused.value)


def test_a_row_of_a_csv_file_that_is_too_short_is_not_counted_as_something_else(tmp_path: Path) -> None:
    said = csv_file(ROWS, tmp_path)
    with opened(said, PLANE) as silo:
        with Path(said["path"]).open("a") as file:
            file.write("99;48.8566\n")
        with pytest.raises(SiloUnavailable) as caught:
            silo.totals(QUERY)
        assert "48.8566" not in told(caught.value)


def test_a_locked_file_is_missed(tmp_path: Path) -> None:
    said = {**sqlite_plain(ROWS, tmp_path), "timeout_s": 0.05}
    with closing(sqlite3.connect(said["path"], isolation_level=None)) as writer, opened(said, PLANE) as silo:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SiloUnavailable, match="OperationalError SQLITE_BUSY"):
            silo.totals(QUERY)
        writer.execute("ROLLBACK")
        assert silo.totals(QUERY) == {"count": 8}


def test_no_error_of_a_database_quotes_a_row(server: Any, database: psycopg.Connection[Any]) -> None:
    database.execute("CREATE TABLE notes AS SELECT 1.0::float8 AS x, 1.0::float8 AS y, 'seen at 48.8566' AS note")
    query = "SELECT x, y, note::float8 AS fare FROM notes WHERE x >= :west"
    said = {"kind": "sql", "url": server.url, "query": query, "x": "x", "y": "y", "attributes": ["fare"]}
    with opened(said, PLANE) as silo:
        with pytest.raises(SiloUnavailable, match="InvalidTextRepresentation 22P02") as caught:
            silo.totals(FARES)
        assert "48.8566" not in told(caught.value)


@pytest.mark.parametrize("kind", ["postgres", "sql", "ibis"])
def test_no_password_is_told(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    said = {"kind": kind, "url": "postgresql://me:pa55word@127.0.0.1:9/db", **HOOKED}
    said |= {"query": "SELECT 1 AS x, 1 AS y"} if kind == "sql" else {"table": "places"}
    with pytest.raises(SiloUnavailable) as caught:
        open_silo(said, PLANE)
    assert "pa55word" not in told(caught.value) + caplog.text


def test_nothing_prints(tmp_path: Path) -> None:
    with opened(sqlite_plain(ROWS, tmp_path), PLANE) as silo:
        assert repr(silo) == "DatabaseSilo(<private>)"
        assert str(tmp_path) not in repr(vars(silo))


def test_writing_is_refused_by_the_database(server: Any, database: psycopg.Connection[Any]) -> None:
    database.execute("CREATE TABLE victims AS SELECT 1.0::float8 AS x, 1.0::float8 AS y")
    database.execute("CREATE FUNCTION hurt() RETURNS float8 LANGUAGE sql AS 'DELETE FROM victims; SELECT 1.0::float8'")
    query = "SELECT hurt() AS x, 1.0::float8 AS y"
    with (
        opened({"kind": "sql", "url": server.url, "query": query, "x": "x", "y": "y"}, PLANE) as silo,
        pytest.raises(SiloUnavailable, match="ReadOnlySqlTransaction"),
    ):
        silo.totals(QUERY)
    assert database.execute("SELECT count(*) FROM victims").fetchone() == (1,)


def test_threads_take_turns(server: Any, database: psycopg.Connection[Any], tmp_path: Path) -> None:
    table = fill_postgres(database, ROWS, 3857)
    for said in (postgres_columns(server.url, table), sqlite_plain(ROWS, tmp_path), parquet(ROWS, tmp_path)):
        with opened(said, PLANE) as silo, ThreadPoolExecutor(4) as pool:
            asks: list[Callable[[], Any]] = [lambda silo=silo: silo.totals(QUERY)] * 20
            assert list(pool.map(lambda ask: ask(), asks)) == [{"count": 8}] * 20


def test_what_cannot_be_answered_is_refused_before_the_database_is_asked(tmp_path: Path) -> None:
    said = parquet(ROWS, tmp_path)
    place = {key: said[key] for key in ("kind", "path", "x", "y")}
    with opened(place, PLANE) as silo:
        assert (silo.attributes, silo.has_time) == ((), False)
        os.remove(said["path"])
        with pytest.raises(InvalidInput, match="no numeric column 'fare'; the numeric columns are: none"):
            silo.totals(FARES)
        with pytest.raises(InvalidQuery, match="no time column"):
            silo.totals(RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1), None, NOON))


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = parquet(ROWS, tmp_path)
    for module, settings in (
        ("duckdb", said),
        ("psycopg", {"kind": "postgres", "url": "postgresql://", "table": "t", **COLUMNS}),
        ("ibis", {"kind": "ibis", "url": "mysql://", "table": "t", **COLUMNS}),
    ):
        monkeypatch.setitem(__import__("sys").modules, module, None)
        with pytest.raises(InvalidInput, match=rf"needs {module}: pip install 'fedgroup\[silos\]'"):
            open_silo(settings, PLANE)
