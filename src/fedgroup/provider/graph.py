"""Who is similar to whom: an undirected graph over owners, held as sorted neighbour lists.

An edge takes 8 bytes, 4 on each side, and 12 while the graph is built: nothing is ever sorted or held for all pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fedgroup.errors import ProtocolViolation

Offsets = npt.NDArray[np.int64]
Neighbours = npt.NDArray[np.int32]

_TOGETHER = 4096
"""How many owners' neighbours are written in turns: so many places of memory a processor keeps at hand."""


class EdgeBlock(NamedTuple):
    """The edges from some owners to later ones: `degrees[k]` owners of `later` belong to `earlier[k]`, ascending."""

    earlier: Neighbours
    degrees: Offsets
    later: Neighbours

    def renamed(self, names: Neighbours) -> EdgeBlock:
        """Return the edges with `names[i]`, ascending, for owner i."""
        return EdgeBlock(names[self.earlier], self.degrees, names[self.later])


@dataclass(frozen=True, eq=False)
class SimilarityGraph:
    """The neighbours of owner i are `neighbours[offsets[i]:offsets[i + 1]]`, ascending; every edge stands twice."""

    offsets: Offsets
    neighbours: Neighbours

    @classmethod
    def from_edges(cls, owners: int, first: npt.ArrayLike, second: npt.ArrayLike) -> SimilarityGraph:
        """Return the graph of the edges (first[k], second[k]), each given once, in any order."""
        a = np.asarray(first, dtype=np.int32)
        b = np.asarray(second, dtype=np.int32)
        if len(a) and (min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= owners or (a == b).any()):
            raise ProtocolViolation(f"an edge joins two different owners numbered 0..{owners - 1}")
        # Dealt out by the later end and then by the earlier one, edges stand in order.
        later, earlier = _dealt(np.maximum(a, b), np.minimum(a, b), owners)
        earlier, later = _dealt(earlier, later, owners)
        if ((np.diff(earlier) == 0) & (np.diff(later) == 0)).any():
            raise ProtocolViolation("every edge is given once")
        degrees = np.bincount(earlier, minlength=owners)
        return cls.from_blocks(owners, [EdgeBlock(np.arange(owners, dtype=np.int32), degrees, later)])

    @classmethod
    def from_blocks(cls, owners: int, blocks: Iterable[EdgeBlock]) -> SimilarityGraph:
        """Return the graph of all blocks; every owner stands in one block at most, and the blocks ascend."""
        from fedgroup.provider import edge_lists

        waiting: list[EdgeBlock] = []
        below = np.zeros(owners, dtype=np.int64)
        above = np.zeros(owners, dtype=np.int64)
        for block in blocks:
            above[block.earlier] = block.degrees
            edge_lists.count(block.later, below)
            waiting.append(block)
        offsets = np.zeros(owners + 1, dtype=np.int64)
        np.cumsum(below + above, out=offsets[1:])
        neighbours = np.empty(int(offsets[-1]), dtype=np.int32)
        own = offsets[:-1] + below
        while waiting:  # a block is let go as soon as it has its place
            edge_lists.place(*waiting.pop(), own, neighbours)
        for start in range(0, owners, _TOGETHER):
            edge_lists.mirror(start, min(start + _TOGETHER, owners), offsets, own, neighbours)
        return cls(offsets, neighbours)

    @property
    def owners(self) -> int:
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        return len(self.neighbours) // 2

    def neighbours_of(self, owner: int) -> Neighbours:
        """Return the owners similar to `owner`, ascending."""
        return self.neighbours[self.offsets[owner] : self.offsets[owner + 1]]


def _dealt(by: Neighbours, other: Neighbours, owners: int) -> tuple[Neighbours, Neighbours]:
    """Return both ends of all edges in the order of one of them; edges that agree in it keep their order."""
    from fedgroup.provider import edge_lists

    free = np.zeros(owners + 1, dtype=np.int64)
    np.cumsum(np.bincount(by, minlength=owners), out=free[1:])
    return edge_lists.deal(by, other, free)
