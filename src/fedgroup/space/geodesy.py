"""Distances in metres on the WGS84 ellipsoid, for places in degrees.

Stated error: at most 1 mm against Karney's geodesic for any two places up to 19,900 km apart, at any latitude and
across the antimeridian (tests/space/test_geodesy.py measures it against pyproj).

A record is rarely near a circle's edge, so most are decided by the straight chord through the Earth: the geodesic
is never shorter than the chord, and, because no geodesic of the ellipsoid bends more than a circle of radius b^2/a,
never longer than the arc of that circle over the same chord (Schur's comparison theorem). Only places between the
two bounds need Vincenty's iteration (Survey Review 23, 1975).
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

EQUATOR_M = 6378137.0
FLATTENING = 1 / 298.257223563
POLE_M = EQUATOR_M * (1 - FLATTENING)
LARGEST_RADIUS_M = 19_900_000.0
"""Beyond this, Vincenty's iteration need not converge (near-antipodal places)."""

_E2 = FLATTENING * (2 - FLATTENING)
_TIGHTEST_BEND_M = POLE_M * POLE_M / EQUATOR_M
_LONGEST_DEGREE_M = math.radians(EQUATOR_M * EQUATOR_M / POLE_M)  # of latitude, at the poles
_STATED_ERROR_M = 1e-3
_ROUNDING_M = 1e-6

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@numba.njit(cache=True)
def _earth_centred(lon: float, lat: float) -> tuple[float, float, float]:
    phi = math.radians(lat)
    lam = math.radians(lon)
    normal = EQUATOR_M / math.sqrt(1 - _E2 * math.sin(phi) ** 2)
    across = normal * math.cos(phi)
    return across * math.cos(lam), across * math.sin(lam), normal * (1 - _E2) * math.sin(phi)


