"""Settings are checked, names are quoted, types are told apart, and each wrong one gets one clear sentence."""

from __future__ import annotations

import csv
import datetime as dt
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from silo_kinds import fill_postgres, first_of_owner, opened, parquet, postgres_columns, sqlite_plain, sqlite_rtree
from silo_worlds import NOON, PARIS, PLANE, Row

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.silos import open_silo
from fedgroup.silos.settings import settings_of
from fedgroup.space import Circle, Rectangle

QUERY = RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1))
ROWS = [Row(float(i % 3), 1.0, 2.5 * i, NOON + i) for i in range(8)]
EVIL = 'x"; DROP TABLE "places"; --'
PERCENT = "50 %s of %(lon)s"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({}, "one of: parquet, csv, sqlite, postgres, ibis, sql; or, in a live owner's file, records; got None"),
        ({"kind": "oracle"}, "got 'oracle'"),
        ({"kind": "parquet", "x": "x", "y": "y"}, "needs the setting path"),
        ({"kind": "parquet", "path": "p", "x": "x"}, "needs the setting y"),
        ({"kind": "parquet", "path": "p", "x": "x", "y": "y", "table": "t"}, "has no setting 'table'"),
        ({"kind": "parquet", "path": "p", "x": 1, "y": "y"}, "setting x of a silo must be a text"),
        ({"kind": "parquet", "path": "p", "x": "a\0b", "y": "y"}, "setting x of a silo must be a text"),
        ({"kind": "parquet", "path": "p", "x": "x", "y": "y", "attributes": "fare"}, "must be a list of columns"),
        ({"kind": "csv", "path": "p", "x": "x", "y": "y", "delimiter": "ab"}, "must be one character"),
        ({"kind": "sqlite", "path": "p", "table": "t", "x": "x", "y": "y", "timeout_s": 0}, "number of seconds"),
        ({"kind": "postgres", "url": "u", "table": "t", "geometry": "g", "x": "x"}, "not both"),
        ({"kind": "sql", "url": "u", "x": "x", "y": "y"}, "needs the setting query"),
    ],
)
def test_wrong_settings_get_a_sentence(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings_of(said)
    assert sentence in str(caught.value)


def test_settings_do_not_print_the_url() -> None:
    said = settings_of({"kind": "postgres", "url": "postgresql://me:pa55@h/d", "table": "t", "geometry": "g"})
    assert "pa55" not in repr(said)


def test_a_cut_needs_an_order(tmp_path: Path) -> None:
    said = parquet(ROWS, tmp_path)
    with pytest.raises(InvalidInput, match="by the setting order"):
        open_silo(said, PLANE, protection=first_of_owner(3))


def test_rows_alike_in_the_order_are_taken_by_their_values_and_those_without_come_last(tmp_path: Path) -> None:
    path = tmp_path / "ties.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["x", "y", "n"], [3, 0, 10], [2, 0, 9], [1, 0, 9], [0, 0, ""]])
    said = {"kind": "csv", "path": str(path), "x": "x", "y": "y", "order": "n"}
    within = {r: RangeQuery("count", Circle(0, 0, r), Epsilon.of(1)) for r in (0.5, 1.5, 2.5, 3.5)}
    for most, counts in ((1, [0, 1, 1, 1]), (2, [0, 1, 2, 2]), (3, [0, 1, 2, 3]), (4, [1, 2, 3, 4])):
        with opened(said, PLANE, protection=first_of_owner(most)) as silo:
            assert [silo.totals(query)["count"] for query in within.values()] == counts


@pytest.mark.parametrize("name", [EVIL, PERCENT, "fa're", "$west", ":west"])
def test_names_are_quoted(name: str, server: Any, database: psycopg.Connection[Any], tmp_path: Path) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    values = {name: [1.0, 2.0], "y": [1.0, 1.0]}
    pq.write_table(pa.table(values), tmp_path / "p.parquet")
    with (tmp_path / "c.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[name, "y"], [1, 1], [2, 1]])
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute(f"CREATE TABLE {quoted} ({quoted} REAL, y REAL)")
        connection.execute(f"INSERT INTO {quoted} VALUES (1, 1), (2, 1)")
        connection.commit()
    escaped = quoted.replace("%", "%%")
    database.execute(
        f"CREATE TABLE {escaped} AS SELECT v AS {escaped}, 1.0::float8 AS y FROM (VALUES (1.0), (2.0)) t(v)", {}
    )
    columns = {"x": name, "y": "y", "attributes": [name], "order": name}
    for said in (
        {"kind": "parquet", "path": str(tmp_path / "p.parquet")},
        {"kind": "csv", "path": str(tmp_path / "c.csv")},
        {"kind": "sqlite", "path": str(tmp_path / "s.db"), "table": name},
        {"kind": "postgres", "url": server.url, "table": name},
    ):
        with opened(said | columns, PLANE) as silo:
            measure = RangeQuery("avg", Circle(0, 0, 5), Epsilon.of(1), Measure(name, 10, resolution=1.0))
            assert silo.totals(measure) == {"sum": 3, "count": 2}
            assert silo.snapshot() == silo.snapshot()


def test_names_that_are_no_columns_are_refused_and_harm_nothing(
    server: Any, database: psycopg.Connection[Any], tmp_path: Path
) -> None:
    table = fill_postgres(database, ROWS, 3857)
    for said in (parquet(ROWS, tmp_path), sqlite_plain(ROWS, tmp_path), postgres_columns(server.url, table)):
        for key, value in (("x", EVIL), ("time", EVIL), ("attributes", [EVIL]), ("order", EVIL)):
            with pytest.raises(InvalidInput, match="there is no column"):
                open_silo(said | {key: value}, PLANE)
        with opened(said, PLANE) as silo:
            assert silo.totals(QUERY) == {"count": 8}


@pytest.mark.parametrize("table", ["nowhere", f"no {EVIL}"])
def test_a_table_that_is_not_there_is_refused(table: str, server: Any, tmp_path: Path) -> None:
    for said in (
        sqlite_plain(ROWS, tmp_path) | {"table": table},
        postgres_columns(server.url, table),
        {**postgres_columns(server.url, table), "kind": "ibis"},
    ):
        with pytest.raises(InvalidInput, match="there is no table"):
            open_silo(said, PLANE)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for said in (parquet(ROWS, tmp_path), sqlite_plain(ROWS, tmp_path)):
        with pytest.raises(InvalidInput, match="there is no file"):
            open_silo(said | {"path": str(tmp_path / "nowhere")}, PLANE)


def test_columns_that_hold_no_numbers_are_refused(
    server: Any, database: psycopg.Connection[Any], tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute("CREATE TABLE places (x REAL, y REAL, fare VARCHAR(9))")
    pq.write_table(pa.table({"x": [1.0], "y": [1.0], "fare": ["12"]}), tmp_path / "p.parquet")
    database.execute("CREATE TABLE texts (x float8, y float8, fare text)")
    columns = {"x": "x", "y": "y", "attributes": ["fare"]}
    for said in (
        {"kind": "sqlite", "path": str(tmp_path / "s.db"), "table": "places"},
        {"kind": "parquet", "path": str(tmp_path / "p.parquet")},
        {"kind": "postgres", "url": server.url, "table": "texts"},
        {"kind": "ibis", "url": server.url, "table": "texts"},
    ):
        with pytest.raises(InvalidInput, match="column 'fare' of the silo is"):
            open_silo(said | columns, PLANE)


@pytest.mark.parametrize(
    ("points", "public_map", "sentence"),
    [
        ("geometry", PARIS, "must be of a type such as"),
        ("geometry(LineString, 4326)", PARIS, "must be of a type such as"),
        ("geometry(Point, 3857)", PARIS, "must have SRID 4326"),
        ("geography(Point)", PLANE, "must be a geometry"),
    ],
)
def test_points_must_fit_the_map(
    points: str, public_map: Any, sentence: str, server: Any, database: psycopg.Connection[Any]
) -> None:
    database.execute("DROP TABLE IF EXISTS shapes")
    database.execute(f"CREATE TABLE shapes (g {points})")
    with pytest.raises(InvalidInput, match=sentence):
        open_silo({"kind": "postgres", "url": server.url, "table": "shapes", "geometry": "g"}, public_map)


@pytest.mark.parametrize("kind", ["float4", "numeric", "int2", "int8"])
@pytest.mark.parametrize("time", ["timestamptz", "timestamp", "date", "int8", "float8", "numeric", "text"])
def test_postgres_columns_of_many_types_are_read(
    kind: str, time: str, server: Any, database: psycopg.Connection[Any]
) -> None:
    database.execute("DROP TABLE IF EXISTS typed")
    database.execute(f"CREATE TABLE typed (x {kind}, y {kind}, fare {kind}, t {time}, yes bool)")
    days = [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3)]
    values: list[Any] = [day.date() if time == "date" else day for day in days]
    if time == "timestamp":
        values = [day.replace(tzinfo=None) for day in days]
    if time in ("int8", "float8", "numeric", "text"):
        values = [int(day.timestamp()) for day in days]
    for day in values:
        database.execute("INSERT INTO typed VALUES (1, 2, 7, %s, true)", (str(day) if time == "text" else day,))
    database.execute("INSERT INTO typed VALUES (NULL, 2, 7), (1, 2, NULL)")
    if time in ("timestamptz", "timestamp", "date"):
        database.execute("INSERT INTO typed VALUES (1, 2, 7, 'infinity'), (1, 2, 7, '-infinity')")
    columns = {"x": "x", "y": "y", "time": "t", "attributes": ["fare", "yes"]}
    since, until = (int(dt.datetime(2026, 1, day, tzinfo=dt.UTC).timestamp() * 1e6) for day in (2, 3))
    with opened({"kind": "postgres", "url": server.url, "table": "typed", **columns}, PLANE) as silo:
        for low, high, found in ((since, None, 2), (None, until, 2), (since, until, 1)):
            query = RangeQuery("avg", Circle(0, 0, 5), Epsilon.of(1), Measure("fare", 10, resolution=1.0), low, high)
            assert silo.totals(query) == {"sum": 7 * found, "count": found}
        yes = RangeQuery("sum", Circle(0, 0, 5), Epsilon.of(1), Measure("yes", 10, resolution=1.0))
        assert silo.totals(yes) == {"sum": 3}


def test_decimals_count_where_their_nearest_doubles_lie(server: Any, database: psycopg.Connection[Any]) -> None:
    database.execute("DROP TABLE IF EXISTS exact")
    database.execute("CREATE TABLE exact (x numeric, y int8, fare numeric)")
    columns = {"x": "x", "y": "y", "attributes": ["fare"]}
    database.execute(
        "INSERT INTO exact VALUES (-10.00000000000000000001, 5, 1e400), (29.99999999999999999999, 5, 1e-400)"
    )
    with opened(columns | {"kind": "postgres", "url": server.url, "table": "exact"}, PLANE) as silo:
        everywhere = Rectangle(-10, -10, 30, 20)
        assert silo.totals(RangeQuery("count", everywhere, Epsilon.of(1))) == {"count": 1}
        fares = RangeQuery("avg", everywhere, Epsilon.of(1), Measure("fare", 10))
        assert silo.totals(fares) == {"sum": 0, "count": 0}


def test_parquet_columns_of_many_types_are_read(tmp_path: Path) -> None:
    days = [dt.datetime(2026, 1, day) for day in (1, 2, 3)] + [None]
    seconds = [None if day is None else int(day.replace(tzinfo=dt.UTC).timestamp()) for day in days]
    times = {
        "zoned": pa.array(days, pa.timestamp("us", "UTC")),
        "ns": pa.array(days, pa.timestamp("ns")),
        "s": pa.array(days, pa.timestamp("s")),
        "date": pa.array([None if day is None else day.date() for day in days]),
        "number": pa.array(seconds, pa.int64()),
        "decimal": pa.array([None if s is None else Decimal(s) for s in seconds], pa.decimal128(12)),
        "text": pa.array([None if day is None else day.isoformat() for day in days]),
    }
    places = {
        "x": pa.array([1, 1, 1, 1], pa.int16()),
        "y": pa.array([Decimal("2.5")] * 4),
        "v": [True, False, True, None],
    }
    pq.write_table(pa.table(places | times), tmp_path / "typed.parquet")
    since = int(dt.datetime(2026, 1, 2, tzinfo=dt.UTC).timestamp() * 1e6)
    for time in times:
        columns = {"x": "x", "y": "y", "time": time, "attributes": ["v"]}
        with opened({"kind": "parquet", "path": str(tmp_path / "typed.parquet"), **columns}, PLANE) as silo:
            assert silo.totals(RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1), None, since)) == {"count": 2}
            assert silo.totals(RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1), None, None, since)) == {"count": 1}
            measure = Measure("v", 1, resolution=1.0)
            assert silo.totals(RangeQuery("avg", Circle(0, 0, 5), Epsilon.of(1), measure)) == {"sum": 2, "count": 3}


