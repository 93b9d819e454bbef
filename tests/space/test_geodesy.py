"""Distances against pyproj, which computes Karney's geodesics to nanometres."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

from fedgroup.space import geodesy

Floats = npt.NDArray[np.float64]
Pairs = tuple[Floats, Floats, Floats, Floats]

STATED_ERROR_M = 1e-3
KARNEY = Geod(ellps="WGS84")
N = 20_000


def true_distances(lon1: Floats, lat1: Floats, lon2: Floats, lat2: Floats) -> Floats:
    return np.asarray(KARNEY.inv(*np.broadcast_arrays(lon1, lat1, lon2, lat2))[2])


def our_distances(pairs: Pairs) -> Floats:
    return np.array([geodesy.geodesic_m(*pair) for pair in zip(*map(np.ndarray.tolist, pairs), strict=True)])


def somewhere(rng: np.random.Generator, n: int = N) -> tuple[Floats, Floats]:
    return rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-1, 1, n)))


def near_to(lon: Floats, lat: Floats, rng: np.random.Generator, degrees: float) -> Pairs:
    aside, up = rng.uniform(-degrees, degrees, (2, len(lon)))
    return lon, lat, lon + aside, np.clip(lat + up, -90, 90)


def around_the_pole(rng: np.random.Generator, pole: int) -> Pairs:
    lon, lat = rng.uniform(-180, 180, (2, N)), pole * (90 - 5 * rng.uniform(0, 1, (2, N)) ** 6)
    return lon[0], lat[0], lon[1], lat[1]


def across_the_antimeridian(rng: np.random.Generator) -> Pairs:
    lat = rng.uniform(-90, 90, N)
    return rng.uniform(179, 180, N), lat, rng.uniform(-180, -179, N), np.clip(lat + rng.uniform(-1, 1, N), -90, 90)


def along_the_equator(rng: np.random.Generator, off: float) -> Pairs:
    lon, lat = rng.uniform(-180, 180, (2, N)), rng.uniform(-off, off, (2, N))
    return lon[0], lat[0], lon[1], lat[1]


def over_a_pole(rng: np.random.Generator) -> Pairs:
    lon, lat = somewhere(rng)
    return lon, lat, lon + 180 + rng.uniform(-1e-6, 1e-6, N), somewhere(rng)[1]


def at_the_limit(rng: np.random.Generator) -> Pairs:
    lon, lat = somewhere(rng)
    far = KARNEY.fwd(lon, lat, rng.uniform(0, 360, N), rng.uniform(19_810_000, geodesy.LARGEST_RADIUS_M, N))
    return lon, lat, far[0], far[1]


CASES = {
    "world": lambda rng: (*somewhere(rng), *somewhere(rng)),
    "country": lambda rng: near_to(*somewhere(rng), rng, 5),
    "city": lambda rng: near_to(*somewhere(rng), rng, 0.2),
    "metre": lambda rng: near_to(*somewhere(rng), rng, 1e-5),
    "nanometre": lambda rng: near_to(*somewhere(rng), rng, 1e-14),
    "north pole": lambda rng: around_the_pole(rng, 1),
    "south pole": lambda rng: around_the_pole(rng, -1),
    "antimeridian": across_the_antimeridian,
    "equator": lambda rng: along_the_equator(rng, 0),
    "just off the equator": lambda rng: along_the_equator(rng, 1e-6),
    "over a pole": over_a_pole,
    "at the limit": at_the_limit,
}


@pytest.mark.parametrize("name", CASES)
def test_distances_are_within_a_millimetre_of_karney(name: str) -> None:
    pairs = CASES[name](np.random.default_rng(1))
    true, ours = true_distances(*pairs), our_distances(pairs)
    served = true <= geodesy.LARGEST_RADIUS_M
    assert np.abs(ours - true)[served].max() < STATED_ERROR_M


@pytest.mark.parametrize("degrees", [3, 0.5, 1e-3, 1e-9, 0])
def test_near_antipodal_places_are_never_reported_nearer_than_they_are(degrees: float) -> None:
    rng = np.random.default_rng(2)
    lon, lat = somewhere(rng)
    pairs = near_to(lon + 180, -lat, rng, degrees)
    pairs = (lon, lat, pairs[2], pairs[3])
    assert (our_distances(pairs) > true_distances(*pairs) - STATED_ERROR_M).all()


@pytest.mark.parametrize(
    ("place", "other", "metres"),
    [
        ((12.5, 41.9), (12.5, 41.9), 0),
        ((12.5, 41.9), (372.5, 41.9), 0),
        ((-180, 10), (180, 10), 0),
        ((0, 90), (77, 90), 0),
        ((0, 90), (0, -90), 20_003_931.4586),
        ((0, 0), (90, 0), 10_018_754.1714),
    ],
)
def test_well_known_distances_come_out(place: tuple[float, float], other: tuple[float, float], metres: float) -> None:
    assert geodesy.geodesic_m(*place, *other) == pytest.approx(metres, abs=STATED_ERROR_M)


def test_chord_and_tightest_arc_enclose_the_geodesic() -> None:
    rng = np.random.default_rng(3)
    lon, lat = somewhere(rng, 500_000)
    near, far = near_to(lon, lat, rng, 1), (lon, lat, *somewhere(rng, 500_000))
    for pairs in (near, far):
        true = true_distances(*pairs)
        ends = [_earth_centred(*pairs[:2]), _earth_centred(*pairs[2:])]
        chord = np.linalg.norm(ends[0] - ends[1], axis=0)
        bend = geodesy.POLE_M**2 / geodesy.EQUATOR_M
        bounded = chord < 2 * bend
        assert (chord <= true + 1e-7).all()
        assert (true[bounded] <= 2 * bend * np.arcsin(chord[bounded] / (2 * bend)) + 1e-7).all()


def _earth_centred(lon: Floats, lat: Floats) -> Floats:
    lam, phi = np.radians(lon), np.radians(lat)
    squeeze = (geodesy.POLE_M / geodesy.EQUATOR_M) ** 2
    normal = geodesy.EQUATOR_M / np.sqrt(1 - (1 - squeeze) * np.sin(phi) ** 2)
    across = normal * np.cos(phi)
    return np.array([across * np.cos(lam), across * np.sin(lam), squeeze * normal * np.sin(phi)])


@settings(max_examples=150, deadline=None)
@given(
    lon=st.floats(-180, 180), lat=st.floats(-90, 90), exponent=st.floats(0, 7.2988), seed=st.integers(0, 2**32 - 1)
)  # fmt: skip
def test_nearer_than_agrees_with_karney_beyond_a_millimetre(lon: float, lat: float, exponent: float, seed: int) -> None:
    rng, radius = np.random.default_rng(seed), 10**exponent
    off = rng.choice([-1, 1], 200) * 10 ** rng.uniform(-2.9, 4, 200)
    centre = np.full(200, lon), np.full(200, lat)
    x, y, _ = KARNEY.fwd(*centre, rng.uniform(0, 360, 200), np.clip(radius + off, 0, 19_990_000))
    true = true_distances(*centre, x, y)
    clear = np.abs(true - radius) > STATED_ERROR_M
    assert ((true < radius) == geodesy.nearer_than(x, y, lon, lat, radius))[clear].all()


BOXES = {
    "antimeridian": (177.0, -20.0, 182.0, -15.0),
    "north polar": (-30.0, 70.0, 60.0, 90.0),
    "south polar": (100.0, -90.0, 290.0, -85.0),
    "hemisphere": (-90.0, -90.0, 90.0, 90.0),
    "city": (12.4, 41.8, 12.6, 42.0),
    "world": (-180.0, -90.0, 180.0, 90.0),
}


@pytest.mark.parametrize("name", BOXES)
@settings(max_examples=40, deadline=None)
@given(lon=st.floats(-180, 180), lat=st.floats(-90, 90))
def test_the_bound_is_below_the_distance_to_every_place_of_a_box(name: str, lon: float, lat: float) -> None:
    west, south, east, north = BOXES[name]
    x, y = np.meshgrid(np.linspace(west, east, 61), np.linspace(south, north, 61))
    nearest = true_distances(np.float64(lon), np.float64(lat), x, y).min()
    assert geodesy.distance_to_box_at_least(lon, lat, *BOXES[name]) <= nearest


@settings(max_examples=60, deadline=None)
@given(lon=st.floats(-180, 180), lat=st.floats(-90, 90), name=st.sampled_from([*BOXES]))
def test_the_bound_is_tight(lon: float, lat: float, name: str) -> None:
    west, south, east, north = BOXES[name]
    bound = geodesy.distance_to_box_at_least(lon, lat, *BOXES[name])
    side = np.linspace(south, north, 10_001)
    beside = min(true_distances(np.float64(lon), np.float64(lat), np.float64(x), side).min() for x in (west, east))
    straight = KARNEY.inv(lon, lat, lon, min(max(lat, south), north))[2]
    nearest = straight if (lon - west) % 360 <= east - west else beside
    between_samples = (north - south) / 10_000 * 111_700 / 2
    assert bound >= nearest * 0.9998 - 2.1 - between_samples


def test_the_bound_is_zero_inside_however_the_longitude_is_written() -> None:
    for lon in (-179.0, 181.0, 177.0, -178.0, 182.0):
        assert geodesy.distance_to_box_at_least(lon, -17.0, *BOXES["antimeridian"]) == 0


def test_a_side_that_is_equally_far_everywhere_is_bounded_too() -> None:
    bound = geodesy.distance_to_box_at_least(0.0, 0.0, 89.7, -90.0, 100.0, 90.0)
    assert 9_980_000 < bound < KARNEY.inv(0, 0, 89.7, 0)[2]


@pytest.mark.parametrize(("lon", "lat", "radius"), [(0, 0, 1e3), (-74, 40.7, 5e4), (20, -60, 2e6), (179.9, 10, 8e6)])
def test_places_around_a_centre_are_at_their_distance_and_go_round_once(lon: float, lat: float, radius: float) -> None:
    places = geodesy.places_around(lon, lat, radius, 100)
    true = true_distances(np.float64(lon), np.float64(lat), *places.T)
    assert np.abs(true - radius).max() < 2 * STATED_ERROR_M
    assert shapely.Polygon(places).contains(shapely.Point(lon, lat))


@pytest.mark.parametrize("lat", [-89.0, -45.0, 0.0, 40.7, 85.0])
def test_a_degree_is_as_long_as_karney_measures_it(lat: float) -> None:
    across = KARNEY.inv(0, lat, 1e-4, lat)[2] * 1e4
    up = KARNEY.inv(0, lat - 5e-5, 0, lat + 5e-5)[2] * 1e4
    assert geodesy.degrees_m(lat) == pytest.approx((across, up), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(lon=st.floats(-180, 180), lat=st.floats(-85, 85), radius=st.floats(1, 3e6))
def test_no_place_of_a_circle_is_beyond_its_reach(lon: float, lat: float, radius: float) -> None:
    x, y, _ = KARNEY.fwd(np.full(90, lon), np.full(90, lat), np.arange(0, 360, 4.0), np.full(90, radius))
    assert np.abs(y - lat).max() <= geodesy.reach_degrees(radius) + 1e-9
    assert np.abs((x - lon + 180) % 360 - 180).max() <= geodesy.reach_degrees(radius, parallel=lat) + 1e-9
