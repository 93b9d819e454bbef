"""The owners on one host, from one phone to a simulated million: they count, pay, and release."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import MaskedAnswers, NoisyAnswers, NoisyVectors, Partition, RangeQuery
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.owner.counting import Ints, contributing, count_vectors, found_units, sum_by, sum_through
from fedgroup.owner.identity import Codes
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records, require_degrees
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.release import (
    disclose_to_leader,
    release_masked,
    release_sums,
    release_vectors,
    scale_of_noise,
    scales_of,
)
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.shares import require_shareable
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
        exact = count_vectors(self._records, grid, self._map)
        self._ledger.charge([charge])
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
        code, units = self._found(query)
        cost = self._ledger.charge(charges)
        sums = _leaders_sums(code, units, terms)
        hidden = _members_sums(code, units, terms)
        return [self._release(sums, hidden, query, terms) for _ in range(times)], cost

    def answer_many(
        self, queries: Sequence[RangeQuery], terms: AnswerTerms, *, charges: Sequence[Charge]
    ) -> tuple[list[NoisyAnswers], Epsilon]:
        """Return the answer to each question, all charged together before any is released, and what they cost."""
        for query in queries:
            self._require_drawable(query, terms)
        cost = self._ledger.charge(charges)
        return [
            self._release(_leaders_sums(code, units, terms), _members_sums(code, units, terms), query, terms)
            for query, (code, units) in zip(queries, self._indexed().partials_of_many(queries), strict=True)
        ], cost

    def _found(self, query: RangeQuery) -> tuple[Codes, dict[str, Ints]]:
        """Return the owners of the records in range and what each record adds; from the third question on by index."""
        self._questions += 1
        if self._index is None and self._questions < QUESTIONS_BEFORE_INDEX:
            return found_units(self._records, query, self._map)
        return self._indexed().partials(query)

    def _indexed(self) -> RecordIndex:
        if self._index is None:
            self._index = RecordIndex.build(self._records, self._map, most=self._protection.max_records)
        return self._index

    def _require_drawable(self, query: RangeQuery, terms: AnswerTerms) -> None:
        for scale in scales_of(query, self._protection).values():
            require_drawable(scale)
            if terms.masked is not None:
                require_shareable(scale, 1)
        if terms.masked is not None and self._noise.continuous:
            raise InvalidInput("masked groups need noise in whole numbers; floating-point noise cannot be shared")

    def _release(
        self, sums: Mapping[str, Ints], hidden: Mapping[str, Ints], query: RangeQuery, terms: AnswerTerms
    ) -> NoisyAnswers:
        heard = terms.partition.owners
        noisy = release_sums(sums, query=query, protection=self._protection, noise=self._noise, heard=heard)
        return noisy if terms.masked is None else replace(noisy, masked=self._masked(hidden, query, terms.masked))

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


def _leaders_sums(code: Codes, units: Mapping[str, Ints], terms: AnswerTerms) -> dict[str, Ints]:
    """Let each trusted group's leader add up what its members disclose to it; an owner alone leads itself."""
    if terms.masked is not None:
        open_to_leader = ~terms.partition.is_masked[terms.group_of_seat[code]]
        code, units = code[open_to_leader], {part: values[open_to_leader] for part, values in units.items()}
    disclosed = disclose_to_leader(units).partials
    groups = terms.partition.groups
    sums = {part: sum_through(terms.group_of_seat, code, values, groups) for part, values in disclosed.items()}
    return sums if terms.masked is None else {part: values[terms.trusted] for part, values in sums.items()}


def _members_sums(code: Codes, units: Mapping[str, Ints], terms: AnswerTerms) -> dict[str, Ints]:
    """Return the exact answers of the members of masked groups; members without records here answer 0."""
    if terms.masked is None:
        return {}
    seats = terms.seats[code]
    owners = terms.partition.owners
    return {part: sum_by(seats, values, owners)[terms.masked.members] for part, values in units.items()}
