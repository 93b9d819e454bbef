"""What a question is cut into besides places: steps of time, and the values of an attribute. Public, and disjoint."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, is_number, whole_number, written

MOST_BINS = 1_000_000
MOST_CATEGORIES = 10_000
OTHER = "other"

_MICRO = 1_000_000
_UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LENGTH = re.compile(r"(\d+)\s*(s|min|h|d|w)")

Value = str | float


@dataclass(frozen=True)
class Categories:
    """The values of an attribute, a bin each; with `other` one more for all other values, and for none at all."""

    attribute: str
    values: tuple[Value, ...]
    other: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str) or not self.attribute:
            raise InvalidQuery(f"categories are values of an attribute, got {written(self.attribute)}")
        if not is_list(self.values) or not all(isinstance(v, str) or is_number(v) for v in self.values):
            raise InvalidQuery(f"the categories of {self.attribute!r} are a list of texts or numbers")
        values = tuple(v if isinstance(v, str) else float(v) for v in self.values)
        if not 1 <= len(values) <= MOST_CATEGORIES:
            raise InvalidQuery(f"{self.attribute!r} needs 1 to {MOST_CATEGORIES:,} categories, got {len(values)}")
        if len(set(values)) < len(values):
            raise InvalidQuery(f"the categories of {self.attribute!r} must be different")
        if len({isinstance(v, str) for v in values}) > 1:
            raise InvalidQuery(f"the categories of {self.attribute!r} are all texts or all numbers")
        object.__setattr__(self, "values", values)

    @classmethod
    def said(cls, by: Any, *, other: bool = False) -> Categories:
        """Return the categories that were said as {"attribute": [values]}; a category "other" asks for the rest."""
        if not isinstance(by, dict) or len(by) != 1:
            raise InvalidQuery(f'categories are said as {{"attribute": ["one", "another"]}}, got {written(by)}')
        ((attribute, values),) = by.items()
        if is_list(values) and not isinstance(values, dict):
            listed = list(values)
            return cls(attribute, tuple(v for v in listed if v != OTHER), other or OTHER in listed)
        raise InvalidQuery(f"the categories of {written(attribute)} are a list of texts or numbers")

    def __len__(self) -> int:
        return len(self.values) + self.other

    @property
    def of_texts(self) -> bool:
        return isinstance(self.values[0], str)

    @property
    def names(self) -> list[Value]:
        return [*self.values, *([OTHER] if self.other else [])]


def as_length(every: Any) -> int:
    """Return the length of a step of time in microseconds, from a text such as 15min, 1h or 7d, or a timedelta."""
    if isinstance(every, timedelta):
        length = round(every.total_seconds() * _MICRO)
    elif isinstance(every, str):
        found = _LENGTH.fullmatch(every.strip())
        length = int(found[1]) * _UNITS[found[2]] * _MICRO if found else 0
    else:
        length = 0
    if length <= 0:
        raise InvalidQuery(f"every is a length of time such as 15min, 1h, 1d or 1w, got {written(every)}")
    return length


def steps_of(since: int | None, until: int | None, every: int | None) -> int:
    """Return how many steps a time window is cut into; the last may be shorter. Without `every` it is one."""
    if every is None:
        return 1
    whole_number(every, name="every", least=1, refusal=InvalidQuery)
    if since is None or until is None:
        raise InvalidQuery("steps of time need since and until: which hours there are must not depend on records")
    if every > max(until - since, 0):
        raise InvalidQuery("a step of time is at most as long as the window from since to until")
    return -(-(until - since) // every)
