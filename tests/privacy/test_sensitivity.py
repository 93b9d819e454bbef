"""One protected unit moves an exact result by no more than the stated sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.truth import exact_totals
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.space.places import Places

MAP = PublicMap(Box(0, 0, 10, 10))
GRID = Grid(MAP.domain, 3, 3)
record = st.tuples(
    st.integers(0, 3), st.floats(-1, 11), st.floats(-1, 11), st.floats(-90, 90), st.sampled_from(("a", "b"))
)
Table = list[tuple[int, float, float, float, str]]
tables = st.lists(record, min_size=1, max_size=25)
PROTECTIONS = [
    Protection(neighbours, unit, None if unit == "record" else 2, most, subjects)
    for neighbours in ("add-remove", "replace")
    for unit, most, subjects in (
        ("record", None, False), ("record", None, True), ("subject", 2, True), ("subject", 2, False),
        ("owner", 2, False), ("owner", None, True),
    )
]  # fmt: skip
ONE, MANY = Circle(5, 5, 4), Grid(MAP.domain, 3, 3)


def parts(table: Table, query: RangeQuery, protection: Protection) -> Mapping[str, Any]:
    """What noise is added to: the exact answer over all bins, after the cuts."""
    columns = [list(column) for column in zip(*table, strict=True)] if table else [[] for _ in range(5)]
    owner, x, y, fare, car = columns
    subject = np.array(car, dtype=object) if protection.subjects else None
    records = Records(
        owner=np.array(owner, dtype=int), x=x, y=y, attributes={"fare": fare}, owners=range(5), subject=subject
    )
    return exact_totals(records, query, MAP, protection).parts


def neighbour_of(table: Table, other: Table, protection: Protection, at: int) -> Table:
    """The table without one unit, or with another unit in its stead."""
    owner, car = table[at][0], table[at][4]
    if protection.unit == "record":
        return table[:at] + table[at + 1 :] + ([other[0]] if protection.neighbours == "replace" else [])
    by_car = protection.unit == "subject" and protection.subjects
    rest = [row for row in table if not (row[0] == owner and (row[4] == car or not by_car))]
    mine = [(owner, *row[1:4], car if by_car else row[4]) for row in other]
    return rest + (mine if protection.neighbours == "replace" else [])


@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
@given(table=tables, other=tables, signed=st.booleans(), data=st.data())
def test_neighbours_differ_by_at_most_the_sensitivity(protection, table, other, signed, data) -> None:
    neighbour = neighbour_of(table, other, protection, data.draw(st.integers(0, len(table) - 1)))
    for places in (ONE, MANY):
        for kind in ("avg", "people"):
            measure = Measure("fare", 50, signed, 0.5) if kind == "avg" else None
            query = RangeQuery(kind, places, Epsilon.of(1), measure)
            before, after = (parts(each, query, protection) for each in (table, neighbour))
            for part in query.parts:
                moved = before[part] - after[part]
                assert np.abs(moved).sum() <= protection.of(part, query)
                assert (moved**2).sum() <= protection.squared(part, query)


@given(table=tables, other=tables, data=st.data())
def test_the_vectors_of_owners_differ_by_at_most_the_sensitivity_of_a_histogram(table, other, data) -> None:
    protection = data.draw(st.sampled_from(PROTECTIONS))
    neighbour = neighbour_of(table, other, protection, data.draw(st.integers(0, len(table) - 1)))
    query = RangeQuery("count", GRID, Epsilon.of(1))
    before, after = (parts(each, query, protection)["count"] for each in (table, neighbour))
    assert np.abs(before - after).sum() <= protection.of_histogram() == protection.of("count", query)


def of(protection: Protection, kind: str, places: Places, measure: Measure | None = None) -> int:
    query = RangeQuery(kind, places, Epsilon.of(1), measure)
    return protection.of(query.parts[0], query)


def test_the_table_of_the_specification_holds() -> None:
    plain, signed = Measure("fare", 50, resolution=1), Measure("fare", 50, signed=True, resolution=1)
    add, replace = Protection("add-remove"), Protection("replace")
    assert (add.of_histogram(), replace.of_histogram()) == (1, 2)
    assert (of(add, "count", ONE), of(replace, "count", ONE)) == (1, 1)
    assert (of(add, "count", MANY), of(replace, "count", MANY)) == (1, 2)
    assert (of(add, "people", ONE), of(replace, "people", MANY)) == (1, 2)
    assert (of(add, "sum", ONE, plain), of(replace, "sum", ONE, plain), of(replace, "sum", MANY, plain)) == (
        50,
        50,
        100,
    )
    assert (of(add, "sum", ONE, signed), of(replace, "sum", ONE, signed)) == (50, 100)


def squared(protection: Protection, kind: str, places: Places, measure: Measure | None = None) -> int:
    query = RangeQuery(kind, places, Epsilon.of(1), measure)
    return protection.squared(query.parts[0], query)


@pytest.mark.parametrize(
    ("protection", "count", "people", "plain", "signed"),
    [
        (Protection("add-remove"), (1, 1), (1, 1), (9, 9), (9, 9)),
        (Protection("replace"), (1, 2), (1, 2), (9, 18), (36, 36)),
        (Protection("add-remove", "subject", 5, 4, True), (25, 25), (1, 4), (225, 225), (225, 225)),
        (Protection("replace", "subject", 5, 4, True), (25, 50), (1, 8), (225, 450), (900, 900)),
        (Protection("add-remove", "owner", 5, subjects=True), (25, 25), (25, 25), (225, 225), (225, 225)),
        (Protection("replace", "owner", 5, subjects=True), (25, 50), (25, 50), (225, 450), (900, 900)),
        (Protection("replace", "owner", 5, 4), (25, 50), (1, 8), (225, 450), (900, 900)),
    ],
    ids=str,
)
def test_the_squares_of_the_specification_hold(protection, count, people, plain, signed) -> None:
    fare, change = Measure("fare", 3, resolution=1), Measure("fare", 3, signed=True, resolution=1)
    for kind, measure, expected in (
        ("count", None, count), ("people", None, people), ("sum", fare, plain), ("sum", change, signed),
    ):  # fmt: skip
        assert tuple(squared(protection, kind, places, measure) for places in (ONE, MANY)) == expected


def test_protecting_an_owner_multiplies_by_its_most_records() -> None:
    owner, fare = Protection("replace", "owner", 7), Measure("fare", 3, resolution=1)
    assert (owner.of_histogram(), of(owner, "count", ONE), of(owner, "sum", ONE, fare)) == (14, 7, 21)


def test_a_subject_moves_people_by_its_bins_and_records_by_its_records() -> None:
    subject = Protection("add-remove", "subject", 7, 3, subjects=True)
    assert [of(subject, kind, places) for kind in ("count", "people") for places in (ONE, MANY)] == [7, 7, 1, 3]
    owner = Protection("add-remove", "owner", 7, subjects=True)
    assert [of(owner, "people", places) for places in (ONE, MANY)] == [7, 7]  # each of its records may be a car


def test_a_map_of_people_needs_a_bound_on_the_bins_of_one() -> None:
    with pytest.raises(InvalidInput, match="max_bins"):
        of(Protection("add-remove", "subject", 7, subjects=True), "people", MANY)


@pytest.mark.parametrize(
    "wrong", [("add",), ("replace", "company"), ("replace", "owner"), ("replace", "owner", 0), ("replace", "record", 3)]
)
def test_nonsense_is_refused(wrong: tuple) -> None:
    with pytest.raises(InvalidInput):
        Protection(*wrong)
