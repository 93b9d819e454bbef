"""A table of PostgreSQL with numeric columns or PostGIS points, found through its index.

A B-tree over (x, y) or a GiST index over the points serves the coarse cut: x and y are compared with bounds of their
own type, and points by `&&` with a box, or by `ST_DWithin` with a circle around it on a geography.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.owner.times import NO_TIME
from fedgroup.silos.faults import asked
from fedgroup.silos.postgres import PostgresDatabase
from fedgroup.silos.select import Bounds, Fragments, Parameters, Place, Time, select
from fedgroup.silos.settings import Settings
from fedgroup.silos.sql_table import Fetch, SqlTable, Told, stated_version
from fedgroup.silos.wanted import CoarseBox, Wanted
from fedgroup.space import PublicMap
from fedgroup.space.geodesy import EQUATOR_M, POLE_M

MOST_PACKED = 1 << 22
"""So many rows take 32 MB per column in the server."""

_DOUBLE = ("float8send", ">f8", np.float64)
_WHOLE = ("int8send", ">i8", np.int64)


def fetched_columns(database: PostgresDatabase, fragments: Fragments, wanted: Wanted) -> Iterator[Sequence[Any]]:
    """Yield the wanted rows as they are at one moment, column by column."""
    if _fits(fragments, wanted):
        count, *columns = database.row(*packed_select(fragments, wanted), binary=True)
        if count <= MOST_PACKED:
            if count:
                yield [
                    np.frombuffer(column, kind).astype(own)
                    for column, (_, kind, own) in zip(columns, _kinds(wanted), strict=True)
                ]
            return
    yield from database.columns(*select(fragments, wanted))


def packed_select(fragments: Fragments, wanted: Wanted) -> tuple[str, Parameters]:
    """Return the SELECT of how many rows there are and of each column's bytes, and its parameters."""
    text, parameters = select(fragments, wanted)
    packed = ", ".join(f"string_agg({send}(c{i}), ''::bytea)" for i, (send, _, _) in enumerate(_kinds(wanted)))
    some = f"SELECT * FROM ({text}) AS found LIMIT {MOST_PACKED + 1}"  # noqa: S608  quoted pieces
    return f"SELECT count(*), {packed} FROM ({some}) AS kept", parameters  # noqa: S608  quoted pieces


def _fits(fragments: Fragments, wanted: Wanted) -> bool:
    """Tell whether all wanted columns have eight bytes in every row; those in an order, and texts, are not packed."""
    time = fragments.time.clock if wanted.with_time and fragments.time is not None else "microseconds"
    return wanted.plain and time == "microseconds" and fragments.doubles >= {"", *wanted.attributes}


def _kinds(wanted: Wanted) -> list[tuple[str, str, Any]]:
    return [_DOUBLE, _DOUBLE, *([_WHOLE] if wanted.with_time else []), *(_DOUBLE for _ in wanted.attributes)]


_INTEGERS = {"int2", "int4", "int8"}
_FLOATS = {"float4", "float8"}
_NUMBERS = {*_INTEGERS, *_FLOATS, "numeric"}
_POINTS = re.compile(r"(?:.*\.)?(geometry|geography)\(Point(?:Z|M|ZM)?(?:,(\d+))?\)")
_WGS84 = 4326
_DEGREE_M = math.radians(EQUATOR_M * EQUATOR_M / POLE_M)
"""No degree of latitude, nor of longitude on the equator, is longer."""
_SLACK_M = 2.0
_LAST_INSTANT = "200000-01-01"
"""Later times do not fit into microseconds since 1970."""


@dataclass(frozen=True)
class _Points:
    """A column of points: whether it is a geography, and its reference system."""

    column: str
    geography: bool
    srid: int


def postgres_table(settings: Settings, public_map: PublicMap) -> SqlTable:
    """Return a table of PostgreSQL, after a look at its columns."""
    database = PostgresDatabase(settings.given("url"), timeout_s=settings.timeout_s)
    name = ".".join(database.quoted(part) for part in (settings.schema, settings.given("table")) if part)
    prepare = lambda: _prepared(database, name, settings, public_map)
    return asked(prepare, foreign=database.foreign, forget=database.close)


