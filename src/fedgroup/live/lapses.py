"""Owners that said they were ready and then nothing: their group paid for a round without a result.

Such an owner is left out of masked rosters and asked alone, so that nobody pays twice for it again, until it has
answered as often as it owes: once, and twice as often each time it lapses anew without having left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MOST_OWED = 64


@dataclass
class _Lapse:
    """How many answers an owner was to give alone, how many are still owed, and since which of its arrivals."""

    asked_for: int
    owed: int
    arrival: int


class Lapses:
    """Who is left out of masked rosters now; `arrivals` tells how often each owner came."""

    def __init__(self, arrivals: Mapping[str, int]) -> None:
        self._arrivals = arrivals
        self._known: dict[str, _Lapse] = {}

    @property
    def left_out(self) -> frozenset[str]:
        return frozenset(name for name, lapse in self._known.items() if lapse.owed)

    def note_failed(self, owners: Iterable[str]) -> None:
        """Leave these owners out from now on; who is left out already owes no more than before."""
        for name in owners:
            known, arrival = self._known.get(name), self._arrivals.get(name, 0)
            if known is not None and known.owed:
                continue
            again = known is not None and known.arrival == arrival
            owed = min(2 * known.asked_for, MOST_OWED) if known is not None and again else 1
            self._known[name] = _Lapse(owed, owed, arrival)

    def note_alone(self, owners: Iterable[str]) -> None:
        """Count what owners answered alone."""
        for name in owners:
            known = self._known.get(name)
            if known is not None and known.owed:
                known.owed -= 1

    def note_together(self, owners: Iterable[str]) -> None:
        """Forget the lapses of owners that answered in their masked group."""
        for name in owners:
            if name in self._known and not self._known[name].owed:
                del self._known[name]
