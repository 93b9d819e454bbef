"""Indexes kept in a folder: columns that are mapped into memory when needed, not read."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import OwnerIds
from fedgroup.owner.index import MOST_CELLS, RecordIndex
from fedgroup.owner.records import Records, Texts
from fedgroup.space import Box, PublicMap

Array = npt.NDArray[Any]

HEADER = "index.json"
_FORMAT = "fedgroup index"
_VERSION = 2
_KINDS: dict[str, Any] = {
    "code": np.int32,
    "subject": np.int32,
    "text": np.int32,
    "time": np.int64,
    "offsets": np.int64,
}
"""The types of columns; all others hold numbers with fractions."""


def save_index(index: RecordIndex, path: str | os.PathLike[str]) -> None:
    """Write the index as a new folder, whole or not at all; only who writes it may open the folder."""
    with _new_folder(Path(path)) as draft:
        for name, column in _columns(index).items():
            np.save(draft / f"{name}.npy", column, allow_pickle=False)
        _save_owners(index.records.owners, draft)
        (draft / HEADER).write_text(json.dumps(_header(index), allow_nan=False), encoding="utf-8")


def load_index(path: str | os.PathLike[str]) -> RecordIndex:
    """Return the index saved at `path`; its columns stay in their files and are frozen."""
    folder = Path(path)
    header = _read_header(folder)
    try:
        return _loaded(folder, header)
    except (OSError, ValueError, TypeError, KeyError, EOFError, pa.ArrowException):
        # the readers' own texts quote contents, and public facts that are refused were damaged too
        raise InvalidInput(f"{folder} is damaged; make the index again") from None


def is_index(path: str | os.PathLike[str]) -> bool:
    """Tell whether `path` is a folder with the header of an index."""
    return (Path(path) / HEADER).is_file()


def _columns(index: RecordIndex) -> dict[str, Array]:
    table = index.records
    columns: dict[str, Array] = {"x": table.x, "y": table.y, "code": table.code, "offsets": index.offsets}
    if table.time is not None:
        columns["time"] = table.time
    if table.subject is not None:
        columns["subject"] = table.subject
    columns |= {f"text-{at}": column.codes for at, column in enumerate(table.texts.values())}
    return columns | {f"attribute-{at}": column for at, column in enumerate(table.attributes.values())}


def _header(index: RecordIndex) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "domain": index.public_map.domain.sides,
        "lonlat": index.public_map.lonlat,
        "records": len(index),
        "owners": len(index.records.owners),
        "listed": index.records.listed,
        "attributes": list(index.records.attributes),
        "time": index.records.time is not None,
        "subject": index.records.subject is not None,
        "texts": {name: list(column.values) for name, column in index.records.texts.items()},
        "columns": index.columns,
        "rows": index.rows,
        "most": index.most,
        "snapshot": index.records.snapshot,
        "crs": index.records.crs,
    }


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """Yield a draft folder beside `target` that takes its place once all is written."""
    if target.exists():
        raise InvalidInput(f"{target} exists already; remove it or give another name")
    draft = None
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".draft", dir=target.parent))
        yield draft
        os.rename(draft, target)
    except OSError:
        raise InvalidInput(f"{target} cannot be written; give a new name in a folder that is writable") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _save_owners(owners: OwnerIds, folder: Path) -> None:
    if owners.dtype.kind != "O":
        np.save(folder / "owners.npy", owners, allow_pickle=False)
        return
    try:
        if not set(map(type, owners)) <= {str}:
            raise TypeError
        column = pa.array(owners, pa.string())
    except (TypeError, UnicodeError, pa.ArrowException):
        raise InvalidInput("an index can hold owner ids that are numbers or text in Unicode; use such ids") from None
    pq.write_table(pa.table({"owner": column}), folder / "owners.parquet")


def _read_header(folder: Path) -> dict[str, Any]:
    try:
        header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise InvalidInput(f"{folder} is not an index; make one with save_index")
    if header.get("version") != _VERSION:
        raise InvalidInput(f"{folder} was written by another version of fedgroup; make the index again")
    return header


def _loaded(folder: Path, header: Mapping[str, Any]) -> RecordIndex:
    _require_types(header)
    records, columns, rows = header["records"], header["columns"], header["rows"]
    domain = Box(*header["domain"])
    column = {name: _mapped(folder, name, length=records) for name in ("x", "y", "code")}
    offsets = _mapped(folder, "offsets", length=columns * rows + 1)
    table = Records.of_columns(
        column["code"],
        _load_owners(folder, header["owners"]),
        x=column["x"],
        y=column["y"],
        attributes={
            name: _mapped(folder, f"attribute-{at}", length=records) for at, name in enumerate(header["attributes"])
        },
        time=_mapped(folder, "time", length=records) if header["time"] else None,
        lonlat=header["lonlat"],
        domain=domain,
        listed=header["listed"],
        crs=header.get("crs"),
        snapshot=header["snapshot"],
        subject=_mapped(folder, "subject", length=records) if header["subject"] else None,
        texts={
            name: Texts(_mapped(folder, f"text-{at}", length=records), tuple(values))
            for at, (name, values) in enumerate(header["texts"].items())
        },
    )
    _require_in_bounds(table, offsets)
    return RecordIndex(
        table, PublicMap(domain, header["lonlat"], header.get("crs")), columns, rows, offsets, header["most"]
    )


def _require_types(header: Mapping[str, Any]) -> None:
    whole = all(type(header[name]) is int for name in ("records", "owners", "columns", "rows"))
    flags = all(type(header[name]) is bool for name in ("lonlat", "listed", "time", "subject"))
    names = isinstance(header["attributes"], list) and all(isinstance(name, str) for name in header["attributes"])
    most = header["most"] is None or (type(header["most"]) is int and header["most"] >= 1)
    texts = isinstance(header["texts"], dict) and all(
        isinstance(values, list) and all(isinstance(each, str) for each in values)
        for values in header["texts"].values()
    )
    if not (whole and flags and names and texts and most and isinstance(header["snapshot"], str)):
        raise TypeError
    if not (header["columns"] >= 1 and header["rows"] >= 1 and header["columns"] * header["rows"] <= MOST_CELLS):
        raise ValueError


def _require_in_bounds(table: Records, offsets: Array) -> None:
    """Refuse offsets and codes that would lead a scan out of its arrays."""
    ordered = offsets[0] == 0 and offsets[-1] == len(table) and (np.diff(offsets) >= 0).all()
    known = len(table) == 0 or (table.code.min() >= 0 and table.code.max() < len(table.owners))
    known = known and (table.subject is None or len(table) == 0 or table.subject.min() >= 0)
    words = (column for column in table.texts.values() if len(table))
    if not (ordered and known and all(-1 <= w.codes.min() <= w.codes.max() < len(w.values) for w in words)):
        raise ValueError


def _mapped(folder: Path, name: str, *, length: int) -> Array:
    # as a plain array: kernels take no others
    column = np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False))
    if column.shape != (length,) or column.dtype != _KINDS.get(name.partition("-")[0], np.float64):
        raise ValueError
    return column


def _load_owners(folder: Path, count: int) -> OwnerIds:
    if (folder / "owners.npy").exists():
        owners: OwnerIds = np.load(folder / "owners.npy", allow_pickle=False)
    else:
        texts = pq.read_table(folder / "owners.parquet").column("owner").to_pylist()
        owners = np.fromiter(texts, dtype=object, count=len(texts))
    if owners.shape != (count,) or count < 1:
        raise ValueError
    return owners
