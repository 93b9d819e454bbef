"""Subjects, people and categories in every kind of silo: as `evaluation.truth` counts them, row after row."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from silo_kinds import FILES, SERVED, Settings, fill_postgres, opened, postgres_columns, sqlite_plain
from silo_worlds import NOON, PLANE, Row, records_of

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.truth import exact_totals
from fedgroup.owner.counting import contributing, count_vectors
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.bins import Categories
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.silos import Silo, duck, ibis_table, open_silo, postgres, sqlite
from fedgroup.space import Rectangle

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis")

WORDS: Settings = {"subject": "car", "texts": ["category"], "order": "n"}
GRID = PLANE.grid(4, 3)
FARE = Measure("fare", 5.0, resolution=0.5)
ONE = Epsilon.of(1)
HOURS = {"since": NOON, "until": NOON + 60, "every": 20}
RANGE = Rectangle(0, 0, 12, 12)
QUESTIONS = [
    RangeQuery("count", RANGE, ONE),
    RangeQuery("people", RANGE, ONE),
    RangeQuery("avg", RANGE, ONE, FARE, since=NOON + 10),
    RangeQuery("count", GRID, ONE),
    RangeQuery("people", GRID, ONE),
    RangeQuery("people", GRID, ONE, **HOURS),
    RangeQuery("sum", GRID, ONE, FARE, by=Categories("category", ("taxi", "bus"), other=True)),
    RangeQuery("people", RANGE, ONE, by=Categories("category", ("bus", "tram"))),
    RangeQuery("people", RANGE, ONE, by=Categories("fare", (1.0, 2.0), other=True), **HOURS),
]
PROTECTIONS = [
    Protection(subjects=True),
    Protection(unit="subject", max_records=3, max_bins=2, subjects=True),
    Protection(unit="owner", max_records=20, subjects=True),
    Protection(unit="owner", max_records=20, max_bins=2),
]


def some_rows(count: int, seed: int) -> tuple[Row, ...]:
    """Rows of few cars in no order; some have no car, no category, no fare, no place, or lie outside the domain."""
    draw = random.Random(seed)
    return tuple(
        Row(
            draw.choice([None, -11.0, *(float(x) for x in range(-8, 16))]),
            float(draw.randrange(-8, 19)),
            draw.choice([None, 1.0, 2.0, 2.5, 9.0]),
            NOON + draw.randrange(-5, 70),
            draw.choice([None, "", "a", "b", "ä", "a ", "1", "17"]),
            draw.choice([None, "taxi", "bus", "tram"]),
        )
        for _ in range(count)
    )


ROWS = some_rows(120, seed=1)


def records(rows: tuple[Row, ...]) -> Records:
    """Return the rows that have a place and a car."""
    there = tuple(row for row in rows if row.x is not None and row.car)
    plain = records_of(there, PLANE)
    return Records(
        owner=np.zeros(len(there), dtype=np.int64),
        owners=[0],
        x=plain.x,
        y=plain.y,
        attributes=plain.attributes,
        time=np.asarray(plain.time).view("datetime64[us]"),
        subject=[str(row.car) for row in there],
        texts={"category": [row.category for row in there]},
    )


@cache
def truth(rows: tuple[Row, ...], query: RangeQuery, protection: Protection) -> dict[str, list[int]]:
    """Return the exact totals; where an owner is its only subject, nobody looks at cars."""
    table = records(rows)
    table = table if protection.sees_subjects else replace_subject(table)
    return listed(exact_totals(table, query, PLANE, protection).parts)


def replace_subject(table: Records) -> Records:
    times = None if table.time is None else table.time.view("datetime64[us]")
    return replace(table, owner=np.zeros(len(table), dtype=np.int64), time=times, subject=None)


def listed(totals: Any) -> dict[str, list[int]]:
    return {part: units.tolist() for part, units in totals.items()}


def require_equal(silo: Silo | TableSilo, rows: tuple[Row, ...], protection: Protection) -> None:
    for query in QUESTIONS:
        assert listed(silo.totals(query)) == truth(rows, query, protection), (query.kind, protection)
    cut = contributing(records(rows), PLANE, most=protection.max_records, unit=protection.unit)
    assert silo.vector(GRID).tolist() == count_vectors(cut, GRID, PLANE)[0].tolist()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come seven at a time."""
    for module in (duck, sqlite, postgres, ibis_table):
        monkeypatch.setattr(module, "ROWS", 7)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.usefixtures("small_batches")
def test_files_answer_for_every_unit_as_counting_does(kind: str, tmp_path: Path) -> None:
    said = FILES[kind](ROWS, tmp_path) | WORDS
    for memory in [200.0, 0.001] if kind == "parquet" else [None]:
        told = said if memory is None else said | {"memory_mb": memory}
        for protection in PROTECTIONS:
            with opened(told, PLANE, protection=protection) as silo:
                assert silo.texts == ("category",)
                require_equal(silo, ROWS, protection)


@pytest.mark.parametrize("kind", SERVED)
@pytest.mark.usefixtures("small_batches")
def test_servers_answer_for_every_unit_as_counting_does(
    kind: str, server: Any, database: psycopg.Connection[Any]
) -> None:
    said = SERVED[kind](server.url, fill_postgres(database, ROWS, 3857)) | WORDS
    for protection in PROTECTIONS:
        with opened(said, PLANE, protection=protection) as silo:
            require_equal(silo, ROWS, protection)


@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
def test_a_table_in_memory_answers_for_every_unit_as_counting_does(protection: Protection) -> None:
    require_equal(TableSilo(records(ROWS), PLANE, protection=protection), ROWS, protection)


