"""Similar pairs among owners with counts in every cell: products of 32-bit floats, tile by tile, and a scan of each.

Rows are divided by their length before they are rounded to 32 bits, so a product is right within a margin that
follows from the number of cells; nearer to the threshold than that, the pair is decided by the rule itself, in 64-bit
floats, where products of whole numbers are exact. So the tiles and the order of summation decide nothing.
"""

# mypy: allow-untyped-decorators, no-warn-return-any
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.provider.graph import EdgeBlock, Neighbours, Offsets

Floats = npt.NDArray[np.float64]
Rounded = npt.NDArray[np.float32]
Values = npt.NDArray[Any]

_TILE = (512, 2048)
"""How many rows and columns of products are looked at together: 4 MB."""

_CHUNK = 1 << 20
"""How many counts are divided by their lengths together: 8 MB."""

_STRIDE = 64
"""How many products are looked at together before each is: mostly none of them is above the threshold."""


class _Pairs(NamedTuple):
    """What decides a pair: dot > threshold * sqrt(square * square), or unit @ unit > threshold * ratio * ratio.

    `unit` is a row of `values` divided by its length, `ratio` the square root of its square divided by its length.
    """

    values: Values
    squares: Floats
    unit: Rounded
    ratio: Rounded
    threshold: float
    margin: np.float32


def dense_blocks(values: Values, squares: Floats, *, threshold: float) -> Iterator[EdgeBlock]:
    """Yield the pairs whose dot product is above `threshold` times the root of the product of their squares.

    Requires:  `squares` is at most each row's squared length, by which it was estimated; owners whose square is not
               above 0 are similar to none.
    """
    known = np.flatnonzero(squares > 0).astype(np.int32)
    if len(known) < len(squares):
        values, squares = values[known], squares[known]
    unit, length = _units(values)
    # Each factor is off by 2^-24 of itself, and so is each of `cells` sums: twice that leaves room for the limit too.
    margin = np.float32((values.shape[1] + 8) * 2.0**-23)
    pairs = _Pairs(values, squares, unit, (np.sqrt(squares) / length).astype(np.float32), threshold, margin)
    rows, columns = _TILE
    products = np.empty(rows * columns, dtype=np.float32)
    buffers = np.empty(rows * columns, dtype=np.int32), np.empty(rows * columns, dtype=np.int32)
    for start in range(0, len(known), rows):
        stop = min(start + rows, len(known))
        degrees, later = _strip(pairs, start, stop, columns, products, buffers)
        yield EdgeBlock(known[start:stop], degrees, known[later])


def squared_lengths(values: Values) -> Floats:
    """Return the squared length of each row, exact for whole numbers up to 2^53."""
    squares = np.empty(len(values))
    for start, stop in _chunks(values):
        rows = values[start:stop].astype(np.float64)
        squares[start:stop] = np.einsum("ij,ij->i", rows, rows)
    return squares


def _units(values: Values) -> tuple[Rounded, Floats]:
    """Return each row divided by its length, and the lengths."""
    length = np.sqrt(squared_lengths(values))
    unit = np.empty(values.shape, dtype=np.float32)
    for start, stop in _chunks(values):
        unit[start:stop] = values[start:stop] / length[start:stop, None]
    return unit, length


def _chunks(values: Values) -> Iterator[tuple[int, int]]:
    rows = max(1, _CHUNK // max(1, values.shape[1]))
    for start in range(0, len(values), rows):
        yield start, min(len(values), start + rows)


def _strip(
    pairs: _Pairs, start: int, stop: int, columns: int, products: Rounded, buffers: tuple[Neighbours, Neighbours]
) -> tuple[Offsets, Neighbours]:
    """Return how many later owners each of the rows start..stop is similar to, and which."""
    found = []
    for left in range(start, len(pairs.unit), columns):
        right = min(left + columns, len(pairs.unit))
        tile = products[: (stop - start) * (right - left)].reshape(stop - start, right - left)
        np.matmul(pairs.unit[start:stop], pairs.unit[left:right].T, out=tile)
        count = _scan(tile, start, left, pairs, *buffers)
        found.append((buffers[0][:count].copy(), buffers[1][:count].copy()))
    degrees = np.zeros(stop - start, dtype=np.int64)
    for row, _ in found:
        degrees += np.bincount(row, minlength=len(degrees))
    free = np.cumsum(degrees) - degrees
    later = np.empty(int(degrees.sum()), dtype=np.int32)
    for row, column in found:
        _append(row, column, free, later)
    return degrees, later


@numba.njit(cache=True)
def _append(row: Neighbours, column: Neighbours, free: Offsets, later: Neighbours) -> None:
    for k in range(len(row)):
        later[free[row[k]]] = column[k]
        free[row[k]] += 1


@numba.njit(cache=True)
def _scan(tile: Rounded, top: int, left: int, pairs: _Pairs, row: Neighbours, column: Neighbours) -> int:
    """Write row and column of every pair above the threshold, the column after the row; return how many there are."""
    found = 0
    for a in range(tile.shape[0]):
        mine = np.float32(pairs.threshold) * pairs.ratio[top + a]
        for start in range(max(0, top + a + 1 - left), tile.shape[1], _STRIDE):
            stop = min(start + _STRIDE, tile.shape[1])
            if _any_near(tile[a, start:stop], mine, pairs.ratio[left + start : left + stop], pairs.margin):
                for b in range(start, stop):
                    limit = mine * pairs.ratio[left + b]
                    row[found], column[found] = a, left + b
                    if tile[a, b] > limit + pairs.margin:
                        found += 1
                    elif tile[a, b] >= limit - pairs.margin:
                        found += _above(top + a, left + b, pairs)
    return found


@numba.njit(cache=True)
def _any_near(products: Rounded, mine: np.float32, ratio: Rounded, margin: np.float32) -> bool:
    near = 0
    for b in range(len(products)):
        near += products[b] >= mine * ratio[b] - margin
    return near > 0


@numba.njit(cache=True)
def _above(i: int, j: int, pairs: _Pairs) -> bool:
    """Tell by the rule itself whether two owners are similar."""
    dot = 0.0
    for c in range(pairs.values.shape[1]):
        dot += np.float64(pairs.values[i, c]) * np.float64(pairs.values[j, c])
    return dot > pairs.threshold * math.sqrt(pairs.squares[i] * pairs.squares[j])
