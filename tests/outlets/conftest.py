"""A PostgreSQL server for all tests of outlets, with PostGIS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from fedgroup.lab.bench.postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as started:
        with psycopg.connect(started.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION postgis")
        yield started


@pytest.fixture
def database(server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    """A connection of somebody who reads maps; the tables of one test are gone before the next."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS kept; SET client_min_messages TO error")
        yield connection
        for schema in ("public", "kept"):
            tables = connection.execute(
                "SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables"
                " WHERE schemaname = %s AND tablename <> 'spatial_ref_sys'",
                (schema,),
            ).fetchall()
            for (table,) in tables:
                connection.execute(f"DROP TABLE {table} CASCADE")
