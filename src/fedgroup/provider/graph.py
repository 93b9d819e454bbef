"""Who is similar to whom: an undirected graph over owners, held as sorted neighbour lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import ProtocolViolation

Offsets = npt.NDArray[np.int64]
Neighbours = npt.NDArray[np.int32]


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
        source = np.concatenate([a, b])
        target = np.concatenate([b, a])
        key = np.sort(source.astype(np.int64) * owners + target)
        if len(key) and (np.diff(key) == 0).any():
            raise ProtocolViolation("every edge is given once")
        offsets = np.searchsorted(key, np.arange(owners + 1, dtype=np.int64) * owners)
        return cls(offsets.astype(np.int64), (key % max(owners, 1)).astype(np.int32))

    @property
    def owners(self) -> int:
        return len(self.offsets) - 1

    @property
    def edges(self) -> int:
        return len(self.neighbours) // 2

    def neighbours_of(self, owner: int) -> Neighbours:
        """Return the owners similar to `owner`, ascending."""
        return self.neighbours[self.offsets[owner] : self.offsets[owner + 1]]
