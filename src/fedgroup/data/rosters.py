"""Public lists of owners, and how large a group each of them accepts."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
import pyarrow.types as pt

from fedgroup.data.files import owner_ids
from fedgroup.data.tables import TableFile, table_file
from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import OwnerIds, as_ids, ascending


def read_owner_list(path: str | os.PathLike[str]) -> OwnerIds:
    """Return the ids in the first column of a Parquet or CSV file, or on the lines of a text file."""
    file = table_file(path)
    if file.kind == "text":
        ids = _ids_by_line(file)
    else:
        first = file.schema().names[0]
        ids = owner_ids(file.read([first])[first], name=first)
    if len(ids) == 0:
        raise InvalidInput(f"{file.path} lists no owners")
    return as_ids(ids, name="the owner list")


def read_owner_limits(path: str | os.PathLike[str]) -> tuple[OwnerIds, npt.NDArray[np.int64]]:
    """Return the ids and the largest group each accepts, from the columns owner and limit of a Parquet or CSV file."""
    file = table_file(path)
    if file.kind == "text" or not {"owner", "limit"} <= set(file.schema().names):
        raise InvalidInput(f"{file.path} must be Parquet or CSV with the columns owner and limit")
    table = file.read(["owner", "limit"])
    ids = as_ids(owner_ids(table["owner"], name="owner"), name="owner")
    if len(ascending(ids)) < len(ids):
        raise InvalidInput(f"{file.path} has an owner twice; give one limit per owner")
    limits = table["limit"]
    if not pt.is_integer(limits.type) or limits.null_count or (limits.to_numpy() < 1).any():
        raise InvalidInput("column limit must hold whole numbers of at least 1")
    return ids, limits.to_numpy().astype(np.int64)


def _ids_by_line(file: TableFile) -> OwnerIds:
    with file.faults_named(), file.stream() as stream:
        lines = [line.strip() for line in stream.read().decode("utf-8-sig").splitlines()]
    ids = [line for line in lines if line]
    try:
        return np.array(ids, dtype=np.int64) if all(_is_whole(line) for line in ids) else np.array(ids, dtype=object)
    except OverflowError:
        return np.array(ids, dtype=object)


def _is_whole(line: str) -> bool:
    return line.isascii() and line.removeprefix("-").isdigit()
