"""How good a grouping is, judged by the exact vectors that the grouping never saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.messages import Partition

_BLOCK = 1 << 22


@dataclass(frozen=True)
class Shares:
    """How far the groups that are not masked are from the truth; masked ones show nobody anything.

    `false_pair_share`: in-group pairs not truly above the threshold, among all in-group pairs. One large true group
    hides many wrong owners in it.
    `misplaced_share`: owners truly similar to less than half of their group, themselves included, among all owners:
    the figure for a trusted group, in which strangers would see each other's exact counts.
    `stranger_share`: the same without themselves, so that two strangers in a pair count too.
    """

    false_pair_share: float
    misplaced_share: float
    stranger_share: float


def judge(partition: Partition, vectors: npt.NDArray[np.int32], *, threshold: float) -> Shares:
    """Return how far a partition is from the truth, by the exact vectors."""
    order = np.argsort(partition.labels, kind="stable")
    ends = np.cumsum(partition.sizes)
    pairs = similar = misplaced = strangers = 0
    for start, end, masked in zip(ends - partition.sizes, ends, partition.is_masked, strict=True):
        if masked:
            continue
        size = int(end - start)
        friends = _friends(vectors[order[start:end]], threshold) if size > 1 else np.zeros(1, dtype=np.int64)
        pairs += size * (size - 1) // 2
        similar += int(friends.sum()) // 2
        misplaced += int((2 * (friends + 1) < size).sum())
        strangers += int((2 * friends < size - 1).sum())
    owners = max(1, partition.owners)
    return Shares((pairs - similar) / pairs if pairs else 0.0, misplaced / owners, strangers / owners)


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
