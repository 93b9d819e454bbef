"""What comes first, where a table comes in parts: of every unit its first records, and of every subject its first bins.

Each looks at one unit alone, and remembers of the parts before how many records it had, or which bins it was in.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]
Chosen = npt.NDArray[np.bool_]


class FirstRecords:
    """How many records every unit has had so far."""

    def __init__(self) -> None:
        self._had = np.zeros(0, dtype=np.int64)

    def __repr__(self) -> str:
        return "FirstRecords(<private>)"

    def of(self, unit: Labels, chosen: Chosen, *, units: int, most: int) -> Chosen:
        """Return which of the chosen records are among the first `most` chosen ones of their unit."""
        self._had = _grown(self._had, units)
        return chosen & (_ranks(unit, chosen, self._had) < most)


class FirstBins:
    """In which bins every subject has been so far, of at most `most` of them."""

    def __init__(self, bins: int, *, most: int | None) -> None:
        self._bins = bins
        self._most = most if most is not None and most < bins else None
        self._pairs = np.zeros(0, dtype=np.int64)
        self._had = np.zeros(0, dtype=np.int64)

    def __repr__(self) -> str:
        return "FirstBins(<private>)"

    def of(self, subject: Labels, at: Ints, *, subjects: int) -> Ints:
        """Return the rows, ascending, in which a subject counts in a bin in which it did not count before."""
        pairs, rows = np.unique(subject.astype(np.int64) * self._bins + at, return_index=True)
        rows = np.sort(rows[~self._known(pairs)])
        if self._most is not None:
            self._had = _grown(self._had, subjects)
            ranks = _ranks(subject[rows], np.ones(len(rows), dtype=np.bool_), self._had)
            rows = rows[ranks < self._most]  # a subject that had its bins has no others later
        new = np.sort(subject[rows].astype(np.int64) * self._bins + at[rows])
        self._pairs = np.insert(self._pairs, np.searchsorted(self._pairs, new), new) if len(self._pairs) else new
        return rows

    def _known(self, pairs: Ints) -> Chosen:
        if len(self._pairs) == 0:
            return np.zeros(len(pairs), dtype=np.bool_)
        nearest = np.minimum(np.searchsorted(self._pairs, pairs), len(self._pairs) - 1)
        return np.asarray(self._pairs[nearest] == pairs)


def _grown(had: Ints, units: int) -> Ints:
    """Return the numbers with room for so many units; room grows by doubling, for units come little by little."""
    if units <= len(had):
        return had
    grown = np.zeros(max(units, 2 * len(had)), dtype=np.int64)
    grown[: len(had)] = had
    return grown


@numba.njit(cache=True)
def _ranks(unit: Labels, chosen: Chosen, had: Ints) -> Ints:
    """Return for each record how many chosen ones its unit had before it, and add this part's to `had`."""
    rank = np.empty(len(unit), dtype=np.int64)
    for i in range(len(unit)):
        rank[i] = had[unit[i]]
        if chosen[i]:
            had[unit[i]] += 1
    return rank
