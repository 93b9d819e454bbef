"""Groups out of few comparisons: each goes where it is expected to join most owners.

Everybody is alone at first. Two groups become one when all pairs between them are similar, which leaves one group
fewer for as many comparisons as there are pairs in doubt. So the gain of a comparison is the chance that the two become
one, over the pairs that have to be compared for it: likely pairs of single owners come first, and groups grow evenly.

How likely two groups become one is learnt from those tried before, by the mean rank of their pairs and by how many of
these turned out similar. Many are tried at once, each group with one other, if they gain nearly as much as the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.messages import Labels
from fedgroup.provider.borderline import ASK, NO, YES, Borderline
from fedgroup.provider.grouping import numbered_by_lowest_member
from fedgroup.provider.grouping.limits import GroupLimits
from fedgroup.provider.waves import JoinTally, chance_of, learn

Ints = npt.NDArray[np.int64]
Ask = Callable[[Ints, Ints], npt.NDArray[np.bool_]]

_NEARLY = 0.7
"""Two groups are tried in a wave if they gain at least this share of what the best two gain."""
_IN_VAIN, _LATE = 0.7, 1.0
"""Merging ends when this share of the last comparisons, so many for each owner, was for nothing."""
_PARTNERS = 4
"""With how many others a group may be tried: the best may be taken."""
_LIKELIER = 1e-3
"""Among those that gain alike, the likelier come first."""


def merged(borderline: Borderline, ask: Ask, *, accepted: GroupLimits, most: int) -> Labels:
    """Return groups of owners known to be similar, after at most so many comparisons."""
    groups = _Growing(borderline, accepted)
    groups.join_sure()
    while most > 0 and not groups.mostly_in_vain:
        tried = groups.most_gaining(most)
        if not tried:
            break
        pairs = [groups.in_doubt(one, other) for one, other in tried]
        questions = _within([len(first) for first, _ in pairs], most)
        chosen = [(first[:count], second[:count]) for (first, second), count in zip(pairs, questions, strict=True)]
        first, second = (np.concatenate([pair[side] for pair in chosen]) for side in (0, 1))
        similar = ask(np.minimum(first, second), np.maximum(first, second))
        most -= len(similar)
        groups.take_answers(tried, chosen, np.split(similar, np.cumsum(questions)[:-1]))
    return numbered_by_lowest_member(groups.labels)


def _within(wanted: list[int], most: int) -> list[int]:
    """Return how many questions each may ask, the first as many as it wants, of so many in all."""
    before = np.concatenate(([0], np.cumsum(wanted)))
    return np.diff(np.minimum(before, most)).tolist()


class _Growing:
    """The groups so far, each by its first member, and what is known between every two of them."""

    def __init__(self, borderline: Borderline, accepted: GroupLimits) -> None:
        owners = borderline.owners
        self.labels = np.arange(owners)
        self._members = {owner: np.array([owner]) for owner in range(owners)}
        self._state = borderline.state.copy()
        self._ranks = borderline.rank
        self._between = _Between(
            np.ones(owners, dtype=np.int64),
            accepted.astype(np.int64),
            borderline.state == NO,
            (borderline.state == ASK).astype(np.int32),
            np.zeros((owners, owners), dtype=np.int32),
            borderline.rank.astype(np.float32),
        )
        self._learnt = JoinTally.nothing()
        self._recent = [0.0, 0.0]  # comparisons of groups that became one, and of those that did not, of late

    @property
    def mostly_in_vain(self) -> bool:
        """Tell whether most comparisons were for nothing of late: what is similar is together, as far as it goes."""
        useful, useless = self._recent
        return useless > _IN_VAIN * (useful + useless) and useful + useless > _LATE * len(self.labels) / 2

    def join_sure(self) -> None:
        """Make one of any two groups between which nothing is in doubt, the likeliest first."""
        while len(pairs := self._disjoint(_best_partners(self._between, self._learnt, True))):
            for one, other in pairs:
                self._merge(one, other)

    def most_gaining(self, most: int) -> list[tuple[int, int]]:
        """Return groups to try to join, those that gain most first, each group once."""
        return self._disjoint(_best_partners(self._between, self._learnt, False))[:most]

    def in_doubt(self, one: int, other: int) -> tuple[Ints, Ints]:
        """Return the pairs to compare next between two groups: the least likely, twice as many as said yes, and one."""
        mine, theirs = self._members[one], self._members[other]
        first, second = (side.ravel() for side in np.meshgrid(mine, theirs, indexing="ij"))
        unsure = np.flatnonzero(self._state[first, second] == ASK)
        order = unsure[np.argsort(self._ranks[first[unsure], second[unsure]], kind="stable")]
        some = order[: 1 + 2 * int(self._between.yes[one, other])]
        return first[some], second[some]

    def take_answers(
        self,
        tried: list[tuple[int, int]],
        asked: list[tuple[Ints, Ints]],
        similar: list[npt.NDArray[np.bool_]],
    ) -> None:
        """Note what was told, and make one of groups between which nothing is in doubt any more."""
        between = self._between
        for (one, other), (first, second), told in zip(tried, asked, similar, strict=True):
            self._state[first, second] = self._state[second, first] = np.where(told, YES, NO)
            for row, column in ((one, other), (other, one)):
                between.ask[row, column] -= len(told)
                between.yes[row, column] += int(told.sum())
                between.no[row, column] |= not told.all()
            done = between.no[one, other] or between.ask[one, other] == 0
            if done:
                mean = between.rank[one, other] / (between.size[one] * between.size[other])
                learn(float(mean), int(between.yes[one, other]), not between.no[one, other], self._learnt)
                self._note(bool(between.no[one, other]), int(between.yes[one, other]) + 1)
            if done and not between.no[one, other]:
                self._merge(one, other)

    def _note(self, useless: bool, comparisons: int) -> None:
        self._recent[useless] += comparisons
        fading = min(1.0, _LATE * len(self.labels) / sum(self._recent))
        self._recent = [fading * each for each in self._recent]

    def _disjoint(self, best: tuple[Ints, Ints, npt.NDArray[np.float64]]) -> list[tuple[int, int]]:
        """Return the best two, and others that gain nearly as much and have no group in common."""
        first, second, gain = best
        order = np.argsort(-gain, kind="stable")
        order = order[gain[order] >= _NEARLY * gain.max(initial=0.0)]
        taken: set[int] = set()
        chosen = []
        for one, other in zip(first[order].tolist(), second[order].tolist(), strict=True):
            if one not in taken and other not in taken:
                taken |= {one, other}
                chosen.append((one, other))
        return chosen

    def _merge(self, one: int, other: int) -> None:
        between = self._between
        members = np.concatenate((self._members[one], self._members.pop(other)))
        self._members[one] = members
        self.labels[members] = one
        between.no[one] |= between.no[other]
        between.no[:, one] |= between.no[:, other]
        for table in (between.ask, between.yes, between.rank):
            table[one] += table[other]
            table[:, one] += table[:, other]
        between.tightest[one] = min(between.tightest[one], between.tightest[other])
        between.size[one] += between.size[other]
        between.size[other] = 0


class _Between(NamedTuple):
    """Sizes and limits of groups, 0 for those that became part of another, and what is known between every two."""

    size: Ints
    tightest: Ints
    no: npt.NDArray[np.bool_]
    ask: npt.NDArray[np.int32]
    yes: npt.NDArray[np.int32]
    rank: npt.NDArray[np.float32]


@numba.njit(cache=True)
def _best_partners(between: _Between, learnt: JoinTally, sure: bool) -> tuple[Ints, Ints, npt.NDArray[np.float64]]:
    """Return for every group those with which a comparison gains most, or which are surely similar to it."""
    owners = len(between.size)
    first, second = np.empty(_PARTNERS * owners, dtype=np.int64), np.empty(_PARTNERS * owners, dtype=np.int64)
    gains = np.empty(_PARTNERS * owners)
    found = 0
    for one in range(owners):
        if between.size[one] == 0:
            continue
        begin = found
        for other in range(one + 1, owners):
            size = between.size[one] + between.size[other]
            if between.size[other] == 0 or between.no[one, other] or (between.ask[one, other] == 0) != sure:
                continue
            if size > min(between.tightest[one], between.tightest[other]):
                continue
            mean = between.rank[one, other] / (between.size[one] * between.size[other])
            if sure:
                gain = 2.0 + mean
            else:
                gain = chance_of(mean, between.yes[one, other], learnt) / between.ask[one, other]
                gain *= 1.0 + _LIKELIER * mean
            at = found
            if found - begin == _PARTNERS:
                at = begin + int(np.argmin(gains[begin:found]))
                if gains[at] >= gain:
                    continue
            else:
                found += 1
            first[at], second[at], gains[at] = one, other, gain
    return first[:found], second[:found], gains[:found]
