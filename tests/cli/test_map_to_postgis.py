"""`fedgroup map --to postgresql://...`: the map is in its table, and nothing is spent on one that could not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fedgroup.lab.bench.postgres_server import postgres_server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres_server() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION postgis; CREATE TABLE payroll (salary int)")
        yield server.url


def total(url: str, table: str) -> tuple[Any, ...] | None:
    with psycopg.connect(url) as connection:
        return connection.execute(f"SELECT sum(value), count(*), max(ST_SRID(geometry)) FROM {table}").fetchone()


def test_a_map_goes_into_a_table(fedgroup: Callable[..., Any], city: Path, url: str) -> None:
    facts = fedgroup("map", city, "--grid", "4x4", "--epsilon", 1, "--to", url, "--json").json
    assert (total(url, "fedgroup_map"), facts["to"]) == ((sum(facts["values"]), 16, 0), "table fedgroup_map")
    ran = fedgroup("map", city, "--grid", "2x2", "--epsilon", 1, "--to", url, "--table", "dutch", "--srid", 28992)
    assert (ran.code, "written to table dutch" in ran.out) == (0, True)
    assert (total(url, "dutch") or ())[1:] == (4, 28992)


def test_a_published_map_goes_into_a_table_that_sums_as_the_map_does(
    fedgroup: Callable[..., Any], city: Path, url: str, ledger: Path, spent: Callable[[], float]
) -> None:
    words = ("publish", city, "--epsilon", 1, "--most-cells", 4096, "--ledger", ledger, "--budget", 2)
    ran = fedgroup(*words, "--to", url, "--table", "payroll")
    assert (ran.code, "no map of ours" in ran.err, spent()) == (2, True, 0), ran.err
    facts = fedgroup(*words, "--to", url, "--table", "published", "--json").json
    assert facts["to"] == "table published"
    value, cells, _ = total(url, "published") or ()
    assert cells == facts["cells"]
    assert float(value) == pytest.approx(facts["total"])


WRONG = [
    ("--to mysql://here", "postgresql://USER@HOST/NAME"),
    ("--table x", "--to, which is missing"),
    ("--to URL --table payroll", "no map of ours"),
    ("--to URL --table nowhere.x", "no schema"),
    ("--to URL --evaluate", "not private"),
    ("--to URL --seed 1", "not private"),
    ("--to URL --srid 4326000", "srid must be"),
]


@pytest.mark.parametrize(("said", "told"), WRONG)
def test_a_table_that_cannot_be_written_costs_nothing(
    fedgroup: Callable[..., Any], city: Path, ledger: Path, spent: Callable[[], float], url: str, said: str, told: str
) -> None:
    words = [url if word == "URL" else word for word in said.split()]
    ran = fedgroup("map", city, "--grid", "4x4", "--epsilon", 1, "--ledger", ledger, "--budget", 1, *words)
    assert (ran.code, ran.out, told in ran.err) == (2, "", True), ran.err
    assert spent() == 0


def test_a_database_that_is_away_costs_nothing(
    fedgroup: Callable[..., Any], city: Path, ledger: Path, spent: Callable[[], float]
) -> None:
    to = ("--to", "postgresql://ann:secret@127.0.0.1:1/maps")
    ran = fedgroup("map", city, "--grid", "4x4", "--epsilon", 1, "--ledger", ledger, "--budget", 1, *to)
    assert (ran.code, "secret" in ran.err, spent()) == (75, False, 0)
