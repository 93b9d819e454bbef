"""`fedgroup bench silos`: exact circles of 500 m in a city of PostgreSQL, against PostGIS counting them itself.

It starts a server of its own. What a silo adds to a question is told beside the time of a bare SELECT 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.lab.bench.postgres_server import missing as missing_server
from fedgroup.lab.bench.postgres_server import postgres_server
from fedgroup.questions.query import RangeQuery
from fedgroup.silos import open_silo
from fedgroup.space import Box, Circle, PublicMap

CITY = PublicMap(Box(2.2, 48.8, 2.5, 48.95), lonlat=True)
RADIUS_M = 500.0

_TABLE = """
CREATE EXTENSION postgis;
SELECT setseed(0.5);
CREATE TABLE trips AS
    SELECT lon, lat, ST_SetSRID(ST_MakePoint(lon, lat), 4326)::geometry(Point, 4326) AS geom
    FROM (SELECT 2.2 + 0.3 * random() AS lon, 48.8 + 0.15 * random() AS lat FROM generate_series(1, {rows})) AS places;
CREATE INDEX ON trips (lon, lat);
CREATE INDEX ON trips USING gist (geom);
CREATE INDEX ON trips USING gist ((geom::geography));
VACUUM ANALYZE trips;
"""
_REFERENCE = """
SELECT count(*) FROM trips
WHERE ST_DWithin(geom::geography, ST_MakePoint(%(x)s, %(y)s)::geography, %(radius)s)
"""


def missing() -> str | None:
    """Return what this machine lacks for the bench, or none."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed; install fedgroup with the extra [silos]"
    return missing_server()


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for a column of points, one for columns of numbers, and one for the table's snapshot."""
    import psycopg

    rows, repeats = (20_000, 3) if quick else (1_000_000, 31)
    with postgres_server() as server, psycopg.connect(server.url, autocommit=True) as connection:
        for statement in _TABLE.format(rows=rows).split(";\n")[:-1]:
            connection.execute(statement)
        bare = median_seconds(lambda: connection.execute("SELECT 1").fetchone(), repeats=repeats)
        reference = _reference_seconds(connection, repeats)
        places = {"points, GiST": {"geometry": "geom"}, "numbers, B-tree": {"x": "lon", "y": "lat"}}
        for name, columns in places.items():
            settings = {"kind": "postgres", "url": server.url, "table": "trips", **columns}
            yield _row(f"{name}, {rows:,} rows", settings, repeats=repeats, bare=bare, reference=reference)
        yield _snapshot_row(connection, {"kind": "postgres", "url": server.url, "table": "trips", **columns}, repeats)


def _row(case: str, settings: Mapping[str, Any], *, repeats: int, bare: float, reference: float) -> BenchRow:
    silo = open_silo(settings, CITY)
    ask = _asker(lambda circle: silo.totals(RangeQuery("count", circle, Epsilon.of(1))))
    counted = ask()["count"]
    ours = median_seconds(ask, repeats=repeats)
    silo.close()
    return BenchRow(
        case=case,
        ours_s=ours,
        peak_mb=peak_mb(),
        reference="PostGIS, ST_DWithin on a geography's index, exact too",
        reference_s=reference,
        more={"select_1_s": bare, "added_s": ours - bare, "records_in_circle": counted},
    )


def _snapshot_row(connection: Any, settings: Mapping[str, Any], repeats: int) -> BenchRow:
    """Return what a snapshot costs after a change somewhere in the database, against one after none."""
    silo = open_silo(settings, CITY)
    connection.execute("CREATE TABLE elsewhere (n int)")

    def changed() -> str:
        connection.execute("INSERT INTO elsewhere VALUES (1)")
        return silo.snapshot()

    silo.snapshot()
    unchanged = median_seconds(silo.snapshot, repeats=repeats)
    ours = median_seconds(changed, repeats=min(repeats, 5))
    silo.close()
    return BenchRow(
        case="snapshot after a change elsewhere",
        ours_s=ours,
        peak_mb=peak_mb(),
        reference="the same, after no change",
        reference_s=unchanged,
    )


def _reference_seconds(connection: Any, repeats: int) -> float:
    def count(circle: Circle) -> object:
        return connection.execute(_REFERENCE, {"x": circle.x, "y": circle.y, "radius": circle.radius}).fetchone()

    ask = _asker(count)
    ask()
    return median_seconds(ask, repeats=repeats)


def _asker(count: Callable[[Circle], Any]) -> Callable[[], Any]:
    """Return what asks about another circle each time."""
    places = (Circle(2.3 + 0.0013 * (i % 83), 48.85 + 0.0007 * (i % 71), RADIUS_M) for i in itertools.count())
    return lambda: count(next(places))