@numba.njit(cache=True)
def geodesic_m(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Return the distance of two places in metres; infinity where the iteration finds them near-antipodal."""
    turn = math.radians((lon2 - lon1 + 180.0) % 360.0 - 180.0)
    reduced1 = math.atan((1 - FLATTENING) * math.tan(math.radians(lat1)))
    reduced2 = math.atan((1 - FLATTENING) * math.tan(math.radians(lat2)))
    sin1, cos1 = math.sin(reduced1), math.cos(reduced1)
    sin2, cos2 = math.sin(reduced2), math.cos(reduced2)
    lam = turn
    for _ in range(200):
        sin_lam, cos_lam = math.sin(lam), math.cos(lam)
        sin_sigma = math.hypot(cos2 * sin_lam, cos1 * sin2 - sin1 * cos2 * cos_lam)
        cos_sigma = sin1 * sin2 + cos1 * cos2 * cos_lam
        if sin_sigma == 0.0:
            return 0.0 if cos_sigma > 0 else math.inf
        sigma = math.atan2(sin_sigma, cos_sigma)
        sin_alpha = cos1 * cos2 * sin_lam / sin_sigma
        cos2_alpha = 1 - sin_alpha * sin_alpha
        middle = cos_sigma - 2 * sin1 * sin2 / cos2_alpha if cos2_alpha > 1e-15 else 0.0
        c = FLATTENING / 16 * cos2_alpha * (4 + FLATTENING * (4 - 3 * cos2_alpha))
        swing = sigma + c * sin_sigma * (middle + c * cos_sigma * (2 * middle * middle - 1))
        new = turn + (1 - c) * FLATTENING * sin_alpha * swing
        done = abs(new - lam) < 1e-13
        lam = new
        if done:
            break
    else:
        return math.inf
    if abs(lam) > math.pi:
        return math.inf
    u2 = cos2_alpha * (EQUATOR_M**2 - POLE_M**2) / POLE_M**2
    a = 1 + u2 / 16384 * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
    b = u2 / 1024 * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
    bend = b / 6 * middle * (4 * sin_sigma * sin_sigma - 3) * (4 * middle * middle - 3)
    correction = b * sin_sigma * (middle + b / 4 * (cos_sigma * (2 * middle * middle - 1) - bend))
    return float(POLE_M * a * (sigma - correction))


@numba.njit(cache=True)
def nearer_than(lon: Floats, lat: Floats, centre_lon: float, centre_lat: float, radius_m: float) -> Bools:
    """Tell for each place whether its distance to the centre is strictly less than `radius_m`."""
    result = np.empty(len(lon), dtype=np.bool_)
    cx, cy, cz = _earth_centred(centre_lon, centre_lat)
    for i in range(len(lon)):
        x, y, z = _earth_centred(lon[i], lat[i])
        chord = math.sqrt((x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2)
        half = chord / (2 * _TIGHTEST_BEND_M)
        if chord >= radius_m + _ROUNDING_M:
            result[i] = False
        elif half < 1 and 2 * _TIGHTEST_BEND_M * math.asin(half) < radius_m - _ROUNDING_M:
            result[i] = True
        else:
            result[i] = geodesic_m(centre_lon, centre_lat, lon[i], lat[i]) < radius_m
    return result


def degrees_m(lat: float) -> tuple[float, float]:
    """Return how long a degree is at a latitude, along the parallel and along the meridian."""
    phi = math.radians(lat)
    flat = 1 - _E2 * math.sin(phi) ** 2
    normal = EQUATOR_M / math.sqrt(flat)
    return math.radians(normal * math.cos(phi)), math.radians(normal * (1 - _E2) / flat)


def reach_degrees(radius_m: float, *, parallel: float | None = None) -> float:
    """Return how many degrees of latitude a circle reaches at most; of longitude, if its centre's parallel is given.

    A degree along a meridian is nowhere shorter than on the tightest bend. By the chord through the Earth, a place a
    quarter turn or less away is farther than the sine of its turn times the centre's distance to the axis.
    """
    if parallel is None:
        return math.degrees(radius_m / _TIGHTEST_BEND_M)
    to_axis = EQUATOR_M * math.cos(math.radians(parallel))
    return math.degrees(math.asin(radius_m / to_axis)) if radius_m < to_axis else math.inf


@numba.njit(cache=True)
def places_around(lon: float, lat: float, radius_m: float, count: int) -> Floats:
    """Return places on a circle that holds no pole, in their order, each at its distance to a millimetre.

    They are found on a sphere, and then moved along their bearings until the distance is right.
    """
    places = np.empty((count, 2))
    sin_lat, cos_lat = math.sin(math.radians(lat)), math.cos(math.radians(lat))
    for i in range(count):
        bearing = 2 * math.pi * i / count
        angle = radius_m / EQUATOR_M
        for _ in range(20):
            sin_found = sin_lat * math.cos(angle) + cos_lat * math.sin(angle) * math.cos(bearing)
            turn = math.atan2(math.sin(bearing) * math.sin(angle) * cos_lat, math.cos(angle) - sin_lat * sin_found)
            places[i, 0] = lon + math.degrees(turn)
            places[i, 1] = math.degrees(math.asin(min(max(sin_found, -1.0), 1.0)))
            distance = geodesic_m(lon, lat, places[i, 0], places[i, 1])
            if abs(distance - radius_m) < _STATED_ERROR_M:
                break
            angle *= radius_m / distance
    return places


def distance_to_box_at_least(lon: float, lat: float, west: float, south: float, east: float, north: float) -> float:
    """Return a lower bound of the distance in metres from a place to a box in degrees.

    The bound is too small by at most 2 m and a ten-thousandth of the distance.
    Along a parallel the distance grows with the difference of longitude. So the nearest place of the box lies
    straight north or south, or, when the place is beside the box, on its west or east side.
    """
    if west <= lon <= east and south <= lat <= north:
        return 0.0
    lon = west + (lon - west) % 360.0
    if lon > east:
        beside = min(_side_at_least(lon, lat, side, south, north) for side in (west, east))
        return max(0.0, beside - _STATED_ERROR_M)
    nearest = min(max(lat, south), north)
    return max(0.0, geodesic_m(lon, lat, lon, nearest) - _STATED_ERROR_M)


@numba.njit(cache=True)
def _side_at_least(lon: float, lat: float, side: float, south: float, north: float) -> float:
    """Return a lower bound of the distance to the piece of the meridian `side` between two latitudes.

    By the triangle inequality nothing on a piece of length h, whose ends are p and q away, is nearer than
    (p + q - h) / 2. Pieces that could hold a place nearer than the bound are halved.
    """
    p, q = _at_most_largest(lon, lat, side, south), _at_most_largest(lon, lat, side, north)
    bound = _slightly_less(min(p, q))
    pieces = [(south, p, north, q)]
    while pieces:
        low, p, high, q = pieces.pop()
        if (p + q - (high - low) * _LONGEST_DEGREE_M) / 2 < bound:
            middle = (low + high) / 2
            m = _at_most_largest(lon, lat, side, middle)
            bound = min(bound, _slightly_less(m))
            pieces.append((low, p, middle, m))
            pieces.append((middle, m, high, q))
    return bound


@numba.njit(cache=True)
def _at_most_largest(lon1: float, lat1: float, lon2: float, lat2: float) -> float:
    """Return the distance, or the largest radius where it is longer: the triangle inequality needs finite numbers."""
    return min(geodesic_m(lon1, lat1, lon2, lat2), LARGEST_RADIUS_M)


@numba.njit(cache=True)
def _slightly_less(distance_m: float) -> float:
    """Leave some slack, without which halving would go on for ever where all of a side is equally far away."""
    return distance_m - distance_m / 10_000 - 1.0
