"""A table that comes in parts adds up as plain Python adds its rows up, whatever is cut and wherever parts end."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import NOTHING
from fedgroup.owner.adding import Adding
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, PublicMap, Rectangle

MAP = PublicMap(Box(0, 0, 4, 1))
GRID = MAP.grid(4, 1)
FARE = Measure("fare", 3.0, resolution=1.0)
Row = tuple[int, int, int]
"""A car, a place (4 is outside the domain) and a fare."""
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 5)), max_size=30)
PROTECTIONS = (
    st.just(Protection(subjects=True))
    | st.builds(
        Protection, st.just("add-remove"), st.just("subject"), st.integers(1, 5), st.integers(1, 5), st.just(True)
    )
    | st.builds(Protection, st.just("replace"), st.just("owner"), st.integers(1, 12), st.none(), st.just(True))
)
Kind = Literal["count", "sum", "people"]
KINDS = st.sampled_from(["count", "sum", "people"])


def records(rows: list[Row]) -> Records:
    """Return rows as a table in which all cars are numbered alike."""
    return Records.of_columns(
        np.zeros(len(rows), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        x=np.array([row[1] + 0.5 for row in rows], dtype=np.float64),
        y=np.full(len(rows), 0.5),
        attributes={"fare": np.array([float(row[2]) for row in rows], dtype=np.float64)},
        time=None,
        lonlat=False,
        domain=None,
        listed=True,
        subject=np.array([row[0] for row in rows], dtype=np.int32),
    )


def question(kind: Kind, *, whole: bool) -> RangeQuery:
    return RangeQuery(kind, Rectangle(0, 0, 3, 1) if whole else GRID, NOTHING, FARE if kind == "sum" else None)


def by_hand(rows: list[Row], kind: Kind, *, whole: bool, protection: Protection) -> list[int]:
    """Return the totals, row by row, as docs/guarantees.md says them."""
    inside = [row for row in rows if row[1] < 4]
    had: Counter[int] = Counter()
    bins: dict[int, list[int]] = {}
    totals = [0] * (1 if whole else 4)
    for car, place, fare in inside:
        unit = car if protection.unit == "subject" else -1
        had[unit] += 1
        cut_records = protection.max_records is not None and not (kind == "people" and protection.unit == "subject")
        if (cut_records and had[unit] > protection.records) or (whole and place == 3):
            continue
        at, seen = 0 if whole else place, bins.setdefault(car, [])
        if kind != "people":
            totals[at] += 1 if kind == "count" else min(fare, 3)
        elif at not in seen and (protection.unit != "subject" or whole or len(seen) < (protection.max_bins or 0)):
            seen.append(at)
            totals[at] += 1
    return totals


@given(ROWS, st.lists(st.integers(0, 30), max_size=5), KINDS, st.booleans(), PROTECTIONS)
def test_parts_add_up_to_the_whole(
    rows: list[Row], cuts: list[int], kind: Kind, whole: bool, protection: Protection
) -> None:
    query = question(kind, whole=whole)
    adding = Adding(query, MAP, protection)
    for start, end in pairwise([0, *sorted(cuts), len(rows) + 30]):
        adding.add(records(rows[start:end]))
    expected = by_hand(rows, kind, whole=whole, protection=protection)
    assert adding.totals()[kind].tolist() == expected
    assert TableSilo(records(rows), MAP, protection=protection).totals(query)[kind].tolist() == expected


def test_of_parts_gone_by_only_subjects_and_their_bins_are_remembered() -> None:
    adding = Adding(question("people", whole=False), MAP, Protection(unit="subject", max_records=5, max_bins=2))
    for place in (0, 1, 2, 3) * 50:
        adding.add(records([(car, place, 1) for car in range(4)] * 20))
    assert adding.totals()["people"].tolist() == [4, 4, 0, 0]
    assert len(adding._seen._pairs) == 8


def test_a_table_that_names_several_owners_is_one_owners() -> None:
    table = Records(owner=[1, 2, 2], x=[0.5, 0.5, 1.5], y=[0.5] * 3, attributes={"fare": [1.0, 1.0, 1.0]})
    silo = TableSilo(table, MAP, protection=Protection(unit="owner", max_records=2, max_bins=4))
    assert silo.totals(question("count", whole=False))["count"].tolist() == [2, 0, 0, 0]
    assert silo.totals(question("people", whole=False))["people"].tolist() == [1, 1, 0, 0]


def test_where_an_owner_is_its_only_subject_its_cars_are_not_looked_at() -> None:
    table = records([(0, 0, 1), (1, 0, 1), (2, 1, 1)])
    alone = Protection(unit="owner", max_records=9, max_bins=1)
    silo = TableSilo(table, MAP, protection=alone)
    assert silo.totals(question("people", whole=False))["people"].tolist() == [1, 0, 0, 0]
    told = TableSilo(table, MAP, protection=Protection(unit="owner", max_records=9, subjects=True))
    assert told.totals(question("people", whole=False))["people"].tolist() == [2, 1, 0, 0]


@pytest.mark.parametrize("protection", [Protection(subjects=True), Protection("add-remove", "subject", 5, 4, True)])
def test_a_record_outside_changes_nobody_elses_count(protection: Protection) -> None:
    """Were subjects numbered anew where a row is left out, one part's cars would be taken for another's."""
    query, outside = question("people", whole=False), (0, 4, 1)
    parts = [[(car, 0, 1) for car in (1, 2, 3)], [(car, 0, 1) for car in (4, 5, 6)]]
    for rows in (parts, [[outside, *parts[0]], parts[1]], [parts[0], [outside, *parts[1]]]):
        adding = Adding(query, MAP, protection)
        for part in rows:
            adding.add(records(part))
        assert adding.totals()["people"].tolist() == [6, 0, 0, 0]


def test_subjects_keep_their_numbers_when_rows_are_left_out() -> None:
    kept = records([(7, 0, 1), (3, 1, 1), (5, 2, 1)]).keep(np.array([0, 2]))
    assert kept.of_subject.tolist() == [7, 5]
    assert kept.subjects == 8
