"""Whose groups gave impossible sums: a liar is among them, and is found by elimination over later questions.

Nothing is asked to find it. After such a sum cohorts are drawn anew, so the liar is among others the next time. Who was
in impossible groups twice, with no good one between, is asked alone: honest ones answer and are back, a liar's own sums
are impossible, and it stays alone, where it harms nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

ALONE_AFTER = 2
"""So many impossible groups in a row, and an owner is asked alone."""


class Doubts:
    """How often in a row each owner was in a group with impossible sums."""

    def __init__(self) -> None:
        self._in_a_row: dict[str, int] = {}

    @property
    def doubted(self) -> Mapping[str, int]:
        """Owners whose last group gave impossible sums, with how many did in a row: for operators only."""
        return MappingProxyType(self._in_a_row)

    def note(self, *, impossible: Iterable[str], possible: Iterable[str]) -> set[str]:
        """Take in who was in which groups of a question; return who is to be asked alone."""
        for name in possible:
            self._in_a_row.pop(name, None)
        found = set(impossible)
        for name in found:
            self._in_a_row[name] = self._in_a_row.get(name, 0) + 1
        return {name for name in found if self._in_a_row[name] >= ALONE_AFTER}
