"""True answers and the exact similarity graph. Nothing here is private."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.messages import NoisyTotals
from fedgroup.owner.counting import contributing, count_vectors, rows_and_bins, total_units
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection, Unit
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.similarity import cosine_graph
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Grid, PublicMap

NO_GUARANTEE = "none: made from exact counts, for evaluation only"


def exact_vectors(
    records: Records, grid: Grid, public_map: PublicMap, *, most: int | None, unit: Unit = "owner"
) -> npt.NDArray[np.int32]:
    """Return every owner's exact count vector."""
    return count_vectors(contributing(records, public_map, most=most, unit=unit), grid, public_map)


def exact_graph(vectors: npt.NDArray[np.int32], *, threshold: float) -> SimilarityGraph:
    """Join every two owners whose exact vectors have cosine similarity above `threshold` (the paper's FG-C)."""
    return cosine_graph(vectors, threshold=threshold)


def truths(
    records: Records, query: RangeQuery, public_map: PublicMap, protection: Protection
) -> dict[str, float | None]:
    """Return both true values of a question, under the names that answers give them."""
    return {
        "true_value": true_value(records, query, public_map),
        "true_value_clipped": clipped_value(records, query, public_map, protection),
    }


def exact_totals(records: Records, query: RangeQuery, public_map: PublicMap, protection: Protection) -> NoisyTotals:
    """Return what noise is added to in every bin, as totals that hold no noise."""
    cut = None if "people" in query.parts and protection.of_subjects else protection.max_records
    kept = contributing(records, public_map, most=cut, unit=protection.unit)
    most = protection.most_bins(query)
    parts = total_units(kept, query, public_map, most_bins=most)
    scales = dict.fromkeys(parts, Fraction(1))
    return NoisyTotals(parts, scales, False, noises=0, heard=len(records.owners))


def true_value(records: Records, query: RangeQuery, public_map: PublicMap) -> float | None:
    """Return what the records inside the domain say, nothing cut or rounded; None for the mean of nothing."""
    value: float = true_values(records, query, public_map)[0].item()
    return None if math.isnan(value) else value


def true_values(records: Records, query: RangeQuery, public_map: PublicMap) -> npt.NDArray[Any]:
    """Return what the records inside the domain say in every bin, nothing cut or rounded; NaN for means of nothing."""
    inside = contributing(records, public_map)
    if query.measure is None:
        return total_units(inside, query, public_map)[query.parts[0]]
    rows, at = rows_and_bins(inside, query, public_map)
    values = inside.attribute(query.measure.attribute)[rows]
    present = ~np.isnan(values)
    order = np.argsort(at[present], kind="stable")
    values, ends = values[present][order], np.cumsum(np.bincount(at[present], minlength=query.bins))
    sums = np.array([math.fsum(each) for each in np.split(values, ends[:-1])])
    if query.kind == "sum":
        return sums
    counts = np.diff(ends, prepend=0)
    means: npt.NDArray[Any] = np.divide(sums, counts, out=np.full(query.bins, math.nan), where=counts > 0)
    return means


def clipped_value(records: Records, query: RangeQuery, public_map: PublicMap, protection: Protection) -> float | None:
    """Return what noise is added to: values cut to the clip range and rounded, of each unit some records at most."""
    totals = {part: int(sums[0]) for part, sums in exact_totals(records, query, public_map, protection).parts.items()}
    if query.measure is None:
        return totals[query.parts[0]]
    total = float(Fraction(totals["sum"]) * query.measure.step)
    if query.kind == "sum":
        return total
    return total / totals["count"] if totals["count"] else None
