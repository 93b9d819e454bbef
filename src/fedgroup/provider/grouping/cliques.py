"""FG-Ex: take the largest clique of what is left, again and again, until every owner has a group.

Owners stand in a degeneracy order, and every clique belongs to its first owner in that order. An owner's bound says
how large its cliques can be at most. Taking owners away never makes a clique larger, so bounds stay true from one
clique to the next, and only owners whose bound exceeds the best clique found so far have to be searched again.

Finding a largest clique takes exponential time in the worst case, so the search is limited. It counts steps: one
step handles one machine word of a candidate set or one entry of a neighbour list, so that a limit on steps is also a
limit on time, which one on search nodes is not: nodes differ in cost by a factor of thousands. Where the limit stops
a search, the best clique found is taken, and the notes say for how many cliques this did not happen.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numba
import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.messages import Labels
from fedgroup.provider.graph import Neighbours, Offsets, SimilarityGraph
from fedgroup.provider.grouping.first_fit import first_fit_labels
from fedgroup.provider.grouping.limits import GroupLimits, Limits, limits_per_owner
from fedgroup.provider.grouping.maximum_clique import induced_rows, larger_clique

MOST_OWNERS = 20_000
STEPS_PER_OWNER = 5_000_000
"""The search for the largest clique that starts at one owner is given up after this many steps."""
STEPS_PER_CLIQUE = 25_000_000
"""No further owner is searched for the same clique after this many steps."""
STEPS_IN_TOTAL = 6_000_000_000
"""After this many steps in all, the owners that are left are grouped by Algorithm 2."""


def clique_labels(
    graph: SimilarityGraph,
    limits: Limits | None = None,
    *,
    steps_per_owner: int = STEPS_PER_OWNER,
    steps_per_clique: int = STEPS_PER_CLIQUE,
    steps_in_total: int = STEPS_IN_TOTAL,
) -> tuple[Labels, tuple[str, ...]]:
    """Return each owner's group, the largest clique first, and a note where the search was limited."""
    if graph.owners > MOST_OWNERS:
        raise InvalidInput(
            f"grouping by cliques takes at most {MOST_OWNERS:,} owners, got {graph.owners:,}; use greedy or dsatur"
        )
    limit = limits_per_owner(limits, graph.owners)
    allowance = np.array([steps_per_owner, steps_per_clique, steps_in_total], dtype=np.int64)
    labels, groups, proven = _clique_after_clique(graph.offsets, graph.neighbours, limit, allowance)
    left = np.flatnonzero(labels < 0).astype(np.int32)
    if len(left):
        rest = first_fit_labels(graph.offsets, graph.neighbours, limit, left)
        labels[left] = rest[left] + groups
        groups = int(labels.max()) + 1
    return labels, () if proven == groups else (_note(proven, groups, len(left)),)


def _note(proven: int, groups: int, left: int) -> str:
    note = f"{proven} of {groups} groups are proven largest cliques; the search limit stopped the other searches"
    return f"{note}, and the last {left} owners were grouped by the greedy algorithm" if left else note


class Ordered(NamedTuple):
    """A similarity graph, its owners in degeneracy order, and the place of each in that order."""

    offsets: Offsets
    neighbours: Neighbours
    order: Labels
    position: Labels


@numba.njit(cache=True)
def _clique_after_clique(
    offsets: Offsets, neighbours: Neighbours, limits: GroupLimits, allowance: Offsets
) -> tuple[Labels, int, int]:
    """Return the groups (-1 for owners the total allowance left over), their number and how many are proven."""
    m = len(limits)
    labels = np.full(m, -1, np.int32)
    unused = np.full(m, -1, np.int32)
    order, position = degeneracy_order(offsets, neighbours)
    graph = Ordered(offsets, neighbours, order, position)
    # A clique larger than every limit is cut back anyway, so no bound needs to exceed the largest.
    heap = [(-min(_later_members(u, labels, graph).size + 1, limits.max()), position[u]) for u in range(m)]
    heapq.heapify(heap)
    groups = 0
    proven = 0
    steps = 0
    while len(heap) and steps < allowance[2]:
        until = min(allowance[1], allowance[2] - steps)
        clique, is_proven, spent = _largest_left(heap, labels, graph, unused, allowance[0], until)
        steps += spent
        if len(clique):
            _label_within_limits(clique, limits, labels, groups)
            groups += 1
            proven += is_proven
    return labels, groups, proven


