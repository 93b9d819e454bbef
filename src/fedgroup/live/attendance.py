"""Who belongs to a federation and who of them is here, at one moment: what all numbers of an answer are taken from."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from fedgroup.errors import TooFewHere


@dataclass(frozen=True)
class Attendance:
    """A snapshot: everybody who is known, and who of them is here.

    Guarantee: `owners` is what was heard and what is missing, added up, and who is absent is missing, whoever comes or
               goes while a question is under way: only who was here at the snapshot is asked.
    """

    known: frozenset[str]
    present: frozenset[str]

    @property
    def absent(self) -> frozenset[str]:
        """Who is known and not here."""
        return self.known - self.present

    def counts(self, heard: Collection[str]) -> dict[str, Any]:
        """Return the numbers of an answer in which these owners were heard."""
        return {
            "owners": len(self.known),
            "heard": len(heard),
            "missing": len(self.known) - len(heard),
            "absent": len(self.absent),
        }


@dataclass(frozen=True)
class Quorum:
    """The fewest owners that must be here for a question to be asked: a number, and a share of those known."""

    owners: int = 1
    share: float = 0.0

    def stricter(self, owners: int | None, share: float | None) -> Quorum:
        """Return this quorum, raised to what a user asks for; nobody can lower it."""
        return Quorum(max(self.owners, owners or 1), max(self.share, share or 0.0))

    def needed(self, attendance: Attendance) -> int:
        """Return how many owners must be here."""
        return max(self.owners, math.ceil(self.share * len(attendance.known) - 1e-9))

    def require(self, attendance: Attendance) -> None:
        """Raise `TooFewHere` unless enough owners are here; that nobody answers at all is told by who asks."""
        needed = self.needed(attendance)
        if len(attendance.present) < needed and needed > 1:
            raise TooFewHere(here=len(attendance.present), known=len(attendance.known), needed=needed)
