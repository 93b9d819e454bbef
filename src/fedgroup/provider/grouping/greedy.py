"""Algorithm 2, `Greedy Find Groups`: every owner joins the lowest-numbered group that is open to it.

The paper colours the complement graph; counting placed neighbours gives the same groups in O(owners + edges).
With numba the compiled loop runs; without it a loop over lists gives the same groups, tens of times slower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
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
    """Return each owner's group when owners choose in `order`, by default in ascending id; -1 for those not in it.

    `compiled` picks the compiled loop (True) or the one over lists (False); by default the compiled one where numba
    is installed.
    """
    limit = limits_per_owner(limits, graph.owners)
    turns = np.arange(graph.owners, dtype=np.int32) if order is None else np.asarray(order, dtype=np.int32)
    if compiled if compiled is not None else has_numba():
        from fedgroup.provider.grouping.first_fit import first_fit_labels

        return first_fit_labels(graph.offsets, graph.neighbours, limit, turns)
    return _labels_by_lists(graph, limit, turns)


def has_numba() -> bool:
    """Tell whether loops can be compiled here."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def _labels_by_lists(graph: SimilarityGraph, limits: GroupLimits, order: Labels) -> Labels:
    """A group is known by its founder's turn until the end; groups are numbered as they are founded, so the lowest
    founder is the lowest group."""
    founders = np.asarray(_founders(_earlier_neighbours(graph, order), limits[order].tolist()), dtype=np.int64)
    number = np.cumsum(founders == np.arange(len(order))) - 1
    labels = np.full(graph.owners, -1, dtype=np.int32)
    labels[order] = number[founders]
    return labels


def _earlier_neighbours(graph: SimilarityGraph, order: Labels) -> Iterator[tuple[int, list[int]]]:
    """Yield the turns of the owners with a neighbour before them, ascending, each with those neighbours' turns."""
    never = len(order)
    turn = np.full(graph.owners, never, dtype=np.int64)
    turn[order] = np.arange(len(order))
    own, other = np.repeat(turn, np.diff(graph.offsets)), turn[graph.neighbours]
    chosen = np.flatnonzero((other < own) & (own < never))
    chosen = chosen[np.argsort(own[chosen], kind="stable")]
    choosing, starts = np.unique(own[chosen], return_index=True)
    near = other[chosen].tolist()
    for u, (start, stop) in zip(choosing.tolist(), pairwise([*starts.tolist(), len(near)]), strict=True):
        yield u, near[start:stop]


def _founders(earlier: Iterable[tuple[int, list[int]]], limits: list[int]) -> list[int]:
    """Return for each turn the turn of the owner that founded its group; owners without a choice found one."""
    founder, size, tightest = list(range(len(limits))), [1] * len(limits), list(limits)
    for u, near in earlier:
        best, limit = u, limits[u]
        seen: dict[int, int] = {}
        for v in near:
            group = founder[v]
            met = seen[group] = seen.get(group, 0) + 1
            # A count reaches the group's size at most once, at the group's last member.
            if met == size[group] and group < best and met < tightest[group] and met < limit:
                best = group
        if best != u:
            founder[u] = best
            size[best] += 1
            tightest[best] = min(tightest[best], limit)
    return founder
