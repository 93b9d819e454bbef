"""Which pairs to compare next, many at once: owners are placed ahead of the answers, as they are likely to come out.

Owners choose in order, so an owner waits for all before it. A wave does not: it supposes where the owners before are
going to be, and asks what each owner would ask then. An owner is *settled* once the answers say where it belongs; what
was supposed wrongly cost comparisons, and never changes a group.

How likely an owner joins a group is learnt while owners settle: from the mean rank of the pairs it would make, and from
how many members already said yes. A question is asked when it is likely enough to be needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.provider.borderline import ASK, NO, Borderline, Ranks, States

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TOLD_YES, TOLD_NO = 3, 4
"""What a comparison told, beside what noisy vectors did."""

_BINS = 24
_STAGES = 6
"""Nobody said yes yet, one member did, two or three, four to seven, and so on."""
_LOWEST, _HIGHEST = -0.5, 1.5
"""Mean ranks are told apart between these."""
_FIRST_CHANCE = 0.3
"""How likely an owner joins a group as long as nobody settled."""


class Pairs(NamedTuple):
    """All pairs: what is known of each, told answers included, and how likely each is a yes; no ranks: all alike."""

    state: States
    rank: Ranks

    @classmethod
    def of(cls, borderline: Borderline) -> Pairs:
        """Return what is known before anybody was compared."""
        alike = 0 in borderline.rank.strides and borderline.owners > 1
        none: Ranks = np.empty((0, 0), dtype=np.float32)
        none.flags.writeable = False
        return cls(borderline.state.copy(), none if alike else borderline.rank)


class Groups(NamedTuple):
    """The groups of the first owners: whose each is, how large each is, and the smallest limit in it."""

    label: npt.NDArray[np.int32]
    size: Ints
    tightest: Ints
    counts: Ints  # how many owners are settled, and how many groups there are

    @classmethod
    def none(cls, owners: int) -> Groups:
        """Return no groups yet."""
        label = np.full(owners, -1, dtype=np.int32)
        return cls(label, np.zeros(owners, np.int64), np.zeros(owners, np.int64), np.zeros(2, np.int64))


class JoinTally(NamedTuple):
    """How often owners joined groups, by mean rank and by how many had said yes; and what was asked in vain.

    `asked` holds how many comparisons settled owners took, and how many they would have taken one after the other, at
    least.
    """

    tried: Floats
    joined: Floats
    asked: Ints

    @classmethod
    def nothing(cls) -> JoinTally:
        """Return what is known before anybody settled."""
        return cls(np.zeros((_STAGES, _BINS)), np.zeros((_STAGES, _BINS)), np.zeros(2, np.int64))


class _Seen(NamedTuple):
    """What one owner knows of every group."""

    no: npt.NDArray[np.bool_]
    ask: Ints
    yes: Ints
    rank: Floats
    size: Ints


@numba.njit(cache=True)
def settle(pairs: Pairs, accepted: npt.NDArray[np.int32], groups: Groups, learnt: JoinTally, affordable: int) -> None:
    """Place owners in order, each in the first group all of whose members are similar to it, as long as that is known.

    Where no group is open to an owner, it opens one. Groups with more than `affordable` members in doubt are left out.
    """
    seen = _nothing_seen(len(accepted))
    owner, count = groups.counts[0], groups.counts[1]
    while owner < len(accepted):
        _look(owner, pairs, groups.label, count, seen)
        place = -1
        for group in range(count):
            if not seen.no[group] and seen.ask[group] <= affordable and _has_room(group, owner, accepted, groups):
                place = group
                break
        if place >= 0 and seen.ask[place]:
            break
        _learn(owner, place, pairs, groups.label, count, seen, learnt)
        count = _join(owner, place, accepted, groups, count)
        owner += 1
    groups.counts[0], groups.counts[1] = owner, count


@numba.njit(cache=True)
def next_wave(
    pairs: Pairs,
    accepted: npt.NDArray[np.int32],
    settled: Groups,
    learnt: JoinTally,
    affordable: int,
    most: int,
    ahead: int,
    needed: float,
) -> tuple[Ints, Ints]:
    """Return the pairs to compare next, earlier owners first, the later owner of each second.

    At most `most`, of the next `ahead` owners, and each needed with a chance of at least `needed`, should owners settle
    as supposed; the first one is needed in any case. With `needed` of 1 or more it is the only one.
    """
    owners = len(accepted)
    supposed = Groups(settled.label.copy(), settled.size.copy(), settled.tightest.copy(), settled.counts.copy())
    seen = _nothing_seen(owners)
    sure = np.ones(owners)
    first, second = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    members, ranks = np.empty(owners, dtype=np.int64), np.empty(owners)
    asked, count = 0, settled.counts[1]
    for owner in range(settled.counts[0], min(owners, settled.counts[0] + ahead)):
        if asked == most or (needed >= 1.0 and asked):
            break
        _look(owner, pairs, supposed.label, count, seen)
        place, arrives = -1, 1.0  # arrives: how likely no group before this one takes the owner
        for group in range(count):
            if seen.no[group] or seen.ask[group] > affordable or not _has_room(group, owner, accepted, supposed):
                continue
            if seen.ask[group] == 0:
                place = group
                break
            chance = _chance(group, seen, learnt)
            unsure = _ask_members(owner, group, pairs, supposed.label, members, ranks) if arrives >= needed else 0
            for k in range(unsure):
                useful = arrives * sure[members[k]] * (1.0 if k <= 2 * seen.yes[group] else chance)
                if asked < most and (useful >= needed or asked == 0):
                    first[asked], second[asked] = members[k], owner
                    asked += 1
                    if needed >= 1.0:
                        break
            if asked and needed >= 1.0:
                break
            if chance >= 0.5:
                place, arrives = group, arrives * chance
                break
            arrives *= 1.0 - chance
        count = _join(owner, place, accepted, supposed, count)
        sure[owner] = arrives
    return first[:asked], second[:asked]


@numba.njit(cache=True)
def _nothing_seen(owners: int) -> _Seen:
    return _Seen(
        np.zeros(owners, dtype=np.bool_),
        np.zeros(owners, dtype=np.int64),
        np.zeros(owners, dtype=np.int64),
        np.zeros(owners),
        np.zeros(owners, dtype=np.int64),
    )


@numba.njit(cache=True)
def _rank_of(pairs: Pairs, owner: int, member: int) -> float:
    return float(pairs.rank[owner, member]) if len(pairs.rank) else 0.0


@numba.njit(cache=True)
def _look(owner: int, pairs: Pairs, label: npt.NDArray[np.int32], count: int, seen: _Seen) -> None:
    """Count what is known of an owner and the members of each group."""
    for group in range(count):
        seen.no[group], seen.rank[group] = False, 0.0
        seen.ask[group] = seen.yes[group] = seen.size[group] = 0
    for member in range(owner):
        group, state = label[member], pairs.state[owner, member]
        seen.size[group] += 1
        seen.rank[group] += _rank_of(pairs, owner, member)
        if state in (NO, TOLD_NO):
            seen.no[group] = True
        elif state == ASK:
            seen.ask[group] += 1
        elif state == TOLD_YES:
            seen.yes[group] += 1


@numba.njit(cache=True)
def _has_room(group: int, owner: int, accepted: npt.NDArray[np.int32], groups: Groups) -> bool:
    return groups.size[group] < min(groups.tightest[group], accepted[owner])


@numba.njit(cache=True)
def _join(owner: int, place: int, accepted: npt.NDArray[np.int32], groups: Groups, count: int) -> int:
    """Put an owner into a group, a new one if it is none, and return how many groups there are."""
    if place < 0:
        place = count
        count += 1
        groups.size[place], groups.tightest[place] = 0, accepted[owner]
    groups.label[owner] = place
    groups.size[place] += 1
    groups.tightest[place] = min(groups.tightest[place], accepted[owner])
    return count


@numba.njit(cache=True)
def _ask_members(
    owner: int, group: int, pairs: Pairs, label: npt.NDArray[np.int32], members: Ints, ranks: Floats
) -> int:
    """Write the members in doubt, the least likely first: its "no" saves the questions to the others."""
    unsure = 0
    for member in range(owner):
        if label[member] == group and pairs.state[owner, member] == ASK:
            members[unsure], ranks[unsure] = member, _rank_of(pairs, owner, member)
            unsure += 1
    if len(pairs.rank):
        members[:unsure] = members[:unsure][np.argsort(ranks[:unsure], kind="mergesort")]
    return unsure


@numba.njit(cache=True)
def _bin(rank: float) -> int:
    share = (rank - _LOWEST) / (_HIGHEST - _LOWEST)
    return min(_BINS - 1, max(0, int(share * _BINS)))


@numba.njit(cache=True)
def _stage(yes: int) -> int:
    stage = 0
    while yes > 0 and stage < _STAGES - 1:
        yes >>= 1
        stage += 1
    return stage


@numba.njit(cache=True)
def _chance(group: int, seen: _Seen, learnt: JoinTally) -> float:
    """Return how likely all members of a group are similar to an owner, by what came of owners like it."""
    return chance_of(seen.rank[group] / max(1, seen.size[group]), seen.yes[group], learnt)


@numba.njit(cache=True)
def chance_of(rank: float, yes: int, learnt: JoinTally) -> float:
    """Return how often what had this mean rank, and so many yes, came out as a yes throughout."""
    middle, stage = _bin(rank), _stage(yes)
    tried = joined = 0.0
    for at in range(max(0, middle - 1), min(_BINS, middle + 2)):
        weight = 1.0 if at == middle else 0.25
        tried += weight * learnt.tried[stage, at]
        joined += weight * learnt.joined[stage, at]
    before = 1.0 - (1.0 - _FIRST_CHANCE) * 0.5**stage
    return (joined + 2.0 * before) / (tried + 2.0)


@numba.njit(cache=True)
def learn(rank: float, yes: int, joined: bool, learnt: JoinTally) -> None:
    """Note how it came out, and that it would have come out so with fewer yes."""
    for stage in range(_stage(yes) + 1):
        learnt.tried[stage, _bin(rank)] += 1.0
        learnt.joined[stage, _bin(rank)] += 1.0 if joined else 0.0


@numba.njit(cache=True)
def _learn(
    owner: int, place: int, pairs: Pairs, label: npt.NDArray[np.int32], count: int, seen: _Seen, learnt: JoinTally
) -> None:
    """Note of a settled owner which groups it joined or not, and what one comparison after the other would have taken.

    The latter is what the first group of all that said yes takes, and for each of the others the members that said yes
    before the first that did not, and that one.
    """
    for group in range(count):
        joined = group == place
        if (place >= 0 and group > place) or not (joined or seen.no[group]):
            continue
        taken = seen.yes[group] if joined else _taken(owner, group, pairs, label)
        if taken == 0:
            continue
        learnt.asked[1] += taken
        learn(seen.rank[group] / seen.size[group], seen.yes[group], joined, learnt)
    for member in range(owner):
        if pairs.state[owner, member] >= TOLD_YES:
            learnt.asked[0] += 1


@numba.njit(cache=True)
def _taken(owner: int, group: int, pairs: Pairs, label: npt.NDArray[np.int32]) -> int:
    """Return how many questions a group that said no takes at least, the least likely member asked first.

    None, if noisy vectors say no as well, or nobody was asked.
    """
    least, stopped, asked = np.inf, -1, False
    for member in range(owner):
        if label[member] != group:
            continue
        state = pairs.state[owner, member]
        if state == NO:
            return 0
        asked |= state >= TOLD_YES
        if state in (ASK, TOLD_NO) and _rank_of(pairs, owner, member) < least:
            least, stopped = _rank_of(pairs, owner, member), member
    if not asked:
        return 0
    taken = 1
    for member in range(owner):
        if label[member] == group and pairs.state[owner, member] == TOLD_YES:
            rank = _rank_of(pairs, owner, member)
            if rank < least or (rank == least and member < stopped):
                taken += 1
    return taken
