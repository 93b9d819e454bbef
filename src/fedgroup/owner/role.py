"""The owners on one host, from one phone to a simulated million: they count, pay, and release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedgroup.epsilon import Epsilon
from fedgroup.messages import NoisyAnswers, NoisyVectors, Partition, RangeQuery
from fedgroup.owner.counting import Ints, contributing, count_vectors, partial_answers, sum_by
from fedgroup.owner.identity import Codes
from fedgroup.owner.records import Records, require_degrees
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.laplace import require_drawable
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.release import disclose_to_leader, release_sums, release_vectors, scale_of_noise, scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import Grid, PublicMap


class DataOwners:
    """Every owner on this host, with its records, its ledger and its noise.

    Guarantee: nothing made from records leaves except through `privacy.release`, and only after its charge is
               recorded. An exhausted owner refuses for all: nobody pays, nothing is released. What cannot be
               answered is refused before it is charged.
    """

    def __init__(
        self, records: Records, public_map: PublicMap, *, protection: Protection, ledger: Ledger, noise: NoiseSource
    ) -> None:
        if public_map.lonlat:
            require_degrees(records.x, records.y)
        self._records = contributing(records, public_map, most=protection.max_records)
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

    def answer(
        self, query: RangeQuery, partition: Partition, *, seats: Codes, charges: Sequence[Charge], times: int = 1
    ) -> tuple[list[NoisyAnswers], Epsilon]:
        """Return one noisy sum per group, and what it cost; `seats` are the owners' positions in the partition.

        Asked several times, it releases and charges as many independent answers.
        """
        for scale in scales_of(query, self._protection).values():
            require_drawable(scale)
        exact = partial_answers(self._records, query, self._map)
        cost = self._ledger.charge(charges)
        sums = self._leaders_sums(exact, partition, seats)
        return [self._release(sums, query, partition) for _ in range(times)], cost

    def _leaders_sums(self, exact: Mapping[str, Ints], partition: Partition, seats: Codes) -> dict[str, Ints]:
        """Let each group's leader add up what its members disclose to it; an owner alone leads itself."""
        disclosed = disclose_to_leader(exact)
        labels = partition.labels[seats]
        return {part: sum_by(labels, values, partition.groups) for part, values in disclosed.partials.items()}

    def _release(self, sums: Mapping[str, Ints], query: RangeQuery, partition: Partition) -> NoisyAnswers:
        return release_sums(sums, query=query, protection=self._protection, noise=self._noise, heard=partition.owners)
