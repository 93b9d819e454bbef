"""A provider that tells members of one round different rosters opens nobody, and no sum of too few.

A member's word shows only where the masks of all its pairs are off: those with members that were told another roster
never are, and the seed is opened only by who was told its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedgroup.secure.recovery import Recovery
from fedgroup.secure.terms import MaskedTerms

TRIES = 400
TAKES_MANY = Recovery(MaskedTerms(6, 1, 3), spare=1, signers=0)
"""A secret takes more shares than members must be heard: groups are not made so, and proofs hold all the same."""


@dataclass(frozen=True)
class Told:
    """What the provider told one honest member."""

    roster: frozenset[int]
    survivors: frozenset[int]


@dataclass(frozen=True)
class Attack:
    """Members 0 to c - 1 collude; all others did what they do for the rosters and survivors that they were told."""

    recovery: Recovery
    told: dict[int, Told]

    @property
    def needed(self) -> int:
        return self.recovery.threshold(self.recovery.terms.members)

    def boxes(self) -> set[int]:
        """Return whose boxes come open."""
        c = self.recovery.terms.colluders
        out = {p: c + sum(p in its.roster - its.survivors for its in self.told.values()) for p in self.told}
        return {p for p, shares in out.items() if shares >= self.needed}

    def seeds(self, *, bound: bool) -> set[int]:
        """Return whose seeds come open; `bound`: to the dealer's roster, as they are."""
        c = self.recovery.terms.colluders

        def tells(its: Told, dealer: int) -> bool:
            return dealer in its.survivors and (not bound or its.roster == self.told[dealer].roster)

        return {p for p in self.told if c + sum(tells(its, p) for its in self.told.values()) >= self.needed}

    def shown(self, *, bound: bool) -> list[frozenset[int]]:
        """Return the sets of honest members of whose words at least the sum shows."""
        boxes, seeds = self.boxes(), self.seeds(bound=bound)
        found = []
        for roster in {its.roster for its in self.told.values()}:
            closed = (roster & self.told.keys()) - boxes
            if closed and all(p in seeds and self.told[p].roster == roster for p in closed):
                found.append(closed)
        return found


def attacks(recovery: Recovery) -> Callable[[np.random.Generator], Attack]:
    """Return what draws attacks: a few are told a small roster, the rest leave out just those of them that matter."""
    members, colluders = recovery.terms.members, recovery.terms.colluders
    least, honest = recovery.terms.least_heard, list(range(colluders, members))

    def told(rng: np.random.Generator, member: int, roster: frozenset[int], victims: list[int]) -> Told:
        most = min(recovery.spare, len(roster) - least)
        others = [p for p in victims if p != member and p in roster]
        out = rng.permutation(others)[: int(rng.integers(0, most + 1)) if rng.random() < 0.3 else most]
        return Told(roster, roster - set(out.tolist()))

    def draw(rng: np.random.Generator) -> Attack:
        whole = frozenset(range(members))
        absent = rng.permutation(honest)[: rng.integers(0, members - least + 1)].tolist()
        small = whole - set(absent)
        inside = rng.permutation([p for p in honest if p in small]).tolist()
        few = set(inside[: rng.integers(1, len(inside) + 1)])
        victims = [p for p in inside if p not in few][: int(rng.integers(0, 2 * recovery.spare + 2))]
        return Attack(recovery, {p: told(rng, p, small if p in few else whole, victims) for p in honest})

    return draw


def test_no_roster_that_some_are_told_shows_a_sum_with_too_little_noise() -> None:
    usual = [(10, 1, 3), (21, 1, None), (50, 1, 18), (50, 5, 14), (50, 1, None)]
    found = [Recovery.of(MaskedTerms(*each), degree=each[0] - 1) for each in usual]
    for recovery in (*found, TAKES_MANY, Recovery(MaskedTerms(10, 2, 4), spare=2, signers=0)):
        assert recovery is not None
        draw, rng = attacks(recovery), np.random.default_rng(recovery.terms.members)
        for attack in (draw(rng) for _ in range(TRIES)):
            assert not attack.boxes() & attack.seeds(bound=True)
            assert all(len(shown) >= attack.recovery.terms.parts for shown in attack.shown(bound=True))


def test_shares_that_open_whatever_the_roster_could_show_a_single_member() -> None:
    """What the first test is for: it would notice seeds that are not bound to a roster."""
    draw, rng = attacks(TAKES_MANY), np.random.default_rng(0)
    assert min(len(shown) for _ in range(2_000) for shown in draw(rng).shown(bound=False)) == 1
