"""Boxes hold every place they should, and share none."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from silo_worlds import EARTH, MAPS, PARIS, PLANE, World, worlds

from fedgroup.epsilon import Epsilon
from fedgroup.questions.query import RangeQuery
from fedgroup.silos.wanted import CoarseBox, rows_of_domain, rows_of_question
from fedgroup.space import Circle, PublicMap, Rectangle


@given(world=worlds())
def test_boxes_are_apart_and_hold_every_record_that_counts(world: World) -> None:
    boxes = rows_of_question(world.query, world.public_map).boxes
    assert all(one.east < other.west for one, other in pairwise(boxes))
    records = world.inside(None)
    counted = world.public_map.contains(world.query.range, records.x, records.y)
    for x, y in zip(records.x[counted], records.y[counted], strict=True):
        assert sum(_holds(box, x, y) for box in boxes) == 1


def _holds(box: CoarseBox, x: float, y: float) -> bool:
    return box.west <= x <= box.east and box.south <= y <= box.north


@pytest.mark.parametrize("public_map", MAPS)
def test_the_boxes_of_a_domain_are_apart(public_map: PublicMap) -> None:
    boxes = rows_of_domain(public_map).boxes
    assert all(one.east < other.west for one, other in pairwise(boxes))
    assert len(boxes) == {PLANE: 1, EARTH: 1}.get(public_map, 2)


def test_a_range_beside_the_domain_wants_nothing() -> None:
    for public_map, asked in ((PLANE, Rectangle(50, 50, 60, 60)), (PARIS, Circle(2.3, 40, 500))):
        assert rows_of_question(RangeQuery("count", asked, Epsilon.of(1)), public_map).boxes == ()


def test_a_small_circle_wants_a_small_box() -> None:
    wanted = rows_of_question(RangeQuery("count", Circle(2.35, 48.85, 500), Epsilon.of(1)), PARIS)
    (box,) = [box for box in wanted.boxes if box.west > 0]
    metres = math.radians(6_371_000)
    assert (box.north - box.south) * metres < 1_020
    assert (box.east - box.west) * metres * math.cos(math.radians(48.85)) < 1_020


def test_times_that_no_database_could_compare_with_are_not_cut() -> None:
    query = RangeQuery("count", Circle(0, 0, 1), Epsilon.of(1), None, -(10**18), 253_402_300_800 * 10**6)
    wanted = rows_of_question(query, PLANE)
    assert (wanted.since_s, wanted.until_s, wanted.with_time) == (None, None, True)
