"""The coarse cut goes through an index, and brings hardly more rows than are counted."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from silo_kinds import Settings, opened, postgres_columns, postgres_points, sqlite_plain, sqlite_rtree
from silo_worlds import NOON, PARIS, Row

from fedgroup.epsilon import Epsilon
from fedgroup.questions.query import RangeQuery
from fedgroup.silos.postgres_table import packed_select
from fedgroup.silos.select import select
from fedgroup.silos.wanted import rows_of_question
from fedgroup.space import Circle

QUERY = RangeQuery("count", Circle(2.35, 48.85, 500), Epsilon.of(1))
ROWS = 20_000


@pytest.fixture(scope="module")
def trips(server: Any) -> str:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            f"""CREATE TABLE trips AS SELECT g AS n, 2.2 + 0.3 * random() AS lon, 48.8 + 0.15 * random() AS lat,
                random() AS fare, now() AS t FROM generate_series(1, {ROWS}) AS g"""
        )
        connection.execute("ALTER TABLE trips ADD geom geometry(Point, 4326), ADD geog geography(Point)")
        connection.execute("UPDATE trips SET geom = ST_SetSRID(ST_MakePoint(lon, lat), 4326)")
        connection.execute("UPDATE trips SET geog = geom")
        connection.execute("CREATE INDEX trips_columns ON trips (lon, lat)")
        connection.execute("CREATE INDEX trips_geometry ON trips USING gist (geom)")
        connection.execute("CREATE INDEX trips_geography ON trips USING gist (geog)")
        connection.execute("VACUUM ANALYZE trips")
    return "trips"


def coarse_cut(said: Settings, build: Any = select) -> tuple[str, dict[str, Any]]:
    with opened(said, PARIS) as silo:
        return build(silo._table._fragments, rows_of_question(QUERY, PARIS))  # type: ignore[attr-defined]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", []) for node in nodes(part))]


def planned(database: psycopg.Connection[Any], cut: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    found = database.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {cut[0]}", cut[1]).fetchone()
    assert found is not None
    told = found[0] if isinstance(found[0], list) else json.loads(found[0])
    return nodes(told[0]["Plan"])


@pytest.mark.parametrize(
    ("settings", "index"),
    [
        (postgres_columns, "trips_columns"),
        (postgres_points("geom"), "trips_geometry"),
        (postgres_points("geog"), "trips_geography"),
    ],
)
def test_postgres_finds_a_circle_through_its_index(
    settings: Any, index: str, server: Any, trips: str, database: psycopg.Connection[Any]
) -> None:
    said = settings(server.url, trips)
    with opened(said, PARIS) as silo:
        exact = silo.totals(QUERY)["count"]
    for build in (select, packed_select):
        plan = planned(database, coarse_cut(said, build))
        assert {node["Index Name"] for node in plan if "Index Name" in node} == {index}
        assert not [node for node in plan if node["Node Type"] == "Seq Scan"]
        assert 0 < exact <= max(node["Actual Rows"] for node in plan) < 10 * exact


@pytest.mark.parametrize(
    ("settings", "used"), [(sqlite_plain, "INDEX places_by_place (lon>? AND lon<?)"), (sqlite_rtree, "INDEX 2:")]
)
def test_sqlite_finds_a_circle_through_its_index(settings: Any, used: str, tmp_path: Path) -> None:
    rows = [Row(2.2 + 0.001 * i, 48.8 + 0.0004 * i, 1.0, NOON) for i in range(300)]
    said = settings(rows, tmp_path)
    text, parameters = coarse_cut(said)
    with closing(sqlite3.connect(said["path"])) as connection:
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters))
    assert used in plan
    assert "SCAN t" not in plan
