"""Every kind of silo, each with a writer that makes a table of rows and the settings that find it."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from silo_worlds import Row

from fedgroup.privacy.sensitivity import Protection
from fedgroup.silos import Silo, open_silo
from fedgroup.space import PublicMap

Settings = dict[str, Any]


def first_of_owner(most: int | None) -> Protection:
    """What protects a whole owner of at most so many records, or else one record."""
    return Protection() if most is None else Protection(unit="owner", max_records=most)


COLUMNS: Settings = {"x": "lon", "y": "lat", "time": "t", "attributes": ["fare"]}

_numbers = count()


@contextmanager
def opened(said: Settings, public_map: PublicMap, **more: Any) -> Iterator[Silo]:
    silo = open_silo(said, public_map, **more)
    try:
        yield silo
    finally:
        silo.close()


def arrow_table(rows: Sequence[Row]) -> pa.Table:
    return pa.table(
        {
            "lon": pa.array([row.x for row in rows], pa.float64()),
            "lat": pa.array([row.y for row in rows], pa.float64()),
            "fare": pa.array([row.fare for row in rows], pa.float64()),
            "t": pa.array([row.time for row in rows], pa.timestamp("us")),
            "n": pa.array(range(len(rows)), pa.int64()),
            "car": pa.array([row.car for row in rows], pa.string()),
            "category": pa.array([row.category for row in rows], pa.string()),
        }
    )


def parquet(rows: Sequence[Row], folder: Path) -> Settings:
    path = folder / f"{next(_numbers)}.parquet"
    pq.write_table(arrow_table(rows), path)
    return {"kind": "parquet", "path": str(path), **COLUMNS}


def csv_file(rows: Sequence[Row], folder: Path) -> Settings:
    path = folder / f"{next(_numbers)}.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file, delimiter=";")
        lines.writerow(["n", "lon", "lat", "fare", "t", "car", "category"])
        for n, row in enumerate(rows):
            time = None if row.instant is None else row.instant.isoformat()
            numbers = (None if v is None else repr(v) for v in (row.x, row.y, row.fare))
            lines.writerow([n, *numbers, time, row.car, row.category])
    return {"kind": "csv", "path": str(path), "delimiter": ";", **COLUMNS}


def sqlite_file(rows: Sequence[Row], folder: Path) -> Path:
    """Write a table with an R*Tree beside it; times are seconds and ISO texts by turns."""
    path = folder / f"{next(_numbers)}.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(SQLITE_SCHEMA)
        connection.execute("BEGIN")
        for n, row in enumerate(rows):
            text = None if row.instant is None else row.instant.isoformat()
            whole = row.time is not None and row.time % 1_000_000 == 0
            time = row.time // 1_000_000 if n % 2 and whole and row.time is not None else text
            values = (n, row.x, row.y, row.fare, time, row.car, row.category)
            connection.execute("INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.execute("COMMIT")
    return path


SQLITE_SCHEMA = """
CREATE TABLE places (n INTEGER PRIMARY KEY, lon REAL, lat REAL, fare REAL, t, car, category TEXT);
CREATE INDEX places_by_place ON places (lon, lat);
CREATE VIRTUAL TABLE places_index USING rtree (id, west, east, south, north);
CREATE TRIGGER places_added AFTER INSERT ON places WHEN new.lon IS NOT NULL AND new.lat IS NOT NULL BEGIN
    INSERT INTO places_index VALUES (new.n, new.lon, new.lon, new.lat, new.lat);
