"""Fewer groups than Algorithm 2: first-fit in saturation order, then iterated greedy. Never more groups.

Saturation order (Brelaz 1979) on the complement graph, which is never built: an owner is the more saturated the
fewer of the existing groups are open to it. Ties go to the fewest similar owners, then to the lowest id.

Iterated greedy (Culberson 1992): first-fit again, with the owners ordered group by group. This never needs more
groups, with limits too: let the first k - 1 groups of the order have found room in the new groups 0..k-2. An owner
of the k-th finds in new group k - 1 only members of its own old group, with whom it is pairwise similar and whose
limits the whole old group kept; so that group is open to it, and it goes there or lower.
"""

from __future__ import annotations

import heapq
import math

import numba
import numpy as np

from fedgroup.messages import Labels
from fedgroup.provider.graph import Neighbours, Offsets, SimilarityGraph
from fedgroup.provider.grouping import numbered_by_lowest_member
from fedgroup.provider.grouping.first_fit import NO_LIMIT, first_fit_labels, lowest_open_group
from fedgroup.provider.grouping.greedy import greedy_labels
from fedgroup.provider.grouping.limits import GroupLimits, Limits, limits_per_owner

NEIGHBOURS_READ = 200_000_000
"""Iterated greedy reads at most about this many list entries (a few seconds), but makes at least 4 passes."""
MOST_PASSES = 1_000


def dsatur_labels(graph: SimilarityGraph, limits: Limits | None = None) -> Labels:
    """Return each owner's group, with at most as many groups as `greedy_labels` makes."""
    limit = limits_per_owner(limits, graph.owners)
    by_id = greedy_labels(graph, limits, compiled=True)
    # Owners that accept only small groups close a group to all others, so it can pay to place them last.
    by_limit = greedy_labels(graph, limits, order=np.argsort(-limit, kind="stable").astype(np.int32), compiled=True)
    best = min(saturation_labels(graph, limit), by_limit, by_id, key=lambda labels: int(labels.max(initial=0)))
    for turn in range(passes(graph)):
        best = first_fit_labels(graph.offsets, graph.neighbours, limit, _group_by_group(best, turn))
    return numbered_by_lowest_member(best)


def passes(graph: SimilarityGraph) -> int:
    """Return how often iterated greedy runs: NEIGHBOURS_READ / (2 edges + owners), between 4 and MOST_PASSES."""
    return max(4, min(MOST_PASSES, NEIGHBOURS_READ // (2 * graph.edges + graph.owners + 1)))


def saturation_labels(graph: SimilarityGraph, limits: GroupLimits) -> Labels:
    """Return each owner's group by first-fit in saturation order alone."""
    fewest_similar_first = np.argsort(np.diff(graph.offsets), kind="stable").astype(np.int32)
    return _labels_by_saturation(graph.offsets, graph.neighbours, limits, fewest_similar_first)


def _group_by_group(labels: Labels, turn: int) -> Labels:
    """Return the owners ordered by group; which group comes first changes from turn to turn."""
    size = np.bincount(labels)
    reversed_groups = np.arange(len(size))[::-1]
    match turn % 6:
        case 0 | 3:
            groups = reversed_groups
        case 1:
            groups = np.argsort(-size, kind="stable")
        case 4:
            groups = np.argsort(size, kind="stable")
        case _:
            groups = _strided(len(size), turn)
    rank = np.empty(len(size), dtype=np.int64)
    rank[groups] = np.arange(len(size))
    return np.argsort(rank[labels], kind="stable").astype(np.int32)


def _strided(groups: int, turn: int) -> Offsets:
    # A stride without a common divisor visits every group once; golden-section strides scatter neighbours well.
    stride = max(1, round(groups * math.fmod((turn + 1) * 0.6180339887498949, 1.0)))
    while math.gcd(stride, groups) > 1:
        stride += 1
    return np.arange(groups, dtype=np.int64) * stride % max(groups, 1)


@numba.njit(cache=True)
def _labels_by_saturation(offsets: Offsets, neighbours: Neighbours, limits: GroupLimits, by_rank: Labels) -> Labels:
    """Return each owner's group by first-fit in saturation order, ties in the order `by_rank`."""
    m = len(limits)
    labels = np.full(m, -1, np.int32)
    size = np.zeros(m, np.int32)
    tightest = np.full(m, NO_LIMIT, np.int32)
    count = np.zeros(m, np.int64)
    rank = np.empty(m, np.int64)
    for r in range(m):
        rank[by_rank[r]] = r
    # The unplaced owners a group is open to lie where its first member's neighbours lie, being some of them.
    candidates = neighbours.copy()
    start = np.zeros(m, np.int64)
    length = np.zeros(m, np.int64)
    open_groups = np.zeros(m, np.int64)
    queued = np.zeros(m, np.int64)
    heap = [np.int64(r) for r in range(m)]
    groups = 0
    for turn in range(m):
        u = _most_saturated(heap, labels, open_groups, queued, by_rank)
        near = neighbours[offsets[u] : offsets[u + 1]]
        gid = lowest_open_group(near, labels, size, tightest, count, turn, limits[u])
        is_new = gid < 0
        if is_new:
            gid = groups
            groups += 1
            start[gid] = offsets[u]
            length[gid] = len(near)
        labels[u] = gid
        size[gid] += 1
        tightest[gid] = min(tightest[gid], limits[u])
        listed = candidates[start[gid] : start[gid] + length[gid]]
        next_size = size[gid] + 1 if size[gid] < tightest[gid] else NO_LIMIT
        length[gid], closed = _keep_fitting(listed, near, labels, limits, next_size)
        if is_new:
            for v in listed[: length[gid]]:
                open_groups[v] += 1
            continue
        for v in closed:
            open_groups[v] -= 1
            if open_groups[v] < queued[v]:
                queued[v] = open_groups[v]
                heapq.heappush(heap, queued[v] * m + rank[v])
    return labels


@numba.njit(cache=True)
def _most_saturated(
    heap: list[np.int64], labels: Labels, open_groups: Offsets, queued: Offsets, by_rank: Labels
) -> int:
    """Return the unplaced owner open to the fewest groups and take it off the heap of open groups * m + rank.

    Only the heap entry that equals `queued`, a lower bound of an owner's open groups, counts; it rises when met.
    """
    m = len(by_rank)
    while True:
        key = heapq.heappop(heap)
        u = by_rank[key % m]
        if labels[u] >= 0 or key // m != queued[u]:
            continue
        if queued[u] == open_groups[u]:
            return u
        queued[u] = open_groups[u]
        heapq.heappush(heap, queued[u] * m + key % m)


@numba.njit(cache=True)
def _keep_fitting(
    listed: Neighbours, near: Neighbours, labels: Labels, limits: GroupLimits, next_size: int
) -> tuple[int, Neighbours]:
    """Move the unplaced candidates that are in `near` and accept `next_size` to the front of `listed`.

    Return how many they are, and the unplaced candidates that no longer fit. Both lists ascend, so one walk does.
    """
    closed = np.empty(len(listed), np.int32)
    kept = 0
    lost = 0
    at = 0
    for v in listed:
        if labels[v] >= 0:
            continue
        while at < len(near) and near[at] < v:
            at += 1
        if at < len(near) and near[at] == v and next_size <= limits[v]:
            listed[kept] = v
            kept += 1
        else:
            closed[lost] = v
            lost += 1
    return kept, closed[:lost]
