"""A table of SQLite with numeric columns, found through an index over (x, y) or through an R*Tree.

An R*Tree is a table of its own; its owner keeps it by triggers. It is compared with the table once, when the silo is
opened. Its boxes are rounded outwards, except beyond the largest and below the smallest 32-bit numbers.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace

from fedgroup.errors import InvalidInput
from fedgroup.silos.faults import asked
from fedgroup.silos.select import Fragments, Parameters, Place, Time
from fedgroup.silos.settings import Settings
from fedgroup.silos.sql_table import SqlTable, stated_version
from fedgroup.silos.sqlite import SqliteDatabase
from fedgroup.silos.wanted import CoarseBox, Wanted

_TREE = re.compile(r"\bUSING\s+rtree\s*\(", flags=re.IGNORECASE)
_TEXT = re.compile("CHAR|CLOB|TEXT")
"""A column declared so, and not INT, turns every number into a text."""
_TOO_LARGE = 3e38
_TOO_SMALL = 1e-30
"""Where 32-bit numbers become infinite, and where they become 0."""

_quoted, _spell = SqliteDatabase.quoted, SqliteDatabase.spell


def sqlite_table(settings: Settings) -> SqlTable:
    """Return a table of an SQLite file, after a look at its columns."""
    path = settings.path
    assert path is not None  # noqa: S101  required for this kind
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    database = SqliteDatabase(path, timeout_s=settings.timeout_s)
    return asked(lambda: _prepared(database, settings), foreign=database.foreign, forget=database.close)


def fragments_of(declared: dict[str, str], settings: Settings, *, source: Callable[[int], str]) -> Fragments:
    """Return the pieces of SQL for columns declared so; a value may be of any type, whatever was declared."""
    columns = {name: _column(name, declared) for name in settings.columns}
    x, y = columns[settings.given("x")], columns[settings.given("y")]
    for name in (settings.given("x"), settings.given("y"), *settings.attributes):
        _require_numbers(name, declared)
    time = None if settings.time is None else _time(columns[settings.time])
    attributes = {name: _numeric(columns[name]) for name in settings.attributes}
    plain = [] if settings.order is None else [columns[settings.order]]
    subject = None if settings.subject is None else f"nullif({_text(columns[settings.subject])}, '')"
    texts = {name: _text(columns[name]) for name in settings.texts}
    order = [*plain, x, y, *([] if time is None else [time.value]), *attributes.values()]
    return Fragments(
        source,
        _spell,
        Place(x, x),
        Place(y, y),
        time=time,
        attributes=attributes,
        subject=subject,
        texts=texts,
        order=(*order, *([] if subject is None else [subject]), *texts.values()),
    )


def _prepared(database: SqliteDatabase, settings: Settings) -> SqlTable:
    table = settings.given("table")
    declared = dict(database.rows("SELECT name, type FROM pragma_table_xinfo(:name)", {"name": table}))
    if not declared:
        raise InvalidInput(f"there is no table {table!r} in the silo's file")
    fragments = fragments_of(declared, settings, source=lambda _: f"{_quoted(table)} AS t")
    if settings.rtree is not None:
        fragments = _through_tree(database, fragments, table, settings.rtree)
    if settings.version is not None:
        return SqlTable(database, fragments, version=stated_version(database, settings.version))
    return SqlTable(database, fragments, mark=database.mark)


def _through_tree(database: SqliteDatabase, fragments: Fragments, table: str, tree: str) -> Fragments:
    """Return the pieces that find rows through an R*Tree, after a comparison of the tree with the table."""
    (made,) = database.row("SELECT min(sql) FROM sqlite_master WHERE name = :name", {"name": tree})
    columns = [name for (name,) in database.rows("SELECT name FROM pragma_table_info(:name)", {"name": tree})]
    if not _TREE.search(made or "") or len(columns) < 5:
        raise InvalidInput(f"{tree!r} is no R*Tree of two dimensions: CREATE VIRTUAL TABLE ... USING rtree(...)")
    key, west, east, south, north = (f"i.{_quoted(name)}" for name in columns[:5])
    joined = f"{_quoted(tree)} AS i CROSS JOIN {_quoted(table)} AS t ON t.rowid = {key}"
    _require_rowid(database, table)
    outside = f"{_beside(fragments.x.value, west, east)} OR {_beside(fragments.y.value, south, north)}"
    _require_whole(database, fragments, lost=f"{key} IS NULL OR {outside}", table=table, tree=tree, key=key)

    def near(number: int) -> str:
        ends = ((west, "<=", "east"), (east, ">=", "west"), (south, "<=", "north"), (north, ">=", "south"))
        return " AND ".join(f"{column} {compare} {_spell(f'{side}_{number}')}" for column, compare, side in ends)

    return replace(fragments, source=lambda _: joined, near=near, near_parameters=_sides)


def _require_whole(
    database: SqliteDatabase, fragments: Fragments, *, lost: str, table: str, tree: str, key: str
) -> None:
    placed = " AND ".join(f"typeof({place.value}) IN ('integer', 'real')" for place in (fragments.x, fragments.y))
    text = (
        f"SELECT EXISTS (SELECT 1 FROM {_quoted(table)} AS t"  # noqa: S608  quoted
        f" LEFT JOIN {_quoted(tree)} AS i ON {key} = t.rowid WHERE {placed} AND ({lost}))"
    )
    if database.row(text)[0]:
        raise InvalidInput(f"the R*Tree {tree!r} lacks places of the table {table!r}; fill it, and keep it by triggers")


def _require_rowid(database: SqliteDatabase, table: str) -> None:
    try:
        database.row(f"SELECT t.rowid FROM {_quoted(table)} AS t LIMIT 0")  # noqa: S608  quoted
    except sqlite3.OperationalError:
        raise InvalidInput(f"the table {table!r} has no rowid, so an R*Tree cannot point to its rows") from None


def _beside(place: str, low: str, high: str) -> str:
    return f"abs({place}) < {_TOO_LARGE} AND ({place} < {low} - {_TOO_SMALL} OR {place} > {high} + {_TOO_SMALL})"


def _sides(_: Wanted, box: CoarseBox) -> Parameters:
    """Return the sides of a box, moved outwards to where the tree's 32-bit numbers end."""
    low = {"west": box.west - _TOO_SMALL, "south": box.south - _TOO_SMALL}
    high = {"east": box.east + _TOO_SMALL, "north": box.north + _TOO_SMALL}
    return {side: -math.inf if value < -_TOO_LARGE else value for side, value in low.items()} | {
        side: math.inf if value > _TOO_LARGE else value for side, value in high.items()
    }


def _column(name: str, declared: dict[str, str]) -> str:
    if name not in declared:
        raise InvalidInput(f"there is no column {name!r} in the silo's table; its columns are: {', '.join(declared)}")
    # with the table's name before it: SQLite reads a quoted name that is no column as a text
    return f"t.{_quoted(name)}"


def _require_numbers(name: str, declared: dict[str, str]) -> None:
    kind = declared[name].upper()
    if "INT" not in kind and _TEXT.search(kind):
        raise InvalidInput(f"the column {name!r} of the silo is declared {kind}, which makes texts; declare it REAL")


def _numeric(column: str) -> str:
    return f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN {column} END"


def _text(column: str) -> str:
    """Bytes are written as digits, for as texts they might be no text, or each other's."""
    return f"CASE WHEN typeof({column}) = 'blob' THEN hex({column}) ELSE CAST({column} AS TEXT) END"


def _time(column: str) -> Time:
    """Numbers are seconds and can be compared; the plus keeps them from becoming texts. Texts are read one by one."""

    def cut(operator: str, placeholder: str) -> str:
        return f"(typeof({column}) NOT IN ('integer', 'real') OR +{column} {operator} {placeholder})"

    return Time(column, "anything", cut)