@numba.njit(cache=True)
def _largest_left(
    heap: list[tuple[int, int]], labels: Labels, graph: Ordered, unused: Labels, allowance: int, until: int
) -> tuple[Labels, bool, int]:
    """Return the largest clique without labels that was found, whether it is proven largest, and the steps taken.

    The heap holds (-bound, place) of every owner; an owner is searched once, with `allowance` steps, and none after
    `until` steps. It leaves the heap when it has a label.
    """
    clique = np.empty(0, np.int32)
    searched = [heap[0] for _ in range(0)]
    steps = 0
    while len(heap) and -heap[0][0] > len(clique) and (steps < until or not len(clique)):
        bound, place = heapq.heappop(heap)
        u = graph.order[place]
        if labels[u] >= 0:
            continue
        members = _later_members(u, labels, graph)
        at_most = len(members)
        if at_most >= len(clique):
            rows, read = induced_rows(members, graph.offsets, graph.neighbours, unused)
            found, at_most, spent = larger_clique(rows, len(clique) - 1, -bound - 1, allowance)
            steps += read + spent
            if len(found) + 1 > len(clique):
                clique = np.append(members[found], u)
        searched.append((max(bound, -at_most - 1), place))
    is_proven = not len(heap) or -heap[0][0] <= len(clique)
    for bound, place in searched:
        is_proven &= -bound <= len(clique)
        heapq.heappush(heap, (bound, place))
    return clique, is_proven, steps


@numba.njit(cache=True)
def _later_members(u: int, labels: Labels, graph: Ordered) -> Labels:
    """Return the neighbours after `u` without a label, those in the densest part of the graph first."""
    near = graph.neighbours[graph.offsets[u] : graph.offsets[u + 1]]
    places = np.empty(len(near), np.int32)
    found = 0
    for v in near:
        if graph.position[v] > graph.position[u] and labels[v] < 0:
            places[found] = graph.position[v]
            found += 1
    return graph.order[np.sort(places[:found])[::-1]]


@numba.njit(cache=True)
def _label_within_limits(clique: Labels, limits: GroupLimits, labels: Labels, group: int) -> None:
    """Give `group` to the members that accept the largest groups, as long as all of them accept its size."""
    by_id = np.sort(clique)
    for taken, i in enumerate(np.argsort(-limits[by_id], kind="mergesort")):
        if taken + 1 > limits[by_id[i]]:
            break
        labels[by_id[i]] = group


@numba.njit(cache=True)
def degeneracy_order(offsets: Offsets, neighbours: Neighbours) -> tuple[Labels, Labels]:
    """Return the owners, none followed by more neighbours than its core number, and each owner's place.

    Batagelj and Zaversnik 2003: the owner with the fewest neighbours left goes next, in O(owners + edges).
    """
    m = len(offsets) - 1
    degree = (offsets[1:] - offsets[:-1]).astype(np.int32)
    order = np.argsort(degree, kind="mergesort").astype(np.int32)
    position = np.empty(m, np.int32)
    first = np.zeros(m + 1, np.int32)
    for place in range(m):
        position[order[place]] = place
        first[degree[order[place]] + 1] += 1
    for d in range(m):
        first[d + 1] += first[d]
    for place in range(m):
        u = order[place]
        first[degree[u]] = max(first[degree[u]], place + 1)
        for v in neighbours[offsets[u] : offsets[u + 1]]:
            if degree[v] > degree[u]:
                # v swaps places with the first owner of its degree and then counts as the last of one less.
                front = max(first[degree[v]], place + 1)
                other = order[front]
                order[front], order[position[v]] = v, other
                position[v], position[other] = front, position[v]
                first[degree[v]] = front + 1
                degree[v] -= 1
    return order, position
