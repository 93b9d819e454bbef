"""Parquet and CSV files, and SELECTs of DuckDB, as a silo's table.

Every value of a CSV file is read by itself: nothing is guessed from the file's beginning, and a place, a number or a
time that cannot be read is absent.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import math
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from fedgroup.errors import InvalidInput
from fedgroup.owner.times import NO_TIME
from fedgroup.silos.duck import DuckDatabase
from fedgroup.silos.select import Fragments, Place, Time
from fedgroup.silos.settings import Settings
from fedgroup.silos.sql_table import SqlTable

_INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")}
_NUMBERS = {*_INTEGERS, "INTEGER", "UINTEGER", "FLOAT", "DOUBLE"}
_LOCAL = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"}
_ZONED = "TIMESTAMP WITH TIME ZONE"
_SMALL = 1 << 20
"""Up to this size a file's snapshot is the digest of all of it: its time may stay the same when it changes quickly."""

_quoted, _literal = DuckDatabase.quoted, DuckDatabase.literal


def file_table(settings: Settings) -> SqlTable:
    """Return the table in a Parquet or CSV file, after a look at its columns."""
    path = settings.path
    assert path is not None  # noqa: S101  required for these kinds
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    if any(sign in str(path) for sign in "*?["):
        raise InvalidInput("the path of a silo must not contain *, ? or [, which DuckDB reads as a pattern")
    database = DuckDatabase()
    source = _parquet(path) if settings.kind == "parquet" else _csv(path, settings.delimiter)
    try:
        types = database.types(f"SELECT * FROM {source(0)}", {})  # noqa: S608  quoted
    except database.foreign:
        expected = "a Parquet file" if settings.kind == "parquet" else "a CSV file whose first row names every column"
        raise InvalidInput(f"{path} is damaged or is not {expected}") from None
    fragments = fragments_of(types, settings, source=source)
    return SqlTable(database, fragments, version=lambda: file_version(path))


def fragments_of(types: dict[str, str], settings: Settings, *, source: Callable[[int], str]) -> Fragments:
    """Return the pieces of SQL for columns of these types; in a CSV file all are texts."""
    texts = settings.kind == "csv"
    columns = {name: _column(name, types) for name in settings.columns}
    numeric = (settings.given("x"), settings.given("y"), *settings.attributes)
    numbers = {name: _number(name, columns[name], types[name], texts=texts) for name in numeric}
    x, y = numbers[settings.given("x")], numbers[settings.given("y")]
    time = None if settings.time is None else _time(settings.time, columns[settings.time], types[settings.time])
    attributes = {name: numbers[name] for name in settings.attributes}
    plain = [] if settings.order is None else [columns[settings.order]]
    first = [f"TRY_CAST({column} AS DOUBLE)" for column in plain] if texts else []
    subject = None if settings.subject is None else f"nullif({_text(columns[settings.subject])}, '')"
    words = {name: _text(columns[name]) for name in settings.texts}
    order = [*first, *plain, x, y, *([] if time is None else [time.value]), *attributes.values()]
    return Fragments(
        source,
        DuckDatabase.spell,
        Place(x, x),
        Place(y, y),
        time=time,
        attributes=attributes,
        subject=subject,
        texts=words,
        order=(*order, *([] if subject is None else [subject]), *words.values()),
    )


def file_version(path: Path) -> str:
    """Return which file this is and when it was written; of a small file, a digest of its contents.

    Of a large one the ends are looked at too: the end of a Parquet file tells of all of it.
    """
    with path.open("rb") as file:
        there = os.fstat(file.fileno())
        if there.st_size <= _SMALL:
            return hashlib.file_digest(file, "sha256").hexdigest()
        ends = hashlib.sha256(file.read(_SMALL // 2))
        file.seek(-_SMALL // 2, os.SEEK_END)
        ends.update(file.read())
        return repr((there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, ends.hexdigest()))


def _parquet(path: Path) -> Callable[[int], str]:
    return lambda _: f"read_parquet({_literal(str(path))}) AS t"


def _csv(path: Path, delimiter: str) -> Callable[[int], str]:
    """Return what writes the source of a CSV file, for the columns that its first row names at that moment."""

    def source(_: int) -> str:
        names = _header(path, delimiter)
        columns = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names)
        options = f"auto_detect = false, header = true, delim = {_literal(delimiter)}, quote = '\"', escape = '\"'"
        return f"read_csv({_literal(str(path))}, {options}, columns = {{{columns}}}) AS t"

    return source


def _header(path: Path, delimiter: str) -> list[str]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    reading = gzip.open if packed else open
    with reading(path, "rt", encoding="utf-8-sig", newline="") as lines:
        names = next(csv.reader(lines, delimiter=delimiter), [])
    if not names or len({name.lower() for name in names}) < len(names) or not all(names):
        raise csv.Error
    return names


def _column(name: str, types: dict[str, str]) -> str:
    if name not in types:
        # no list of the columns: the first row of a file without a header is a record
        raise InvalidInput(f"there is no column {name!r} in the silo's table")
    return f"t.{_quoted(name)}"


def _number(name: str, column: str, kind: str, *, texts: bool) -> str:
    if texts:
        return f"TRY_CAST({column} AS DOUBLE)"
    if kind not in _NUMBERS and kind != "BOOLEAN" and not kind.startswith("DECIMAL"):
        raise InvalidInput(f"the column {name!r} of the silo is of type {kind}; it must hold numbers")
    return f"CAST({column} AS DOUBLE)"


def _text(column: str) -> str:
    return f"CAST({column} AS VARCHAR)"


def _time(name: str, column: str, kind: str) -> Time:
    compared = lambda operator, placeholder: f"{column} {operator} {placeholder}"
    if kind in _LOCAL or kind == _ZONED:
        instant = column if kind == _ZONED else f"TRY_CAST({column} AS TIMESTAMP)"
        value = f"CASE WHEN isfinite({instant}) THEN epoch_us({instant}) ELSE {int(NO_TIME)} END"
        bound = _instant if kind == _ZONED else lambda seconds: _instant(seconds).replace(tzinfo=None)
        return Time(value, "microseconds", compared, bound)
    if kind in _NUMBERS or kind.startswith("DECIMAL"):
        return Time(f"CAST({column} AS DOUBLE)", "seconds", compared)
    if kind == "VARCHAR":
        return Time(column, "anything")
    raise InvalidInput(f"the column {name!r} of the silo is of type {kind}; it must hold times, seconds or ISO texts")


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(math.floor(seconds), UTC)
