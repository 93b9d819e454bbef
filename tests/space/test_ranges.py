from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st

from fedgroup.errors import InvalidQuery
from fedgroup.space import Circle, MultiPolygon, Polygon, Range, Rectangle
from fedgroup.space.ranges import canonical_range, range_from_geojson

SQUARE = [(0, 0), (4, 0), (4, 4), (0, 4)]
HOLE = [(1, 1), (2, 1), (2, 2), (1, 2)]
FAR_SQUARE = [(10, 10), (14, 10), (14, 14), (10, 14)]
GEOMETRY = {"type": "Polygon", "coordinates": [[*SQUARE, SQUARE[0]], [*HOLE, HOLE[0]]]}
FEATURE = {"type": "Feature", "properties": None, "geometry": GEOMETRY}
BAD_NUMBERS = [np.nan, np.inf, -np.inf, 1e300, 10**400, "1", None, True]


@st.composite
def star_rings(draw: st.DrawFn) -> list[tuple[float, float]]:
    """Points around the origin in the order of their angle: a ring that never crosses itself."""
    radii = draw(st.lists(st.integers(1, 100), min_size=3, max_size=12))
    angles = 2 * np.pi * np.arange(len(radii)) / len(radii)
    return [(float(r * np.cos(a)), float(r * np.sin(a))) for r, a in zip(radii, angles, strict=True)]


@pytest.mark.parametrize("bad", BAD_NUMBERS)
@pytest.mark.parametrize("position", range(3))
def test_a_circle_needs_finite_numbers(position: int, bad: Any) -> None:
    numbers: list[Any] = [0, 0, 1]
    numbers[position] = bad
    with pytest.raises(InvalidQuery, match="finite number"):
        Circle(*numbers)


@pytest.mark.parametrize("radius", [0, -0.0, -1, 1e-300])
def test_a_circle_needs_a_radius_greater_than_zero(radius: float) -> None:
    with pytest.raises(InvalidQuery, match="greater than 0"):
        Circle(0, 0, radius)


@pytest.mark.parametrize("bad", BAD_NUMBERS)
@pytest.mark.parametrize("position", range(4))
def test_a_rectangle_needs_finite_numbers(position: int, bad: Any) -> None:
    numbers: list[Any] = [0, 0, 1, 1]
    numbers[position] = bad
    with pytest.raises(InvalidQuery, match="finite number"):
        Rectangle(*numbers)


@pytest.mark.parametrize("sides", [(1, 0, 1, 1), (2, 0, 1, 1), (0, 1, 1, 1), (0, 2, 1, 1)])
def test_a_rectangle_needs_an_inside(sides: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidQuery, match="west < east and south < north"):
        Rectangle(*sides)


def test_a_refused_rectangle_is_told_with_the_numbers_given() -> None:
    with pytest.raises(InvalidQuery, match=r"got 47\.5,0,9,1; if it crosses the antimeridian, say so"):
        Rectangle(47.5, 0, 9, 1)


def test_a_rectangle_crosses_the_antimeridian_where_that_is_said() -> None:
    assert Rectangle.across_antimeridian(170, -20, -170, 20) == Rectangle(170, -20, 190, 20)
    assert Rectangle.across_antimeridian(np.float32(179), np.int64(0), -179, 1) == Rectangle(179, 0, 181, 1)


@pytest.mark.parametrize("sides", [(-170, 0, 170, 1), (170, 0, 170, 1), (190, 0, 10, 1), (170, 1, -170, 0)])
def test_a_rectangle_that_does_not_cross_the_antimeridian_is_refused_as_one(sides: tuple[float, ...]) -> None:
    with pytest.raises(InvalidQuery):
        Rectangle.across_antimeridian(*sides)


@pytest.mark.parametrize("bad", BAD_NUMBERS)
@pytest.mark.parametrize("position", range(4))
def test_a_rectangle_across_the_antimeridian_needs_finite_numbers(position: int, bad: Any) -> None:
    numbers: list[Any] = [170, 0, -170, 1]
    numbers[position] = bad
    with pytest.raises(InvalidQuery, match="finite number"):
        Rectangle.across_antimeridian(*numbers)


