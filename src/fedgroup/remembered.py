"""What was found out about a frozen value, kept with it: owners of one process share a question, and look at it once.

A value that never changes keeps what is true of it. What was found with other facts at hand is found anew; what ended
in an error is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Found = TypeVar("Found")


def remembered(value: Any, name: str, find: Callable[[], Found], *, given: Hashable = None) -> Found:
    """Return what `find` finds out about a value with `given` at hand; the last find of a name is kept."""
    kept: dict[str, tuple[Hashable, Found]] = vars(value).setdefault("_remembered", {})
    known = kept.get(name)
    if known is None or known[0] != given:
        known = kept[name] = given, find()
    return known[1]
