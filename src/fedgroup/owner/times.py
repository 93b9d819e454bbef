"""Times as whole microseconds since 1970 in UTC; times without a zone are read as UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput

Times = npt.NDArray[np.int64]
NO_TIME = np.iinfo(np.int64).min
"""A record without a time: it lies in no time window."""


def as_times(values: Any, *, name: str = "time") -> Times:
    """Return datetimes, ISO texts or seconds since 1970 as microseconds."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return array.astype("datetime64[us]").astype(np.int64)
    if array.dtype.kind in "iu":
        return array.astype(np.int64) * 1_000_000
    if array.dtype.kind == "f":
        known = np.isfinite(array)
        seconds = np.where(known, array, 0.0)
        return np.where(known, np.round(seconds * 1e6), 0).astype(np.int64) + np.where(known, 0, NO_TIME)
    return np.fromiter((_instant_or_none(value, name) for value in array), dtype=np.int64, count=len(array))


def as_instant(value: str | float | datetime | date, *, name: str) -> int:
    """Return one time as microseconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * 1_000_000)
    try:
        when = value if isinstance(value, date) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise InvalidInput(f"{name} must be an ISO time such as 2010-03-01T08:00 or seconds since 1970") from None
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _instant_or_none(value: Any, name: str) -> int:
    if value is None or value != value or value == "":
        return int(NO_TIME)
    try:
        return as_instant(value, name=name)
    except InvalidInput:
        raise InvalidInput(f"column {name} has values that are not times; use ISO times or seconds since 1970") from None
