"""Owner ids of any type, as positions in one public, ascending list."""

from __future__ import annotations

from collections.abc import Iterable
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
    array = _as_array(values)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must be one column of ids")
    if array.dtype.kind in "US":
        return array.astype(object)
    if _some_missing(array):
        raise InvalidInput(f"{name} has missing ids; every record needs an owner")
    return _plain_numbers(array) if array.dtype.kind == "O" else array


def ascending(ids: OwnerIds) -> OwnerIds:
    """Return the different ids in ascending order; ids of several types are ordered by type, then by text."""
    return _factorised(ids)[0]


def positions(ids: OwnerIds, listed: OwnerIds) -> Codes:
    """Return the position of each id in the ascending list `listed`, -1 for ids that are not in it."""
    if len(listed) and ids.dtype.kind == listed.dtype.kind and ids.dtype.kind in "iuf":
        nearest = np.minimum(np.searchsorted(listed, ids), len(listed) - 1)
        return np.where(listed[nearest] == ids, nearest, -1).astype(np.int32)
    place = {owner: at for at, owner in enumerate(listed.tolist())}
    return np.fromiter((place.get(owner, -1) for owner in ids.tolist()), dtype=np.int32, count=len(ids))


def _as_array(values: Any) -> OwnerIds:
    if hasattr(values, "__array__") or isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return np.asarray(values)
    # numpy would turn a list of numbers and texts into texts, cut NULs off texts, and round large whole numbers
    listed = list(values)
    kinds = {type(value) for value in listed}
    plain = len(kinds) == 1 and issubclass(kinds.pop(), float | bool)
    return np.asarray(listed) if plain else np.fromiter(listed, dtype=object, count=len(listed))


def _some_missing(array: OwnerIds) -> bool:
    if array.dtype.kind == "f":
        return not np.isfinite(array).all()
    if array.dtype.kind == "M":
        return bool(np.isnat(array).any())
    if array.dtype.kind != "O" or set(map(type, array)) <= {str, bytes, int}:
        return False
    return any(_is_missing(value) for value in array)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA compares to neither true nor false; so do arrays, which are no ids
        return True


def _positions(seen: OwnerIds, listed: OwnerIds) -> Codes:
    found = positions(seen, listed)
    if (found < 0).any():
        raise InvalidInput("some records belong to owners that are not in the public owner list; add them or drop them")
    return found


def _factorised(ids: OwnerIds) -> tuple[OwnerIds, Codes]:
    if ids.dtype.kind in "iu" and len(ids):
        low, high = int(ids.min()), int(ids.max())
        if high - low < 4 * len(ids) + 1024 and low > -(2**62) and high < 2**62:
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
        different = set(ids.tolist())
        one_type = len(set(map(type, different))) == 1
        order = sorted(different) if one_type else sorted(different, key=_type_and_text)
    except TypeError:
        raise InvalidInput(
            "owner ids must be hashable and, within one type, comparable, as texts or UUIDs are"
        ) from None
    rank = {owner: at for at, owner in enumerate(order)}
    codes = np.fromiter(map(rank.__getitem__, ids.tolist()), dtype=np.int32, count=len(ids))
    return np.fromiter(order, dtype=object, count=len(order)), codes


def _type_and_text(owner: Any) -> tuple[str, str]:
    return type(owner).__name__, str(owner)


def _plain_numbers(array: OwnerIds) -> OwnerIds:
    """Objects that are all whole numbers become an integer array, so that 1 from a frame and 1 from a file agree."""
    whole = all(issubclass(kind, int | np.integer) and kind is not bool for kind in set(map(type, array)))
    if len(array) and whole:
        try:
            return array.astype(np.int64)
        except OverflowError:
            return array
    return array
