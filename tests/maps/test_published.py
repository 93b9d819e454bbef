"""A published map: read for nothing, near the truth, the same after it was saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from published_maps import CITY, MIDDLE, federation, places, simulated
from scipy import stats

import fedgroup as fg
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.maps.answering import Atlas
from fedgroup.maps.areas import covered
from fedgroup.maps.free import NOTHING, quantile
from fedgroup.maps.intervals import interval_of
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.unevenness import Unevenness
from fedgroup.space import PublicMap
from fedgroup.space.blocks import Boxes

PLANE = PublicMap(CITY)


@pytest.fixture(scope="module")
def made() -> PublishedMap:
    return federation().publish(epsilon=1, records=8_000)


def inside(circle: fg.Circle) -> int:
    return inside_of(circle, *places())


def inside_of(circle: fg.Circle, x: Any, y: Any) -> int:
    return int(((x - circle.x) ** 2 + (y - circle.y) ** 2 < circle.radius**2).sum())


def test_a_free_answer_is_near_the_truth_and_charges_nothing(made: PublishedMap) -> None:
    answer = made.count(MIDDLE)
    low, high = answer.interval
    assert low <= inside(MIDDLE) <= high
    assert high - low < 0.4 * inside(MIDDLE)
    assert answer.charged == 0


def test_an_interval_that_begins_at_0_says_that_there_may_be_nothing(made: PublishedMap) -> None:
    """Counts end at 0: such an interval cannot fail below, and holds more often than in 95 of 100 cases."""
    quiet = made.count(fg.Circle(1_000, 19_000, 300))
    assert quiet.interval[0] == 0 < quiet.interval[1]
    assert NOTHING in quiet.notes
    assert made.count(MIDDLE).interval[0] > 0
    assert NOTHING not in made.count(MIDDLE).notes


def test_the_whole_domain_has_no_unevenness(made: PublishedMap) -> None:
    assert made.total().uneven == 0
    assert made.total().value == pytest.approx(made.values.sum())


def test_shapes_of_all_kinds_are_read_alike(made: PublishedMap) -> None:
    box = shapely.box(8_000, 8_000, 12_000, 12_000)
    rectangle = made.count(fg.Rectangle(8_000, 8_000, 12_000, 12_000))
    for same in (box, shapely.geometry.mapping(box), fg.Polygon(list(box.exterior.coords))):
        assert made.count(same).value == pytest.approx(rectangle.value)
    named = made.districts({"in": fg.Polygon(list(box.exterior.coords))})
    assert named["in"].value == pytest.approx(rectangle.value)


def test_covered_areas_are_exact_for_circles_and_polygons() -> None:
    rng = np.random.default_rng(3)
    west, south = rng.uniform(0, 9_000, (2, 200))
    boxes = Boxes(west, south, west + rng.uniform(1, 4_000, 200), south + rng.uniform(1, 4_000, 200))
    circle = fg.Circle(5_000, 5_000, 2_500)
    ring = shapely.Point(5_000, 5_000).buffer(2_500, quad_segs=4_000)
    tiles = shapely.box(*boxes)
    expected = shapely.area(shapely.intersection(tiles, ring)) / shapely.area(tiles)
    assert np.allclose(covered(circle, PLANE, boxes), expected, atol=1e-6)
    drawn = fg.Polygon(list(ring.exterior.coords))
    assert np.allclose(covered(drawn, PLANE, boxes), expected, atol=1e-9)


def test_the_noise_of_answers_is_foretold_exactly() -> None:
    """The square of errors over its foretold variance has mean 1: of 300 maps, five standard errors off at most."""
    x, y = places(2_000)
    square = fg.Rectangle(6_250, 6_250, 12_500, 11_250)
    other = fg.Rectangle(5_000, 5_000, 10_000, 10_000)
    off: list[tuple[float, float]] = []
    exact: tuple[float, float] | None = None
    for seed in range(300):
        going = simulated(x, y, epsilon=1, noises=2, seed=seed)
        atlas = Atlas(going.reconstruct(), PLANE)
        one, two = atlas.weights(square), atlas.weights(other)
        apart = atlas.difference(one, two)
        if exact is None:
            count = [
                int(((x >= r.west) & (x < r.east) & (y >= r.south) & (y < r.north)).sum()) for r in (square, other)
            ]
            exact = float(count[0]), float(count[0] - count[1])
        assert len(one.cells) == 0 or set(np.unique(one.part)) <= {0.0, 1.0}
        off.append(
            (
                (atlas.unbiased(one) - exact[0]) / np.sqrt(atlas.noise(one).variance),
                (atlas.unbiased(one) - atlas.unbiased(two) - exact[1]) / np.sqrt(atlas.noise(apart).variance),
            )
        )
    squares = np.array(off) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - 1) < 5 * squares.std(axis=0) / np.sqrt(len(off)))


def test_the_interval_of_a_busy_place_reaches_what_empty_cells_took_from_it() -> None:
    """Noise makes empty cells negative; they are brought up at the cost of busy ones, which is no noise of theirs."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(10_000, 1_200, (2, 20_000))
    downtown, lowered = fg.Circle(10_000, 10_000, 4_000), 0
    for seed in range(12):
        atlas = Atlas(simulated(x, y, epsilon=1, noises=7_000, seed=seed).reconstruct(), PLANE)
        weights, uneven = atlas.weights(downtown), Unevenness.learnt(atlas.made)
        found = interval_of(atlas, weights, uneven, noises=7_000)
        plain = atlas.unbiased(weights)
        assert found.high - plain >= 1.9 * found.noise
        assert found.low <= inside_of(downtown, x, y) <= found.high
        lowered += plain > found.value
    assert lowered >= 6


