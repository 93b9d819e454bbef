"""Times as whole microseconds since 1970 in UTC; times without a zone are read as UTC."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from numbers import Real

from fedgroup.errors import InvalidInput

When = str | float | datetime | date

ABSENT = {"", "None", "nan", "NaT", "<NA>"}
"""How a time that is missing is written."""
MOST_SECONDS = 253_402_300_800
"""The end of the year 9999; beyond it a number is surely not in seconds, and might leave 64 bits."""
_SECONDS = re.compile(r"-?\d+(\.\d*)?")
"""Digits alone are seconds, as text and as numbers alike: how one record is read must not depend on the others."""


def as_instant(value: When, *, name: str) -> int:
    """Return one time as microseconds."""
    text = str(value).strip()
    try:
        if _SECONDS.fullmatch(text) or (isinstance(value, Real) and not isinstance(value, bool)):
            return _microseconds(float(text))
        # a time that is missing, such as NaT, is a date to Python, but not one that can be read
        when = value if isinstance(value, date) and text not in ABSENT else datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{name} must be an ISO time such as 2010-03-01T08:00 or seconds since 1970") from None
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _microseconds(seconds: float) -> int:
    if not (math.isfinite(seconds) and abs(seconds) <= MOST_SECONDS):
        raise ValueError
    return round(seconds * 1_000_000)
