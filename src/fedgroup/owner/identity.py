"""Owner ids of any type, as positions in one public, ascending list."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput

OwnerIds = npt.NDArray[Any]
Codes = npt.NDArray[np.int32]


def enrol(ids: Any, public: Any | None) -> tuple[OwnerIds, Codes]:
    """Return the ascending list of owners and, for each record, its owner's position in that list.

    With a `public` list every record must belong to one of its owners; without one, the owners that appear in the
    records are the list, and are public from then on.
    """
    given = as_ids(ids, name="owner")
    if public is None:
        return _factorised(given)
    listed = ascending(as_ids(public, name="the owner list"))
    seen, codes = _factorised(given)
    return listed, _positions(seen, listed)[codes]


def as_ids(values: Any, *, name: str) -> OwnerIds:
    """Return ids as a one-dimensional array of numbers or of objects that can be hashed; missing ids are refused."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must be one column of ids")
    if array.dtype.kind in "US":
        return array.astype(object)
    if array.dtype.kind == "f" and not np.isfinite(array).all() or array.dtype.kind == "M" and np.isnat(array).any():
        raise InvalidInput(f"{name} has missing ids; every record needs an owner")
    if array.dtype.kind == "O":
        if any(value is None or value != value for value in array):
            raise InvalidInput(f"{name} has missing ids; every record needs an owner")
        return _plain_numbers(array)
    return array


def ascending(ids: OwnerIds) -> OwnerIds:
    """Return the different ids in ascending order; ids of several types are ordered by type, then by text."""
    return _factorised(ids)[0]


def positions(ids: OwnerIds, listed: OwnerIds) -> Codes:
    """Return the position of each id in the ascending list `listed`, -1 for ids that are not in it."""
    seen, codes = _factorised(ids)
    place = {owner: at for at, owner in enumerate(listed.tolist())}
    found = np.array([place.get(owner, -1) for owner in seen.tolist()], dtype=np.int32)
    return found[codes] if len(seen) else np.zeros(0, dtype=np.int32)


def _positions(seen: OwnerIds, listed: OwnerIds) -> Codes:
    found = positions(seen, listed)
    if (found < 0).any():
        raise InvalidInput("some records belong to owners that are not in the public owner list; add them or drop them")
    return found


def _factorised(ids: OwnerIds) -> tuple[OwnerIds, Codes]:
    if ids.dtype.kind in "iu" and len(ids):
        low, high = int(ids.min()), int(ids.max())
        if high - low < 4 * len(ids) + 1024 and -(2**62) < low and high < 2**62:
            return _factorised_dense(ids.astype(np.int64), low, high)
    if ids.dtype.kind != "O":
        unique, inverse = np.unique(ids, return_inverse=True)
        return unique, inverse.astype(np.int32)
    return _factorised_objects(ids)


def _factorised_dense(ids: npt.NDArray[np.int64], low: int, high: int) -> tuple[OwnerIds, Codes]:
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[ids - low] = True
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(present) + low, rank[ids - low]


def _factorised_objects(ids: OwnerIds) -> tuple[OwnerIds, Codes]:
    try:
        first: dict[Any, int] = {}
        codes = np.fromiter((first.setdefault(owner, len(first)) for owner in ids), dtype=np.int32, count=len(ids))
        kinds = {type(owner) for owner in first}
        order = sorted(first) if len(kinds) == 1 else sorted(first, key=lambda owner: (type(owner).__name__, str(owner)))
    except TypeError:
        raise InvalidInput("owner ids must be hashable and, within one type, comparable (numbers, texts, UUIDs)") from None
    rank = np.empty(len(order), dtype=np.int32)
    rank[[first[owner] for owner in order]] = np.arange(len(order), dtype=np.int32)
    unique = np.empty(len(order), dtype=object)
    unique[:] = order
    return unique, rank[codes] if len(codes) else codes


def _plain_numbers(array: OwnerIds) -> OwnerIds:
    """Objects that are all whole numbers become an integer array, so that 1 from a frame and 1 from a file agree."""
    if len(array) and all(type(value) is int for value in array):
        try:
            return array.astype(np.int64)
        except OverflowError:
            return array
    return array
