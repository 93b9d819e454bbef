"""Who is similar to whom, from count vectors: each pair is decided once, in blocks, so memory follows the edges.

The rule is dot > threshold * sqrt(square * square) in 64-bit floats. Whole-number vectors make every dot product exact
there (below 2^53), whatever the order of summation, so a pair at the threshold is decided the same way however the
blocks are cut: what is faster and less exact decides only pairs that are further from the threshold than its error.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.provider.dense_graph import dense_blocks, squared_lengths
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.sparse_graph import sparse_blocks

Ints = npt.NDArray[np.int64]


def noisy_graph(vectors: NoisyVectors, *, threshold: float, estimate: str, false_cells: float) -> SimilarityGraph:
    """Join every two owners whose cosine similarity, estimated from noisy vectors, is above `threshold`."""
    if estimate == "thresholded":
        return cosine_graph(kept_cells(vectors, false_cells), threshold=threshold)
    squares = estimated_squares(vectors, estimate)
    return SimilarityGraph.from_blocks(vectors.owners, dense_blocks(vectors.values, squares, threshold=threshold))


def estimated_squares(vectors: NoisyVectors, estimate: str) -> npt.NDArray[np.float64]:
    """Return the squared length that each owner's exact vector is taken to have; not above 0 means: unknown."""
    squares = squared_lengths(vectors.values)
    if estimate == "debiased":
        # The noise adds its variance to every cell's square; owners with nothing left have no estimate, so no edge.
        squares -= vectors.grid.cells * DiscreteLaplace(vectors.scale).variance
    elif estimate != "raw":
        raise InvalidInput(f"estimate is thresholded, debiased or raw, got {estimate!r}")
    return squares


def cosine_graph(vectors: npt.NDArray[np.generic] | sparse.csr_array, *, threshold: float) -> SimilarityGraph:
    """Join every two owners whose vectors have cosine similarity above `threshold`, at least 0; for many zeros."""
    if not threshold >= 0:
        raise InvalidInput(f"threshold must be at least 0, got {threshold}")
    rows = sparse.csr_array(vectors, dtype=np.float64)
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return SimilarityGraph.from_blocks(rows.shape[0], sparse_blocks(rows, threshold=threshold))


def smallest_kept_cell(scale: Fraction, cells: int, false_cells: float) -> int:
    """Return tau: the smallest k >= 1 with cells * P(noise >= k) <= false_cells."""
    if not (math.isfinite(false_cells) and false_cells > 0):
        raise InvalidInput(f"false-cells must be a number greater than 0, got {false_cells}")
    law = DiscreteLaplace(scale)
    k = max(1, math.floor(-float(law.scale) * math.log(false_cells * (1 + law.a) / cells)) - 1)
    while cells * law.upper_tail(k) > false_cells:
        k += 1
    return k


def kept_cells(vectors: NoisyVectors, false_cells: float) -> sparse.csr_array:
    """Return the noisy vectors with every cell below tau set to 0, as sparse rows."""
    tau = smallest_kept_cell(vectors.scale, vectors.grid.cells, false_cells)
    start = np.zeros(vectors.owners + 1, dtype=np.int64)
    np.cumsum(_count_from(vectors.values, tau), out=start[1:])
    cell = np.empty(int(start[-1]), dtype=np.int32)
    value = np.empty(len(cell), dtype=np.int64 if vectors.values.dtype.kind in "iu" else np.float64)
    _take_from(vectors.values, tau, start, cell, value)
    return sparse.csr_array((value, cell, start), shape=vectors.values.shape)


def top_cells(vectors: NoisyVectors, false_cells: float) -> Ints:
    """Return each owner's largest noisy cell, -1 where it is below tau; of equal cells the first."""
    return _first_largest(vectors.values, smallest_kept_cell(vectors.scale, vectors.grid.cells, false_cells))


@numba.njit(cache=True)
def _first_largest(values: npt.NDArray[Any], least: int) -> Ints:
    """Return the first largest column of each row, -1 where it holds less than `least`."""
    top = np.empty(len(values), np.int64)
    for i in range(len(values)):
        best = 0
        for c in range(1, values.shape[1]):
            if values[i, c] > values[i, best]:
                best = c
        top[i] = best if values[i, best] >= least else -1
    return top


@numba.njit(cache=True)
def _count_from(values: npt.NDArray[Any], least: int) -> Ints:
    """Return how many columns of each row hold at least `least`."""
    count = np.zeros(len(values), np.int64)
    for i in range(len(values)):
        kept = 0
        for c in range(values.shape[1]):
            kept += values[i, c] >= least
        count[i] = kept
    return count


@numba.njit(cache=True)
def _take_from(
    values: npt.NDArray[Any], least: int, start: Ints, cell: npt.NDArray[np.int32], value: npt.NDArray[Any]
) -> None:
    """Write the columns that hold at least `least`, row i from `start[i]` on, and what they hold."""
    for i in range(len(values)):
        k, c = start[i], 0
        while k < start[i + 1]:
            if values[i, c] >= least:
                cell[k], value[k] = c, values[i, c]
                k += 1
            c += 1
