"""Algorithm 1 followed by Algorithm 2, comparing only where a comparison can still change the groups.

Owners choose in ascending id, each the lowest-numbered group that holds no "no". A borderline pair is compared when
its later owner is about to join the group of its earlier one, and the first "no" of a group ends the questions to it.
An owner is placed once and stands in one group, so no pair comes up twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fedgroup.messages import Labels
from fedgroup.provider.borderline import ASK, NO, YES, Borderline
from fedgroup.provider.grouping.limits import GroupLimits, Limits, limits_per_owner

Decide = Callable[[int, int], bool]


@dataclass(frozen=True, eq=False)
class LazyGroups:
    """The groups, and what was compared to find them.

    `comparisons` is the number of pairs compared, `edges` the number of pairs known to be similar, with or without a
    comparison, and `revealed_per_owner[i]` the number of comparisons whose outcome tells something of owner i.
    """

    labels: Labels
    comparisons: int
    edges: int
    revealed_per_owner: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()


def group_lazily(borderline: Borderline, decide: Decide, *, limits: Limits | None = None) -> LazyGroups:
    """Return the groups of Algorithm 2 on the graph of all YES pairs and those ASK pairs that `decide` affirms.

    `decide(i, j)`, i < j, tells whether owners i and j are similar; it is called for ASK pairs only, once at most.
    """
    accepted = limits_per_owner(limits, borderline.owners)
    groups = _Groups(borderline, accepted)
    asked = _Asked(borderline.owners, decide)
    for owner in range(borderline.owners):
        groups.add(owner, _group_for(owner, groups, borderline, asked))
    for array in (groups.labels, revealed := np.array(asked.per_owner, dtype=np.int64)):
        array.flags.writeable = False
    return LazyGroups(
        groups.labels, asked.total, borderline.count(YES) + asked.affirmed, revealed, _notes(borderline, asked)
    )


class _Groups:
    """The groups so far."""

    def __init__(self, borderline: Borderline, accepted: GroupLimits) -> None:
        owners = borderline.owners
        self.count = 0
        self.labels = np.full(owners, -1, dtype=np.int32)
        self._state = borderline.state
        self._accepted = accepted
        self._size = np.zeros(owners, dtype=np.int32)
        self._tightest = accepted.copy()
        # Row g tells who has no "no" in group g; rows of groups that never open take no memory.
        self._possible = np.empty((owners, owners), dtype=np.bool_)

    def open_to(self, owner: int) -> npt.NDArray[np.bool_]:
        """Tell for every group whether `owner` may join it, should all its borderline members be similar."""
        size, tightest = self._size[: self.count], self._tightest[: self.count]
        room: npt.NDArray[np.bool_] = size < np.minimum(tightest, self._accepted[owner])
        return room & self._possible[: self.count, owner]

    def add(self, owner: int, group: int) -> None:
        """Put `owner` into `group`, which is new when nobody is in it."""
        possible = self._state[owner] != NO
        if group == self.count:
            self.count += 1
            self._possible[group] = possible
            self._tightest[group] = self._accepted[owner]
        else:
            self._possible[group] &= possible
            self._tightest[group] = min(self._tightest[group], self._accepted[owner])
        self._size[group] += 1
        self.labels[owner] = group


class _Asked:
    """The comparisons made so far."""

    def __init__(self, owners: int, decide: Decide) -> None:
        self._decide = decide
        self.per_owner = [0] * owners
        self.total = 0
        self.affirmed = 0

    def similar(self, first: int, second: int) -> bool:
        """Return the outcome of comparing two owners."""
        self.total += 1
        self.per_owner[first] += 1
        self.per_owner[second] += 1
        answer = bool(self._decide(first, second))
        self.affirmed += answer
        return answer


def _group_for(owner: int, groups: _Groups, borderline: Borderline, asked: _Asked) -> int:
    """Return the lowest-numbered group all of whose members are similar to `owner`, or the next new one."""
    open_groups = groups.open_to(owner)
    unsure = np.flatnonzero(borderline.state[owner, :owner] == ASK)
    unsure = unsure[open_groups[groups.labels[unsure]]]
    certain = _first_without(unsure, groups, open_groups)
    unsure = unsure[groups.labels[unsure] < certain]
    # The least likely member goes first: its "no" saves the questions to the others.
    ordered = unsure[np.lexsort((borderline.rank[owner, unsure], groups.labels[unsure]))]
    labels = groups.labels[ordered]
    members = ordered.tolist()
    starts = np.flatnonzero(np.diff(labels, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(members)]):
        if all(asked.similar(member, owner) for member in members[start:stop]):
            return int(labels[start])
    return certain


def _first_without(unsure: npt.NDArray[np.int64], groups: _Groups, open_groups: npt.NDArray[np.bool_]) -> int:
    """Return the first open group with nobody in `unsure`, or the next new one."""
    questions = np.bincount(groups.labels[unsure], minlength=groups.count)
    certain = np.flatnonzero(open_groups & (questions == 0))
    return int(certain[0]) if len(certain) else groups.count


def _notes(borderline: Borderline, asked: _Asked) -> tuple[str, ...]:
    if not (unsure := borderline.asked):
        return ()
    compared = f"{asked.total:,} of {unsure:,} borderline pairs were compared"
    return (f"{compared}; the others could not change the groups",)
