"""Whose groups gave impossible sums: a liar is among them, and is found by elimination over later questions.

Nothing is asked to find it. After such a sum cohorts are drawn anew, so the liar is among others the next time, and a
trusted group gets another leader. Who was in impossible groups twice, with no good one between, is asked alone: honest
ones answer and are back, a liar's own sums are impossible, and it stays alone, where it harms nobody else. One that
lies in groups only is back more and more rarely, as who lapses is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

ALONE_AFTER = 2
"""So many impossible groups in a row, and an owner is asked alone."""
_ROUNDS = 256
"""Of so many rounds that may be run again it is known what was noted of them."""


class Doubts:
    """How often in a row each owner was in a group with impossible sums."""

    def __init__(self) -> None:
        self._in_a_row: dict[str, int] = {}
        self._noted: dict[bytes, set[str]] = {}

    @property
    def doubted(self) -> Mapping[str, int]:
        """Owners whose last group gave impossible sums, with how many did in a row: for operators only."""
        return MappingProxyType(self._in_a_row)

    def new_in(self, round_id: bytes, owners: Collection[str]) -> set[str]:
        """Return who of these owners was not noted in a round that may be run again, and note them.

        In such a round an owner says the same as often as it is run: that is one thing to learn from.
        """
        known = self._noted.pop(round_id, set[str]())
        self._noted[round_id] = known | set(owners)
        while len(self._noted) > _ROUNDS:
            del self._noted[next(iter(self._noted))]
        return set(owners) - known

    def note(self, *, impossible: Iterable[str], possible: Iterable[str]) -> set[str]:
        """Take in who was in which groups of a question; return who is to be asked alone."""
        for name in possible:
            self._in_a_row.pop(name, None)
        found = set(impossible)
        for name in found:
            self._in_a_row[name] = self._in_a_row.get(name, 0) + 1
        return {name for name in found if self._in_a_row[name] >= ALONE_AFTER}
