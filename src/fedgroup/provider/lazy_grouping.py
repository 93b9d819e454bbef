"""Algorithm 1 followed by Algorithm 2, comparing only where a comparison can still change the groups, many at once.

Owners choose in ascending id, each the lowest-numbered group that holds no "no". A borderline pair is compared when its
later owner is about to join the group of its earlier one, the least likely member first, and the first "no" of a group
ends the questions to it. Strictly one after the other, that takes a round for every comparison. So pairs are compared
in waves (`waves.py`): questions of many owners, asked ahead of the answers that they depend on. Some of them turn out
not to be needed, `extra` of the needed ones about. The groups are the same, whatever is asked.

Where only so many comparisons are allowed, they go where they are expected to join most owners (`merging.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages import Labels
from fedgroup.provider.borderline import ASK, YES, Borderline
from fedgroup.provider.grouping.limits import GroupLimits, Limits, limits_per_owner
from fedgroup.provider.merging import merged
from fedgroup.provider.waves import TOLD_NO, TOLD_YES, Groups, JoinTally, Pairs, next_wave, settle

Ints = npt.NDArray[np.int64]
Decide = Callable[[Ints, Ints], npt.NDArray[np.bool_]]

EXTRA = 0.25
"""How many more comparisons than needed are made, as a share of these, to save rounds."""
_LEAST_WAVE, _PER_OWNER = 2_048, 4
"""A wave has at most so many comparisons, or so many for each owner if that is more."""
_FIRST_WAVE = 24
"""The first wave has at most so many, and each of the next as many more as there were: little is learnt by then."""
_CAPPED_EXTRA = 0.05
"""With a cap, fewer are made in vain."""
_FAIR = 1.5
"""With a cap, an owner may take so many equal parts of what is left: not everybody needs one."""
_TURNS = 4
"""With a cap, how often owners are placed in order, each time with what is left and all that is known."""
_NEARLY = 0.1
"""When too much was asked in vain, this much of the doubt is left that questions may be in."""


@dataclass(frozen=True)
class GroupingProgress:
    """How far a grouping is: comparisons made, and how many there will be, as far as can be told."""

    compared: int
    expected: int
    waves: int


Report = Callable[[GroupingProgress], None]


@dataclass(frozen=True, eq=False)
class LazyGroups:
    """The groups, and what was compared to find them.

    `comparisons` is the number of pairs compared, in so many `waves`; `needed` how many of them one comparison after
    the other would take at least; `edges` the number of pairs known to be similar, with or without a comparison, and
    `revealed_per_owner[i]` the number of comparisons whose outcome tells something of owner i.
    """

    labels: Labels
    comparisons: int
    edges: int
    revealed_per_owner: npt.NDArray[np.int64]
    waves: int = 0
    needed: int = 0
    notes: tuple[str, ...] = ()


def group_lazily(
    borderline: Borderline,
    decide: Decide,
    *,
    limits: Limits | None = None,
    comparisons: int | None = None,
    extra: float = EXTRA,
    report: Report | None = None,
) -> LazyGroups:
    """Return the groups of Algorithm 2 on the graph of all YES pairs and those ASK pairs that `decide` affirms.

    `decide(first, second)` tells for many pairs at once whether two owners are similar, first < second; it gets ASK
    pairs only, each once at most, and `comparisons` at most. Pairs that cannot be compared any more are a "no". With
    an `extra` of 0 it gets one pair at a time, the one that is needed next; with an infinite one, all of them at once.
    """
    if comparisons is not None and comparisons < 0:
        raise InvalidInput(f"the number of comparisons must be at least 0, got {comparisons}")
    if not extra >= 0:
        raise InvalidInput(f"extra comparisons are a share of the needed ones, at least 0, got {extra}")
    accepted = limits_per_owner(limits, borderline.owners)
    asked = _Asked(borderline, decide, comparisons, extra=extra, report=report)
    if asked.is_capped:
        labels = _within_the_cap(borderline, accepted, asked)
    else:
        if math.isinf(extra):
            asked.ask_all()
        labels = asked.placed(accepted).label
    for array in (labels, revealed := asked.per_owner):
        array.flags.writeable = False
    return LazyGroups(
        labels,
        asked.total,
        borderline.count(YES) + asked.affirmed,
        revealed,
        asked.waves,
        min(asked.total, asked.needed),
        _notes(borderline, asked),
    )


@dataclass(frozen=True, eq=False)
class AllCompared:
    """What every pair is after all in doubt were compared, and what that took; owners are in no groups yet."""

    similar: npt.NDArray[np.bool_]
    groups: LazyGroups


def compare_all(borderline: Borderline, decide: Decide, *, report: Report | None = None) -> AllCompared:
    """Return the whole graph of Algorithm 1: every pair in doubt compared, all at once."""
    asked = _Asked(borderline, decide, None, extra=math.inf, report=report)
    asked.ask_all()
    nobody = np.full(borderline.owners, -1, dtype=np.int32)
    edges = borderline.count(YES) + asked.affirmed
    taken = LazyGroups(nobody, asked.total, edges, asked.per_owner, asked.waves, asked.total, _notes(borderline, asked))
    return AllCompared(asked.similar, taken)


def _within_the_cap(borderline: Borderline, accepted: GroupLimits, asked: _Asked) -> Labels:
    """Return the fewest groups found with what is allowed.

    Groups become one where that gains most. Should comparisons be left when that is mostly in vain, owners are placed
    in order, each in a group that takes no more of them than its fair share of what is left; and again while it helps.
    """
    fewest = merged(borderline, asked.ask, accepted=accepted, most=asked.most)
    for _ in range(_TURNS):
        before = asked.left
        groups = asked.placed(accepted)
        fewest = groups.label if groups.counts[1] <= fewest.max(initial=-1) + 1 else fewest
        if asked.left in (0, before):
            break
    return fewest


class _Asked:
    """The comparisons made so far, what they told, and how many more are allowed."""

    def __init__(
        self, borderline: Borderline, decide: Decide, most: int | None, *, extra: float, report: Report | None
    ) -> None:
        self._decide = decide
        self._owners = borderline.owners
        self._report = report
        self._at_once = max(_LEAST_WAVE, _PER_OWNER * borderline.owners)
        self._pairs = Pairs.of(borderline)
        self._learnt = JoinTally.nothing()
        self.most = borderline.asked if most is None else most
        self.is_capped = self.most < borderline.asked
        self._extra = min(extra, _CAPPED_EXTRA) if self.is_capped else extra
        self.per_owner = np.zeros(borderline.owners, dtype=np.int64)
        self.total = self.affirmed = self.waves = 0
        self._ahead, self._chance_needed = borderline.owners, 1.0

    @property
    def left(self) -> int:
        return self.most - self.total

    @property
    def similar(self) -> npt.NDArray[np.bool_]:
        """Which pairs are known to be similar."""
        similar: npt.NDArray[np.bool_] = (self._pairs.state == YES) | (self._pairs.state == TOLD_YES)
        return similar

    @property
    def needed(self) -> int:
        """How many comparisons settled owners would have taken one after the other, at least."""
        return int(self._learnt.asked[1])

    def placed(self, accepted: GroupLimits) -> Groups:
        """Return all owners in groups, by what is known and by what is asked meanwhile."""
        groups = Groups.none(self._owners)
        settle(self._pairs, accepted, groups, self._learnt, self._affordable(0))
        while groups.counts[0] < self._owners and self.left:
            settled = int(groups.counts[0])
            affordable = self._affordable(settled)
            most = min(self._at_once, _FIRST_WAVE + self.needed, self.left)
            self._steer()
            wave = next_wave(
                self._pairs, accepted, groups, self._learnt, affordable, most, self._ahead, self._chance_needed
            )
            self.ask(*wave, settled=settled)
            settle(self._pairs, accepted, groups, self._learnt, affordable)
        settle(self._pairs, accepted, groups, self._learnt, 0)
        return groups

    def _affordable(self, settled: int) -> int:
        """Return how many comparisons a group may take of an owner: with a cap, some equal parts of what is left."""
        if not self.is_capped:
            return self._owners
        return math.ceil(_FAIR * self.left / max(1, self._owners - settled))

    def _steer(self) -> None:
        """Say how likely a question must be needed, and how far ahead of settled owners questions are asked.

        A question is to be so likely needed that `extra` of them are not. Where more than that turned out to be in
        vain, it has to be likelier, and half as many owners ask ahead; else twice as many.
        """
        asked, needed = self._learnt.asked.tolist()
        # with a cap, comparisons came before that placing owners in order would not have asked for
        in_vain = not self.is_capped and asked - needed > self._extra * needed
        doubt = 1 - 1 / (1 + self._extra)
        self._chance_needed = 1 - doubt * (_NEARLY if in_vain else 1)
        self._ahead = max(1, self._ahead // 2) if in_vain else min(self._owners, 2 * self._ahead)

    def ask_all(self) -> None:
        """Compare all pairs in doubt at once."""
        self.ask(*np.nonzero(np.triu(self._pairs.state == ASK, k=1)), settled=0)

    def ask(self, first: Ints, second: Ints, *, settled: int = 0) -> npt.NDArray[np.bool_]:
        """Compare some pairs and return who is similar."""
        if not len(first):
            return np.zeros(0, dtype=np.bool_)
        similar = np.asarray(self._decide(first, second), dtype=np.bool_)
        if similar.shape != first.shape:
            raise ProtocolViolation(f"{len(first)} pairs have as many outcomes, got {similar.size}")
        self._pairs.state[first, second] = self._pairs.state[second, first] = np.where(similar, TOLD_YES, TOLD_NO)
        for side in (first, second):
            self.per_owner += np.bincount(side, minlength=self._owners)
        self.total += len(first)
        self.affirmed += int(similar.sum())
        self.waves += 1
        if self._report is not None:
            self._report(GroupingProgress(self.total, self._expected(settled), self.waves))
        return similar

    def _expected(self, settled: int) -> int:
        """Return how many comparisons there will be: groups grow with the owners, and comparisons with both."""
        if settled < 2 or self.is_capped:
            return max(self.total, self.most)
        by_now = int(self._learnt.asked[0]) * (self._owners / settled) ** 2
        return max(self.total, min(self.most, int(by_now)))


def _notes(borderline: Borderline, asked: _Asked) -> tuple[str, ...]:
    if not (unsure := borderline.asked):
        return ()
    if asked.total == unsure:
        return (f"all {unsure:,} borderline pairs were compared",)
    compared = f"{asked.total:,} of {unsure:,} borderline pairs were compared"
    if asked.is_capped and asked.left == 0:
        return (f"{compared}; more were not allowed, so there are more groups than there would be",)
    return (f"{compared}; the others could not change the groups",)
