"""Grouping: owners that are pairwise similar share one noise, so fewer groups mean less noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.provider.grouping.limits import Limits

if TYPE_CHECKING:
    from fedgroup.messages import Labels, Partition
    from fedgroup.provider.graph import SimilarityGraph

__all__ = ["Grouped", "Limits", "numbered_by_lowest_member", "partition_graph"]


@dataclass(frozen=True, eq=False)
class Grouped:
    """A partition and what its reader should know of how it was found."""

    partition: Partition
    notes: tuple[str, ...] = ()


def partition_graph(graph: SimilarityGraph, *, algorithm: str = "greedy", limits: Limits | None = None) -> Grouped:
    """Return the owners in groups that are pairwise joined in `graph` and within `limits`."""
    # Imported here, so that an algorithm that needs no compiled loop runs where there is no compiler.
    from fedgroup.messages import Partition

    if algorithm == "greedy":
        from fedgroup.provider.grouping.greedy import greedy_labels

        return Grouped(Partition(greedy_labels(graph, limits)))
    if algorithm == "dsatur":
        from fedgroup.provider.grouping.dsatur import dsatur_labels

        return Grouped(Partition(dsatur_labels(graph, limits)))
    if algorithm == "cliques":
        from fedgroup.provider.grouping.cliques import clique_labels

        labels, notes = clique_labels(graph, limits)
        return Grouped(Partition(labels), notes)
    raise InvalidInput(f"owners are grouped by greedy, dsatur or cliques, got {algorithm!r}")


def numbered_by_lowest_member(labels: npt.NDArray[np.signedinteger[Any]]) -> Labels:
    """Return the same groups, numbered from 0 by their lowest members, where their making leaves no order."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[group]
