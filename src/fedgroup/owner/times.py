"""Times as whole microseconds since 1970 in UTC; times without a zone are read as UTC."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput

Times = npt.NDArray[np.int64]
_ABSENT = {"", "None", "nan", "NaT", "<NA>"}
NO_TIME = np.iinfo(np.int64).min
"""A record without a time: it lies in no time window."""

_MOST_SECONDS = 253_402_300_800
"""The end of the year 9999; beyond it a number is surely not in seconds, and might leave 64 bits."""
_SECONDS = re.compile(r"-?\d+(\.\d*)?")
"""Digits alone are seconds, as text and as numbers alike: how one record is read must not depend on the others."""


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


def as_instant(value: str | float | datetime | date, *, name: str) -> int:
    """Return one time as microseconds."""
    text = str(value).strip()
    try:
        if _SECONDS.fullmatch(text) or (isinstance(value, Real) and not isinstance(value, bool)):
            return _microseconds(float(text))
        # a time that is missing, such as NaT, is a date to Python, but not one that can be read
        when = value if isinstance(value, date) and text not in _ABSENT else datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{name} must be an ISO time such as 2010-03-01T08:00 or seconds since 1970") from None
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _microseconds(seconds: float) -> int:
    if not (math.isfinite(seconds) and abs(seconds) <= _MOST_SECONDS):
        raise ValueError
    return round(seconds * 1_000_000)


def _require_seconds(seconds: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if len(seconds) and not (seconds.min() >= -_MOST_SECONDS and seconds.max() <= _MOST_SECONDS):
        raise InvalidInput(f"column {name} has numbers too large for seconds since 1970; are they milliseconds?")
    return seconds


def _instant_or_none(value: Any, name: str) -> int:
    if str(value) in _ABSENT:
        return int(NO_TIME)
    try:
        return as_instant(value, name=name)
    except InvalidInput:
        advice = "use ISO times or seconds since 1970"
        raise InvalidInput(f"column {name} has values that are not times; {advice}") from None