def test_what_is_no_number_and_no_time_is_absent(tmp_path: Path) -> None:
    (tmp_path / "dirty.csv").write_text(
        "x,y,v,t\n1,1,5,2026-01-01\nnan,1,5,2026-01-01\ninf,1,5,\n,1,5,\nabc,1,5,\n1,1,inf,tomorrow\n1,1,n/a,99999999999999\n"
    )
    said = {"kind": "csv", "path": str(tmp_path / "dirty.csv"), "x": "x", "y": "y", "time": "t", "attributes": ["v"]}
    with closing(sqlite3.connect(tmp_path / "dirty.db")) as connection:
        connection.execute("CREATE TABLE places (x REAL, y REAL, v REAL, t)")
        rows = [(1, 1, 5, "2026-01-01"), ("abc", 1, 5, 0), (b"1", 1, 5, 0), (9e999, 1, 5, 0), (None, 1, 5, 0)]
        rows += [(1, 1, "n/a", "tomorrow"), (1, 1, 9e999, 1e30)]
        connection.executemany("INSERT INTO places VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    lite = said | {"kind": "sqlite", "path": str(tmp_path / "dirty.db"), "table": "places"}
    for each in (said, lite):
        with opened(each, PLANE) as silo:
            assert silo.totals(QUERY) == {"count": 3}
            measure = Measure("v", 10, resolution=1.0)
            assert silo.totals(RangeQuery("avg", Circle(0, 0, 5), Epsilon.of(1), measure)) == {"sum": 5, "count": 1}
            assert silo.totals(RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1), None, 0)) == {"count": 1}


