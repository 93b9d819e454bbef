"""The owners on one host, from one phone to a simulated million: they count, pay, and release."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import MaskedAnswers, NoisyAnswers, NoisyVectors, Partition
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.owner.counting import Found, Ints, contributing, count_vectors, found_units, sum_by, total_units
from fedgroup.owner.identity import Codes
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records, require_degrees
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.concentrated import require_noise
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.release import (
    Disclosed,
    disclose_to_leader,
    release_masked,
    release_masked_sum,
    release_sum,
    release_vectors,
    scale_of_noise,
    scales_of,
)
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.masking import Words
from fedgroup.secure.round import MaskedGroups
from fedgroup.space import Grid, PublicMap

MOST_MASKS = 1 << 30
"""So many words of masks take some seconds; in one process more are left out of maps, for they cancel."""

_WORDS_AT_ONCE = 1 << 22

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
    def member_of_seat(self) -> Ints:
        """The place of each owner of this host among the members of masked groups, -1 for those in none."""
        members = np.empty(0, dtype=np.int64) if self.masked is None else self.masked.members
        member_at = np.full(self.partition.owners, -1, dtype=np.int64)
        member_at[members] = np.arange(len(members))
        return member_at[self.seats]

    @cached_property
    def trusted(self) -> Codes:
        """The groups that are not masked."""
        return np.flatnonzero(~self.partition.is_masked).astype(np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class _Exact:
    """The exact answer: what the leaders of trusted groups get in all, and what members of masked groups add."""

    to_leaders: Disclosed
    hidden: Found | None = None


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
        cut = protection.max_records
        self._records = contributing(records, public_map, most=cut, unit=protection.unit)
        whole = cut is None or not protection.of_subjects
        self._uncut = self._records if whole else contributing(records, public_map)
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
        records, most = self._records_of(query), self._protection.most_bins(query)
        index = self._ready_index() if query.is_range and records is self._records else None
        if terms.masked is None:
            if index is not None:
                return _Exact(disclose_to_leader(index.totals(query)))
            return _Exact(disclose_to_leader(total_units(records, query, self._map, most_bins=most)))
        if leaves_masks_out(terms, query) and terms.partition.is_masked.all():
            # nobody's own values are needed where masks are not made: their sum leaves, with the noise of all
            whole = total_units(records, query, self._map, most_bins=most)
            return _Exact(disclose_to_leader(_nothing(query)), _as_found(whole, query.bins))
        found = found_units(records, query, self._map, most_bins=most) if index is None else index.partials(query)
        is_open = ~terms.partition.is_masked[terms.group_of_seat[found.code]]
        return _Exact(disclose_to_leader(found.of(is_open).totals(query.bins)), found.of(~is_open))

    def _records_of(self, query: RangeQuery) -> Records:
        """Return the records that a question looks at: people are not cut to some records, but to some bins."""
        return self._uncut if "people" in query.parts and self._protection.of_subjects else self._records

    def _ready_index(self) -> RecordIndex | None:
        """Return the index, from the third question on."""
        if self._index is None and self._questions >= QUESTIONS_BEFORE_INDEX:
            self._index = RecordIndex.build(self._records, self._map, most=self._protection.max_records)
        return self._index

    def _require_drawable(self, query: RangeQuery, terms: AnswerTerms) -> None:
        for scale in scales_of(query, self._protection).values():
            require_noise(scale, shared=terms.masked is not None)
        if query.rho is not None:
            self._noise.gaussian_sums(Fraction(1), 0, 0)  # none: a source that has no such noise refuses
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
        return noisy if exact.hidden is None else replace(noisy, masked=self._masked(exact.hidden, query, terms))

    def _masked(self, hidden: Found, query: RangeQuery, terms: AnswerTerms) -> MaskedAnswers:
        """Run one masked round, with an id that was never used and fresh shares of noise."""
        groups = terms.masked
        assert groups is not None  # noqa: S101  asked for by masked groups only
        if _too_many_masks(groups, query):
            return self._summed(hidden, query, groups)
        mask = groups.masks(
            question=repr(query).encode(),
            epsilon_nano=query.epsilon.nano,
            epoch=self._ledger.epoch,
            round_id=secrets.token_bytes(16),
        )
        chunks = (
            release_masked(
                exact,
                query=query,
                protection=self._protection,
                noise=self._noise,
                parts=groups.parts_of_members,
                mask=partial(_at_word, mask, first * len(query.parts)),
            )
            for first, exact in _members_sums(hidden, query, terms)
        )
        return MaskedAnswers(chunks, groups.labels, groups.groups, groups.noises)

    def _summed(self, hidden: Found, query: RangeQuery, groups: MaskedGroups) -> MaskedAnswers:
        """Return the sum of all masked groups as if one member had sent it: in one process nobody sees the others."""
        sums = release_masked_sum(
            hidden.totals(query.bins), query=query, protection=self._protection, noise=self._noise, sizes=groups.sizes
        )
        words = np.stack(list(sums.values()), axis=1).reshape(1, -1).view(np.uint64)
        return MaskedAnswers([words], np.zeros(1, dtype=np.int32), 1, groups.noises)


def _nothing(query: RangeQuery) -> dict[str, Ints]:
    return {part: np.zeros(query.bins, dtype=np.int64) for part in query.parts}


def _as_found(totals: Mapping[str, Ints], bins: int) -> Found:
    """Return totals as additions of one member that stands for all."""
    return Found(np.zeros(bins, dtype=np.int32), np.arange(bins), totals)


def leaves_masks_out(terms: AnswerTerms, query: RangeQuery) -> bool:
    """Tell whether a question has so many bins that its masks are not made in one process."""
    return terms.masked is not None and _too_many_masks(terms.masked, query)


def _too_many_masks(groups: MaskedGroups, query: RangeQuery) -> bool:
    words = len(query.parts) * query.bins
    return query.bins > 1 and max(len(groups.first), len(groups.members)) * words > MOST_MASKS


def _at_word(mask: Callable[[Ints, int], Words], first: int, values: Ints) -> Words:
    return mask(values, first)


def _members_sums(hidden: Found, query: RangeQuery, terms: AnswerTerms) -> Iterator[tuple[int, dict[str, Ints]]]:
    """Yield the exact answers of the members of masked groups, some bins after the other, with the first bin.

    Members without records here answer 0.
    """
    assert terms.masked is not None  # noqa: S101  asked for by masked groups only
    members, whose = terms.masked.members, terms.member_of_seat[hidden.code]
    if query.bins == 1:
        yield 0, {part: sum_by(whose, values, len(members))[:, None] for part, values in hidden.units.items()}
        return
    order = np.argsort(hidden.bin, kind="stable")
    whose, sorted_bin = whose[order], hidden.bin[order]
    units = {part: values[order] for part, values in hidden.units.items()}
    step = max(2, _WORDS_AT_ONCE // max(1, len(members)) // 2 * 2)
    for first in range(0, query.bins, step):
        bins = min(step, query.bins - first)
        here = slice(*np.searchsorted(sorted_bin, (first, first + bins)).tolist())
        label = whose[here] * bins + (sorted_bin[here] - first)
        yield (
            first,
            {
                part: sum_by(label, values[here], len(members) * bins).reshape(len(members), bins)
                for part, values in units.items()
            },
        )
