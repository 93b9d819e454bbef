"""Exact counts agree with what plain Python counts, record by record."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import fedgroup as fg
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.owner.counting import contributing, count_vectors, partial_answers, sum_by, total_units, whole_units
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, Polygon, PublicMap, Range, Rectangle
from fedgroup.space.blocks import Blocks

MAP = PublicMap(Box(0, 0, 8, 8))
OWNERS = (1, 2, 3)
ROW = st.tuples(st.sampled_from(OWNERS), st.integers(-2, 20), st.integers(-2, 20), st.integers(-9, 9) | st.none())
ROWS = st.lists(ROW, max_size=40)
Row = tuple[int, int, int, int | None]


def table(rows: list[Row], **more: Any) -> Records:
    """Places are halves, so that many lie exactly on edges."""
    return Records(
        owner=[row[0] for row in rows],
        x=[row[1] / 2 for row in rows],
        y=[row[2] / 2 for row in rows],
        attributes={"fare": [math.nan if row[3] is None else row[3] for row in rows]},
        owners=OWNERS,
        **more,
    )


def counted(rows: list[Row], asked: Range) -> list[int]:
    query = RangeQuery("count", asked, NOTHING)
    return partial_answers(contributing(table(rows), MAP), query, MAP)["count"].tolist()


def by_owner(rows: list[Row], inside: Any) -> list[int]:
    in_domain = [row for row in rows if 0 <= row[1] < 16 and 0 <= row[2] < 16]
    return [sum(row[0] == owner and inside(row[1] / 2, row[2] / 2) for row in in_domain) for owner in OWNERS]


@given(ROWS, st.integers(-4, 20), st.integers(-4, 20), st.integers(1, 20))
def test_a_circle_counts_the_places_strictly_nearer_than_its_radius(rows: list[Row], x: int, y: int, r: int) -> None:
    expected = by_owner(rows, lambda a, b: (2 * a - x) ** 2 + (2 * b - y) ** 2 < r**2)
    assert counted(rows, Circle(x / 2, y / 2, r / 2)) == expected


@given(ROWS, st.tuples(*[st.integers(-4, 20)] * 4))
def test_a_rectangle_keeps_its_west_and_south_sides_only(rows: list[Row], sides: tuple[int, ...]) -> None:
    west, south, east, north = (side / 2 for side in sides)
    east, north = max(west + 0.5, east), max(south + 0.5, north)
    expected = by_owner(rows, lambda a, b: west <= a < east and south <= b < north)
    assert counted(rows, Rectangle(west, south, east, north)) == expected


@given(ROWS)
def test_a_polygon_counts_the_places_inside_it(rows: list[Row]) -> None:
    asked = Polygon([(1, 1), (7, 2), (6, 7), (3, 3), (2, 6)], [[(2, 2), (3, 2), (2, 2.5)]])
    expected = by_owner(rows, lambda a, b: asked.shape.contains(shapely.Point(a, b)))
    assert counted(rows, asked) == expected


@given(ROWS, st.integers(1, 9), st.booleans(), st.sampled_from([1, 2, 4]))
def test_a_sum_clips_and_rounds_each_value_and_skips_absent_ones(
    rows: list[Row], clip: int, signed: bool, parts: int
) -> None:
    measure = Measure("fare", clip, signed, 1 / parts)
    query = RangeQuery("avg", Rectangle(0, 0, 8, 8), NOTHING, measure)
    found = partial_answers(contributing(table(rows), MAP), query, MAP)
    present = [row for row in rows if row[3] is not None and 0 <= row[1] < 16 and 0 <= row[2] < 16]
    low = -clip if signed else 0
    sums = [sum(min(max(row[3] or 0, low), clip) * parts for row in present if row[0] == owner) for owner in OWNERS]
    assert found["sum"].tolist() == sums
    assert found["count"].tolist() == [sum(row[0] == owner for row in present) for owner in OWNERS]


@given(ROWS, st.integers(1, 4), st.integers(1, 4))
def test_every_record_inside_the_domain_is_in_one_cell(rows: list[Row], columns: int, height: int) -> None:
    records = table(rows)
    vectors = count_vectors(records, MAP.grid(columns, height), MAP)
    assert vectors.sum(axis=1).tolist() == by_owner(rows, lambda a, b: True)


@given(ROWS, st.integers(1, 5))
def test_the_cut_keeps_each_owners_first_records_inside_the_domain(rows: list[Row], most: int) -> None:
    kept = contributing(table(rows), MAP, most=most)
    inside = [row for row in rows if 0 <= row[1] < 16 and 0 <= row[2] < 16]
    first = [[row for row in inside if row[0] == owner][:most] for owner in OWNERS]
    for place, mine in enumerate(first):
        assert kept.x[kept.code == place].tolist() == [row[1] / 2 for row in mine]
    assert kept.owners.tolist() == list(OWNERS)


def test_the_cut_keeps_each_subjects_first_records_whatever_others_of_its_owner_have() -> None:
    cars = Records(owner=[1] * 6, x=[1, 2, 3, 4, 5, 6], y=[1] * 6, subject=["a", "b", "a", "a", "b", "a"])
    assert contributing(cars, MAP, most=2, unit="subject").x.tolist() == [1, 2, 3, 5]
    alone = Records(owner=[1] * 4, x=[1, 3, 4, 6], y=[1] * 4, subject=["a"] * 4)
    assert contributing(alone, MAP, most=2, unit="subject").x.tolist() == [1, 3]


@given(ROWS, st.integers(1, 5))
def test_an_owner_that_leaves_changes_no_other_owners_records(rows: list[Row], most: int) -> None:
    before = contributing(table(rows), MAP, most=most)
    after = contributing(table([row for row in rows if row[0] != 2]), MAP, most=most)
    np.testing.assert_array_equal(before.x[before.code != 1], after.x)


@given(
    values=st.lists(st.floats(-1e300, 1e300, allow_nan=False) | st.floats(-20, 20, allow_nan=False), max_size=20),
    clip=st.floats(0.01, 1e6),
    signed=st.booleans(),
    steps=st.integers(1, 10**6),
)
def test_no_value_leaves_the_clip_range(values: list[float], clip: float, signed: bool, steps: int) -> None:
    measure = Measure("fare", clip, signed, clip / steps)
    units = whole_units(np.array(values), measure)
    assert all((-measure.units if signed else 0) <= unit <= measure.units for unit in units.tolist())
    assert measure.units * measure.step <= Fraction(str(clip))


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [(None, None, 4), (10, 20, 1), (10, 21, 2), (11, None, 1), (None, 20, 1), (None, 21, 2), (21, 30, 0)],
)
def test_a_time_window_is_half_open_and_leaves_out_records_without_a_time(
    since: int | None, until: int | None, found: int
) -> None:
    times = np.array([10, 20, NO_TIME, NO_TIME]).view("datetime64[us]")
    records = table([(1, 2, 2, 0)] * 4, time=times)
    query = RangeQuery("count", Circle(1, 1, 1), NOTHING, None, since, until)
    assert partial_answers(records, query, MAP)["count"].sum() == found


def test_a_time_window_needs_a_time_column() -> None:
    query = RangeQuery("count", Circle(1, 1, 1), NOTHING, None, 5)
    with pytest.raises(InvalidQuery, match="no time column"):
        partial_answers(table([(1, 2, 2, 0)]), query, MAP)


@pytest.mark.parametrize("kind", ["sum", "avg"])
def test_an_unknown_attribute_cannot_be_summed(kind: str) -> None:
    query = RangeQuery(kind, Circle(1, 1, 1), NOTHING, Measure("tip", 5))
    with pytest.raises(InvalidInput, match="no numeric column 'tip'"):
        partial_answers(table([(1, 2, 2, 0)]), query, MAP)


def test_sums_by_label_are_exact_beyond_what_floats_can_hold() -> None:
    values = np.array([2**60, 1, -(2**60), 2**53, 1], dtype=np.int64)
    assert sum_by(np.array([0, 0, 0, 2, 2], dtype=np.int32), values, 3).tolist() == [1, 0, 2**53 + 1]


def test_blocks_are_counted_as_every_cell_would_be() -> None:
    rng = np.random.default_rng(5)
    box = fg.Box(0, 0, 10, 10)
    cut = Blocks(box, 2, rng.integers(0, 4, 16).astype(np.uint8).tobytes())
    x, y = rng.uniform(-1, 11, (2, 3_000))
    records = fg.Records(owner=np.zeros(3_000, dtype=int), x=x, y=y, owners=[0])
    query = RangeQuery("count", cut, Epsilon(1))
    expected = [fg.Rectangle(*sides).box.contains(x, y).sum() for sides in zip(*cut.boxes, strict=True)]
    assert total_units(records, query, PublicMap(box))["count"].tolist() == expected
