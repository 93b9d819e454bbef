"""Owners pay before they release, refuse together, and show nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.messages import Partition
from fedgroup.owner.records import Records
from fedgroup.owner.role import AnswerTerms, DataOwners
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, PublicMap, Rectangle
from fedgroup.storage.memory import MemoryLedger

MAP = PublicMap(Box(0, 0, 10, 10))
ALL = Rectangle(0, 0, 10, 10)
SEATS = np.arange(3, dtype=np.int32)


class NoNoise:
    """Counts draws, and adds 0, so that tests see what is summed."""

    private = False
    continuous = False

    def __init__(self) -> None:
        self.asked: list[tuple[Fraction, int]] = []

    def laplace(self, scale: Fraction, count: int) -> np.ndarray[Any, Any]:
        self.asked.append((scale, count))
        return np.zeros(count, dtype=np.int64)

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> np.ndarray[Any, Any]:
        return self.laplace(scale, each * count).reshape(count, each).sum(axis=1)


def owners(ledger: MemoryLedger, noise: Any, **protection: Any) -> DataOwners:
    records = Records(
        owner=["a", "a", "b", "a"],
        x=[1, 2, 3, 99],
        y=[1, 1, 1, 1],
        attributes={"fare": [5, 7, np.nan, 1]},
        owners=["a", "b", "c"],
    )
    return DataOwners(records, MAP, protection=Protection(**protection), ledger=ledger, noise=noise)


def count(epsilon: float = 0.5) -> RangeQuery:
    return RangeQuery("count", ALL, Epsilon.of(epsilon))


def charge(query: RangeQuery) -> list[Charge]:
    return [Charge(query.epsilon, "query", "how many?")]


def test_each_group_draws_one_noise_even_when_nothing_of_it_is_in_range() -> None:
    noise, query = NoNoise(), RangeQuery("count", Circle(9, 9, 0.5), Epsilon.of(0.5))
    answers, cost = owners(MemoryLedger(), noise).answer(
        query, AnswerTerms(Partition(np.array([0, 1, 0])), SEATS), charges=charge(query)
    )
    assert noise.asked == [(Fraction(2), 2)]
    assert (answers[0].parts["count"].tolist(), answers[0].noises) == ([0], 2)
    assert cost == Epsilon.of(0.5)


def test_members_are_summed_and_records_outside_the_domain_are_not() -> None:
    query = count()
    answers, _ = owners(MemoryLedger(), NoNoise()).answer(
        query, AnswerTerms(Partition(np.array([0, 0, 1])), SEATS), charges=charge(query)
    )
    assert (answers[0].parts["count"].tolist(), answers[0].noises) == ([3], 2)
    assert answers[0].heard == 3


def test_owners_of_the_partition_without_a_seat_here_are_groups_all_the_same() -> None:
    query = count()
    answers, _ = owners(MemoryLedger(), NoNoise()).answer(
        query,
        AnswerTerms(Partition(np.array([0, 1, 1, 2, 3])), np.array([1, 2, 4], dtype=np.int32)),
        charges=charge(query),
    )
    assert (answers[0].parts["count"].tolist(), answers[0].noises) == ([3], 4)
    assert answers[0].heard == 5


def test_an_average_draws_for_both_parts_at_half_the_epsilon() -> None:
    noise = NoNoise()
    query = RangeQuery("avg", ALL, Epsilon.of(1), Measure("fare", 6, resolution=1))
    answers, _ = owners(MemoryLedger(), noise).answer(
        query, AnswerTerms(Partition(np.zeros(3)), SEATS), charges=charge(query)
    )
    assert noise.asked == [(Fraction(12), 1), (Fraction(2), 1)]
    assert {part: sums.tolist() for part, sums in answers[0].parts.items()} == {"sum": [11], "count": [2]}


def test_an_owner_contributes_its_first_records_and_noise_covers_all_of_them() -> None:
    noise, query = NoNoise(), count()
    answers, _ = owners(MemoryLedger(), noise, unit="owner", max_records=1).answer(
        query, AnswerTerms(Partition.singletons(3), SEATS), charges=charge(query)
    )
    assert (answers[0].parts["count"].tolist(), answers[0].noises) == ([2], 3)
    two = owners(MemoryLedger(), noise, unit="owner", max_records=2)
    two.answer(query, AnswerTerms(Partition.singletons(3), SEATS), charges=charge(query))
    assert [scale for scale, _ in noise.asked] == [Fraction(2), Fraction(4)]


def test_refused_owners_draw_no_noise_and_pay_nothing() -> None:
    ledger, noise, query = MemoryLedger(Epsilon.of(0.4)), NoNoise(), count(0.5)
    asked = owners(ledger, noise)
    with pytest.raises(BudgetExhausted):
        asked.answer(query, AnswerTerms(Partition.singletons(3), SEATS), charges=charge(query))
    with pytest.raises(BudgetExhausted):
        asked.describe(MAP.grid(2, 2), epsilon=query.epsilon, charge=charge(query)[0])
    assert (noise.asked, ledger.entries()) == ([], [])


@pytest.mark.parametrize(
    "query",
    [
        RangeQuery("avg", ALL, Epsilon(1), Measure("fare", 5)),
        RangeQuery("sum", ALL, Epsilon(999_999_999), Measure("fare", 4e9, resolution=1)),
        RangeQuery("sum", ALL, Epsilon(5), Measure("tip", 5)),
        RangeQuery("count", ALL, Epsilon(5), since=3),
    ],
)
def test_what_cannot_be_answered_is_not_charged(query: RangeQuery) -> None:
    ledger = MemoryLedger()
    with pytest.raises(InvalidInput):
        owners(ledger, SeededNoise(1), unit="owner", max_records=10**9).answer(
            query, AnswerTerms(Partition.singletons(3), SEATS), charges=charge(query)
        )
    assert ledger.entries() == []


def test_vectors_that_cannot_be_drawn_are_not_charged() -> None:
    ledger = MemoryLedger()
    many = owners(ledger, SeededNoise(1), unit="owner", max_records=10**18)
    with pytest.raises(InvalidInput, match="cannot be drawn"):
        many.describe(MAP.grid(2, 2), epsilon=Epsilon.of(0.1), charge=charge(count(0.1))[0])
    assert ledger.entries() == []


def test_vectors_have_one_row_per_listed_owner() -> None:
    ledger, noise = MemoryLedger(), NoNoise()
    vectors = owners(ledger, noise, neighbours="replace").describe(
        MAP.grid(2, 1), epsilon=Epsilon.of(0.5), charge=charge(count())[0]
    )
    assert vectors.values.tolist() == [[2, 0], [1, 0], [0, 0]]
    assert (vectors.scale, noise.asked) == (Fraction(4), [(Fraction(4), 6)])
    assert ledger.spent() == Epsilon.of(0.5)


def test_several_answers_have_noises_of_their_own() -> None:
    query = count(0.01)
    answers, _ = owners(MemoryLedger(), SeededNoise(3)).answer(
        query, AnswerTerms(Partition.singletons(3), SEATS), charges=charge(query), times=5
    )
    assert len({int(answer.parts["count"][0]) for answer in answers}) == 5


def test_owners_do_not_print() -> None:
    assert repr(owners(MemoryLedger(), NoNoise())) == str(owners(MemoryLedger(), NoNoise())) == "DataOwners(<private>)"
