"""Every kind of silo answers, unit for unit, as `owner.counting` does on the same records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from silo_kinds import FILES, SERVED, Settings, fill_postgres, first_of_owner, opened, postgres_points, srid_of
from silo_worlds import EARTH, FIJI, NOON, PARIS, PLANE, Row, World, worlds

from fedgroup.epsilon import Epsilon
from fedgroup.owner import table_silo
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.silos import duck, sqlite
from fedgroup.silos import postgres_table as postgres_packed
from fedgroup.space import Circle

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis")

SOME = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
FEW = settings(SOME, max_examples=15)


def require_equal(said: Settings, world: World, most: int | None = None) -> None:
    with opened(said, world.public_map, protection=first_of_owner(most)) as silo:
        assert silo.totals(world.query) == world.totals(most)
        assert silo.vector(world.public_map.grid(4, 3)).tolist() == world.counts(most)


@pytest.mark.parametrize("kind", FILES)
@SOME
@given(world=worlds())
def test_files_answer_as_counting_does(kind: str, world: World, tmp_path: Path) -> None:
    require_equal(FILES[kind](world.rows, tmp_path), world)


@FEW
@given(world=worlds(), most=st.none() | st.integers(1, 12))
def test_large_files_answer_by_an_index_as_counting_does(
    world: World, most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_silo, "INDEXED", 1)
    require_equal({**FILES["csv"](world.rows, tmp_path), "order": "n"}, world, most)


@pytest.mark.parametrize("kind", SERVED)
@FEW
@given(world=worlds())
def test_servers_answer_as_counting_does(
    kind: str, world: World, server: Any, database: psycopg.Connection[Any]
) -> None:
    table = fill_postgres(database, world.rows, srid_of(world.public_map))
    require_equal(SERVED[kind](server.url, table), world)


@FEW
@given(world=worlds((PARIS, FIJI, EARTH), turned=False))
def test_geographies_answer_as_counting_does(world: World, server: Any, database: psycopg.Connection[Any]) -> None:
    table = fill_postgres(database, world.rows, 4326)
    require_equal(postgres_points("geog")(server.url, table), world)


@pytest.mark.parametrize("kind", FILES)
@FEW
@given(world=worlds(), most=st.integers(1, 12))
def test_files_count_the_first_records_only(kind: str, world: World, most: int, tmp_path: Path) -> None:
    require_equal({**FILES[kind](world.rows, tmp_path), "order": "n"}, world, most)


@pytest.mark.parametrize("kind", SERVED)
@FEW
@given(world=worlds(), most=st.integers(1, 12))
def test_servers_count_the_first_records_only(
    kind: str, world: World, most: int, server: Any, database: psycopg.Connection[Any]
) -> None:
    table = fill_postgres(database, world.rows, srid_of(world.public_map))
    require_equal({**SERVED[kind](server.url, table), "order": "n"}, world, most)


@FEW
@given(world=worlds())
def test_very_many_rows_are_not_packed(
    world: World, server: Any, database: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_packed, "MOST_PACKED", 2)
    table = fill_postgres(database, world.rows, srid_of(world.public_map))
    require_equal(SERVED["postgres"](server.url, table), world)


@pytest.mark.parametrize("kind", FILES)
def test_many_batches_are_one_table(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (duck, sqlite):
        monkeypatch.setattr(module, "ROWS", 7)
    rows = tuple(Row(float(i % 19), float(i % 11), i / 8, NOON + i) for i in range(300))
    measure = Measure("fare", 30.0, resolution=0.1)
    query = RangeQuery("avg", Circle(4, 4, 5), Epsilon.of(1), measure, NOON + 5, NOON + 250)
    require_equal(FILES[kind](rows, tmp_path), World(PLANE, rows, query))
    require_equal({**FILES[kind](rows, tmp_path), "order": "n"}, World(PLANE, rows, query), 130)