def test_a_comparison_shares_noise_and_tells_the_sign(made: PublishedMap) -> None:
    quiet = fg.Circle(2_000, 17_000, 1_500)
    told = made.compare(MIDDLE, quiet)
    assert told.difference == pytest.approx(made.count(MIDDLE).value - made.count(quiet).value)
    assert told.certain
    assert made.compare(MIDDLE, MIDDLE).noise == pytest.approx(0, abs=1e-6)


def test_snapped_ranges_cut_no_cell(made: PublishedMap) -> None:
    snapped = made.snap(MIDDLE)
    answer = made.count(snapped)
    assert answer.uneven == 0
    assert answer.value == pytest.approx(made.count(MIDDLE).value, rel=0.2)


def test_a_radius_holds_what_it_says(made: PublishedMap) -> None:
    found = made.radius_holding(1_000, 10_000, 10_000)
    assert found.radius is not None
    assert made.count(fg.Circle(10_000, 10_000, found.radius)).value == pytest.approx(1_000, rel=0.01)
    low, high = found.interval
    assert high is not None
    assert low < found.radius < high
    assert made.radius_holding(10**9, 10_000, 10_000).radius is None
    quarter, half, most = made.quantiles_of_distance(10_000, 10_000)
    assert quarter.radius < half.radius < most.radius


def test_noise_alone_shows_a_cell_in_one_map_of_twenty() -> None:
    """Of 200 empty maps at most 22 show a cell: more has a chance of 0.0003 if it is 5 %."""
    nothing = np.zeros(0)
    phantoms = 0
    for seed in range(200):
        going = simulated(nothing, nothing, epsilon=1, noises=3, seed=seed, records=4_000)
        phantoms += bool((going.released[2].counts > threshold(going)).any())
    assert phantoms <= 22


def threshold(going: Any) -> float:
    from fedgroup.maps.published import threshold_of

    return threshold_of(going)


def test_hot_spots_are_the_densest_cells_that_are_shown(made: PublishedMap) -> None:
    top = made.top(5)
    assert len(top) == 5
    assert [spot.density for spot in top] == sorted((spot.density for spot in top), reverse=True)
    assert top[0].density == pytest.approx(made.density[made.shown].max())


@pytest.mark.filterwarnings("ignore:GeoJSON is in degrees")
@pytest.mark.parametrize("ending", ["gpkg", "parquet", "geojson", "csv"])
def test_a_saved_map_answers_as_before(made: PublishedMap, tmp_path: Path, ending: str) -> None:
    made.save(tmp_path / f"map.{ending}")
    again = fg.load_map(tmp_path / f"map.{ending}")
    assert isinstance(again, PublishedMap)
    assert again.count(MIDDLE) == made.count(MIDDLE)
    assert np.array_equal(again.low, made.low)
    assert (again.epsilon, again.trust, again.protection) == (made.epsilon, made.trust, made.protection)


@pytest.mark.filterwarnings("ignore:GeoJSON is in degrees")
def test_a_file_whose_cells_were_touched_is_refused(made: PublishedMap, tmp_path: Path) -> None:
    made.save(tmp_path / "map.geojson")
    told = json.loads((tmp_path / "map.geojson").read_text())
    told["fedgroup"]["published"]["records"] *= 64
    (tmp_path / "map.geojson").write_text(json.dumps(told))
    with pytest.raises(InvalidInput, match="damaged"):
        fg.load_map(tmp_path / "map.geojson")


def test_tables_tell_what_is_shown_and_how_dense(made: PublishedMap) -> None:
    frame = made.to_frame()
    assert frame["shown"].sum() == made.shown.sum()
    assert {"row", "column", "across", "noisy", "density"} <= set(frame)
    assert made.to_geodataframe().geometry.area.sum() == pytest.approx(CITY.width * CITY.height)
    assert "svg" in made._repr_html_()


def test_one_noise_has_heavier_tails_than_many() -> None:
    laplace = stats.laplace.ppf(0.975) / np.sqrt(2)
    assert quantile(3.0) == pytest.approx(laplace, abs=0.06)
    assert quantile(0.0) == pytest.approx(1.96, abs=0.001)


def test_sums_of_values_and_signed_ones() -> None:
    fare = np.arange(8_000) % 20
    joined = federation(attributes={"fare": fare})
    x, y = places()
    within = (x - 10_000) ** 2 + (y - 10_000) ** 2 < 1_500**2
    made = joined.publish(kind="sum", attribute="fare", clip=20, epsilon=2, records=4_000)
    low, high = made.sum(MIDDLE).interval
    assert low <= fare[within].sum() <= high
    signed = joined.publish(kind="sum", attribute="fare", clip=20, signed=True, epsilon=2, records=4_000)
    low, high = signed.sum(MIDDLE).interval
    assert low <= fare[within].sum() <= high
    assert signed.values.min() < 0
    with pytest.raises(InvalidQuery, match="not of sums"):
        federation().publish(epsilon=1, records=8_000).sum(MIDDLE)


@pytest.mark.parametrize("turn", [-360, 0, 360])
def test_a_range_that_is_written_a_turn_away_covers_the_same(turn: int) -> None:
    sides = np.linspace(179, 181, 9)
    boxes = Boxes(sides[:-1], np.full(8, -0.5), sides[1:], np.full(8, 0.5))
    around = PublicMap(fg.Box(179, -1, 181, 1), lonlat=True)
    found = covered(fg.Circle(180.1 + turn, 0.1, 60_000), around, boxes)
    assert found == pytest.approx(covered(fg.Circle(180.1, 0.1, 60_000), around, boxes), abs=1e-9)
    assert 0 < found.sum() < 8
