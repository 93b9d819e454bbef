"""A map as a table of PostGIS, for QGIS, Grafana, Superset, Metabase and SQL.

Guarantee: a table is made of what was released and of public bins; a map that is not private is refused, and true
           values of an evaluation are never written. A table holds one whole map: it is replaced in one transaction, so
           that whoever reads sees the old one or the new one. A table that is no map of ours is never touched.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from fedgroup.errors import InvalidInput, ServiceUnavailable
from fedgroup.given import whole_number, written
from fedgroup.maps.about import about, promise, step_windows
from fedgroup.maps.frames import _json_values
from fedgroup.maps.layers import Layer, told_apart
from fedgroup.maps.tiles import areas_km2
from fedgroup.space.places import FINEST_HEXAGONS, Hexagons

if TYPE_CHECKING:
    from fedgroup.maps.private_map import Array, PrivateMap

USUAL_TABLE = "fedgroup_map"
REGISTER = "fedgroup_maps"
"""The table beside maps that has a row for each of them: epsilon, unit, window, promise, noise."""
WGS84_SRID = 4326
MOST_SRID = 998_999
MARK = "a private map of fedgroup"
"""What the comment of a table of ours begins with."""

_LONGEST_NAME = 63
_CONNECT_S = 10
_AT_ONCE = 4_096
"""So many places are made ready at once."""
_LARGEST_HEXAGON_KM2 = 4_357_449.4
"""What an H3 cell of resolution 0 measures on average; a finer one has a seventh of it."""

COLUMNS = {
    "bin": "bigint PRIMARY KEY",
    "place": "bigint NOT NULL",
    "name": "text",
    "value": "double precision",
    "low": "double precision",
    "high": "double precision",
    "told_apart": "boolean NOT NULL",
    "step_start": "timestamptz",
    "step_end": "timestamptz",
    "category": "text",
    "h3": "text",
    "longitude": "double precision",
    "latitude": "double precision",
    "geojson": "text NOT NULL",
    "geometry": "geometry(MultiPolygon, {srid}) NOT NULL",
    "centroid": "geometry(Point, {srid}) NOT NULL",
}
_TELLING = {
    "value": "noisy; NULL where there is no mean",
    "low": "the interval of this bin begins here",
    "high": "and ends here",
    "told_apart": "false where noise alone may explain the value, among all bins of the map",
    "h3": "the H3 cell of the centroid, about as large as the place",
}
_REGISTER = """
CREATE TABLE IF NOT EXISTS {register} (
    table_name text PRIMARY KEY, kind text NOT NULL, epsilon double precision NOT NULL, unit text NOT NULL,
    window_start timestamptz, window_end timestamptz, promise text NOT NULL, half_width_all double precision,
    confidence double precision NOT NULL, about jsonb NOT NULL, written_at timestamptz NOT NULL DEFAULT now())
"""
_NOTE = """
INSERT INTO {register} (table_name, kind, epsilon, unit, window_start, window_end, promise, half_width_all, confidence,
    about) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (table_name) DO UPDATE SET kind = excluded.kind, epsilon = excluded.epsilon, unit = excluded.unit,
    window_start = excluded.window_start, window_end = excluded.window_end, promise = excluded.promise,
    half_width_all = excluded.half_width_all, confidence = excluded.confidence, about = excluded.about,
    written_at = now()
"""
_FOUND = """
SELECT c.relkind::text, coalesce(obj_description(c.oid, 'pg_class'), ''), (
    SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), (
    SELECT substring(format_type(a.atttypid, a.atttypmod) FROM ',\\s*([0-9]+)') FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attname = 'geometry')
