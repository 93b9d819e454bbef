"""The largest clique of a small graph: branch and bound with a colouring bound, on bit sets.

Tomita and Seki 2003, in San Segundo's bit-parallel form (2011): a clique takes at most one node of each colour of a
proper colouring, so a candidate set that needs k colours makes a clique larger by at most k.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.messages import Labels
from fedgroup.provider.graph import Neighbours, Offsets

Words = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint64]

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUMS = np.uint64(0x0101010101010101)


@numba.njit(cache=True, inline="always")
def _popcount(word: np.uint64) -> int:
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> np.uint64(2)) & _FOURS)
    word = (word + (word >> np.uint64(4))) & _BYTES
    return np.int64((word * _SUMS) >> np.uint64(56))  # type: ignore[return-value]


@numba.njit(cache=True, inline="always")
def _lowest_bit(word: np.uint64) -> int:
    return _popcount((word & (~word + _ONE)) - _ONE)


@numba.njit(cache=True)
def induced_rows(members: Labels, offsets: Offsets, neighbours: Neighbours, local: Labels) -> tuple[Rows, int]:
    """Return the graph among `members` as one bit set per member, and the steps taken; `local` is all -1."""
    n = len(members)
    rows = np.zeros((n, (n + 63) // 64), np.uint64)
    for i in range(n):
        local[members[i]] = i
    steps = n
    for i in range(n):
        u = members[i]
        steps += offsets[u + 1] - offsets[u]
        for v in neighbours[offsets[u] : offsets[u + 1]]:
            j = local[v]
            if j >= 0:
                rows[i, j >> 6] |= _ONE << np.uint64(j & 63)
    for i in range(n):
        local[members[i]] = -1
    return rows, steps


@numba.njit(cache=True)
def larger_clique(rows: Rows, known: int, wanted: int, allowance: int) -> tuple[Labels, int, int]:
    """Return a clique of more than `known` nodes if one was found, a bound on the largest, and the steps taken.

    The bound is the larger of the clique's size and `known`, and so the clique is largest, unless the steps exceed
    `allowance`. The search also ends at a clique of `wanted` nodes, the most there can be.
    """
    clique, steps = greedy_clique(rows)
    if len(clique) <= known:
        clique = clique[:0]
    size = max(len(clique), known)
    if size >= wanted:
        return clique, size, steps
    better, at_most, spent = _branch_and_bound(rows, size, wanted, allowance)
    return better if len(better) else clique, at_most, steps + spent


@numba.njit(cache=True)
def _branch_and_bound(rows: Rows, size: int, wanted: int, allowance: int) -> tuple[Labels, int, int]:
    """Return what `larger_clique` promises, where `size` is the best size known."""
    n, words = rows.shape
    best = np.empty(0, np.int32)
    everything = _full(n)
    # The branches of all depths share one stack: those of a depth lie above the untried ones of the depth before.
    nodes = np.empty(2 * n, np.int32)
    colours = np.empty(2 * n, np.int32)
    spare = np.empty((2, words), np.uint64)
    end, most, steps = _colour(rows, everything, size + 1, nodes, colours, 0, spare)
    candidates = np.empty((most + 1, words), np.uint64)
    candidates[0] = everything
    starts = np.zeros(most + 1, np.int64)
    ends = np.full(most + 1, end, np.int64)
    chosen = np.empty(most + 1, np.int32)
    depth = 0
    while depth >= 0 and size < wanted:
        if ends[depth] == starts[depth] or depth + colours[ends[depth] - 1] <= size:
            depth -= 1
            continue
        if steps > allowance:
            return best, max(size, min(most, wanted)), steps
        ends[depth] -= 1
        top = ends[depth]
        chosen[depth] = nodes[top]
        steps += words
        if _narrow(rows, candidates, depth, nodes[top]):
            if top + n > len(nodes):
                nodes = np.append(nodes, nodes)
                colours = np.append(colours, colours)
            depth += 1
            starts[depth] = top
            ends[depth], _, spent = _colour(rows, candidates[depth], size - depth + 1, nodes, colours, top, spare)
            steps += spent
        elif depth + 1 > size:
            size = depth + 1
            best = chosen[:size].copy()
    return best, size, steps


@numba.njit(cache=True)
def _narrow(rows: Rows, candidates: Rows, depth: int, v: int) -> bool:
    """Take `v` from the candidates, write its neighbours among them one deeper, and return whether there are any."""
    candidates[depth, v >> 6] &= ~(_ONE << np.uint64(v & 63))
    some = _NONE
    for w in range(rows.shape[1]):
        both = candidates[depth, w] & rows[v, w]
        candidates[depth + 1, w] = both
        some |= both
    return some != _NONE


@numba.njit(cache=True)
def _full(n: int) -> Words:
    everything = np.zeros((n + 63) // 64, np.uint64)
    for i in range(n):
        everything[i >> 6] |= _ONE << np.uint64(i & 63)
    return everything


@numba.njit(cache=True)
def _colour(
    rows: Rows, candidates: Words, least: int, nodes: Labels, colours: Labels, top: int, spare: Rows
) -> tuple[int, int, int]:
    """Colour `candidates` greedily and write those of colour `least` or more from `top` on, colours ascending.

    Return where they end, how many colours there are, and the steps taken.
    """
    words = len(candidates)
    uncoloured, allowed = spare[0], spare[1]
    uncoloured[:] = candidates
    first = 0
    colour = 0
    steps = words
    while True:
        while first < words and uncoloured[first] == _NONE:
            first += 1
        if first == words:
            return top, colour, steps
        colour += 1
        allowed[first:] = uncoloured[first:]
        steps += words - first
        for w in range(first, words):
            while allowed[w]:
                bit = _lowest_bit(allowed[w])
                v = (w << 6) + bit
                uncoloured[w] &= ~(_ONE << np.uint64(bit))
                allowed[w] &= ~(_ONE << np.uint64(bit))
                for x in range(w, words):
                    allowed[x] &= ~rows[v, x]
                steps += words - w
                if colour >= least:
                    nodes[top] = v
                    colours[top] = colour
                    top += 1


@numba.njit(cache=True)
def greedy_clique(rows: Rows) -> tuple[Labels, int]:
    """Return a maximal clique, to which the candidate that keeps most others joins next, and the steps taken."""
    n, words = rows.shape
    candidates = _full(n)
    clique = np.empty(n, np.int32)
    size = 0
    left = n
    steps = words
    while left:
        joins, left, spent = _keeps_most(rows, candidates, left)
        steps += spent
        clique[size] = joins
        size += 1
        for x in range(words):
            candidates[x] &= rows[joins, x]
    return clique[:size].copy(), steps


@numba.njit(cache=True)
def _keeps_most(rows: Rows, candidates: Words, left: int) -> tuple[int, int, int]:
    """Return the candidate with most neighbours among the `left` candidates, their number, and the steps taken."""
    words = len(candidates)
    joins = -1
    most = -1
    steps = words
    for w in range(words):
        word = candidates[w]
        while word and most < left - 1:
            v = (w << 6) + _lowest_bit(word)
            word &= word - _ONE
            kept = 0
            for x in range(words):
                kept += _popcount(candidates[x] & rows[v, x])
            steps += words
            if kept > most:
                most, joins = kept, v
    return joins, most, steps
