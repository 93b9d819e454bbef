"""The owners on one host, from one phone to a simulated million: they count, pay, and release."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import MaskedAnswers, NoisyAnswers, NoisyVectors, Partition
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.owner.counting import Ints, contributing, count_vectors, found_units, sum_by, total_units
from fedgroup.owner.identity import Codes
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records, require_degrees
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.release import (
    Disclosed,
    disclose_to_leader,
    release_masked,
    release_sum,
    release_vectors,
    scale_of_noise,
    scales_of,
)
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.shares import require_shareable
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.round import MaskedGroups
from fedgroup.space import Grid, PublicMap

QUESTIONS_BEFORE_INDEX = 3
"""Sorting all records by place takes as long as scanning them a few times."""


@dataclass(frozen=True, eq=False)
class AnswerTerms:
    """Who answers with whom: a partition of the roster, this host's seats in it, and its masked groups if any."""

    partition: Partition
    seats: Codes
    masked: MaskedGroups | None = None

    @cached_property
    def group_of_seat(self) -> Codes:
        """The group of each owner of this host."""
        return self.partition.labels[self.seats]

    @cached_property
    def trusted(self) -> Codes:
        """The groups that are not masked."""
        return np.flatnonzero(~self.partition.is_masked).astype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class _Exact:
    """The exact answer: what the leaders of trusted groups get in all, and each masked member's own."""

    to_leaders: Disclosed
    hidden: Mapping[str, Ints]


class DataOwners:
    """Every owner on this host, with its records, its ledger and its noise.

    Guarantee: nothing made from records leaves except through `privacy.release`, and only after its charge is
               recorded. An exhausted owner refuses for all: nobody pays, nothing is released. What cannot be
               answered is refused before it is charged.
    """

    def __init__(
        self,
        records: Records,
        public_map: PublicMap,
        *,
        protection: Protection,
        ledger: Ledger,
        noise: NoiseSource,
        index: RecordIndex | None = None,
    ) -> None:
        if public_map.lonlat:
            require_degrees(records.x, records.y)
        self._records = contributing(records, public_map, most=protection.max_records)
        self._index = index
        self._questions = 0
        self._map = public_map
        self._protection = protection
        self._ledger = ledger
        self._noise = noise

    def __repr__(self) -> str:
        return "DataOwners(<private>)"

    def describe(self, grid: Grid, *, epsilon: Epsilon, charge: Charge) -> NoisyVectors:
        """Return every owner's count vector over the grid, with noise on each cell."""
        require_drawable(scale_of_noise(self._protection.of_histogram(), epsilon))
        self._ledger.charge([charge])
        exact = count_vectors(self._records, grid, self._map)
        return release_vectors(exact, grid=grid, epsilon=epsilon, protection=self._protection, noise=self._noise)

    def ready_to_compare(self, grid: Grid, *, threshold: float) -> ComparingOwners:
        """Return the owners with their vectors frozen, ready for secure comparisons."""
        return ComparingOwners(count_vectors(self._records, grid, self._map), threshold=threshold)

    def answer(
        self, query: RangeQuery, terms: AnswerTerms, *, charges: Sequence[Charge], times: int = 1
    ) -> tuple[list[NoisyAnswers], Epsilon]:
        """Return one noisy sum per group, or one masked number per member of a masked group, and what it cost.

        Asked several times, it releases and charges as many independent answers.
        """
        self._require_drawable(query, terms)
        cost = self._ledger.charge(charges)
        self._questions += 1
        exact = self._exact(query, terms)
        return [self._release(exact, query, terms) for _ in range(times)], cost

    def answer_many(
        self, queries: Sequence[RangeQuery], terms: AnswerTerms, *, charges: Sequence[Charge]
    ) -> tuple[list[NoisyAnswers], Epsilon]:
        """Return the answer to each question, all charged together before any is released, and what they cost."""
        for query in queries:
            self._require_drawable(query, terms)
        cost = self._ledger.charge(charges)
        self._questions += len(queries)
        return [self._release(self._exact(query, terms), query, terms) for query in queries], cost

    def _exact(self, query: RangeQuery, terms: AnswerTerms) -> _Exact:
        """Return the exact answers, per owner only where masked groups need them."""
        index = self._ready_index()
        if terms.masked is None:
            totals = total_units(self._records, query, self._map) if index is None else index.totals(query)
            return _Exact(disclose_to_leader(totals), {})
        code, units = found_units(self._records, query, self._map) if index is None else index.partials(query)
        return _Exact(disclose_to_leader(_leaders_total(code, units, terms)), _members_sums(code, units, terms))

    def _ready_index(self) -> RecordIndex | None:
        """Return the index, from the third question on."""
        if self._index is None and self._questions >= QUESTIONS_BEFORE_INDEX:
            self._index = RecordIndex.build(self._records, self._map, most=self._protection.max_records)
        return self._index

    def _require_drawable(self, query: RangeQuery, terms: AnswerTerms) -> None:
        for scale in scales_of(query, self._protection).values():
            require_drawable(scale)
            if terms.masked is not None:
                require_shareable(scale, 1)
        if terms.masked is not None and self._noise.continuous:
            raise InvalidInput("masked groups need noise in whole numbers; floating-point noise cannot be shared")

    def _release(self, exact: _Exact, query: RangeQuery, terms: AnswerTerms) -> NoisyAnswers:
        noisy = release_sum(
            exact.to_leaders.partials,
            groups=len(terms.trusted),
            query=query,
            protection=self._protection,
            noise=self._noise,
            heard=terms.partition.owners,
        )
        return noisy if terms.masked is None else replace(noisy, masked=self._masked(exact.hidden, query, terms.masked))

    def _masked(self, hidden: Mapping[str, Ints], query: RangeQuery, groups: MaskedGroups) -> MaskedAnswers:
        """Run one masked round, with an id that was never used and fresh shares of noise."""
        mask = groups.masks(
            question=repr(query).encode(),
            epsilon_nano=query.epsilon.nano,
            epoch=self._ledger.epoch,
            round_id=secrets.token_bytes(16),
            words=len(query.parts),
        )
        values = release_masked(
            hidden,
            query=query,
            protection=self._protection,
            noise=self._noise,
            parts=groups.parts_of_members,
            mask=mask,
        )
        return MaskedAnswers(values, groups.labels, groups.groups, groups.noises)


def _leaders_total(code: Codes, units: Mapping[str, Ints], terms: AnswerTerms) -> dict[str, int]:
    """Let the leaders of trusted groups add up what their members disclose to them; an owner alone leads itself."""
    open_to_leader = ~terms.partition.is_masked[terms.group_of_seat[code]]
    return {part: int(values[open_to_leader].sum()) for part, values in units.items()}


def _members_sums(code: Codes, units: Mapping[str, Ints], terms: AnswerTerms) -> dict[str, Ints]:
    """Return the exact answers of the members of masked groups; members without records here answer 0."""
    assert terms.masked is not None  # noqa: S101  asked for by masked groups only
    seats = terms.seats[code]
    owners = terms.partition.owners
    return {part: sum_by(seats, values, owners)[terms.masked.members] for part, values in units.items()}