def test_an_rtree_must_be_one_and_hold_all_places(tmp_path: Path) -> None:
    said = sqlite_rtree(ROWS, tmp_path)
    with pytest.raises(InvalidInput, match="is no R\\*Tree"):
        open_silo(said | {"rtree": "places"}, PLANE)
    with closing(sqlite3.connect(said["path"])) as connection:
        connection.execute("UPDATE places SET lon = 5 WHERE n = 3")
        connection.commit()
    with pytest.raises(InvalidInput, match="lacks places of the table"):
        open_silo(said, PLANE)


def test_a_csv_file_needs_a_first_row_of_names_and_quotes_none_of_it(tmp_path: Path) -> None:
    for text in ("", "48.8566,48.8566\n1,2\n", ",\n"):
        (tmp_path / "bare.csv").write_text(text)
        with pytest.raises(InvalidInput) as caught:
            open_silo({"kind": "csv", "path": str(tmp_path / "bare.csv"), "x": "x", "y": "y"}, PLANE)
        assert "48.8566" not in str(caught.value)


def test_other_databases_have_kinds_of_their_own(tmp_path: Path) -> None:
    for url, kind in ((f"sqlite:///{tmp_path}/s.db", "sqlite or sql"), ("duckdb://", "sql")):
        with pytest.raises(InvalidInput, match=f"of kind {kind}, not ibis"):
            open_silo({"kind": "ibis", "url": url, "table": "t", "x": "x", "y": "y"}, PLANE)
    with pytest.raises(InvalidInput, match="Ibis knows no database"):
        open_silo({"kind": "ibis", "url": "nonsense://h", "table": "t", "x": "x", "y": "y"}, PLANE)
    with pytest.raises(InvalidInput, match="Ibis lacks the driver"):
        open_silo({"kind": "ibis", "url": "clickhouse://h", "table": "t", "x": "x", "y": "y"}, PLANE)
