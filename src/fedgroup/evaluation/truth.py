"""True answers and the exact similarity graph. Nothing here is private."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fedgroup.messages import RangeQuery
from fedgroup.owner.counting import contributing, count_vectors, partial_answers
from fedgroup.owner.records import Records
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.similarity import cosine_graph
from fedgroup.space import Grid, PublicMap

NO_GUARANTEE = "none: made from exact counts, for evaluation only"


def exact_vectors(records: Records, grid: Grid, public_map: PublicMap, *, most: int | None) -> npt.NDArray[np.int32]:
    """Return every owner's exact count vector."""
    return count_vectors(contributing(records, public_map, most=most), grid, public_map)


def exact_graph(vectors: npt.NDArray[np.int32], *, threshold: float) -> SimilarityGraph:
    """Join every two owners whose exact vectors have cosine similarity above `threshold` (the paper's FG-C)."""
    return cosine_graph(vectors, threshold=threshold)


def true_value(records: Records, query: RangeQuery, public_map: PublicMap, *, most: int | None) -> float | None:
    """Return the exact answer under the same clipping and rounding; None for the mean of nothing."""
    parts = partial_answers(contributing(records, public_map, most=most), query, public_map)
    totals = {part: int(values.sum()) for part, values in parts.items()}
    if query.measure is None:
        return totals["count"]
    total = float(Fraction(totals["sum"]) * query.measure.step)
    if query.kind == "sum":
        return total
    return total / totals["count"] if totals["count"] else None
