"""Publishing a map: what to ask next, given the answers so far. Whoever asks, in one process or live, is led by this.

A publication is three ordinary map questions in order: a coarse grid, blocks, and the cells of the blocks, which follow
from the first two answers. Every step is a new value, so that it can be kept and gone on with after a crash.

Guarantee: the questions cost the shares of epsilon in `MapSizes.shares`, which add up to it exactly. The bins of the
           third are a function of public sizes and of what was released before, so anybody can check them (`follows`).
Proof:     docs/guarantees.md#published-maps
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.maps.reconstruction import Reconstructed, found_first, reconstructed
from fedgroup.maps.sizing import MapSizes, Variances
from fedgroup.privacy.law import NoiseSum
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box
from fedgroup.space.blocks import MOST_CELLS, Blocks

Numbers = npt.NDArray[Any]

QUESTIONS = 3
PUBLISHED = ("count", "people", "sum")
"""Kinds whose values add up over cells."""
RECORDS_OF_OWNER = 20
"""So many records an owner is thought to have where nobody says how many there are: a public guess."""


@dataclass(frozen=True, eq=False)
class Released:
    """The answer to one question: noisy counts in whole units, how many noises each holds, and of whom.

    `heard` names those who were heard: equal texts mean the same owners.
    """

    counts: Numbers = field(repr=False)
    noises: float
    heard: str = ""


@dataclass(frozen=True)
class Subject:
    """What a map is about: records, people or a sum, and maybe a time window."""

    kind: str = "count"
    measure: Measure | None = None
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in PUBLISHED:
            raise InvalidQuery(
                f"a published map is of {', '.join(PUBLISHED)}: they add up over cells; for means publish sum and count"
            )

    @property
    def signed(self) -> bool:
        return self.measure is not None and self.measure.signed

    def question(self, places: Any, epsilon: Epsilon) -> RangeQuery:
        """Return the question for some places."""
        return RangeQuery(self.kind, places, epsilon, self.measure, self.since, self.until)


@dataclass(frozen=True, eq=False)
class Publication:
    """A map in the making: its public sizes, what it is about, and what was released so far."""

    sizes: MapSizes
    subject: Subject = Subject()
    released: tuple[Released, ...] = ()

    def __post_init__(self) -> None:
        counted = [len(each.counts) for each in self.released]
        fits = counted[:2] == [self.sizes.coarse.cells, self.sizes.blocks.cells][: len(counted)]
        if not fits or (len(counted) > 2 and counted[2:] != [len(self.cut)]):
            raise InvalidQuery("every bin of a question has one answer")

    @property
    def questions(self) -> tuple[RangeQuery, ...]:
        """The questions that are known so far: two at first, all three once both were answered."""
        coarse, blocks, cells = self.sizes.shares
        known = (self.subject.question(self.sizes.coarse, coarse), self.subject.question(self.sizes.blocks, blocks))
        return known if len(self.released) < len(known) else (*known, self.subject.question(self.cut, cells))

    @property
    def next_question(self) -> RangeQuery | None:
        """What to ask now; None when all is answered."""
        return None if len(self.released) == QUESTIONS else self.questions[len(self.released)]

    def after(self, answer: Released) -> Publication:
        """Return the publication with one more answer."""
        return replace(self, released=(*self.released, answer))

    @cached_property
    def cut(self) -> Blocks:
        """The blocks as the second round counts them, cut by what the first found."""
        coarse, blocks = self.released[:2]
        found = found_first(self.sizes, self._variances(), coarse.counts.astype(float), blocks.counts.astype(float))
        return self.sizes.cut(found)

    def reconstruct(self, *, peaks: bool = True) -> Reconstructed:
        """Return the map of all three answers; without `peaks` busy cells are lowered like all others.

        Where the second round heard others than the first, the first shapes the cells only: its sums are of others.
        """
        coarse, blocks, cells = self.released
        same = coarse.heard == blocks.heard == cells.heard
        first = (coarse.counts.astype(float), blocks.counts.astype(float)) if same else None
        law = NoiseSum(self.sizes.laws[2], cells.noises)
        counts = cells.counts.astype(float)
        return reconstructed(
            self.sizes, first, self.cut, counts, variances=self._variances(), law=law if peaks else None
        )

    def _variances(self) -> Variances:
        told = [each.noises for each in self.released]
        missing = [self.sizes.noises] * (QUESTIONS - len(told))
        coarse, blocks, cells = [*told, *missing]
        return self.sizes.variances((coarse, blocks, cells))


def guess_note(records: int) -> str:
    """Return what the reader of a map must know whose size was guessed."""
    guess = f"{RECORDS_OF_OWNER} for every owner"
    return f"the map was sized for {records:,} records, {guess}, as nobody said how many there are (records)"


def follows(question: RangeQuery, sizes: MapSizes, subject: Subject, released: Sequence[Released]) -> bool:
    """Tell whether a question is the one that comes next, by public sizes and by what was released before.

    An owner checks this before it pays for the cells of a map.
    """
    try:
        return Publication(sizes, subject, tuple(released)).next_question == question
    except InvalidQuery:
        return False


def sized(
    subject: Subject,
    domain: Box,
    epsilon: Epsilon,
    *,
    noises: float,
    records: int,
    protection: Protection,
    most_cells: int | None = None,
) -> MapSizes:
    """Return how a map about something is cut and paid for this protection.

    People add up over cells only where each counts in one: its first place.
    """
    if subject.kind == "people" and (protection.max_bins != 1 or not protection.of_subjects):
        raise InvalidQuery(
            "people do not add up over the cells of a map, unless each counts at its first place only: open the "
            "federation with unit subject or owner, and max_bins=1; or publish records"
        )
    part = subject.kind
    plain = MapSizes(domain, epsilon, noises, records)
    sensitivity = protection.of(part, subject.question(plain.blocks, epsilon))
    unit = 1 if subject.measure is None else subject.measure.units
    most = MOST_CELLS if most_cells is None else most_cells
    return replace(plain, sensitivity=sensitivity, unit=unit, signed=subject.signed, most_cells=most)
