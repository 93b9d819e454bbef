"""Public lists of owners, and how large a group each of them accepts."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
import pyarrow.types as pt

from fedgroup.data.ids import as_whole, matched, owner_ids, type_of
from fedgroup.data.tables import TableFile, table_file
from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import OwnerIds, as_ids, ascending


def read_owner_list(path: str | os.PathLike[str], *, like: OwnerIds | None = None) -> OwnerIds:
    """Return the ids in the first column of a Parquet or CSV file, or on the lines of a text file.

    `like` are the ids of the data: the list's come in the same type, so that 007 in a list is the text 007 of the data.
    """
    file = table_file(path)
    text = like is not None and len(like) > 0 and type_of(like) == "text"
    ids = _ids_by_line(file, text=text) if file.kind == "text" else _ids_by_column(file, text=text)
    if len(ids) == 0:
        raise InvalidInput(f"{file.path} lists no owners")
    found = as_ids(ids, name="the owner list")
    return found if like is None else _alike(matched(found, like), like, file)


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


def _alike(ids: OwnerIds, like: OwnerIds, file: TableFile) -> OwnerIds:
    """Refuse a list none of whose ids can be an id of the data."""
    if len(like) and type_of(ids) != type_of(like):
        raise InvalidInput(
            f"{file.path} lists owner ids that are {type_of(ids)}, but the data's are {type_of(like)}; "
            "write the list as the data's owner column is written"
        )
    return ids


def _ids_by_column(file: TableFile, *, text: bool) -> OwnerIds:
    first = file.schema().names[0]
    return owner_ids(file.read([first], as_text=[first] if text else [])[first], name=first)


def _ids_by_line(file: TableFile, *, text: bool) -> OwnerIds:
    with file.faults_named(), file.stream() as stream:
        lines = [line.strip() for line in stream.read().decode("utf-8-sig").splitlines()]
    ids = np.array([line for line in lines if line], dtype=object)
    return ids if text else as_whole(ids)