@pytest.mark.parametrize("bad", BAD_NUMBERS)
def test_a_polygon_needs_finite_numbers(bad: Any) -> None:
    with pytest.raises(InvalidQuery, match="finite numbers"):
        Polygon([*SQUARE, (bad, 5)])
    with pytest.raises(InvalidQuery, match="finite numbers"):
        Polygon(SQUARE, [[*HOLE, (1, bad)]])


@pytest.mark.parametrize(
    "points",
    [[], [(0, 0)], [(0, 0), (1, 1), (0, 0), (1, 1)], [(0, 0), (1, 1), (2, 2)], [(0, 0), (2, 2), (2, 0), (0, 2)],
     [1, 2, 3], [(1, 2, 3)] * 4, ["ab", "cd", "ef"], 7, None],
)  # fmt: skip
def test_what_is_no_polygon_is_refused(points: Any) -> None:
    with pytest.raises(InvalidQuery):
        Polygon(points)


def test_holes_outside_and_overlapping_parts_are_refused() -> None:
    with pytest.raises(InvalidQuery, match="cannot be used"):
        Polygon(SQUARE, [FAR_SQUARE])
    with pytest.raises(InvalidQuery, match="cannot be used"):
        MultiPolygon((Polygon(SQUARE), Polygon(HOLE)))
    with pytest.raises(InvalidQuery, match="at least one"):
        MultiPolygon(())


def test_ranges_are_values_that_can_be_compared_and_hashed() -> None:
    assert Polygon(SQUARE, [HOLE]) == Polygon(np.array(SQUARE), [list(HOLE)])
    assert hash(MultiPolygon([Polygon(SQUARE)])) == hash(MultiPolygon((Polygon(SQUARE),)))
    assert repr(Circle(np.int64(1), 2, np.float64(3))) == "Circle(x=1.0, y=2.0, radius=3.0)"


@pytest.mark.parametrize(
    "found", [GEOMETRY, FEATURE, {"type": "FeatureCollection", "features": [FEATURE]}], ids=lambda found: found["type"]
)
def test_a_polygon_is_read_from_every_geojson_form(found: dict[str, Any]) -> None:
    asked = range_from_geojson(json.dumps(found))
    assert canonical_range(asked) == canonical_range(Polygon(SQUARE, [HOLE]))


def test_a_multipolygon_is_read_with_its_holes() -> None:
    coordinates = [[SQUARE, HOLE], [FAR_SQUARE]]
    asked = range_from_geojson(json.dumps({"type": "MultiPolygon", "coordinates": coordinates}))
    assert asked == MultiPolygon((Polygon(SQUARE, [HOLE]), Polygon(FAR_SQUARE)))


def test_altitudes_are_dropped() -> None:
    high = {"type": "Polygon", "coordinates": [[[x, y, 99.5] for x, y in SQUARE]]}
    assert range_from_geojson(json.dumps(high)) == Polygon(SQUARE)


def test_a_collection_of_two_features_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidQuery, match="one feature, got 2"):
        range_from_geojson(json.dumps({"type": "FeatureCollection", "features": [FEATURE, FEATURE]}))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, "9" * 5000, "null", "{}", '{"type": "Point", "coordinates": [1, 2]}',
     '{"type": "Polygon", "coordinates": [["ab", "cd", "ef"]]}', '{"type": "Polygon", "coordinates": []}',
     '{"type": "Polygon", "coordinates": [[[0, 0], [NaN, 1], [1, 1]]]}', '{"type": "MultiPolygon", "coordinates": []}',
     '{"type": "Polygon", "coordinates": [[[0, 0], ["1", "1"], [1, 0]]]}', '{"type": "Feature", "geometry": null}',
     '{"type": "Polygon", "coordinates": [[[0, 0], [1' + "0" * 400 + ', 1], [1, 0]]]}'],
)  # fmt: skip
def test_malformed_geojson_is_an_invalid_query(text: str) -> None:
    with pytest.raises(InvalidQuery):
        range_from_geojson(text)


SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
KINDS = st.sampled_from(["Polygon", "MultiPolygon", "Feature", "FeatureCollection", "Point"])
ANY_JSON = st.recursive(
    SCALARS | KINDS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["type", "coordinates", "geometry", "features", "other"]), inner, max_size=4)
        | st.fixed_dictionaries({"type": KINDS, "coordinates": inner, "geometry": inner, "features": inner})
    ),
    max_leaves=25,
)


@given(ANY_JSON)
@example({"type": "FeatureCollection", "features": {"a": 1}})
@example({"type": "Polygon", "coordinates": {"a": 1}})
@example({"type": ["Polygon"], "coordinates": [SQUARE]})
def test_any_json_is_a_polygon_or_an_invalid_query(found: Any) -> None:
    try:
        asked = range_from_geojson(json.dumps(found))
    except InvalidQuery:
        return
    assert asked.shape.area > 0


@given(st.text())
def test_any_text_is_an_invalid_query(text: str) -> None:
    with pytest.raises(InvalidQuery):
        range_from_geojson(text)


@given(star_rings(), st.integers(0, 20), st.booleans(), st.booleans(), st.integers(0, 20))
def test_a_ring_has_one_canonical_form(
    ring: list[tuple[float, float]], turn: int, reverse: bool, close: bool, repeated: int
) -> None:
    turn, repeated = turn % len(ring), repeated % len(ring)
    other = ring[turn:] + ring[:turn]
    other = other[: repeated + 1] + other[repeated:]
    other = (other[::-1] if reverse else other) + ([] if not close else [other[-1] if reverse else other[0]])
    assert canonical_range(Polygon(other)) == canonical_range(Polygon(ring))


@given(star_rings(), star_rings())
def test_different_rings_have_different_canonical_forms(
    ring: list[tuple[float, float]], other: list[tuple[float, float]]
) -> None:
    same = set(Polygon(ring).points) == set(Polygon(other).points)
    assert (canonical_range(Polygon(ring)) == canonical_range(Polygon(other))) == same


def test_parts_and_holes_have_one_canonical_order() -> None:
    tiny = [(3, 3), (3.5, 3), (3.5, 3.5)]
    whole, far = Polygon(SQUARE, [HOLE, tiny]), Polygon(FAR_SQUARE)
    turned = Polygon(SQUARE[::-1], [tiny[1:] + tiny[:1], HOLE[::-1]])
    assert canonical_range(MultiPolygon((whole, far))) == canonical_range(MultiPolygon((far, turned)))
    assert canonical_range(MultiPolygon((whole,))) == canonical_range(turned)


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (Circle(0, 0, 5), Circle(-0.0, 0.0, 5.0)),
        (Rectangle(0, 0, 5, 5), Rectangle(-0.0, np.float64(0), 5.0, 5)),
        (Polygon(SQUARE), Polygon([(-0.0, 0.0), *SQUARE[1:]])),
    ],
)
def test_equal_numbers_have_one_canonical_text(asked: Range, same: Range) -> None:
    assert json.dumps(canonical_range(asked)) == json.dumps(canonical_range(same))


def test_different_ranges_have_different_canonical_texts() -> None:
    ranges: list[Range] = [
        Circle(0, 0, 4), Circle(0, 0, np.nextafter(4, 5)), Rectangle(0, 0, 4, 4), Rectangle(0, 0, 4, 5),
        Polygon(SQUARE), Polygon(SQUARE, [HOLE]), Polygon(FAR_SQUARE),
    ]  # fmt: skip
    assert len({json.dumps(canonical_range(asked)) for asked in ranges}) == len(ranges)


@pytest.mark.parametrize("asked", [Polygon(SQUARE, [HOLE]), MultiPolygon([Polygon(SQUARE), Polygon(FAR_SQUARE)])])
def test_whoever_looks_at_a_polygon_gets_a_shape_of_its_own(asked: Polygon | MultiPolygon) -> None:
    one, other = asked.shape, asked.shape
    assert one is not other
    assert one.equals_exact(other, 0)
    assert not any(isinstance(kept, shapely.Geometry) for kept in vars(asked).values())