FROM pg_class c WHERE c.oid = to_regclass(%s)
"""


@dataclass(frozen=True)
class TableName:
    """A table, with or without its schema; any letters will do, for names are always quoted."""

    table: str
    schema: str | None = None

    def __post_init__(self) -> None:
        for part in self.parts:
            if not 1 <= len(part.encode()) <= _LONGEST_NAME or "\0" in part:
                raise InvalidInput(f"a table is named NAME or SCHEMA.NAME, each of 1 to 63 bytes, got {written(part)}")
        if self.table == REGISTER:
            raise InvalidInput(f"{REGISTER} is where maps are listed; name another table")

    @classmethod
    def said(cls, text: str) -> TableName:
        """Return the table that was named as NAME or SCHEMA.NAME."""
        schema, _, table = text.rpartition(".")
        return cls(table, schema or None)

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.table,) if self.schema is None else (self.schema, self.table)

    @property
    def shown(self) -> str:
        return ".".join(self.parts)

    def beside(self, table: str) -> tuple[str, ...]:
        """Return the name of another table in the same schema."""
        return (*self.parts[:-1], table)


def write_postgis(made: PrivateMap, url: str, table: str = USUAL_TABLE, *, srid: int | None = None) -> None:
    """Write a map into a table of a PostgreSQL database with PostGIS, in place of the map that it holds.

    A map in degrees has SRID 4326. For one on a plane `srid` says which plane it is; without it the SRID is 0, unknown.
    """
    name, chosen = TableName.said(table), srid_of(made, srid)
    if not made.private:
        raise InvalidInput("this map is not private, so it is not written where others read")
    rows = _Rows(made, chosen)
    with _connected(url) as connection, _our_errors(connection), connection.transaction():
        _replace(connection, name, rows, chosen)


def require_postgis(url: str, table: str = USUAL_TABLE, *, lonlat: bool, srid: int | None = None) -> None:
    """Refuse a database or a table that a map could not be written into, before anything is spent on it."""
    name = TableName.said(table)
    with _connected(url) as connection, _our_errors(connection):
        _require_table(connection, name, _srid(lonlat, srid))
    if lonlat:
        _h3()


def srid_of(made: PrivateMap, srid: int | None) -> int:
    """Return the coordinate system that a map's table has."""
    return _srid(made.public_map.lonlat, srid)


def _srid(lonlat: bool, srid: int | None) -> int:
    given = None if srid is None else whole_number(srid, name="srid", least=0, most=MOST_SRID)
    if lonlat and given not in (None, WGS84_SRID):
        raise InvalidInput(f"a map in degrees has SRID {WGS84_SRID}, got {given}; leave it out")
    return WGS84_SRID if lonlat else given or 0


# --- the database -----------------------------------------------------------------------------------------------------


def _require_table(connection: Any, name: TableName, srid: int) -> None:
    """Refuse a database without PostGIS, and a table of others, or of ours in another coordinate system."""
    (has_postgis,) = connection.execute("SELECT to_regtype('geometry') IS NOT NULL").fetchone()
    if not has_postgis:
        raise InvalidInput("this database has no PostGIS: run CREATE EXTENSION postgis in it, as whoever owns it")
    if name.schema is not None:
        found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (name.schema,)).fetchone()
        if found is None:
            raise InvalidInput(f"this database has no schema {written(name.schema)}; make it first")
    found = _table(connection, name)
    if found is None:
        return
    kind, comment, columns, its_srid = found
    if kind != "r" or not comment.startswith(MARK) or columns != list(COLUMNS):
        raise InvalidInput(f"{written(name.shown)} is there already, and is no map of ours; name another table")
    if int(its_srid or 0) != srid:
        raise InvalidInput(
            f"{written(name.shown)} holds a map with SRID {its_srid or 0}, and this one has {srid}; name another table"
        )


def _table(connection: Any, name: TableName) -> tuple[str, str, list[str], str | None] | None:
    found: tuple[str, str, list[str], str | None] | None = connection.execute(
        _FOUND, (_quoted(connection, name.parts),)
    ).fetchone()
    return found


def _replace(connection: Any, name: TableName, rows: _Rows, srid: int) -> None:
    """Put a map in the place of another; readers see the old one until all of it is there."""
    sql = import_module("psycopg.sql")
    table, register = sql.Identifier(*name.parts), sql.Identifier(*name.beside(REGISTER))
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('fedgroup maps', 0))")  # one writer at a time
    _require_table(connection, name, srid)
    if _table(connection, name) is None:
        columns = sql.SQL(", ").join(
            sql.SQL("{} " + kind.format(srid=srid)).format(sql.Identifier(column)) for column, kind in COLUMNS.items()
        )
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, columns))
        for column in ("geometry", "centroid"):
            connection.execute(sql.SQL("CREATE INDEX ON {} USING gist ({})").format(table, sql.Identifier(column)))
        for column, text in _TELLING.items():
            comment = sql.SQL("COMMENT ON COLUMN {}.{} IS {}")
            connection.execute(comment.format(table, sql.Identifier(column), sql.Literal(text)))
    connection.execute(sql.SQL("DELETE FROM {}").format(table))
    named = sql.SQL(", ").join(sql.Identifier(column) for column in COLUMNS)
    with connection.cursor().copy(sql.SQL("COPY {} ({}) FROM STDIN").format(table, named)) as copy:
        for row in rows:
            copy.write_row(row)
    comment = f"{MARK}: {promise(rows.made)}"
    connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(table, sql.Literal(comment)))
    connection.execute(sql.SQL(_REGISTER).format(register=register))
    connection.execute(sql.SQL(_NOTE).format(register=register), (name.table, *_noted(rows.made)))


