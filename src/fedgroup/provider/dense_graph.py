"""Similar pairs among owners with counts in every cell: products of 32-bit floats, tile by tile, and a scan of each.

Rows are divided by their length before they are rounded to 32 bits, so a product is right within a margin that
follows from the number of cells; nearer to the threshold than that, the pair is decided by the rule itself, in 64-bit
floats, where products of whole numbers are exact. So the tiles and the order of summation decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.provider.graph import EdgeBlock, Neighbours, Offsets

Floats = npt.NDArray[np.float64]
Rounded = npt.NDArray[np.float32]
Values = npt.NDArray[Any]
_Found = tuple[Neighbours, Neighbours]

_TILE = (512, 2048)
"""How many rows and columns of products are looked at together: 4 MB."""

_CHUNK = 1 << 20
"""How many counts are divided by their lengths together: 8 MB."""

_STRIDE = 64
"""How many products are looked at together before each is: mostly none of them is above the threshold."""


class DenseVectors(NamedTuple):
    """Rows of counts and what decides pairs of them: dot > threshold * sqrt(square * square), for positive squares.

    `unit` is a row of `values` divided by its length, `ratio` the square root of its square divided by its length; so
    the rule is also unit @ unit > threshold * ratio * ratio.
    """

    values: Values
    squares: Floats
    unit: Rounded
    ratio: Rounded

    @classmethod
    def of(cls, values: Values, squares: Floats) -> DenseVectors:
        """Return these rows; `squares` are above 0 and at most each row's squared length, by which they were made."""
        length = np.sqrt(squared_lengths(values))
        unit = np.empty(values.shape, dtype=np.float32)
        for start, stop in _chunks(values):
            unit[start:stop] = values[start:stop] / length[start:stop, None]
        return cls(values, squares, unit, (np.sqrt(squares) / length).astype(np.float32))

    @property
    def owners(self) -> int:
        return len(self.squares)

    def part(self, start: int, stop: int) -> DenseVectors:
        """Return the rows start..stop, as far as there are any."""
        some = slice(start, stop)
        return DenseVectors(self.values[some], self.squares[some], self.unit[some], self.ratio[some])


class _Paper(NamedTuple):
    """Room for the products of a tile and the pairs found in it."""

    products: Rounded
    row: Neighbours
    column: Neighbours

    @classmethod
    def blank(cls) -> _Paper:
        size = math.prod(_TILE)
        return cls(np.empty(size, dtype=np.float32), np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32))


def dense_blocks(values: Values, squares: Floats, *, threshold: float) -> Iterator[EdgeBlock]:
    """Yield the pairs whose dot product is above `threshold` times the root of the product of their squares.

    Requires:  `squares` is at most each row's squared length, by which it was estimated; owners whose square is not
               above 0 are similar to none.
    """
    known = known_rows(squares)
    if len(known) < len(squares):
        values, squares = values[known], squares[known]
    vectors = DenseVectors.of(values, squares)
    paper = _Paper.blank()
    for start in range(0, len(known), _TILE[0]):
        rows, rest = vectors.part(start, start + _TILE[0]), vectors.part(start, len(known))
        for block in _compared(rows, [(0, rest)], threshold, paper):
            yield block.renamed(known[start:])


def dense_strip(rows: DenseVectors, later: Iterable[tuple[int, DenseVectors]], *, threshold: float) -> list[EdgeBlock]:
    """Return the pairs of `rows` with each other and with all that come `later`, numbered from the first row on.

    `later` begins with the rows themselves, and goes on in blocks: each with the number of its first row.
    """
    return _compared(rows, later, threshold, _Paper.blank())


def known_rows(squares: Floats) -> Neighbours:
    """Return the owners that can be similar to anybody: those whose square is above 0."""
    return np.flatnonzero(squares > 0).astype(np.int32)


def squared_lengths(values: Values) -> Floats:
    """Return the squared length of each row, exact for whole numbers up to 2^53."""
    squares = np.empty(len(values))
    for start, stop in _chunks(values):
        rows = values[start:stop].astype(np.float64)
        squares[start:stop] = np.einsum("ij,ij->i", rows, rows)
    return squares


