"""Which groups of a plan are to be formed anew before the next question; forming costs nobody anything.

An owner that came again may have forgotten its group. One that refuses because it does not know the group, or because a
member of it was revoked, says so itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedgroup.live.desk import Desk
from fedgroup.live.plans import LiveGroup, LivePlan, Roster

if TYPE_CHECKING:
    from fedgroup.live.tally import Tally

MOST_OWED = 64


@dataclass
class _Lapse:
    """How many answers an owner was to give alone, how many are still owed, and since which of its arrivals."""

    asked_for: int
    owed: int
    arrival: int


class Lapses:
    """Who is left out of rosters now; `arrivals` tells how often each owner came.

    Who said that it was ready and then nothing let its group pay for a round without a result, and so did who was in
    groups with impossible sums (`doubts.py`). It is asked alone, so that nobody pays twice for it again, until it has
    answered as often as it owes: once, and twice as often each time it lapses anew without having left.
    """

    def __init__(self, arrivals: Mapping[str, int]) -> None:
        self._arrivals = arrivals
        self._known: dict[str, _Lapse] = {}

    @property
    def left_out(self) -> frozenset[str]:
        return frozenset(name for name, lapse in self._known.items() if lapse.owed)

    def note_failed(self, owners: Iterable[str]) -> None:
        """Leave these owners out from now on; who is left out already owes no more than before."""
        for name in owners:
            known, arrival = self._known.get(name), self._arrivals.get(name, 0)
            if known is not None and known.owed:
                continue
            again = known is not None and known.arrival == arrival
            owed = min(2 * known.asked_for, MOST_OWED) if known is not None and again else 1
            self._known[name] = _Lapse(owed, owed, arrival)

    def note_alone(self, owners: Iterable[str]) -> None:
        """Count what owners answered alone."""
        for name in owners:
            known = self._known.get(name)
            if known is not None and known.owed:
                known.owed -= 1

    def note_together(self, owners: Iterable[str]) -> None:
        """Forget the lapses of owners that answered in their masked group, with sums that can be."""
        for name in owners:
            if name in self._known and not self._known[name].owed:
                del self._known[name]


FORGOT = ("plan", "roster")
"""Reasons to refuse that forming the group anew does away with."""


class Mending:
    """What is known about how well the groups of each method hold."""

    def __init__(self, desk: Desk, lapses: Lapses) -> None:
        self._desk = desk
        self._lapses = lapses
        self._since: dict[str, dict[str, int]] = {}  # by method: the arrival since which each owner knows its group
        self._tried: dict[str, dict[Roster, frozenset[str]]] = {}  # by method: who could have been in, the last time
        self._doubted: dict[str, set[str]] = {}  # by method: who said that it does not know its group
        self._mended: set[str] = set()  # whose group was formed anew for that, and who was not heard since
        self._led_nothing: dict[str, int] = {}  # leaders whose groups wrote to them in vain, by their arrival

    def broken(self, plan: LivePlan) -> list[Roster]:
        """Return the rosters whose groups are to be formed anew.

        Somebody came, who may know nothing of its group, or says so; too few members of a masked group can answer; a
        leader cannot lead and another member can; or somebody is in no group, and who could be in it has changed.
        """
        since, tried = self._since.get(plan.method, {}), self._tried.get(plan.method, {})
        present, left_out, grouped = self._desk.present, self._lapses.left_out, plan.members
        wanting = {name for name in present if self._desk.arrivals[name] != since.get(name)}
        wanting |= self._doubted.get(plan.method, set())
        for group in plan.groups:
            if group.mode == "masked" and len(present.intersection(group.members) - left_out) < group.terms.least_heard:
                wanting |= set(group.members)
            elif group.mode == "trusted" and not self._leads(group.members[0], present):
                wanting |= {group.members[0]} if any(self._leads(name, present) for name in group.members) else set()
        for roster in plan.rosters:
            able = roster.able(present, left_out)
            if able != tried.get(roster, able) and not able <= grouped:
                wanting |= able
        return [roster for roster in plan.rosters if not wanting.isdisjoint(roster.members)]

    def can_lead(self, owner: str) -> bool:
        """Tell whether an owner is here, is not left out, and did not lead its group in vain since it came."""
        return self._leads(owner, self._desk.present)

    def _leads(self, owner: str, present: set[str]) -> bool:
        return (
            owner in present
            and owner not in self._lapses.left_out
            and self._led_nothing.get(owner) != self._desk.arrivals[owner]
        )

    def note_formed(self, plan: LivePlan, rosters: Sequence[Roster], arrivals: Mapping[str, int]) -> None:
        """Note that groups of these rosters were formed, of owners that had come so often."""
        self._since.setdefault(plan.method, {}).update(arrivals)
        present, left_out = self._desk.present, self._lapses.left_out
        tried = self._tried.get(plan.method, {}) | {roster: roster.able(present, left_out) for roster in rosters}
        self._tried[plan.method] = {roster: tried[roster] for roster in plan.rosters if roster in tried}
        formed = {name for roster in rosters for name in roster.members}
        doubted = self._doubted.setdefault(plan.method, set())
        self._mended |= doubted & formed
        doubted -= formed

    def note_answer(self, used: LivePlan, in_force: LivePlan | None, tally: Tally) -> None:
        """Learn from who refused, and who led in vain. Who forgets what was just formed for it is left out instead."""
        self._mended -= tally.heard
        self._led_nothing |= {name: self._desk.arrivals.get(name, 0) for name in tally.led_nothing}
        groups = set() if in_force is None else {group.name for group in in_force.groups}
        forgot = {name for group in used.groups if group.name in groups for name in _forgot(group, tally)}
        self._lapses.note_failed(forgot & self._mended)
        self._doubted.setdefault(used.method, set()).update(forgot - self._mended)


def _forgot(group: LiveGroup, tally: Tally) -> set[str]:
    return {name for name in group.members if tally.refused.get(name) in FORGOT}