def _noted(made: PrivateMap) -> tuple[Any, ...]:
    told, windows = about(made), step_windows(made)
    window = windows[0][0], windows[-1][1]
    return (
        *(told[each] for each in ("kind", "epsilon", "unit")),
        *window,
        *(told["promise"], made.half_width_all, made.confidence),
        json.dumps(told, allow_nan=False),
    )


def _connected(url: str) -> Any:
    psycopg = _driver()
    if not isinstance(url, str) or not url.startswith(("postgresql://", "postgres://")):
        raise InvalidInput("a database is named as postgresql://USER@HOST/NAME")
    try:
        return psycopg.connect(url, connect_timeout=_CONNECT_S, application_name="fedgroup", autocommit=True)
    except (psycopg.Error, OSError, ValueError) as error:
        fault = error
    if isinstance(fault, psycopg.ProgrammingError | ValueError):
        raise InvalidInput("this is no address of a PostgreSQL database; see postgresql://USER@HOST/NAME")
    raise ServiceUnavailable(f"the database cannot be reached ({_named(fault)}); nothing was written")


class _our_errors:  # noqa: N801  it reads as the verb that it is
    """Turns what the driver raises into our own errors, told by class and code: its texts quote rows and addresses."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        psycopg = _driver()
        if not isinstance(error, psycopg.Error):
            return
        text = f"the map could not be written into the database ({_named(error)}); what was there is as it was"
        if isinstance(error, psycopg.OperationalError) and not isinstance(error, psycopg.errors.InsufficientPrivilege):
            raise ServiceUnavailable(text) from None
        raise InvalidInput(text) from None


def _named(error: BaseException) -> str:
    code = getattr(error, "sqlstate", None)
    return f"{type(error).__name__} {code}" if isinstance(code, str) else type(error).__name__


def _quoted(connection: Any, parts: tuple[str, ...]) -> str:
    text: str = import_module("psycopg.sql").Identifier(*parts).as_string(connection)
    return text


def _driver() -> Any:
    try:
        return import_module("psycopg")
    except ImportError:
        raise InvalidInput("writing maps into PostGIS needs psycopg: pip install 'fedgroup[silos]'") from None


# --- the rows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a map's table, made one after the other."""

    made: PrivateMap
    srid: int

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        made = self.made
        _, steps, categories = made.shape
        windows, told = step_windows(made), told_apart(made).tolist()
        columns = [_json_values(np.asarray(each, dtype=float)) for each in (made.values, made.low, made.high)]
        named = [None if each is None else str(each) for each in made.categories()]
        times = [(start, end, category) for start, end in windows for category in named]
        for place, (name, *fixed) in enumerate(self._places()):
            for at, when in enumerate(times, start=place * steps * categories):
                yield (at, place, name, *(column[at] for column in columns), told[at], *when, *fixed)

    def _places(self) -> Iterator[tuple[Any, ...]]:
        """Yield what is the same for all bins of a place: name, H3 id, middle and shape, in the order of columns."""
        made, layer = self.made, Layer(self.made)
        names, lonlat = made.names(), made.public_map.lonlat
        areas = areas_km2(layer) if lonlat else None
        for first in range(0, len(names), _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, len(names)))
            shapes = np.array([layer.shape(place) for place in some], dtype=object)
            middles = shapely.centroid(shapes)
            xy = shapely.get_coordinates(middles).tolist()
            with_srid = [shapely.set_srid(each, self.srid) for each in (_multi(shapes), middles)]
            wkb = [shapely.to_wkb(each, hex=True, include_srid=True).tolist() for each in with_srid]
            for at, place in enumerate(some):
                hexagon = None if areas is None else self._hexagon(place, xy[at], areas[place])
                degrees = (None, None) if areas is None else xy[at]
                geojson = json.dumps(layer.geometry(place), allow_nan=False)
                yield (names[place], hexagon, *degrees, geojson, wkb[0][at], wkb[1][at])

    def _hexagon(self, place: int, middle: list[float], area: float) -> str:
        """Return the H3 cell of a place's middle, about as large as the place; a hexagon's own id."""
        if isinstance(self.made.places, Hexagons):
            return f"{self.made.places.ids[place]:x}"
        fitting = round(math.log(_LARGEST_HEXAGON_KM2 / area, 7))
        lon, lat = middle
        found: str = _h3().latlng_to_cell(lat, lon, min(max(fitting, 0), FINEST_HEXAGONS))
        return found


def _multi(shapes: Array) -> Array:
    found = np.empty(len(shapes), dtype=object)
    for at, shape in enumerate(shapes):
        found[at] = shape if shape.geom_type == "MultiPolygon" else shapely.MultiPolygon([shape])
    return found


def _h3() -> Any:
    try:
        return import_module("h3")
    except ImportError:
        raise InvalidInput(
            "tables of maps have H3 ids, which need the package h3: pip install 'fedgroup[maps]'"
        ) from None
