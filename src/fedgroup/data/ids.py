"""Owner ids as files hold them: columns and lines that become whole numbers, fractional numbers or text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import OwnerIds

_KINDS: dict[str, tuple[Any, ...]] = {
    "whole numbers": (int, np.integer),
    "text": (str,),
    "fractional numbers": (float, np.floating),
}


def owner_ids(column: pa.ChunkedArray, *, name: str) -> OwnerIds:
    """Return a column of ids; missing ids are refused."""
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    text = pt.is_string(kind) or pt.is_large_string(kind)
    if column.null_count or (text and pc.any(pc.equal(column.cast(kind), "")).as_py()):
        raise InvalidInput(f"column {name} has missing ids; every record needs an owner")
    if pt.is_integer(kind) or pt.is_floating(kind):
        return np.asarray(column.cast(kind).to_numpy())
    return _shared_objects(column)


def type_of(ids: OwnerIds) -> str:
    """Return of which type ids are, in words."""
    kinds = {type(owner) for owner in ids} if ids.dtype.kind == "O" else {ids.dtype.type}
    for name, kind in _KINDS.items():
        if all(issubclass(one, kind) and one is not bool for one in kinds):
            return name
    return ", ".join(sorted(one.__name__ for one in kinds))


def as_whole(ids: OwnerIds) -> OwnerIds:
    """Return texts as whole numbers if all of them are written so, else as they are."""
    if not all(_is_whole(text) for text in ids):
        return ids
    try:
        return np.array([int(text) for text in ids], dtype=np.int64)
    except OverflowError:
        return ids


def matched(ids: OwnerIds, like: OwnerIds) -> OwnerIds:
    """Return `ids` in the type of `like` where that is the same ids written otherwise, else as they are."""
    wanted, given = type_of(like), type_of(ids)
    if wanted == given or not len(like) or not len(ids):
        return ids
    if (given, wanted) == ("text", "whole numbers"):
        return as_whole(ids)
    if (given, wanted) == ("whole numbers", "text"):
        return np.fromiter((str(owner) for owner in ids.tolist()), dtype=object, count=len(ids))
    if (given, wanted) == ("fractional numbers", "whole numbers"):
        whole = ids.astype(np.int64)
        return whole if (whole == ids).all() else ids
    if (given, wanted) == ("whole numbers", "fractional numbers"):
        return ids.astype(np.float64)
    return ids


def _is_whole(text: Any) -> bool:
    return isinstance(text, str) and text.isascii() and text.removeprefix("-").isdigit()


def _shared_objects(column: pa.ChunkedArray) -> OwnerIds:
    """Ids as Python objects, one object for all records of an owner."""
    if len(column) == 0:
        return np.zeros(0, dtype=object)
    encoded = column if pt.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.combine_chunks()
    values = encoded.dictionary.to_pylist()
    objects: OwnerIds = np.fromiter(values, dtype=object, count=len(values))[encoded.indices.to_numpy()]
    return objects