def test_a_car_with_1000_records_counts_once(tmp_path: Path) -> None:
    rows = tuple(Row(1.0, 1.0, 2.0, NOON, "one", "taxi") for _ in range(1_000))
    said = sqlite_plain((*rows, Row(1.0, 1.0, 2.0, NOON, "other")), tmp_path) | WORDS
    for protection in PROTECTIONS[:2]:
        with opened(said, PLANE, protection=protection) as silo:
            assert sum(silo.totals(RangeQuery("people", GRID, ONE))["people"]) == 2
            assert silo.totals(RangeQuery("people", RANGE, ONE))["people"].tolist() == [2]


def test_bins_are_the_first_in_the_order_and_not_in_the_file(tmp_path: Path) -> None:
    rows = (
        Row(11.0, 1.0, None, NOON + 2, "one"),
        Row(1.0, 1.0, None, NOON, "one"),
        Row(-9.0, 1.0, None, NOON + 1, "one"),
    )
    protection = Protection(unit="subject", max_records=9, max_bins=2, subjects=True)
    query = RangeQuery("people", GRID, ONE)
    for order, out in (("n", 2), ("t", 0), ("lon", 0)):
        with opened(sqlite_plain(rows, tmp_path) | WORDS | {"order": order}, PLANE, protection=protection) as silo:
            lost = truth((rows[out],), query, protection)["people"]
            every = truth(rows, query, replace(protection, max_bins=9))["people"]
            assert listed(silo.totals(query))["people"] == (np.array(every) - lost).tolist()


def test_rows_without_a_car_are_nobodys_and_count_nowhere(tmp_path: Path) -> None:
    rows = (Row(1.0, 1.0, 1.0, NOON, None), Row(1.0, 1.0, 1.0, NOON, ""), Row(1.0, 1.0, 1.0, NOON, "one"))
    for kind in FILES:
        with opened(FILES[kind](rows, tmp_path) | WORDS, PLANE) as silo:
            assert silo.totals(QUESTIONS[0])["count"].tolist() == [1]
        with opened(FILES[kind](rows, tmp_path), PLANE) as silo:
            assert silo.totals(QUESTIONS[0])["count"].tolist() == [3]


def test_an_owner_that_is_its_only_subject_is_one_of_the_people(tmp_path: Path) -> None:
    with opened(sqlite_plain(ROWS, tmp_path), PLANE) as silo:
        assert silo.totals(QUESTIONS[1])["people"].tolist() == [1]


def test_whole_numbers_and_uuids_are_subjects_too(server: Any, database: psycopg.Connection[Any]) -> None:
    table = fill_postgres(database, [Row(1.0, 1.0, None, None, str(n % 3)) for n in range(9)], 3857)
    database.execute(f'ALTER TABLE "{table}" ADD whole int, ADD id uuid')
    database.execute(f'UPDATE "{table}" SET whole = n % 4, id = md5((n % 5)::text)::uuid')
    found = []
    for name in ("car", "whole", "id"):
        with opened(postgres_columns(server.url, table) | {"subject": name}, PLANE) as silo:
            found += silo.totals(QUESTIONS[1])["people"].tolist()
    assert found == [3, 4, 5]


@pytest.mark.parametrize("change", ["car = 'z'", "category = 'z'", "category = NULL", "car = NULL"])
def test_the_snapshot_tells_of_subjects_and_texts(change: str, tmp_path: Path) -> None:
    said = sqlite_plain(ROWS[:30], tmp_path) | WORDS
    at = next(n for n, row in enumerate(ROWS) if row.car and row.category and row.x is not None and row.x > -10)
    for protection in PROTECTIONS[:2]:
        with opened(said, PLANE, protection=protection) as silo, closing(sqlite3.connect(said["path"])) as writer:
            before = silo.snapshot()
            writer.execute(f"UPDATE places SET {change} WHERE n = {at}")
            writer.commit()
            assert silo.snapshot() != before
            row = ROWS[at]
            writer.execute("UPDATE places SET car = ?, category = ? WHERE n = ?", (row.car, row.category, at))
            writer.commit()
            assert silo.snapshot() == before


def test_where_the_first_bins_count_the_snapshot_tells_of_the_order(tmp_path: Path) -> None:
    here, there = Row(1.0, 1.0, None, NOON, "one"), Row(11.0, 1.0, None, NOON, "one")
    protection = PROTECTIONS[1]
    told = set()
    for rows in ((here, there), (there, here)):
        with opened(sqlite_plain(rows, tmp_path) | WORDS, PLANE, protection=protection) as silo:
            told.add(silo.snapshot())
    assert len(told) == 2


def test_a_category_that_the_silo_has_not_is_refused(tmp_path: Path) -> None:
    with opened(sqlite_plain(ROWS, tmp_path), PLANE) as silo:
        for by in (Categories("category", ("taxi",)), Categories("n", (1.0,))):
            with pytest.raises(InvalidInput, match="there is no"):
                silo.totals(RangeQuery("count", RANGE, ONE, by=by))


def test_settings_of_subjects_are_names_of_columns(tmp_path: Path) -> None:
    said = sqlite_plain(ROWS, tmp_path)
    with pytest.raises(InvalidInput, match="no column 'bike'"):
        open_silo(said | {"subject": "bike"}, PLANE)
    with pytest.raises(InvalidInput, match=r'texts of a silo must be a list of columns, such as \["category"\]'):
        open_silo(said | {"texts": "category"}, PLANE)
    with pytest.raises(InvalidInput, match="by the setting order"):
        open_silo(said | {"subject": "car"}, PLANE, protection=PROTECTIONS[1])
