"""Blocks: every place is in one cell, cells add up to blocks, and blocks are the cells of a grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages.wire_query import WireQuery, WireRange
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Grid, PublicMap
from fedgroup.space.blocks import DEEPEST, Blocks
from fedgroup.space.places import bin_of, canonical_places, smallest_of

BOX = Box(-74.26, 40.48, -73.70, 40.92)


def blocks(level: int = 3, seed: int = 1, box: Box = BOX) -> Blocks:
    rng = np.random.default_rng(seed)
    return Blocks(box, level, rng.integers(0, DEEPEST + 1, 4**level).astype(np.uint8).tobytes())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), level=st.integers(0, 4))
def test_every_place_is_in_the_cell_whose_box_holds_it(seed: int, level: int) -> None:
    cut, rng = blocks(level, seed), np.random.default_rng(seed)
    x, y = rng.uniform(-74.4, -73.6, 500), rng.uniform(40.4, 41.0, 500)
    # edges of the finest grid, where rounding could lead astray
    x[:100] = cut._fine_edges[0][rng.integers(0, cut.side << DEEPEST, 100)]
    cell = cut.cell_of(x, y)
    inside = cell >= 0
    sides = [side[cell[inside]] for side in cut.boxes]
    assert np.array_equal(inside, BOX.contains(x, y))
    assert np.all((sides[0] <= x[inside]) & (x[inside] < sides[2]) & (sides[1] <= y[inside]) & (y[inside] < sides[3]))


def test_cells_add_up_to_the_grid_of_blocks_record_by_record() -> None:
    cut, rng = blocks(4), np.random.default_rng(2)
    x, y = rng.uniform(*BOX.sides[::2], 20_000), rng.uniform(*BOX.sides[1::2], 20_000)
    x[:2_000] = rng.choice(cut._fine_edges[0][:-1], 2_000)
    assert np.array_equal(cut.block_of[cut.cell_of(x, y)], Grid(BOX, 16, 16).cell_of(x, y))


def test_cells_cover_the_box_once() -> None:
    west, south, east, north = blocks().boxes
    assert ((east - west) * (north - south)).sum() == pytest.approx(BOX.width * BOX.height)
    assert len(set(blocks().names)) == len(blocks())


def test_longitudes_are_wrapped_as_in_a_grid() -> None:
    cut = blocks(2, box=Box(170, -10, 190, 10))
    public_map = PublicMap(cut.box, lonlat=True)
    x, y = np.array([-175.0, 185.0]), np.array([1.0, 1.0])
    assert len(set(bin_of(cut, public_map, x, y).tolist())) == 1


@pytest.mark.parametrize("level", [0, 1, 3])
def test_blocks_travel_and_are_said_and_read_back(level: int) -> None:
    cut = blocks(level)
    assert WireRange.of(cut).read(BOX) == cut
    assert Blocks.of_said(cut.said(), BOX) == cut


def test_a_question_about_blocks_travels() -> None:
    query = RangeQuery("count", blocks(), Epsilon(5))
    assert WireQuery.of(query).read(BOX) == query
    assert not WireQuery.of(query).is_range


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: {"depths": whole.depths[:-1]},
        lambda whole: {"depths": b"\xff" + whole.depths[1:]},
        lambda whole: {"numbers": [10.0]},
        lambda whole: {"numbers": [2.5]},
        lambda whole: {"shape": "h3"},
    ],
)
def test_damaged_blocks_are_refused_on_the_wire(damage: object) -> None:
    whole = WireRange.of(blocks())
    facts = {"shape": "blocks", "numbers": whole.numbers, "depths": whole.depths} | damage(whole)
    with pytest.raises(ProtocolViolation):
        WireRange(**facts)


@pytest.mark.parametrize(
    "said", [{}, {"level": 3}, {"level": 3, "depths": "!"}, {"level": 2, "depths": blocks().said()["depths"]}, "x"]
)
def test_damaged_blocks_are_refused_as_json(said: object) -> None:
    with pytest.raises(InvalidInput):
        Blocks.of_said(said, BOX)


def test_different_cuts_are_different_questions() -> None:
    assert canonical_places(blocks(seed=1)) != canonical_places(blocks(seed=2))


def test_the_smallest_places_are_deepest_cells() -> None:
    depths = bytearray(16)
    depths[5] = depths[14] = 2
    (one, other) = smallest_of(Blocks(BOX, 2, bytes(depths)))
    assert isinstance(one, fg.Rectangle)
    assert isinstance(other, fg.Rectangle)
    assert one.east - one.west == pytest.approx(BOX.width / 16)
    assert other.south > one.south


def test_a_box_too_small_for_so_many_cells_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too small"):
        Blocks(Box(1.0, 1.0, 1.0 + 1e-14, 2.0), 2, bytes(16))
