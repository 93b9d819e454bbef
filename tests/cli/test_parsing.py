"""Numbers, places and options as they are written on the command line."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace

import pytest

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import RangeOptions
from fedgroup.cli.output import number
from fedgroup.cli.parsing import parse_domain, parse_grid, parse_numbers, parse_range, parse_time
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.space import Box, Circle, Rectangle


def test_numbers_are_separated_by_commas():
    assert parse_numbers("1,-2.5, 3e2", 3, name="--three", form="A,B,C") == [1, -2.5, 300]


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "1;2", "1,x", "1,,2"])
def test_a_wrong_list_of_numbers_is_told_what_it_should_be(text):
    with pytest.raises(InvalidInput, match=r"--near takes X,Y, got"):
        parse_numbers(text, 2, name="--near", form="X,Y")


@pytest.mark.parametrize(("text", "cells"), [("10x10", (10, 10)), ("3X4", (3, 4)), ("1x1", (1, 1))])
def test_a_grid_is_columns_by_rows(text, cells):
    assert parse_grid(text) == cells


@pytest.mark.parametrize("text", ["", "10", "x", "10x", "ax4", "-1x3", "1.5x2", "2x3x4", "٣x٣", "9" * 5000 + "x1"])
def test_a_wrong_grid_is_refused(text):
    with pytest.raises(InvalidInput, match="COLUMNSxROWS"):
        parse_grid(text)


def test_a_domain_across_the_antimeridian_is_written_above_180():
    assert parse_domain("170,-20,190,20", lonlat=True) == Box(170, -20, 190, 20)
    with pytest.raises(InvalidInput, match=r"got 170,-20,-170,20; across the antimeridian the east side is above 180"):
        parse_domain("170,-20,-170,20", lonlat=True)
    with pytest.raises(InvalidInput, match=r"got 170,-20,-170,20$"):
        parse_domain("170,-20,-170,20", lonlat=False)
    assert parse_domain(None, lonlat=True) is None


def test_each_way_to_name_a_range_gives_that_range(tmp_path):
    none = RangeOptions()
    assert parse_range(replace(none, near="1,2", within=3.0), lonlat=False) == Circle(1, 2, 3)
    assert parse_range(replace(none, rectangle="1,2,3,4"), lonlat=False) == Rectangle(1, 2, 3, 4)
    across = replace(none, rectangle="170,2,-170,4", across_antimeridian=True)
    assert parse_range(across, lonlat=True) == Rectangle(170, 2, 190, 4)


@pytest.mark.parametrize("lonlat", [True, False])
@pytest.mark.parametrize("text", ["-73.97,40.70,-74.02,40.80", "1e1,0,1e0,9", "7,2,7,4", "1,9,2,3.50"])
def test_a_rectangle_with_west_beyond_east_is_refused_with_the_numbers_typed(text, lonlat):
    with pytest.raises(InvalidQuery, match=rf"W < E and S < N, got {re.escape(text)}") as refusal:
        parse_range(RangeOptions(rectangle=text), lonlat=lonlat)
    crosses = text[0] in "-1" and text != "1,9,2,3.50"
    assert ("--across-antimeridian" in str(refusal.value)) == (lonlat and crosses)


@pytest.mark.parametrize(
    ("given", "lonlat"),
    [
        ({"rectangle": "170,2,-170,4"}, False),
        ({"rectangle": "-170,2,170,4"}, True),
        ({"rectangle": "170,2,190,4"}, True),
        ({"rectangle": "370,2,10,4"}, True),
        ({"near": "1,2", "within": 3.0}, True),
    ],
)
def test_crossing_the_antimeridian_is_said_of_rectangles_in_degrees_that_do(given, lonlat):
    with pytest.raises(InvalidQuery, match="--across-antimeridian"):
        parse_range(RangeOptions(**given, across_antimeridian=True), lonlat=lonlat)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"near": "1,2"},
        {"within": 3.0},
        {"near": "1,2", "within": 3.0, "rectangle": "0,0,1,1"},
        {"near": "1,2", "rectangle": "0,0,1,1"},
    ],
)
def test_one_whole_range_is_needed(given):
    with pytest.raises(InvalidQuery):
        parse_range(RangeOptions(**given), lonlat=False)


def test_times_are_seconds_where_they_are_numbers():
    assert [parse_time(text) for text in (None, "12.5", "2026-01-05")] == [None, 12.5, "2026-01-05"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "no value"), (1234, "1,234"), (-3, "-3"), (2.34567, "2.346"), (12345.6, "12,346")]
)
def test_numbers_are_shown_as_people_write_them(value, text):
    assert number(value) == text


@dataclass(frozen=True)
class Inner:
    depth: int
    colour: str = "blue"


@dataclass(frozen=True)
class Outer:
    inner: Inner
    size: int = 1


def test_groups_of_options_become_flat_options_and_come_back_whole():
    seen = []

    @grouped
    def command(outer: Outer, name: str = "x") -> None:
        seen.append((outer, name))

    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["depth", "colour", "size", "name"]
    assert parameters["depth"].default is inspect.Parameter.empty
    assert parameters["colour"].default == "blue"
    command(depth=3, colour="red", size=2, name="y")
    assert seen == [(Outer(Inner(3, "red"), 2), "y")]
