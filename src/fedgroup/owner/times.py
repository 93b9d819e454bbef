"""Columns of times, each as whole microseconds since 1970 in UTC."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.questions.instants import ABSENT, MOST_SECONDS, as_instant

Times = npt.NDArray[np.int64]
NO_TIME = np.iinfo(np.int64).min
"""A record without a time: it lies in no time window."""


def as_times(values: Any, *, name: str = "time") -> Times:
    """Return datetimes, ISO texts or seconds since 1970 as microseconds."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidInput(f"column {name} must be one-dimensional")
    if array.dtype.kind == "M":
        return array.astype("datetime64[us]").astype(np.int64)
    if array.dtype.kind in "iu":
        return _require_seconds(array, name).astype(np.int64) * 1_000_000
    if array.dtype.kind == "f":
        known = ~np.isnan(array)
        seconds = _require_seconds(np.where(known, array, 0.0), name)
        return np.where(known, np.round(seconds * 1e6).astype(np.int64), NO_TIME)
    return np.fromiter((_instant_or_none(value, name) for value in array), dtype=np.int64, count=len(array))


def _require_seconds(seconds: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if len(seconds) and not (seconds.min() >= -MOST_SECONDS and seconds.max() <= MOST_SECONDS):
        raise InvalidInput(f"column {name} has numbers too large for seconds since 1970; are they milliseconds?")
    return seconds


def _instant_or_none(value: Any, name: str) -> int:
    if str(value) in ABSENT:
        return int(NO_TIME)
    try:
        return as_instant(value, name=name)
    except InvalidInput:
        advice = "use ISO times or seconds since 1970"
        raise InvalidInput(f"column {name} has values that are not times; {advice}") from None
