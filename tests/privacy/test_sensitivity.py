"""One protected unit moves an exact result by no more than the stated sensitivity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.owner.counting import contributing, count_vectors, partial_answers
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, Grid, PublicMap

MAP = PublicMap(Box(0, 0, 10, 10))
GRID = Grid(MAP.domain, 3, 3)
record = st.tuples(st.integers(0, 3), st.floats(-1, 11), st.floats(-1, 11), st.floats(-90, 90))
tables = st.lists(record, min_size=1, max_size=25)
protections = st.sampled_from(
    [("add-remove", "record"), ("replace", "record"), ("add-remove", "owner"), ("replace", "owner")]
)


def results(table: list[tuple[int, float, float, float]], measure: Measure, most: int | None) -> dict[str, np.ndarray]:
    owner, x, y, fare = (list(column) for column in zip(*table, strict=True)) if table else ([], [], [], [])
    records = Records(owner=np.array(owner, dtype=int), x=x, y=y, attributes={"fare": fare}, owners=range(5))
    kept = contributing(records, MAP, most=most)
    query = RangeQuery("avg", Circle(5, 5, 4), Epsilon.of(1), measure)
    return partial_answers(kept, query, MAP) | {"histogram": count_vectors(kept, GRID, MAP)}


@given(tables, tables, protections, st.booleans(), st.data())
def test_neighbours_differ_by_at_most_the_sensitivity(table, other, how, signed, data) -> None:
    protection = Protection(*how, max_records=2 if how[1] == "owner" else None)
    measure = Measure("fare", 50, signed, 0.5)
    if protection.unit == "record":
        at = data.draw(st.integers(0, len(table) - 1))
        neighbour = table[:at] + table[at + 1 :] + ([other[0]] if protection.neighbours == "replace" else [])
    else:
        mine = [(0, *row[1:]) for row in other] if protection.neighbours == "replace" else []
        neighbour = [row for row in table if row[0] != 0] + mine
    before, after = (results(t, measure, protection.max_records) for t in (table, neighbour))
    assert np.abs(before["histogram"] - after["histogram"]).sum() <= protection.of_histogram()
    assert abs(before["count"].sum() - after["count"].sum()) <= protection.of_count()
    assert abs(before["sum"].sum() - after["sum"].sum()) <= protection.of_sum(measure)


def test_the_table_of_the_specification_holds() -> None:
    plain, signed = Measure("fare", 50, resolution=1), Measure("fare", 50, signed=True, resolution=1)
    add, replace = Protection("add-remove"), Protection("replace")
    assert (add.of_histogram(), replace.of_histogram()) == (1, 2)
    assert (add.of_count(), replace.of_count()) == (1, 1)
    assert (add.of_sum(plain), replace.of_sum(plain)) == (50, 50)
    assert (add.of_sum(signed), replace.of_sum(signed)) == (50, 100)


def test_protecting_an_owner_multiplies_by_its_most_records() -> None:
    owner = Protection("replace", "owner", 7)
    assert (owner.of_histogram(), owner.of_count(), owner.of_sum(Measure("fare", 3, resolution=1))) == (14, 7, 21)


@pytest.mark.parametrize(
    "wrong", [("add",), ("replace", "company"), ("replace", "owner"), ("replace", "owner", 0), ("replace", "record", 3)]
)
def test_nonsense_is_refused(wrong: tuple) -> None:
    with pytest.raises(InvalidInput):
        Protection(*wrong)
