"""Compiled first-fit: the inner loop of Algorithm 2, over neighbour lists and without the complement graph.

An owner may join a group when all of the group's members are its neighbours, that is when as many of its neighbours
are in the group as the group has members. One pass over the owner's neighbours counts them for every group at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from fedgroup.messages import Labels
    from fedgroup.provider.graph import Neighbours, Offsets
    from fedgroup.provider.grouping.limits import GroupLimits

NO_LIMIT = np.iinfo(np.int32).max


@numba.njit(cache=True)
def lowest_open_group(
    near: Neighbours, labels: Labels, size: Labels, tightest: GroupLimits, count: Offsets, turn: int, limit: int
) -> int:
    """Return the lowest-numbered group an owner with neighbours `near` may join, or -1.

    `count` keeps the counts of all turns: those of this turn lie above `turn * (owners + 1)`, so it is never cleared.
    """
    base = turn * (len(labels) + 1)
    lowest = -1
    for u in near:
        g = labels[u]
        if g >= 0:
            seen = max(count[g], base) + 1
            count[g] = seen
            # A count grows by one and reaches the group's size at most once, at the group's last member.
            if seen - base == size[g] and size[g] < min(tightest[g], limit) and (lowest < 0 or g < lowest):
                lowest = g
    return lowest


@numba.njit(cache=True)
def first_fit_labels(offsets: Offsets, neighbours: Neighbours, limits: GroupLimits, order: Labels) -> Labels:
    """Return the group of every owner in `order` when each joins the lowest open group; -1 for the others."""
    labels = np.full(len(limits), -1, np.int32)
    size = np.zeros(len(limits), np.int32)
    tightest = np.full(len(limits), NO_LIMIT, np.int32)
    count = np.zeros(len(limits), np.int64)
    groups = 0
    for turn in range(len(order)):
        u = order[turn]
        near = neighbours[offsets[u] : offsets[u + 1]]
        gid = lowest_open_group(near, labels, size, tightest, count, turn, limits[u])  # Algorithm 2, line 7
        if gid < 0:
            gid = groups
            groups += 1
        labels[u] = gid
        size[gid] += 1
        tightest[gid] = min(tightest[gid], limits[u])
    return labels
