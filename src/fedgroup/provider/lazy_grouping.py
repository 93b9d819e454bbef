"""Algorithm 1 followed by Algorithm 2, comparing only where a comparison can still change the groups.

Owners choose in ascending id, each the lowest-numbered group that holds no "no". A borderline pair is compared when
its later owner is about to join the group of its earlier one, and the first "no" of a group ends the questions to it.
An owner is placed once and stands in one group, so no pair comes up twice.

A group is joined by comparing with all of its members, so most comparisons go into the largest groups. Where only so
many are allowed, owners therefore save for those after them: when what is left runs short, an owner turns to groups it
can afford, the likeliest first, and large groups come in parts instead of leaving the last owners alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.messages import Labels
from fedgroup.provider.borderline import ASK, NO, YES, Borderline, States
from fedgroup.provider.grouping.limits import GroupLimits, Limits, limits_per_owner

Decide = Callable[[int, int], bool]

_SAVED = 0.5
"""What is saved for each later owner, in comparisons of an owner so far: later ones need more than that."""
_LAST = 2
"""For so many owners at the end nothing is saved."""
_FAIR = 2.0
"""When it runs short, an owner may take so many equal parts of what is left: not everybody needs one."""
_TURNS = 4
"""How often owners are placed, each time with what is left and all that is known."""


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


def group_lazily(
    borderline: Borderline, decide: Decide, *, limits: Limits | None = None, comparisons: int | None = None
) -> LazyGroups:
    """Return the groups of Algorithm 2 on the graph of all YES pairs and those ASK pairs that `decide` affirms.

    `decide(i, j)`, i < j, tells whether owners i and j are similar; it is called for ASK pairs only, once at most, and
    `comparisons` times at most. Pairs that cannot be compared any more are a "no".
    """
    if comparisons is not None and comparisons < 0:
        raise InvalidInput(f"the number of comparisons must be at least 0, got {comparisons}")
    accepted = limits_per_owner(limits, borderline.owners)
    asked = _Asked(borderline, decide, comparisons)
    groups = fewest = _placed(borderline, accepted, asked)
    for _ in range(_TURNS - 1):
        if not asked.can_do_better:
            break
        groups = _placed(borderline, accepted, asked)
        fewest = groups if groups.count <= fewest.count else fewest
    for array in (fewest.labels, revealed := np.array(asked.per_owner, dtype=np.int64)):
        array.flags.writeable = False
    notes = _notes(borderline, asked)
    return LazyGroups(fewest.labels, asked.total, borderline.count(YES) + asked.affirmed, revealed, notes)


def _placed(borderline: Borderline, accepted: GroupLimits, asked: _Asked) -> _Groups:
    """Return all owners in groups."""
    asked.begin()
    groups = _Groups(asked.state, accepted)
    for owner in range(borderline.owners):
        groups.add(owner, _group_for(owner, groups, borderline, asked))
    return groups


class _Groups:
    """The groups so far."""

    def __init__(self, state: States, accepted: GroupLimits) -> None:
        owners = len(state)
        self.count = 0
        self.labels = np.full(owners, -1, dtype=np.int32)
        self._state = state
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
    """The comparisons made so far, what they told, and how many more are allowed."""

    def __init__(self, borderline: Borderline, decide: Decide, most: int | None) -> None:
        self._decide = decide
        self._owners = borderline.owners
        self._most = borderline.asked if most is None else most
        self.is_capped = self._most < borderline.asked
        # Owners that are placed once need no memory of what was told.
        self.state = borderline.state.copy() if self.is_capped else borderline.state
        self.per_owner = [0] * borderline.owners
        self.total = 0
        self.affirmed = 0
        self.begin()

    def begin(self) -> None:
        """Begin to place all owners."""
        self._before = self.total
        self.went_without = False

    @property
    def left(self) -> int:
        return self._most - self.total

    @property
    def can_do_better(self) -> bool:
        """Tell whether owners went without comparisons that can still be made."""
        return self.went_without and self.left > 0 and self.total > self._before

    def allowed(self, owner: int) -> tuple[float, bool]:
        """Return how many comparisons an owner may ask for, and whether that is because they run short."""
        if not self.is_capped:
            return math.inf, False
        later = self._owners - owner - 1
        saved = _SAVED * (self.total - self._before) / max(1, owner) * max(0, later - _LAST)
        fair = min(1.0, _FAIR / (later + 1)) * self.left
        return max(self.left - saved, fair), self.left - saved < fair

    def similar(self, first: int, second: int) -> bool:
        """Return the outcome of comparing two owners."""
        self.total += 1
        self.per_owner[first] += 1
        self.per_owner[second] += 1
        answer = bool(self._decide(first, second))
        self.affirmed += answer
        if self.is_capped:
            self.state[first, second] = self.state[second, first] = YES if answer else NO
        return answer


def _group_for(owner: int, groups: _Groups, borderline: Borderline, asked: _Asked) -> int:
    """Return the lowest-numbered group all of whose members are similar to `owner`, or the next new one.

    Where comparisons run short, the group whose members are likeliest comes first instead; and a group with more
    members to ask than are allowed is left out.
    """
    open_groups = groups.open_to(owner)
    unsure = np.flatnonzero(asked.state[owner, :owner] == ASK)
    unsure = unsure[open_groups[groups.labels[unsure]]]
    certain = _first_without(unsure, groups, open_groups)
    unsure = unsure[groups.labels[unsure] < certain]
    ranks = borderline.rank[owner]
    # The least likely member goes first: its "no" saves the questions to the others.
    ordered = unsure[np.lexsort((ranks[unsure], groups.labels[unsure]))]
    starts = np.flatnonzero(np.diff(groups.labels[ordered], prepend=-1)).tolist()
    members = [ordered[start:stop].tolist() for start, stop in pairwise([*starts, len(ordered)])]
    allowed, is_short = asked.allowed(owner)
    if is_short and len(ordered) > allowed:
        asked.went_without = True
        members.sort(key=lambda some: -float(ranks[some].mean()))
    until = asked.total + allowed
    for some in members:
        # Nobody comes after the last owner, and a group that says "no" early costs it less than its size.
        asked_now = some if owner < borderline.owners - 1 else some[: asked.left]
        if len(asked_now) > until - asked.total:
            asked.went_without = True
        elif all(asked.similar(member, owner) for member in asked_now):
            if len(asked_now) == len(some):
                return int(groups.labels[some[0]])
            asked.went_without = True
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
    if asked.went_without:
        return (f"{compared}; more were not allowed, so there are more groups than there would be",)
    return (f"{compared}; the others could not change the groups",)