def fragments_of(
    types: dict[str, str], settings: Settings, *, source: Callable[[int], str], points: _Points | None = None
) -> Fragments:
    """Return the pieces of SQL for columns of these types."""
    x, y = _places(types, settings) if points is None else _coordinates(points)
    time = None if settings.time is None else _time(settings.time, types)
    attributes = {name: _value(name, types) for name in settings.attributes}
    plain = [] if settings.order is None else [_column(settings.order, types)]
    subject = None if settings.subject is None else f"nullif({_text(settings.subject, types)}, '')"
    texts = {name: _text(name, types) for name in settings.texts}
    order = [*plain, x.value, y.value, *([] if time is None else [time.value]), *attributes.values()]
    return Fragments(
        source,
        PostgresDatabase.spell,
        x,
        y,
        time=time,
        attributes=attributes,
        subject=subject,
        texts=texts,
        order=(*order, *([] if subject is None else [subject]), *texts.values()),
        near=None if points is None else _near(points),
        near_parameters=_ball if points is not None and points.geography else _sides,
        reaches=_on_geography if points is not None and points.geography else None,
        doubles=_doubled(types, settings),
    )


def fetching(database: PostgresDatabase) -> Fetch:
    """Return what brings the columns of rows."""
    return lambda fragments, wanted: fetched_columns(database, fragments, wanted)


def _prepared(database: PostgresDatabase, name: str, settings: Settings, public_map: PublicMap) -> SqlTable:
    (found,) = database.row("SELECT to_regclass(%(name)s)::oid", {"name": name.replace("%%", "%")})
    if found is None:
        raise InvalidInput(
            f"there is no table {settings.table!r} in the silo's database, or you may not see its schema"
        )
    types = database.types(f"SELECT * FROM {name} LIMIT 0", {})  # noqa: S608  quoted
    points = None if settings.geometry is None else _points(database, found, settings.geometry, public_map)
    fragments = fragments_of(types, settings, source=lambda _: f"{name} AS t", points=points)
    fetch = fetching(database)
    if settings.version is not None:
        return SqlTable(database, fragments, fetch=fetch, version=stated_version(database, settings.version))
    if not _keeps_row_versions(database, found):
        return SqlTable(database, fragments, fetch=fetch)
    version = _row_versions(database, name, found)
    return SqlTable(database, fragments, fetch=fetch, mark=database.mark, version=version)


def _row_versions(database: PostgresDatabase, name: str, oid: int) -> Told:
    """Return what tells the transactions that wrote the table's rows, in one pass over the table.

    A row never gets an older transaction, so the rows of one transaction only become fewer: where all counts are the
    same, so are all rows.
    """
    text = (
        "SELECT count(*), coalesce(sum(hashint8extended(t.xmin::text::bigint, 0)), 0),"  # noqa: S608  quoted
        f" (SELECT oid FROM pg_database WHERE datname = current_database()) FROM {name} AS t"
    )
    return lambda: repr((oid, *database.row(text, {})))


def _keeps_row_versions(database: PostgresDatabase, oid: int) -> bool:
    """Tell whether every row has a system column that says which transaction wrote it: views have none."""
    text = (
        "SELECT has_table_privilege(%(oid)s::oid, 'SELECT') AND bool_and(c.relkind IN ('r', 'm', 'p'))"
        " FROM (SELECT %(oid)s::oid AS oid UNION ALL SELECT relid FROM pg_partition_tree(%(oid)s::oid)) AS parts"
        " JOIN pg_class AS c ON c.oid = parts.oid"
    )
    return bool(database.row(text, {"oid": oid})[0])


def _column(name: str, types: dict[str, str]) -> str:
    if name not in types:
        raise InvalidInput(f"there is no column {name!r} in the silo's table; its columns are: {', '.join(types)}")
    return f"t.{PostgresDatabase.quoted(name)}"


def _number(name: str, types: dict[str, str]) -> str:
    column = _column(name, types)
    if types[name] not in _NUMBERS:
        raise InvalidInput(f"the column {name!r} of the silo is of type {types[name]}; it must hold numbers")
    return column


def _places(types: dict[str, str], settings: Settings) -> tuple[Place, Place]:
    x, y = settings.given("x"), settings.given("y")
    return _place(_number(x, types), types[x]), _place(_number(y, types), types[y])


def _place(column: str, kind: str) -> Place:
    bounds = _whole if kind in _INTEGERS else _decimals if kind == "numeric" else _doubles
    return Place(column if kind == "numeric" else f"{column}::float8", column, bounds)


def _doubles(low: float, high: float) -> Bounds:
    return low, high


def _decimals(low: float, high: float) -> Bounds:
    return Decimal(low), Decimal(high)


def _whole(low: float, high: float) -> Bounds:
    return math.ceil(low), math.floor(high)


def _value(name: str, types: dict[str, str]) -> str:
    """An absent value is NaN, unless it is numeric: such values may lie beyond all doubles, where a cast would fail."""
    if types.get(name) == "bool":
        return f"coalesce(t.{PostgresDatabase.quoted(name)}::int::float8, 'NaN')"
    column = _number(name, types)
    return column if types[name] == "numeric" else f"coalesce({column}::float8, 'NaN')"