def _chunks(values: Values) -> Iterator[tuple[int, int]]:
    rows = max(1, _CHUNK // max(1, values.shape[1]))
    for start in range(0, len(values), rows):
        yield start, min(len(values), start + rows)


def _compared(
    rows: DenseVectors, later: Iterable[tuple[int, DenseVectors]], threshold: float, paper: _Paper
) -> list[EdgeBlock]:
    tops = range(0, rows.owners, _TILE[0])
    parts = [rows.part(top, top + _TILE[0]) for top in tops]
    found: list[list[_Found]] = [[] for _ in tops]
    for first, block in later:
        for top, part, pairs in zip(tops, parts, found, strict=True):
            pairs += _tiles(part, block, first - top, threshold, paper)
    return [_block(top, part.owners, pairs) for top, part, pairs in zip(tops, parts, found, strict=True)]


def _tiles(rows: DenseVectors, columns: DenseVectors, ahead: int, threshold: float, paper: _Paper) -> Iterator[_Found]:
    """Yield the similar pairs of each tile; columns are numbered as rows are, the first one `ahead`."""
    # Each factor is off by 2^-24 of itself, and so is each of `cells` sums: twice that leaves room for the limit too.
    margin = np.float32((rows.values.shape[1] + 8) * 2.0**-23)
    for left in range(max(0, -ahead), columns.owners, _TILE[1]):
        some = columns.part(left, left + _TILE[1])
        tile = paper.products[: rows.owners * some.owners].reshape(rows.owners, some.owners)
        np.matmul(rows.unit, some.unit.T, out=tile)
        count = _scan(tile, ahead + left, rows, some, threshold, margin, paper.row, paper.column)
        yield paper.row[:count].copy(), paper.column[:count] + np.int32(ahead + left)


def _block(top: int, rows: int, found: list[_Found]) -> EdgeBlock:
    """Return the pairs found in tiles from left to right, row by row; rows and columns count from `top` on."""
    degrees = np.zeros(rows, dtype=np.int64)
    for row, _ in found:
        degrees += np.bincount(row, minlength=len(degrees))
    free = np.cumsum(degrees) - degrees
    later = np.empty(int(degrees.sum()), dtype=np.int32)
    for row, column in found:
        _append(row, column, top, free, later)
    return EdgeBlock(np.arange(top, top + rows, dtype=np.int32), degrees, later)


@numba.njit(cache=True)
def _append(row: Neighbours, column: Neighbours, top: int, free: Offsets, later: Neighbours) -> None:
    for k in range(len(row)):
        later[free[row[k]]] = top + column[k]
        free[row[k]] += 1


@numba.njit(cache=True)
def _scan(
    tile: Rounded,
    ahead: int,
    rows: DenseVectors,
    columns: DenseVectors,
    threshold: float,
    margin: np.float32,
    row: Neighbours,
    column: Neighbours,
) -> int:
    """Write row and column of every pair above the threshold, the column after the row; return how many there are.

    The first column is as many owners after the first row as `ahead` says.
    """
    found = 0
    for a in range(tile.shape[0]):
        mine = np.float32(threshold) * rows.ratio[a]
        for start in range(max(0, a + 1 - ahead), tile.shape[1], _STRIDE):
            stop = min(start + _STRIDE, tile.shape[1])
            if _any_near(tile[a, start:stop], mine, columns.ratio[start:stop], margin):
                for b in range(start, stop):
                    limit = mine * columns.ratio[b]
                    row[found], column[found] = a, b
                    if tile[a, b] > limit + margin:
                        found += 1
                    elif tile[a, b] >= limit - margin:
                        found += _above(a, b, rows, columns, threshold)
    return found


@numba.njit(cache=True)
def _any_near(products: Rounded, mine: np.float32, ratio: Rounded, margin: np.float32) -> bool:
    near = 0
    for b in range(len(products)):
        near += products[b] >= mine * ratio[b] - margin
    return near > 0


@numba.njit(cache=True)
def _above(a: int, b: int, rows: DenseVectors, columns: DenseVectors, threshold: float) -> bool:
    """Tell by the rule itself whether two owners are similar."""
    dot = 0.0
    for c in range(rows.values.shape[1]):
        dot += np.float64(rows.values[a, c]) * np.float64(columns.values[b, c])
    return dot > threshold * math.sqrt(rows.squares[a] * columns.squares[b])
