"""How good a grouping is, judged by the exact vectors that the grouping never saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.messages import Partition

_BLOCK = 1 << 22


@dataclass(frozen=True)
class Shares:
    """`false_pair_share`: in-group pairs not truly above the threshold, among all in-group pairs.

    `misplaced_share`: owners truly similar to less than half of their group, themselves included, among all owners.
    It is the honest figure for a large trusted group, in which strangers would see each other's exact counts and
    which would hide them in the share of pairs. Two strangers in a pair are not misplaced, but a false pair.
    """

    false_pair_share: float
    misplaced_share: float


def judge(partition: Partition, vectors: npt.NDArray[np.int32], *, threshold: float) -> Shares:
    """Return the shares of false pairs and misplaced owners of a partition."""
    order = np.argsort(partition.labels, kind="stable")
    ends = np.cumsum(partition.sizes)
    pairs = similar = misplaced = 0
    for start, end in zip(ends - partition.sizes, ends, strict=True):
        if end - start > 1:
            friends = _friends(vectors[order[start:end]], threshold)
            others = end - start - 1
            pairs += (others + 1) * others // 2
            similar += int(friends.sum()) // 2
            misplaced += int((2 * (friends + 1) < others + 1).sum())
    return Shares((pairs - similar) / pairs if pairs else 0.0, misplaced / max(1, partition.owners))


def _friends(vectors: npt.NDArray[np.int32], threshold: float) -> npt.NDArray[np.int64]:
    """Return for each member how many other members are truly similar to it."""
    values = vectors.astype(np.float64)
    squares = np.einsum("ij,ij->i", values, values)
    friends = np.zeros(len(values), dtype=np.int64)
    rows = max(1, _BLOCK // len(values))
    for start in range(0, len(values), rows):
        stop = min(start + rows, len(values))
        least = threshold * np.sqrt(squares[start:stop, None] * squares[None, :])
        similar = (values[start:stop] @ values.T > least) & (squares[start:stop, None] > 0) & (squares > 0)
        similar[np.arange(stop - start), np.arange(start, stop)] = False
        friends[start:stop] = similar.sum(axis=1)
    return friends