def _text(name: str, types: dict[str, str]) -> str:
    return f"{_column(name, types)}::text"


def _doubled(types: dict[str, str], settings: Settings) -> frozenset[str]:
    places = {types.get(name) for name in (settings.x, settings.y) if name is not None}
    named = {name for name in settings.attributes if types[name] != "numeric"}
    return frozenset(named if "numeric" in places else {"", *named})


def _time(name: str, types: dict[str, str]) -> Time:
    column, kind = _column(name, types), types[name]
    compared = lambda operator, placeholder: f"{column} {operator} {placeholder}"
    if kind in ("timestamptz", "timestamp", "date"):
        usable = f"isfinite({column}) AND {column} < '{_LAST_INSTANT}'"
        micros = f"(extract(epoch FROM {column}) * 1000000)::bigint"
        value = f"CASE WHEN {usable} THEN {micros} ELSE {int(NO_TIME)} END"
        bound = _instant if kind == "timestamptz" else lambda seconds: _instant(seconds).replace(tzinfo=None)
        return Time(value, "microseconds", compared, bound)
    if kind in _NUMBERS:
        bounds = _place(column, kind).bounds
        return Time(column, "seconds", compared, lambda seconds: bounds(seconds, seconds)[1])
    if kind in ("text", "varchar", "bpchar"):
        return Time(column, "anything")
    raise InvalidInput(f"the column {name!r} of the silo is of type {kind}; it must hold times, seconds or ISO texts")


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(math.floor(seconds), UTC)


def _points(database: PostgresDatabase, oid: int, column: str, public_map: PublicMap) -> _Points:
    text = (
        "SELECT min(format_type(atttypid, atttypmod)) FROM pg_attribute"
        " WHERE attrelid = %(oid)s AND attname = %(column)s AND NOT attisdropped"
    )
    (kind,) = database.row(text, {"oid": oid, "column": column})
    found = _POINTS.fullmatch(kind or "")
    if found is None:
        raise InvalidInput(
            f"the column {column!r} of the silo must be of a type such as geometry(Point, 4326) or geography(Point)"
        )
    points = _Points(column, found[1] == "geography", int(found[2] or (_WGS84 if found[1] == "geography" else 0)))
    if public_map.lonlat and points.srid != _WGS84:
        raise InvalidInput(f"the public map is in degrees, so the column {column!r} of the silo must have SRID 4326")
    if points.geography and not public_map.lonlat:
        raise InvalidInput(f"the public map is a plane, so the column {column!r} of the silo must be a geometry")
    return points


def _coordinates(points: _Points) -> tuple[Place, Place]:
    column = f"t.{PostgresDatabase.quoted(points.column)}{'::geometry' if points.geography else ''}"
    x, y = f"ST_X({column})", f"ST_Y({column})"
    return Place(x, x), Place(y, y)


def _near(points: _Points) -> Callable[[int], str]:
    column, spell = f"t.{PostgresDatabase.quoted(points.column)}", PostgresDatabase.spell

    def near(number: int) -> str:
        if points.geography:
            centre = f"ST_MakePoint({spell(f'lon_{number}')}, {spell(f'lat_{number}')})::geography"
            return f"ST_DWithin({column}, {centre}, {spell(f'reach_{number}')})"
        sides = ", ".join(spell(f"{side}_{number}") for side in ("west", "south", "east", "north"))
        return f"{column} && ST_MakeEnvelope({sides}, {points.srid})"

    return near


def _on_geography(box: CoarseBox) -> bool:
    """PostGIS keeps a geography's longitudes between -180 and 180."""
    return box.east >= -180 and box.west <= 180


def _sides(_: Wanted, box: CoarseBox) -> Parameters:
    return box._asdict()


def _ball(_: Wanted, box: CoarseBox) -> Parameters:
    """Return a circle on the Earth that holds a box: no way that is straight in degrees is longer than its reach."""
    lon, lat = (box.west + box.east) / 2, (box.south + box.north) / 2
    nearest = 0.0 if box.south <= 0 <= box.north else min(abs(box.south), abs(box.north))
    across = (box.east - box.west) / 2 * math.cos(math.radians(nearest)) * _DEGREE_M
    up = (box.north - box.south) / 2 * _DEGREE_M
    return {"lon": min(max(lon, -180.0), 180.0), "lat": lat, "reach": math.hypot(across, up) * 1.001 + _SLACK_M}
