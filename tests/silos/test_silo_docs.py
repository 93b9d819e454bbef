"""The settings and statements of docs/how-to/silos.md are usable as they stand there."""

from __future__ import annotations

import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fedgroup.silos.hook import _NAMES
from fedgroup.silos.named_parameters import statement
from fedgroup.silos.settings import settings_of

PAGE = Path(__file__).parents[2].joinpath("docs/how-to/silos.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.M | re.S)


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_sample_is_a_silo(text: str) -> None:
    said = tomllib.loads(text)["silo"]
    if said["kind"] == "records":  # read by the live owner itself
        assert set(said) == {"kind", "path"}
        return
    settings = settings_of(said)
    if settings.query is not None:
        assert statement(settings.query, known=_NAMES).names


def test_there_is_a_sample_of_every_kind() -> None:
    kinds = {tomllib.loads(text)["silo"]["kind"] for text in blocks("toml")}
    assert kinds == {"parquet", "csv", "sqlite", "postgres", "ibis", "sql", "records"}


def test_the_rtree_of_the_page_follows_every_change() -> None:
    (text,) = [block for block in blocks("sql") if "rtree" in block]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE trips (lon REAL, lat REAL)")
        connection.execute("INSERT INTO trips VALUES (1, 1)")
        connection.executescript(text)
        connection.execute("INSERT INTO trips VALUES (2, 2), (3, 3)")
        connection.execute("UPDATE trips SET lat = 8 WHERE lon = 2")
        connection.execute("DELETE FROM trips WHERE lon = 1")
        assert connection.execute("SELECT west, south FROM trips_index ORDER BY id").fetchall() == [(2, 8), (3, 3)]


def test_the_counter_of_the_page_counts_every_change(database: psycopg.Connection[Any]) -> None:
    (text,) = [block for block in blocks("sql") if "trips_version" in block]
    with database.transaction(force_rollback=True):
        database.execute("CREATE SCHEMA counted")
        database.execute("SET LOCAL search_path = counted")
        database.execute("CREATE TABLE trips (n int)")
        database.execute(text)
        for change in ("INSERT INTO trips VALUES (1)", "UPDATE trips SET n = 2", "DELETE FROM trips", "TRUNCATE trips"):
            before = database.execute("SELECT n FROM trips_version").fetchone()
            database.execute(change)
            assert database.execute("SELECT n FROM trips_version").fetchone() != before
