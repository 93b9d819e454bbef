"""What was heard of live owners: vectors are added up as they come, and none is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.live.bounds import ends_of
from fedgroup.live.plans import LiveGroup
from fedgroup.live.recovering import Recovered, fits_then
from fedgroup.live.sheets import Sheet
from fedgroup.messages import NoisyTotals
from fedgroup.messages.asked import Ask
from fedgroup.messages.logged import Logged
from fedgroup.messages.said import Masked, Noisy, Ready
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.chain import group_tag, leaf_of
from fedgroup.secure.widths import word_bytes

_WORDS_AT_ONCE = 1 << 12
FARTHEST_SUM = 1 << 53
"""No honest sum is farther from 0, noise included: noise has a scale of 2^45 at most (`privacy/laplace.py`)."""
_FARTHEST_TOTAL = 1 << 62

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Counted:
    """A vector that fitted its question and was added up, and the shares of masks that came with it."""

    dealt: bytes = b""


@dataclass(frozen=True)
class Unfit:
    """A reply that is as good as none: a vector counts whole or not at all."""


@dataclass
class Tally:
    """What was heard: sums of noisy values in whole units, the words of masked groups, and who was in.

    `left_out` are not asked with their groups: who lapsed before, and `failed`, who lapsed in this question.
    `led_nothing` are leaders of trusted groups that gave no answer that counts. `modes` are those of the groups that
    were to give their values, or whose leaders may have seen some. `paid` tells whether any owner may have charged
    itself: who answers alone or writes to a leader does so before it replies, the others when they are told to give
    their values. Who refuses for a reason that comes before its charge has not. `silent` were asked and said nothing in
    time. Only who was `present` at the start is asked. `possible` tells whether honest members could give some sums;
    `impossible` are who was in groups of which it does not hold. `sheet` is what the public log tells of the sums:
    `logged` is where the last round stands there, `entry` the number of the answer. `recovered` members fell silent
    after their rosters were fixed, and their groups gave their sums without them; `given_up` groups could not. `told`
    are the leaves that the log tells of groups of this round, by their tags, where it was run before.
    """

    query: RangeQuery
    left_out: set[str] = field(default_factory=set)
    present: frozenset[str] = frozenset()
    sums: Ints = field(init=False)
    hidden: Ints = field(init=False)
    masked: int = 0
    shared: float = 0.0
    delta: float = 0.0
    unmasked: int = 0
    heard: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    led_nothing: set[str] = field(default_factory=set)
    rounds: list[bytes] = field(default_factory=list)
    reruns: int = 0
    alone: int = 0
    modes: set[str] = field(default_factory=set)
    paid: bool = False
    sheet: Sheet = field(default_factory=Sheet)
    logged: Logged | None = None
    possible: Callable[..., bool] = lambda *_sums, **_parts: True
    impossible: set[str] = field(default_factory=set)
    entry: int | None = None
    recovered: int = 0
    given_up: int = 0
    told: Mapping[bytes, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sums = np.zeros(self.words, dtype=np.int64)
        self.hidden = np.zeros(self.words, dtype=np.int64)

    @property
    def words(self) -> int:
        """How many numbers an answer has: bins times parts."""
        return self.query.bins * len(self.query.parts)

    @property
    def groups(self) -> int:
        """How many groups gave an answer, each owner alone counted as one."""
        return self.unmasked + self.masked

    @property
    def noises(self) -> float:
        """How many noises the sums hold: one a group, and what masked groups add against dropouts."""
        return self.unmasked + self.shared

    @property
    def reasons(self) -> dict[str, int]:
        """How many of the owners that were not heard refused, by their reasons."""
        return dict(sorted(Counter(why for name, why in self.refused.items() if name not in self.heard).items()))

    @property
    def unheard_silent(self) -> set[str]:
        """Who was asked, said nothing in time, and is not in the answer."""
        return self.silent - self.heard - self.refused.keys()

    @property
    def for_budgets(self) -> bool:
        """Whether budgets are why owners were not heard: more of them refused for that than failed otherwise."""
        unheard = [name for name in self.refused.keys() | self.silent if name not in self.heard]
        return 2 * sum(self.refused.get(name) == "budget" for name in unheard) > len(unheard)

    def admits(
        self,
        sums: Ints,
        members: Collection[str],
        *,
        parts: int = 0,
        group: str | None = None,
        roster: Collection[str] = (),
    ) -> bool:
        """Tell whether sums are counted; if honest members could not give them, they are refused, and doubted.

        Doubted with them are all of a `roster`: who fell silent dealt what its masks were taken off with.

        Guarantee: whatever bounds are known, what is counted adds up exactly in 64 bits. In a round that is run again a
                   group that gave sums before gives the same, or none.
        """
        same = group is None or self._said_before(sums, heard=len(members), parts=parts, group=group)
        if same and self._fits(sums) and self.possible(sums, members, parts=parts):
            return True
        self.impossible |= {*members, *roster}
        self.refused |= dict.fromkeys(members, "bounds")
        return False

    def _said_before(self, sums: Ints, *, heard: int, parts: int, group: str) -> bool:
        tag = group_tag(self.rounds[-1], group)
        if tag not in self.told:
            return True
        given = sums.astype(">i8").tobytes()
        return self.told[tag] == leaf_of(self.rounds[-1], tag, heard=heard, parts=parts, sums=given)

    def _fits(self, sums: Ints) -> bool:
        near = _within(sums, FARTHEST_SUM)
        return near and _within(self.sums + self.hidden + sums, _FARTHEST_TOTAL)  # only many liars bring it there

    def add(self, sums: Sequence[int], *, heard: Collection[str], group: str | None = None) -> None:
        """Add the noisy sums of one group, or of an owner alone: with one noise each."""
        self.sheet.add(self.rounds, sums, group=group, heard=len(heard))
        self.sums += np.array(sums, dtype=np.int64)
        self.unmasked += 1
        self.heard |= set(heard)

    def add_masked(self, group: LiveGroup, total: Ints, *, heard: Sequence[str]) -> None:
        """Add the sums of a masked group, of which all members on a roster are heard: their masks are gone."""
        self.sheet.add(self.rounds, total.tolist(), group=group.name, heard=len(heard), parts=group.terms.parts)
        self.hidden += total
        self.masked += 1
        self.shared += float(group.terms.shape(len(heard)))
        self.delta += group.terms.delta
        self.heard |= set(heard)

    def totals(self, protection: Protection) -> NoisyTotals:
        """Return the sums over all owners that were heard, bin by bin."""
        parts = self.query.parts
        columns = (self.sums + self.hidden).reshape(-1, len(parts)).T
        scales = scales_of(self.query, protection)
        sums = dict(zip(parts, columns, strict=True))
        return NoisyTotals(sums, scales, False, noises=self.noises, heard=len(self.heard), shared=self.shared)


class FirstStep:
    """Takes what owners say to a question: who is alone is added up, members of groups are ready.

    In a round that is run `again`, a member that answered before says so at once, and is ready to say it once more.
    """

    def __init__(self, tally: Tally, alone: Iterable[str], *, again: bool = False) -> None:
        self._tally = tally
        self._alone = frozenset(alone)
        self._again = again

    def __call__(self, owner: str, reply: Any) -> Any:
        """Return what is kept of a reply."""
        if self._again and owner not in self._alone and isinstance(reply, Noisy | Masked):
            return Ready(reply.round)
        if not isinstance(reply, Noisy):
            return Unfit() if isinstance(reply, Masked) else reply
        if owner not in self._alone or len(reply.sums) != self._tally.words:
            return Unfit()
        if not self._tally.admits(np.array(reply.sums, dtype=np.int64), [owner]):
            return Unfit()
        self._tally.add(reply.sums, heard=[owner])
        self._tally.alone += 1
        return Counted()


class SecondStep:
    """Takes what groups give once their rosters are fixed: of a masked one there is one sum, however many are in it.

    Guarantee: a group is added up only when every member on its roster has sent a vector that fits, or when the masks
               of those that did were taken off; otherwise nothing of what its members sent is in the answer.
    """

    def __init__(
        self,
        tally: Tally,
        groups: Iterable[LiveGroup],
        rosters: Mapping[str, Sequence[int]],
        protection: Protection,
        *,
        dealing: Collection[str] = (),
    ) -> None:
        """Members of groups that are `dealing` send shares of their masks, too."""
        self._tally = tally
        self._rosters = rosters
        self._dealing = frozenset(dealing)
        self._of = {name: group for group in groups for name in group.members}
        self._widths = {group.name: word_bytes(tally.query, protection, group.terms) for group in self._of.values()}
        self._sums: dict[str, Words] = {}

    def __call__(self, owner: str, reply: Any) -> Any:
        """Return what is kept of a reply."""
        group = self._of[owner]
        if group.mode == "trusted":
            return self._led(group, reply) if owner == group.members[0] else Unfit()
        return self._masked(group, owner, reply)

    def finish(self, group: LiveGroup, counted: Iterable[str]) -> bool:
        """Add up a masked group whose members on the roster were all counted; tell whether they were."""
        roster = [group.members[p] for p in self._rosters[group.name]]
        if group.name not in self._sums or not set(roster) <= set(counted):
            self._sums.pop(group.name, None)
            return False
        self.add_up(group, roster)
        return True

    def unmask(self, recovered: Recovered, asked: Ask) -> None:
        """Take the masks that are left off the sum of a group's survivors, some words after the other."""
        total, context = self._sums[recovered.group.name], recovered.context(asked)
        for first in range(0, len(total), _WORDS_AT_ONCE):
            some = total[first : first + _WORDS_AT_ONCE]
            some -= recovered.unmasking.masks(context, words=len(some), first=first).astype(total.dtype)

    def add_up(self, group: LiveGroup, heard: Sequence[str]) -> None:
        """Add the sum of a group whose masks are gone; impossible sums do not come from silence: nobody pays twice."""
        signed = self._sums.pop(group.name).view(f"i{self._widths[group.name]}").astype(np.int64)
        roster = [group.members[p] for p in self._rosters[group.name]]
        if self._tally.admits(signed, heard, parts=group.terms.parts, group=group.name, roster=roster):
            self._tally.add_masked(group, signed, heard=heard)

    def _led(self, group: LiveGroup, reply: Any) -> Any:
        fits = isinstance(reply, Noisy) and len(reply.sums) == self._tally.words
        if not fits or not set(reply.heard) <= set(self._rosters[group.name]):
            return Unfit()
        heard = {group.members[p] for p in reply.heard}
        if not self._tally.admits(np.array(reply.sums, dtype=np.int64), heard, group=group.name):
            self._tally.impossible.add(group.members[0])  # whoever it says was heard
            return Unfit()
        self._tally.add(reply.sums, heard=heard, group=group.name)
        return Counted()

    def _masked(self, group: LiveGroup, owner: str, reply: Any) -> Any:
        width, words = self._widths[group.name], self._tally.words
        if not isinstance(reply, Masked) or len(reply.words) != width * words:
            return Unfit()
        if group.name in self._dealing and not fits_then(group, owner, reply, self._rosters[group.name]):
            return Unfit()
        total = self._sums.setdefault(group.name, np.zeros(words, dtype=f"u{width}"))
        total += np.frombuffer(reply.words, dtype=f"<u{width}")
        return Counted(reply.dealt if group.name in self._dealing else b"")


def _within(sums: Ints, farthest: int) -> bool:
    lowest, highest = ends_of(sums)
    return -farthest <= lowest and highest <= farthest
