"""Records read from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from fedgroup.data.facts import PublicFacts
from fedgroup.data.geoparquet import PointColumn
from fedgroup.data.ids import owner_ids
from fedgroup.data.rosters import read_owner_list
from fedgroup.data.snap import read_checkins
from fedgroup.data.tables import table_file
from fedgroup.errors import InvalidInput
from fedgroup.given import is_list, written
from fedgroup.owner.columns import Columns, choose_columns
from fedgroup.owner.records import Records, Texts


def read(
    path: str | os.PathLike[str],
    *,
    owner: str | None = None,
    x: str | None = None,
    y: str | None = None,
    time: str | None = None,
    subject: str | None = None,
    planar: bool = False,
    owners: Any = None,
    attributes: Sequence[str] | None = None,
) -> Records:
    """Return the records of a Parquet, GeoParquet, CSV or SNAP check-in file; columns are found by their usual names.

    Every other column of numbers or texts becomes an attribute, unless `attributes` names the ones to keep. A domain,
    a reading of x and y as degrees and a number of owners that a Parquet file's metadata states are taken over.
    Points of GeoParquet are read by their CRS, degrees turned to WGS84. `owners` is the public list of owners: their
    ids, or a file that lists them.
    """
    file = table_file(path)
    table = read_checkins(file) if file.kind == "text" else None
    schema = file.schema() if table is None else table.schema
    points = PointColumn.of(schema) if x is None and y is None else None
    geometry = None if points is None else points.name
    columns = choose_columns(
        schema.names, owner=owner, x=x, y=y, time=time, subject=subject, planar=planar, points=geometry
    )
    kept = _attribute_names(schema, columns, attributes)
    if table is None:
        table = file.read([*columns.taken, *kept])
    if points is not None:
        table, columns = _with_places(table, columns, points, planar=planar)
    facts = file.facts() if file.kind == "parquet" else PublicFacts()
    return _records(table, columns, kept=kept, facts=facts, planar=planar, owners=owners, strict=attributes is not None)


def read_own(path: str | os.PathLike[str]) -> Records:
    """Return the records of a file that is all one owner's; a column that says whose they are is not looked at."""
    file = table_file(path)
    table = read_checkins(file) if file.kind == "text" else None
    schema = file.schema() if table is None else table.schema
    points = PointColumn.of(schema)
    columns = choose_columns(schema.names, alone=True, points=None if points is None else points.name)
    kept = _attribute_names(schema, columns, None)
    if table is None:
        table = file.read([*(columns.taken - {columns.owner}), *kept])
    if points is not None:
        table, columns = _with_places(table, columns, points, planar=False)
    facts = file.facts() if file.kind == "parquet" else PublicFacts()
    ids = np.zeros(table.num_rows, dtype=np.int64)
    return _table(table, columns, ids, [0], kept=kept, facts=facts, planar=False, strict=False)


def _with_places(table: pa.Table, columns: Columns, points: PointColumn, *, planar: bool) -> tuple[pa.Table, Columns]:
    """Return a table of GeoParquet with columns of numbers for its points."""
    table, x, y, lonlat = points.unpacked(table, planar=planar)
    return table, replace(columns, x=x, y=y, lonlat=lonlat, crs=None if lonlat else points.system)


def _records(
    table: pa.Table,
    columns: Columns,
    *,
    kept: Sequence[str],
    facts: PublicFacts,
    planar: bool,
    owners: Any,
    strict: bool,
) -> Records:
    assert columns.owner is not None  # noqa: S101  chosen, unless the table is one owner's own
    ids = owner_ids(table[columns.owner], name=columns.owner)
    if isinstance(owners, str | os.PathLike):
        owners = read_owner_list(owners, like=ids)
    elif owners is None and facts.owners is not None:
        owners = np.arange(facts.owners)
    return _table(table, columns, ids, owners, kept=kept, facts=facts, planar=planar, strict=strict)


def _table(
    table: pa.Table,
    columns: Columns,
    ids: Any,
    owners: Any,
    *,
    kept: Sequence[str],
    facts: PublicFacts,
    planar: bool,
    strict: bool,
) -> Records:
    texts = [name for name in kept if _is_text(table[name].type)]
    usable = [name for name in kept if name not in texts and (strict or _is_numeric(table[name].type))]
    return Records(
        owner=ids,
        x=_places(table[columns.x], columns.x),
        y=_places(table[columns.y], columns.y),
        attributes={name: _numbers(table[name], name) for name in usable},
        time=None if columns.time is None else _times(table[columns.time], columns.time),
        owners=owners,
        lonlat=not planar and (columns.lonlat if facts.lonlat is None else facts.lonlat),
        domain=facts.domain,
        crs=columns.crs,
        subject=None if columns.subject is None else owner_ids(table[columns.subject], name=columns.subject),
        texts={name: _texts(table[name]) for name in texts},
    )


def _attribute_names(schema: pa.Schema, columns: Columns, asked: Sequence[str] | None) -> list[str]:
    if asked is None:
        others = [field for field in schema if field.name not in columns.taken]
        return [field.name for field in others if _is_kept(field.type)]
    if not is_list(asked):
        raise InvalidInput(f"attributes is a list of the names of columns, got {written(asked)}")
    for name in asked:
        if name in columns.taken:
            raise InvalidInput(f"column {name!r} is taken for the owner, the place or the time already")
        if name not in schema.names:
            raise InvalidInput(f"there is no column {name!r}; the columns are: {', '.join(schema.names)}")
    return list(dict.fromkeys(asked))


def _places(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.float64]:
    if column.null_count:
        raise InvalidInput(f"column {name} has missing values; drop those records")
    return _numbers(column, name)


def _numbers(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.float64]:
    if not (_is_numeric(column.type) or pt.is_null(column.type)):
        raise InvalidInput(f"column {name} has values that are not numbers")
    return _array(_cast(column, pa.float64()))


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == kind else column.cast(kind, safe=False)


def _array(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """The numbers of a column; where none is missing pyarrow does not load pandas, which takes 80 MB, for them."""
    return np.asarray(column.to_numpy() if column.null_count else np.from_dlpack(column.combine_chunks()))


def _times(column: pa.ChunkedArray, name: str) -> npt.NDArray[Any]:
    """The times of a column, as numpy's datetimes, as seconds or as texts."""
    if _is_numeric(column.type) or pt.is_null(column.type):
        whole = pt.is_integer(column.type) and not column.null_count
        return _array(column) if whole else _numbers(column, name)
    if pt.is_string(column.type) or pt.is_large_string(column.type):
        column = _parsed(column)
    if pt.is_timestamp(column.type) or pt.is_date(column.type):
        micros = _cast(column, pa.timestamp("us"))
        return np.asarray(micros.to_numpy()) if micros.null_count else _array(micros.cast(pa.int64())).view("M8[us]")
    return np.array(column.to_pylist(), dtype=object)


def _texts(column: pa.ChunkedArray) -> Texts:
    """The texts of a column, each written once."""
    encoded = (
        column.combine_chunks().dictionary_encode() if not pt.is_dictionary(column.type) else column.combine_chunks()
    )
    codes = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)).astype(np.int32)
    return Texts(codes, tuple(encoded.dictionary.to_pylist()))


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pt.is_string(kind) or pt.is_large_string(kind) or (pt.is_dictionary(kind) and _is_text(kind.value_type))
    )


def _is_kept(kind: pa.DataType) -> bool:
    return bool(_is_numeric(kind) or pt.is_null(kind) or _is_text(kind))


def _parsed(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    for zone in ("UTC", None):
        try:
            return texts.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
    return texts


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_decimal(kind))
