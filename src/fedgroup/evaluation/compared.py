"""Grouping by secure comparison without the cryptography: for sweeps that would take hours. Nothing here is private.

Every outcome is computed from both owners' exact vectors, with the very rounding and scaling of the secure protocol,
so that groups, comparisons and answers are those of a real run; only its time and its bytes have to be measured there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fedgroup.messages import NoisyVectors, Partition
from fedgroup.provider.borderline import ASK, NO, YES, Borderline, Ranks, States, classify
from fedgroup.provider.dense_graph import squared_lengths
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import partition_graph
from fedgroup.provider.lazy_grouping import group_lazily
from fedgroup.secure.comparison import SecureComparison

Outcomes = npt.NDArray[np.bool_]
Band = tuple[float, float]
Table = TypeVar("Table", States, Ranks)

_NEARLY_NOTHING = 1e-9
"""In place of the length of an empty vector, whose products are all 0."""


@dataclass(frozen=True, eq=False)
class ComparedGroups:
    """The groups, the comparisons that placing owners asked for, in so many waves, and the pairs in doubt, which
    Algorithm 1 compares.
    """

    partition: Partition
    comparisons: int
    in_doubt: int
    waves: int
    notes: tuple[str, ...] = ()


def outcomes(vectors: npt.NDArray[np.int32], *, threshold: float, width: int = 8) -> Outcomes:
    """Return what the secure comparison of owners i and j says, at [i, j] for i < j: i is the first side, j the second.

    Inner products and limits stay below 2^32, so 64-bit floats hold them exactly.
    """
    comparison = SecureComparison(vectors.shape[1], threshold, width)
    scaled = comparison.scaled_counts(vectors)
    products = comparison.unit_vectors(vectors).astype(np.float64) @ scaled.astype(np.float64).T
    return products > comparison.limits(scaled)[None, :]


def raw_borderline(vectors: NoisyVectors, *, lower: float, upper: float) -> Borderline:
    """Return every pair as the paper's Algorithm 1 sees it: by the plain cosine of noisy vectors and fixed limits."""
    values = vectors.values.astype(np.float64)
    lengths = np.sqrt(squared_lengths(vectors.values))
    weights = (values @ values.T) / np.maximum(np.outer(lengths, lengths), _NEARLY_NOTHING)
    state = np.full(weights.shape, ASK, dtype=np.uint8)
    state[weights < lower] = NO
    state[weights > upper] = YES
    return Borderline(_mirrored(state), _mirrored(weights.astype(np.float32)))


def compared_groups(
    noisy: NoisyVectors,
    exact: npt.NDArray[np.int32],
    *,
    threshold: float,
    band: Band | None = None,
    algorithm: str = "greedy",
) -> ComparedGroups:
    """Return the groups of the hybrid graph: limits derived for each pair, or the paper's fixed `band` of raw cosines.

    `greedy` places owners lazily, as a real run does; the other algorithms need the whole graph, with every pair in
    doubt compared.
    """
    doubts = (
        classify(noisy, threshold=threshold) if band is None else raw_borderline(noisy, lower=band[0], upper=band[1])
    )
    said = outcomes(exact, threshold=threshold)
    if algorithm == "greedy":
        found = group_lazily(doubts, lambda first, second: said[first, second])
        return ComparedGroups(Partition(found.labels), found.comparisons, doubts.asked, found.waves)
    first, second = np.nonzero(np.triu((doubts.state == YES) | ((doubts.state == ASK) & said), k=1))
    grouped = partition_graph(SimilarityGraph.from_edges(len(exact), first, second), algorithm=algorithm)
    return ComparedGroups(grouped.partition, doubts.asked, doubts.asked, 1, grouped.notes)


def _mirrored(table: Table) -> Table:
    """Return the symmetric table with the upper triangle's values, 0 on its diagonal."""
    upper = np.triu(table, k=1)
    upper += upper.T
    return upper
