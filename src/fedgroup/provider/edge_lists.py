"""Compiled loops that lay edges out as neighbour lists; apart, so that graphs can be held without a compiler."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int64]
Neighbours = npt.NDArray[np.int32]


@numba.njit(cache=True)
def deal(by: Neighbours, other: Neighbours, free: Offsets) -> tuple[Neighbours, Neighbours]:
    dealt, followed = np.empty_like(by), np.empty_like(other)
    for k in range(len(by)):
        place = free[by[k]]
        free[by[k]] += 1
        dealt[place] = by[k]
        followed[place] = other[k]
    return dealt, followed


@numba.njit(cache=True)
def count(owners: Neighbours, times: Offsets) -> None:
    for owner in owners:
        times[owner] += 1


@numba.njit(cache=True)
def place(earlier: Neighbours, degrees: Offsets, later: Neighbours, own: Offsets, neighbours: Neighbours) -> None:
    """Write each owner's later neighbours from `own` on."""
    k = 0
    for row in range(len(earlier)):
        start, count = own[earlier[row]], degrees[row]
        neighbours[start : start + count] = later[k : k + count]
        k += count


@numba.njit(cache=True)
def mirror(first: int, last: int, offsets: Offsets, own: Offsets, neighbours: Neighbours) -> None:
    """Write the earlier neighbours of the owners first..last, ascending, where those have them among their later ones.

    `own[i]` moves past the neighbours of owner i that were mirrored, so that nothing is read twice.
    """
    free = offsets[first:last].copy()
    for i in range(last):
        k = own[i]
        while k < offsets[i + 1] and neighbours[k] < last:
            j = neighbours[k] - first
            neighbours[free[j]] = i
            free[j] += 1
            k += 1
        own[i] = k
