"""Groups of owners whose largest noisy cell is the same: no pairs, no graph, for any number of owners."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedgroup.messages import Partition
from fedgroup.provider.grouping import numbered_by_lowest_member
from fedgroup.provider.grouping.limits import Limits, limits_per_owner

Ints = npt.NDArray[np.int64]


def partition_by_cell(top: npt.NDArray[np.int64] | npt.NDArray[np.int32], *, limits: Limits | None = None) -> Partition:
    """Return the owners of each cell as groups within their limits; owners whose cell is -1 stay alone."""
    cell = np.asarray(top, dtype=np.int64)
    limit = np.where(cell < 0, 1, limits_per_owner(limits, len(cell))).astype(np.int64)
    # Both sorts are stable, so owners stand by cell, in it by falling limit, and at equal limits by ascending id.
    row = np.argsort(-limit, kind="stable")
    row = row[np.argsort(cell[row], kind="stable")]
    group = np.empty(len(cell), dtype=np.int64)
    group[row] = _filled_groups(cell[row], limit[row])
    return Partition(numbered_by_lowest_member(group))


def _filled_groups(cell: Ints, limit: Ints) -> Ints:
    """Return the group of each position when a group takes the next owner while size + 1 <= that owner's limit."""
    ends = _group_ends(cell, limit).tolist()
    opens = np.zeros(len(cell), dtype=np.int64)
    position = 0
    while position < len(ends):
        opens[position] = 1
        position = ends[position]
    return np.cumsum(opens)


def _group_ends(cell: Ints, limit: Ints) -> Ints:
    """Return, for each position, where a group that starts there ends.

    A group from i reaches j while j - i + 1 <= limit[j], that is while j - limit[j] < i. In a cell limits fall, so
    j - limit[j] rises and one binary search finds the end; far apart offsets keep every search within its cell.
    """
    owners = len(cell)
    apart = np.cumsum(np.diff(cell, prepend=cell[:1]) != 0) * (2 * owners + 2)
    position = np.arange(owners)
    return np.searchsorted(position - limit + apart, position + apart)
