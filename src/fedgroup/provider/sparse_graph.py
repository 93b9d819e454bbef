"""Similar pairs among owners with few cells: only pairs that share a cell are looked at, by lists of owners per cell.

A pair's similarity is summed up in 64-bit floats from values divided by their vector's length, so it is right within
`_MARGIN`; nearer to the threshold than that, the pair is decided by the rule itself, from the undivided values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from fedgroup.provider.graph import EdgeBlock, Neighbours, Offsets

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

_BLOCK = 1 << 22
"""How many edges are passed on together, about: 16 MB."""

_MARGIN = 1e-9
"""A sum of k products of such quotients is off by less than (k + 5) / 2^53; a grid has at most a million cells."""

_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
"""A de Bruijn sequence: shifted by 0..63 places, its first six bits are all different, so they tell the shift."""

_PLACES = np.argsort([(0x03F79D71B4CB0A89 << bit) % 2**64 >> 58 for bit in range(64)])


class _Owners(NamedTuple):
    """Owner i has `value[k]` in `cell[k]` for k from `start[i]` to `start[i + 1]`; `unit` is value / length."""

    start: Offsets
    cell: Neighbours
    value: Floats
    unit: Floats
    squares: Floats


class _Cells(NamedTuple):
    """Cell c holds `unit[k]` of `owner[k]`, ascending, up to `stop[c]`; `later[c]` is the first owner yet to come."""

    later: Offsets
    stop: Offsets
    owner: Neighbours
    unit: Floats


def sparse_blocks(rows: sparse.csr_array, *, threshold: float, until: int | None = None) -> Iterator[EdgeBlock]:
    """Yield the pairs that share a cell and have cosine similarity above `threshold`, which is at least 0.

    With `until` these are the pairs of the owners before it, with each other and with all later ones.

    Requires:  `rows` holds 64-bit floats, none of them 0, and each row's cells ascend.
    """
    count = rows.shape[0]
    until = count if until is None else until
    owners, cells = _indexed(rows)
    similarity = np.zeros(count)
    marks = np.zeros(count // 64 + 1, dtype=np.uint64)
    later = np.empty(max(_BLOCK, count), dtype=np.int32)
    degrees = np.empty(until, dtype=np.int64)
    done = 0
    while done < until:
        stop, found = _find(done, threshold, owners, cells, similarity, marks, later, degrees)
        yield EdgeBlock(np.arange(done, stop, dtype=np.int32), degrees[done:stop].copy(), later[:found].copy())
        done = stop


def _indexed(rows: sparse.csr_array) -> tuple[_Owners, _Cells]:
    start, cell, value = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    squares = _squares(start, value)
    unit = value / np.sqrt(np.repeat(squares, np.diff(start)))
    lists = sparse.csr_array((unit, cell, start), shape=rows.shape).tocsc()
    borders = lists.indptr.astype(np.int64)
    cells = _Cells(borders[:-1].copy(), borders[1:], lists.indices.astype(np.int32), lists.data)
    return _Owners(start, cell, value, unit, squares), cells


@numba.njit(cache=True)
def _squares(start: Offsets, value: Floats) -> Floats:
    squares = np.zeros(len(start) - 1)
    for i in range(len(squares)):
        for k in range(start[i], start[i + 1]):
            squares[i] += value[k] * value[k]
    return squares


@numba.njit(cache=True)
def _find(
    first: int,
    threshold: float,
    owners: _Owners,
    cells: _Cells,
    similarity: Floats,
    marks: Bits,
    later: Neighbours,
    degrees: Offsets,
) -> tuple[int, int]:
    """Write the later neighbours of owners from `first` on while `later` has room; return the next owner, and how many.

    It ends where `degrees` does. `similarity` and `marks` have a place for every owner and are left as they came: zero.
    """
    count = len(similarity)
    found = 0
    for i in range(first, len(degrees)):
        if found + count - i > len(later):
            return i, found
        began = found
        mine = range(owners.start[i], owners.start[i + 1])
        for k in mine:
            cells.later[owners.cell[k]] += 1
        if len(mine) == 1:
            found = _take_from_one_cell(i, threshold, owners, cells, later, found)
        elif len(mine) > 1:
            _mark(i, threshold, owners, cells, similarity, marks)
            found = _take_marked(i, marks, later, found)
        degrees[i] = found - began
    return len(degrees), found


@numba.njit(cache=True)
def _take_from_one_cell(i: int, threshold: float, owners: _Owners, cells: _Cells, later: Neighbours, found: int) -> int:
    """Append the later owners similar to owner i, which has one cell; return how many there are by now."""
    k = owners.start[i]
    c, mine = owners.cell[k], owners.unit[k]
    low, high = threshold - _MARGIN, threshold + _MARGIN
    for p in range(cells.later[c], cells.stop[c]):
        similar = mine * cells.unit[p]
        # Written first and counted if it is right: no branch to guess wrong.
        later[found] = cells.owner[p]
        if low <= similar <= high:
            found += _above(i, cells.owner[p], threshold, owners)
        else:
            found += similar > high
    return found


@numba.njit(cache=True)
def _mark(i: int, threshold: float, owners: _Owners, cells: _Cells, similarity: Floats, marks: Bits) -> None:
    """Mark the later owners similar to owner i."""
    low, high = threshold - _MARGIN, threshold + _MARGIN
    for k in range(owners.start[i], owners.start[i + 1]):
        c, mine = owners.cell[k], owners.unit[k]
        for p in range(cells.later[c], cells.stop[c]):
            similarity[cells.owner[p]] += mine * cells.unit[p]
    for k in range(owners.start[i], owners.start[i + 1]):
        c = owners.cell[k]
        for p in range(cells.later[c], cells.stop[c]):
            j = cells.owner[p]
            # Cleared when read: an owner met again through another cell has 0, which marks nobody.
            similar, similarity[j] = similarity[j], 0.0
            if similar > high or (similar >= low and similar != 0.0 and _above(i, j, threshold, owners)):
                marks[j >> 6] |= np.uint64(1) << np.uint64(j & 63)


@numba.njit(cache=True)
def _take_marked(i: int, marks: Bits, later: Neighbours, found: int) -> int:
    """Append the marked owners, ascending, and unmark them; return how many there are by now."""
    for at in range(i >> 6, len(marks)):
        word = marks[at]
        if word:
            marks[at] = 0
            while word:
                lowest = word & (~word + np.uint64(1))
                later[found] = (at << 6) + _PLACES[(lowest * _SEQUENCE) >> np.uint64(58)]
                found += 1
                word ^= lowest
    return found


@numba.njit(cache=True)
def _above(i: int, j: int, threshold: float, owners: _Owners) -> bool:
    """Tell by the rule itself whether two owners are similar: dot > threshold * sqrt(square * square)."""
    dot = 0.0
    a, b = owners.start[i], owners.start[j]
    while a < owners.start[i + 1] and b < owners.start[j + 1]:
        if owners.cell[a] == owners.cell[b]:
            dot += owners.value[a] * owners.value[b]
            a, b = a + 1, b + 1
        elif owners.cell[a] < owners.cell[b]:
            a += 1
        else:
            b += 1
    return dot > threshold * math.sqrt(owners.squares[i] * owners.squares[j])
