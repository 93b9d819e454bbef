"""Who is similar to whom, from count vectors: each pair is decided once, block by block, so memory stays bounded.

Whole-number vectors make every dot product exact in 64-bit floats (below 2^53), whatever the order of summation, so
a pair at the threshold is decided the same way however the blocks are cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.provider.graph import SimilarityGraph

Estimate = Literal["thresholded", "debiased", "raw"]
Floats = npt.NDArray[np.float64]
Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_BLOCK = 1 << 23
"""How many pairs are looked at together: 64 MB of dot products."""


def noisy_graph(vectors: NoisyVectors, *, threshold: float, estimate: Estimate, false_cells: float) -> SimilarityGraph:
    """Join every two owners whose cosine similarity, estimated from noisy vectors, is above `threshold`."""
    if estimate == "thresholded":
        return cosine_graph(kept_cells(vectors, false_cells), threshold=threshold)
    values = vectors.values.astype(np.float64)
    squares = np.einsum("ij,ij->i", values, values)
    if estimate == "debiased":
        # The noise adds its variance to every cell's square; owners with nothing left have no estimate, so no edge.
        squares -= vectors.grid.cells * DiscreteLaplace(vectors.scale).variance
    elif estimate != "raw":
        raise InvalidInput(f"estimate is thresholded, debiased or raw, got {estimate!r}")
    return _dense_graph(values, squares, threshold)


def cosine_graph(vectors: npt.NDArray[np.generic] | sparse.csr_array, *, threshold: float) -> SimilarityGraph:
    """Join every two owners whose vectors have cosine similarity above `threshold`; for vectors with many zeros."""
    rows = sparse.csr_array(vectors, dtype=np.float64)
    squares = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    columns = sparse.csc_array(rows.T)

    def decide(start: int, stop: int) -> Edges:
        dots = (rows[start:stop] @ columns[:, start:]).tocoo()
        first, second = dots.coords[0].astype(np.int64) + start, dots.coords[1].astype(np.int64) + start
        chosen = (first < second) & _above(dots.data, squares[first], squares[second], threshold)
        return first[chosen], second[chosen]

    return _graph_of_blocks(rows.shape[0], decide)


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
    return sparse.csr_array(np.where(vectors.values >= tau, vectors.values, 0))


def top_cells(vectors: NoisyVectors, false_cells: float) -> npt.NDArray[np.int64]:
    """Return each owner's largest noisy cell, -1 where it is below tau; of equal cells the first."""
    tau = smallest_kept_cell(vectors.scale, vectors.grid.cells, false_cells)
    top = np.argmax(vectors.values, axis=1)
    largest = vectors.values[np.arange(vectors.owners), top]
    return np.where(largest >= tau, top, -1)


def _dense_graph(values: Floats, squares: Floats, threshold: float) -> SimilarityGraph:
    def decide(start: int, stop: int) -> Edges:
        dots = values[start:stop] @ values[start:].T
        joined = _above(dots, squares[start:stop, None], squares[None, start:], threshold)
        first, second = np.nonzero(np.triu(joined, k=1))
        return first + start, second + start

    return _graph_of_blocks(len(values), decide)


def _above(dots: Floats, first: Floats, second: Floats, threshold: float) -> npt.NDArray[np.bool_]:
    """Tell where dot / sqrt(first * second) > threshold; a vector without length is similar to none."""
    known = (first > 0) & (second > 0)
    return known & (dots > threshold * np.sqrt(np.where(known, first * second, 1.0)))


def _graph_of_blocks(owners: int, decide: Callable[[int, int], Edges]) -> SimilarityGraph:
    found = [decide(start, stop) for start, stop in _blocks(owners)]
    first = np.concatenate([np.zeros(0, dtype=np.int64), *(edges[0] for edges in found)])
    second = np.concatenate([np.zeros(0, dtype=np.int64), *(edges[1] for edges in found)])
    return SimilarityGraph.from_edges(owners, first, second)


def _blocks(owners: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < owners:
        stop = min(owners, start + max(1, _BLOCK // (owners - start)))
        yield start, stop
        start = stop
