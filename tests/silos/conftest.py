"""A PostgreSQL server for all tests of silos, with PostGIS."""

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
    """A connection of the silo's owner, who may write."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        yield connection