END;
CREATE TRIGGER places_removed AFTER DELETE ON places BEGIN DELETE FROM places_index WHERE id = old.n; END;
"""


def sqlite_plain(rows: Sequence[Row], folder: Path) -> Settings:
    return {"kind": "sqlite", "path": str(sqlite_file(rows, folder)), "table": "places", **COLUMNS}


def sqlite_rtree(rows: Sequence[Row], folder: Path) -> Settings:
    return {**sqlite_plain(rows, folder), "rtree": "places_index"}


def sqlite_hook(rows: Sequence[Row], folder: Path) -> Settings:
    query = """
        SELECT lon AS x, lat AS y, t, fare, n, car, category FROM places -- ':nobody' binds this
        WHERE lon BETWEEN :west AND :east AND lat BETWEEN :south AND :north"""
    return {"kind": "sql", "url": f"sqlite:///{sqlite_file(rows, folder)}", "query": query, **HOOKED}


HOOKED: Settings = {"x": "x", "y": "y", "time": "t", "attributes": ["fare"]}


def duckdb_hook(rows: Sequence[Row], folder: Path) -> Settings:
    path = folder / f"{next(_numbers)}.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.register("arrow_rows", arrow_table(rows))
        connection.execute("CREATE TABLE places AS SELECT * FROM arrow_rows")
    query = """SELECT lon x, lat y, t, fare, n, car, category FROM places WHERE lon >= :west AND lon <= :east
        AND (t IS NULL OR epoch_us(t) >= :since * 1e6 - 1e6);"""
    return {"kind": "sql", "url": f"duckdb:///{path}", "query": query, **HOOKED}


def fill_postgres(connection: psycopg.Connection[Any], rows: Sequence[Row], srid: int) -> str:
    """Make a table with columns, a geometry and a geography of the same rows."""
    name = f"Places {next(_numbers)}"
    geography = "geography(Point)" if srid == 4326 else "float8"
    connection.execute(
        f'CREATE TABLE "{name}" (n int, lon float8, lat float8, fare float8, t timestamptz,'
        f" car text, category varchar, geom geometry(Point, {srid}), geog {geography})"
    )
    values = [(n, row.x, row.y, row.fare, row.instant, row.car, row.category) for n, row in enumerate(rows)]
    with connection.cursor() as cursor:
        cursor.executemany(f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s, %s, %s, %s)', values)
    connection.execute(f'UPDATE "{name}" SET geom = ST_SetSRID(ST_MakePoint(lon, lat), {srid})')
    if srid == 4326:
        connection.execute(f'UPDATE "{name}" SET geog = geom::geography WHERE abs(lon) <= 180')
    return name


PostgresKind = Callable[[str, str], Settings]


def postgres_columns(url: str, table: str) -> Settings:
    return {"kind": "postgres", "url": url, "table": table, **COLUMNS}


def postgres_points(column: str) -> PostgresKind:
    def settings(url: str, table: str) -> Settings:
        points = {"geometry": column, "time": "t", "attributes": ["fare"]}
        return {"kind": "postgres", "url": url, "schema": "public", "table": table, **points}

    return settings


def postgres_ibis(url: str, table: str) -> Settings:
    return {"kind": "ibis", "url": url, "table": table, **COLUMNS}


def postgres_hook(url: str, table: str) -> Settings:
    query = f"""
        SELECT lon AS x, lat AS y, t, fare::numeric, n, car, category, '100 %' AS share FROM "{table}"
        WHERE lon BETWEEN :west AND :east AND lat <= :north::float8 /* :south is left out */
          AND (t IS NULL OR t >= to_timestamp(:since)) -- and so is the end"""
    return {"kind": "sql", "url": url, "query": query, **HOOKED}


FILES: dict[str, Callable[[Sequence[Row], Path], Settings]] = {
    "parquet": parquet,
    "csv": csv_file,
    "sqlite": sqlite_plain,
    "sqlite, R*Tree": sqlite_rtree,
    "sqlite, own SELECT": sqlite_hook,
    "duckdb, own SELECT": duckdb_hook,
}
SERVED: dict[str, PostgresKind] = {
    "postgres": postgres_columns,
    "postgres, geometry": postgres_points("geom"),
    "postgres, own SELECT": postgres_hook,
    "postgres through ibis": postgres_ibis,
}


def srid_of(public_map: PublicMap) -> int:
    return 4326 if public_map.lonlat else 3857
