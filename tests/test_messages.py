"""Messages are valid from birth."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, ProtocolViolation
from fedgroup.messages import NoisyTotals, NoisyVectors, Partition
from fedgroup.messages.asked import Ask
from fedgroup.messages.cells_from import CellsFrom
from fedgroup.messages.wire_query import WireQuery, WireRange
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import MOST_CLIP, Measure, RangeQuery
from fedgroup.questions.words import question
from fedgroup.space import Box, Circle, Grid, Rectangle
from fedgroup.space.blocks import Blocks
from fedgroup.transport.codec import decode, encode
from fedgroup.user.role import read

CIRCLE = Circle(0, 0, 1)


@pytest.mark.parametrize("labels", [[0, 2], [-1, 0], [[0, 1]], [0, 2**31 - 1]])
def test_a_partition_has_no_gaps(labels: list) -> None:
    with pytest.raises(ProtocolViolation):
        Partition(np.array(labels))


def test_a_partition_does_not_change_with_its_input() -> None:
    labels = np.array([0, 1, 1], dtype=np.int32)
    partition = Partition(labels)
    labels[0] = 1
    assert partition.labels.tolist() == [0, 1, 1]
    assert (partition.groups, partition.sizes.tolist()) == (2, [1, 2])


def test_a_vector_has_a_count_for_each_cell() -> None:
    with pytest.raises(ProtocolViolation):
        NoisyVectors(np.zeros((3, 5), dtype=np.int64), Grid(Box(0, 0, 1, 1), 2, 2), Fraction(1), Epsilon.of(1))


@pytest.mark.parametrize(
    "wrong", [{"kind": "max"}, {"kind": "sum"}, {"measure": Measure("fare", 1)}, {"since": 5, "until": 5}]
)
def test_a_query_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(InvalidQuery):
        RangeQuery(**{"kind": "count", "range": CIRCLE, "epsilon": Epsilon.of(1)} | wrong)


@pytest.mark.parametrize(
    "wrong", [(0.0,), (-1.0,), (float("nan"),), (1.0, False, 0.0), (1.0, False, 2.0), (1e6, False, 1e-6), (1e308,)]
)
def test_a_measure_that_makes_no_sense_is_refused(wrong: tuple) -> None:
    with pytest.raises(InvalidQuery):
        Measure("fare", *wrong)


@pytest.mark.parametrize("kind", ["sum", "avg"])
def test_whatever_owners_give_for_the_largest_clip_is_a_number(kind: str) -> None:
    query = RangeQuery(kind, CIRCLE, Epsilon.of(0.001), Measure("fare", MOST_CLIP, True))
    for most in (1 << 62, -(1 << 62)):
        sums = {"sum": np.array([most]), "count": np.array([1])}
        totals = {part: sums[part] for part in query.parts}
        found = read(query, NoisyTotals(totals, scales_of(query, Protection()), False, noises=9.0, heard=9))
        assert all(map(math.isfinite, (found.value, *found.interval)))


def test_the_resolution_defaults_to_about_a_thousandth_of_the_clip() -> None:
    assert (Measure("fare", 50).resolution, Measure("fare", 50).units) == (0.01, 5000)
    assert (Measure("fare", 1).resolution, Measure("fare", 0.003).units) == (0.001, 3000)


def test_the_clip_is_never_exceeded_by_rounding_units_up() -> None:
    measure = Measure("fare", 1.0, resolution=0.3)
    assert measure.units == 3
    assert measure.bounds == (0.0, 0.9)


def test_ledgers_show_times_as_people_write_them() -> None:
    monday = 1_767_571_200_000_000
    query = RangeQuery("count", CIRCLE, Epsilon.of(1), since=monday, until=monday + 500_000)
    assert question(query).endswith(" from 2026-01-05T00:00:00Z until 2026-01-05T00:00:00.500000Z")
    assert question(replace(query, until=None)).endswith(" from 2026-01-05T00:00:00Z")
    assert question(replace(query, since=None)).endswith("0,0 until 2026-01-05T00:00:00.500000Z")
    assert question(replace(query, until=2**62)).endswith(f" until {2**62} us")
    assert " from " not in question(replace(query, since=None, until=None))


def test_ledgers_show_where_and_how_much_to_the_last_digit() -> None:
    near = RangeQuery("count", Circle(2.3522219000000004, 48.8566, 1234567.5), Epsilon.of(1))
    assert question(near) == "count within 1234567.5 of 2.3522219000000004,48.8566"
    box = replace(near, range=Rectangle(0, 1e-7, 0.1 + 0.2, 1e16))
    assert question(box) == "count in the rectangle 0,1e-07,0.30000000000000004,1e+16"
    assert question(replace(near, range=CIRCLE)) == "count within 1 of 0,0"
    fares = RangeQuery("sum", CIRCLE, Epsilon.of(1), measure=Measure("fare", 1234567.25, resolution=0.25))
    assert "cut to 0..1234567.25 in steps of 0.25" in question(fares)


def test_hexagons_beyond_a_live_answer_are_refused_without_listing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedgroup.space.places._cells_of", lambda *_: pytest.fail("cells were listed"))
    country = Box(-10, 40, 10, 55)
    with pytest.raises(ProtocolViolation, match="at most 65536 bins"):
        WireQuery("count", WireRange("h3", [7.0]), 1).read(country)


@pytest.mark.parametrize("time", [{"since": 1 << 62}, {"until": -(1 << 63)}, {"every": 1 << 70}])
def test_times_whose_differences_leave_64_bits_are_refused(time: dict[str, int]) -> None:
    with pytest.raises(ProtocolViolation, match="a time lies within"):
        WireQuery("count", WireRange("circle", [1.0, 1.0, 1.0]), 1, **time)


ENDLESS: list[dict[str, Any]] = [{name: each} for name in ("clip", "resolution") for each in (math.nan, math.inf)]


@pytest.mark.parametrize("number", [*ENDLESS, {"by": "age", "values": [1.0, math.nan]}])
def test_numbers_of_a_question_are_finite(number: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation, match="finite"):
        WireQuery("count", WireRange("circle", [1.0, 1.0, 1.0]), 1, **number)
    with pytest.raises(ProtocolViolation, match="finite"):
        WireRange("polygons", polygons=[[[[0.0, 0.0], [math.nan, 0.0], [1.0, 1.0]]]])


TOLD = CellsFrom(10**9, 1_000, 4_096, 2.0, [2.0, 2.5], [[1], [3, -4, 5, 6]])
UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"epsilon_nano": 0}, "epsilon"),
    ({"records": 0}, "records"),
    ({"most_cells": 65_537}, "cells"),
    ({"noises": [1.0]}, "two answers"),
    ({"noises": [1.0, math.nan]}, "noises"),
    ({"expected_noises": 0.0}, "noises"),
    ({"answers": [[1], []]}, "bins"),
    ({"answers": [[1], [0] * 65_537]}, "bins"),
    ({"answers": [[1], [1 << 63]]}, "64 bits"),
]


@pytest.mark.parametrize(("changed", "what"), UNFIT)
def test_what_cells_follow_from_is_bounded(changed: dict[str, Any], what: str) -> None:
    with pytest.raises(ProtocolViolation, match=what):
        replace(TOLD, **changed)


def test_blocks_and_what_they_follow_from_arrive_as_they_were_sent() -> None:
    plain = WireQuery.of(RangeQuery("count", Blocks(Box(0, 0, 8, 8), 1, bytes([0, 1, 2, 3])), Epsilon.of(1)))
    query = replace(plain, cells_from=TOLD)
    ask = Ask(bytes(16), query, None, 1_000)
    assert decode(encode(ask), (Ask,)) == ask
    with pytest.raises(ProtocolViolation, match="follow"):
        replace(query, range=WireRange("circle", [1.0, 1.0, 1.0]))


def test_the_longest_map_fits_a_message() -> None:
    blocks = Blocks(Box(0, 0, 8, 8), 8, bytes(4**8))
    plain = WireQuery.of(RangeQuery("count", blocks, Epsilon.of(1)))
    told = replace(TOLD, answers=[[-(1 << 62)] * 1_024, [1 << 62] * 65_536])
    assert encode(Ask(bytes(16), replace(plain, cells_from=told), None, 1_000))
