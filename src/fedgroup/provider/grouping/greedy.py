"""Algorithm 2, `Greedy Find Groups`: every owner joins the lowest-numbered group that is open to it.

The paper colours the complement graph; counting placed neighbours gives the same groups in O(owners + edges).
With numba the compiled loop runs; without it numpy gives the same groups, several times slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.limits import Limits, limits_per_owner

if TYPE_CHECKING:
    from fedgroup.messages import Labels
    from fedgroup.provider.grouping.limits import GroupLimits


def greedy_labels(
    graph: SimilarityGraph,
    limits: Limits | None = None,
    *,
    order: Labels | None = None,
    compiled: bool | None = None,
) -> Labels:
    """Return each owner's group when owners choose in `order`, by default in ascending id.

    `compiled` picks the compiled loop (True) or numpy (False); by default the compiled one where numba is installed.
    """
    limit = limits_per_owner(limits, graph.owners)
    turns = np.arange(graph.owners, dtype=np.int32) if order is None else np.asarray(order, dtype=np.int32)
    if compiled if compiled is not None else _has_numba():
        from fedgroup.provider.grouping.first_fit import first_fit_labels

        return first_fit_labels(graph.offsets, graph.neighbours, limit, turns)
    return _labels_by_numpy(graph, limit, turns)


def _has_numba() -> bool:
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def _labels_by_numpy(graph: SimilarityGraph, limits: GroupLimits, order: Labels) -> Labels:
    labels = np.full(graph.owners, -1, dtype=np.int32)
    size = np.zeros(graph.owners, dtype=np.int32)
    tightest = limits.copy()
    groups = 0
    for u in order:
        near = labels[graph.neighbours_of(u)]
        met, count = np.unique(near[near >= 0], return_counts=True)
        fits = met[(count == size[met]) & (size[met] < np.minimum(tightest[met], limits[u]))]
        gid = int(fits[0]) if len(fits) else groups
        tightest[gid] = limits[u] if gid == groups else min(tightest[gid], limits[u])
        groups = max(groups, gid + 1)
        labels[u] = gid
        size[gid] += 1
    return labels
