"""Maps in PostGIS: sums over whole places are the map's own, and a table is a whole map at every moment."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import h3
import numpy as np
import psycopg
import pytest
import shapely

import fedgroup as fg
from fedgroup.errors import InvalidInput, ServiceUnavailable
from fedgroup.lab.bench.postgres_server import PostgresServer
from fedgroup.maps.private_map import PrivateMap
from fedgroup.outlets import postgis
from fedgroup.outlets.postgis import COLUMNS, REGISTER, USUAL_TABLE, require_postgis, write_postgis

Database = psycopg.Connection[Any]
BOX, PLANE = fg.Box(4.8, 52.3, 5.0, 52.4), fg.Box(0, 0, 1_000, 1_000)
DAY = {"every": "6h", "since": 0, "until": 86_400}
HALVES = {
    "the 'west'": fg.Polygon([(4.8, 52.3), (4.9, 52.3), (4.9, 52.4), (4.8, 52.4)]),
    'east, "holed"': fg.Polygon(
        [(4.9, 52.3), (5.0, 52.3), (5.0, 52.4), (4.9, 52.4)], [[(4.91, 52.31), (4.92, 52.31), (4.92, 52.32)]]
    ),
}


def some(*, lonlat: bool = True, **said: Any) -> PrivateMap:
    rng, box, many = np.random.default_rng(1), BOX if lonlat else PLANE, np.arange(3_000)
    records = fg.Records(
        owner=many % 12,
        x=rng.uniform(box.west, box.east, 3_000),
        y=rng.uniform(box.south, box.north, 3_000),
        owners=range(12),
        attributes={"fare": many * 0.5 % 10},
        time=many * 28,
        texts={"kind": ["taxi" if at % 3 else "bus" for at in range(3_000)]},
        lonlat=lonlat,
    )
    return fg.Federation(records, box).map(**{"epsilon": 1, "method": "mpc", **said})


def rows(database: Database, columns: str, table: str = USUAL_TABLE) -> list[tuple[Any, ...]]:
    return database.execute(f"SELECT {columns} FROM {table} ORDER BY bin").fetchall()


def test_sums_of_places_within_an_area_are_those_of_the_map(server: PostgresServer, database: Database) -> None:
    made = some(grid=(16, 12))
    write_postgis(made, server.url)
    for west, south, east, north in ((0, 0, 16, 12), (3, 2, 9, 11), (5, 5, 6, 6), (15, 0, 16, 12)):
        area = (4.8 + west * 0.0125, 52.3 + south / 120, 4.8 + east * 0.0125, 52.3 + north / 120)
        grown = shapely.box(*area).buffer(1e-9, join_style="mitre").wkt
        asked = f"SELECT sum(value), count(*) FROM {USUAL_TABLE} WHERE ST_Within(geometry, ST_GeomFromText(%s, 4326))"
        told = made.values.reshape(12, 16)[south:north, west:east]
        assert database.execute(asked, (grown,)).fetchone() == (told.sum(), told.size)
        middle = asked.replace("ST_Within(geometry", "ST_Within(centroid")
        assert database.execute(middle, (shapely.box(*area).wkt,)).fetchone() == (told.sum(), told.size)


SAID: dict[str, dict[str, Any]] = {
    "grid": {"grid": (4, 3)},
    "hexagons": {"h3": 7},
    "districts": {"districts": HALVES, "kind": "people"},
    "steps": {"grid": (2, 2), **DAY, "by": {"kind": ["bus", "other"]}},
    "means": {"grid": (3, 3), "kind": "avg", "attribute": "fare", "clip": 20},
    "circle": {"range": fg.Circle(4.9, 52.35, 900), "by": {"fare": [0, 0.5, "other"]}},
}


@pytest.mark.parametrize("name", SAID)
def test_every_bin_is_a_row_with_its_value_shape_and_names(
    server: PostgresServer, database: Database, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(postgis, "_AT_ONCE", 5)
    made = some(**SAID[name])
    if name == "means":
        missing = np.where(np.arange(9) == 4, np.nan, made.values)
        made = replace(made, values=missing, low=missing, high=missing)
    write_postgis(made, server.url, "kept.a map")
    found = rows(database, "value, low, high, place, name, category", 'kept."a map"')
    columns = [[None if each != each else each for each in of.tolist()] for of in (made.values, made.low, made.high)]
    assert [row[:3] for row in found] == list(zip(*columns, strict=True))
    _, steps, categories = made.shape
    assert [row[3] for row in found] == [at // (steps * categories) for at in range(made.bins)]
    assert [row[4] for row in found] == [made.names()[row[3]] for row in found]
    assert [row[5] for row in found][: categories * steps] == [
        None if each is None else str(each) for _ in range(steps) for each in made.categories()
    ]
    shapes = rows(database, "ST_AsBinary(geometry), ST_SRID(geometry), ST_IsValid(geometry), geojson", 'kept."a map"')
    for (binary, srid, valid, text), own in zip(shapes, np.repeat(made.geometries(), steps * categories), strict=True):
        assert (srid, valid) == (4326, True)
        assert shapely.from_wkb(bytes(binary)).equals(own)
        assert shapely.geometry.shape(json.loads(text)).equals(own)


def test_times_centroids_and_h3_ids_fit(server: PostgresServer, database: Database) -> None:
    write_postgis(some(grid=(2, 2), **DAY), server.url)
    steps = rows(database, "extract(epoch FROM step_start)::int, extract(epoch FROM step_end)::int")
    assert steps[:4] == [(0, 21_600), (21_600, 43_200), (43_200, 64_800), (64_800, 86_400)]
    for name, lon, lat, x, y in rows(database, "h3, longitude, latitude, ST_X(centroid), ST_Y(centroid)"):
        assert (lon, lat) == (x, y)
        assert name == h3.latlng_to_cell(lat, lon, h3.get_resolution(name))
        assert 1 / 7 < h3.cell_area(name) / (6.80 * 5.56) < 7  # a quarter of the box, in square kilometres


def test_the_register_tells_what_was_promised(server: PostgresServer, database: Database) -> None:
    made = some(grid=(2, 2), **DAY)
    write_postgis(made, server.url)
    told = database.execute(
        f"SELECT table_name, epsilon, unit, promise, half_width_all, extract(epoch FROM window_end)::int,"
        f" about->'noise'->>'half_width_all' FROM {REGISTER}"
    ).fetchall()
    promise = told[0][3]
    assert told == [
        (USUAL_TABLE, 1.0, "one record, add-remove", promise, made.half_width_all, 86_400, str(made.half_width_all))
    ]
    assert promise.startswith("epsilon-differential privacy with epsilon 1 (one record, add-remove)")
    comment = database.execute("SELECT obj_description(%s::regclass)", (USUAL_TABLE,)).fetchone()
    assert comment == (f"a private map of fedgroup: {promise}",)


def test_a_reader_sees_the_old_map_until_the_new_one_is_whole(server: PostgresServer, database: Database) -> None:
    old, new = some(grid=(4, 4)), some(grid=(3, 3))
    write_postgis(old, server.url)
    database.execute(f"CREATE VIEW seen AS SELECT sum(value) AS total, count(*) AS bins FROM {USUAL_TABLE}")
    usual, seen = postgis._noted, []

    def noted(made: PrivateMap) -> tuple[Any, ...]:
        seen.append(database.execute("SELECT * FROM seen").fetchone())  # all rows of the new one are written
        return usual(made)

    postgis._noted = noted
    try:
        write_postgis(new, server.url)
    finally:
        postgis._noted = usual
    assert seen == [(old.values.sum(), 16)]
    assert database.execute("SELECT * FROM seen").fetchone() == (new.values.sum(), 9)


def test_a_map_that_breaks_off_leaves_the_old_one(
    server: PostgresServer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = some(grid=(4, 4))
    write_postgis(old, server.url)
    whole = postgis._Rows.__iter__

    def broken(self: Any) -> Any:
        yield from list(whole(self))[:5]
        yield ("no", "row")

    monkeypatch.setattr(postgis._Rows, "__iter__", broken)
    with pytest.raises(InvalidInput, match="what was there is as it was"):
        write_postgis(some(grid=(3, 3)), server.url)
    assert [row[0] for row in rows(database, "value")] == old.values.tolist()
    monkeypatch.setattr(postgis._Rows, "__iter__", lambda _self: iter([("no", "row")]))
    with pytest.raises(InvalidInput, match="22P0"):
        write_postgis(old, server.url, "another")
    assert database.execute("SELECT to_regclass('another')").fetchone() == (None,)


def test_what_is_not_ours_is_never_touched(server: PostgresServer, database: Database) -> None:
    database.execute("CREATE TABLE payroll (salary int); INSERT INTO payroll VALUES (7)")
    database.execute(f"CREATE TABLE twin ({', '.join(f'{each} text' for each in COLUMNS)})")
    made = some(grid=(2, 2))
    for table in ("payroll", "twin", "pg_catalog.pg_class"):
        with pytest.raises(InvalidInput, match="is no map of ours"):
            write_postgis(made, server.url, table)
    assert database.execute("SELECT salary FROM payroll").fetchall() == [(7,)]


NAMES = ['x"; DROP TABLE fedgroup_map; --', "Weiß und Grün", "a'b", "%s", "select", "{}"]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_table_is_a_name(server: PostgresServer, database: Database, name: str) -> None:
    made = some(grid=(2, 2))
    write_postgis(made, server.url)
    for _ in range(2):
        write_postgis(made, server.url, name)
    listed = database.execute(f"SELECT table_name FROM {REGISTER} ORDER BY 1").fetchall()
    assert sorted(each for (each,) in listed) == sorted([USUAL_TABLE, name])
    found = database.execute(psycopg.sql.SQL("SELECT count(*) FROM {}").format(psycopg.sql.Identifier(name)))
    assert found.fetchone() == (4,)


@pytest.mark.parametrize("name", ["", "x" * 64, "a\0b", "nowhere.table", REGISTER, "kept.fedgroup_maps", "a.b.c"])
def test_what_is_no_name_is_refused(server: PostgresServer, database: Database, name: str) -> None:
    with pytest.raises(InvalidInput):
        write_postgis(some(grid=(2, 2)), server.url, name)


def test_a_plane_is_written_with_the_system_that_is_told(server: PostgresServer, database: Database) -> None:
    made = some(lonlat=False, grid=(2, 2))
    write_postgis(made, server.url, "unknown")
    write_postgis(made, server.url, "dutch", srid=28992)
    told = [rows(database, "ST_SRID(geometry), h3, longitude", table)[0] for table in ("unknown", "dutch")]
    assert told == [(0, None, None), (28992, None, None)]
    with pytest.raises(InvalidInput, match="SRID 28992, and this one has 4326"):
        write_postgis(some(grid=(2, 2)), server.url, "dutch")
    with pytest.raises(InvalidInput, match="leave it out"):
        write_postgis(some(grid=(2, 2)), server.url, srid=28992)


def test_a_map_that_is_not_private_is_not_shown(server: PostgresServer, database: Database) -> None:
    made = replace(some(grid=(2, 2)), private=False, true_values=np.arange(4))
    with pytest.raises(InvalidInput, match="not private"):
        write_postgis(made, server.url)
    assert database.execute(f"SELECT to_regclass('{USUAL_TABLE}')").fetchone() == (None,)


def test_faults_are_told_without_addresses(server: PostgresServer, database: Database) -> None:
    made = some(grid=(2, 2))
    with pytest.raises(ServiceUnavailable) as gone:
        write_postgis(made, "postgresql://ann:secret@127.0.0.1:1/nowhere")
    assert "secret" not in str(gone.value)
    assert gone.value.__context__ is None
    for url in ("mysql://here", "postgresql://ann:secret@[::x/n"):
        with pytest.raises(InvalidInput) as wrong:
            require_postgis(url, lonlat=True)
        assert "secret" not in str(wrong.value)
    database.execute("DROP ROLE IF EXISTS guest")
    database.execute("CREATE ROLE guest LOGIN")
    database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    with pytest.raises(InvalidInput, match="InsufficientPrivilege 42501"):
        write_postgis(made, server.url.replace("postgres@", "guest@"))


def test_a_database_without_postgis_is_told(server: PostgresServer, database: Database) -> None:
    database.execute("DROP DATABASE IF EXISTS bare")
    database.execute("CREATE DATABASE bare TEMPLATE template0")
    with pytest.raises(InvalidInput, match="CREATE EXTENSION postgis"):
        require_postgis(server.url.replace("/postgres?", "/bare?"), lonlat=True)
