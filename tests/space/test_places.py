"""Places of maps: disjoint, public, bounded, and the same whoever names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely

from fedgroup.errors import InvalidQuery
from fedgroup.space import Box, Circle, Grid, MultiPolygon, Polygon, PublicMap, Rectangle
from fedgroup.space.places import (
    Districts,
    Hexagons,
    bin_of,
    canonical_places,
    grid_shapes,
    how_many,
    require_on_map,
    smallest_of,
)

TOWN = PublicMap(Box(2.2, 48.8, 2.5, 48.9), lonlat=True)
PLANE = PublicMap(Box(0, 0, 10, 10))
SQUARE = Polygon([(0, 0), (4, 0), (4, 4), (0, 4)])
HOLED = Polygon([(4, 0), (10, 0), (10, 4), (4, 4)], [[(6, 1), (8, 1), (8, 3), (6, 3)]])


def test_every_place_of_a_domain_is_in_one_hexagon_of_it() -> None:
    generator = np.random.default_rng(5)
    x, y = generator.uniform(2.2, 2.5, 2_000), generator.uniform(48.8, 48.9, 2_000)
    for resolution in (0, 3, 6, 8):
        found = bin_of(Hexagons(resolution, TOWN.domain), TOWN, x, y)
        assert (found >= 0).all()


def test_hexagons_of_the_whole_earth_hold_every_place() -> None:
    earth = PublicMap(Box(-180, -90, 180, 90), lonlat=True)
    cells = Hexagons(1, earth.domain)
    assert len(cells) == 842
    generator = np.random.default_rng(6)
    found = bin_of(cells, earth, generator.uniform(-180, 180, 3_000), generator.uniform(-90, 90, 3_000))
    assert (found >= 0).all()


def test_hexagons_across_the_antimeridian_are_found_from_both_sides() -> None:
    fiji = PublicMap(Box(177, -20, 182, -15), lonlat=True)
    cells = Hexagons(4, fiji.domain)
    found = bin_of(cells, fiji, np.array([178.0, -179.0, 181.0, 170.0]), np.full(4, -17.0))
    assert found[1] == found[2] >= 0
    assert found[0] >= 0
    assert all(shape.bounds[2] - shape.bounds[0] < 10 for shape in cells.shapes())


@pytest.mark.parametrize("resolution", [-1, 16, 2.5, "8", True])
def test_a_resolution_that_h3_does_not_have_is_refused(resolution: Any) -> None:
    with pytest.raises(InvalidQuery, match="h3 must be a whole number"):
        Hexagons(resolution, TOWN.domain)


def test_too_many_hexagons_are_refused_without_counting_them() -> None:
    with pytest.raises(InvalidQuery, match="H3 cells of resolution 15 meet the domain"):
        Hexagons(15, Box(-180, -90, 180, 90))


def test_a_place_is_in_the_district_that_has_it_and_in_no_hole() -> None:
    both = Districts.of({"west": SQUARE, "east": HOLED})
    x, y = np.array([1.0, 5, 7, 9, 4, 1]), np.array([1.0, 1, 2, 3, 2, 9])
    assert bin_of(both, PLANE, x, y).tolist() == [0, 1, -1, 1, -1, -1]


def test_districts_may_touch_but_not_overlap() -> None:
    Districts.of({"west": SQUARE, "east": HOLED})
    with pytest.raises(InvalidQuery, match="'west' and 'other' do"):
        Districts.of({"west": SQUARE, "other": Polygon([(3, 3), (5, 3), (5, 5)])})


def test_a_district_may_have_several_parts() -> None:
    far = Polygon([(8, 8), (9, 8), (9, 9)])
    both = Districts.of({"islands": MultiPolygon([SQUARE, far]), "east": HOLED})
    assert bin_of(both, PLANE, np.array([1.0, 8.8]), np.array([1.0, 8.3])).tolist() == [0, 0]


def test_one_spelling_for_all_ways_to_name_the_same_places() -> None:
    turned = Polygon([(4, 4), (0, 4), (0, 0), (4, 0), (4, 4)])
    assert canonical_places(Districts.of({"a": SQUARE})) == canonical_places(Districts.of({"a": turned}))
    assert canonical_places(Districts.of({"a": SQUARE})) != canonical_places(Districts.of({"b": SQUARE}))
    assert canonical_places(Grid(PLANE.domain, 2, 3)) != canonical_places(Grid(PLANE.domain, 3, 2))


@pytest.mark.parametrize(
    "places",
    [
        Grid(Box(0, 0, 1, 1), 2, 2),
        Hexagons(3, PLANE.domain),
        Districts.of({"far": Polygon([(20, 20), (21, 20), (20, 21)])}),
    ],
    ids=["another domain", "no degrees", "outside"],
)
def test_places_that_the_map_does_not_have_are_refused(places: Grid | Hexagons | Districts) -> None:
    with pytest.raises(InvalidQuery):
        require_on_map(places, PLANE)


def test_the_smallest_place_is_among_the_smallest() -> None:
    assert Rectangle(0, 5, 5, 10) in smallest_of(Grid(PLANE.domain, 2, 2))
    hexagons = Hexagons(7, TOWN.domain)
    areas = sorted(shape.area for shape in hexagons.shapes())
    found = [each.shape.area for each in smallest_of(hexagons) if isinstance(each, Polygon)]
    assert min(found) == pytest.approx(areas[0], rel=0.01)


def test_shapes_and_numbers_agree() -> None:
    grid = Grid(PLANE.domain, 5, 2)
    middle = shapely.centroid(np.array(grid_shapes(grid)))
    x, y = shapely.get_x(middle), shapely.get_y(middle)
    assert bin_of(grid, PLANE, x, y).tolist() == list(range(how_many(grid)))
    assert how_many(Circle(1, 1, 1)) == 1


def comb(teeth: int, *, flipped: bool) -> Polygon:
    """A comb whose teeth cross those of a flipped one in as many squares as both have teeth, squared."""
    up = [
        point
        for at in range(teeth)
        for point in ((2 * at, -1), (2 * at, 2 * teeth), (2 * at + 1, 2 * teeth), (2 * at + 1, -1))
    ]
    ring = [*up, (2 * teeth, -1), (2 * teeth, -2), (-2, -2), (-2, -1)]
    return Polygon([(y, x) if flipped else (x, y) for x, y in ring])


def test_districts_that_cross_everywhere_are_refused_without_cutting_them_up() -> None:
    with pytest.raises(InvalidQuery, match="'a' and 'b' seem to"):
        Districts.of({"a": comb(600, flipped=False), "b": comb(600, flipped=True)})


def test_too_many_districts_in_one_place_are_refused() -> None:
    turns = np.linspace(0, 2 * np.pi, 1_500)
    rim = np.stack([np.cos(turns), np.sin(turns)], axis=1).tolist()
    wedges = {
        str(at): Polygon([(0, 0), tuple(one), tuple(two)])
        for at, (one, two) in enumerate(zip(rim[:-1:2], rim[1::2], strict=True))
    }
    with pytest.raises(InvalidQuery, match="so many districts"):
        Districts.of(wedges)


def test_a_place_in_two_districts_is_in_the_first_even_if_nobody_looked() -> None:
    both = Districts(("a", "b"), (SQUARE, SQUARE), checked=False)
    assert bin_of(both, PLANE, np.array([1.0]), np.array([1.0])).tolist() == [0]
