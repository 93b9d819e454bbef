"""Which stretches of an index may hold records of a range, and which surely hold nothing else.

The column and the row of a cell never fall as x and y grow, rounding included, so between the cells of two bounds lie
only records between the bounds. A run is four positions, start, sure start, sure stop and stop: the records between
the sure ones are in the range, the others of a run must be tested, and a record in no run is not in the range.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.space import Circle, PublicMap, Range, Rectangle
from fedgroup.space.geodesy import EQUATOR_M, POLE_M

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Runs = npt.NDArray[np.int64]
Limits = tuple[int, int, int, int]

_SLACK = 1e-12
"""Of a squared radius: far more than rounding can move a squared distance, far less than a cell."""
_EDGE_SLACK = 1e-14
"""Of the largest coordinate: more than rounding can move the edge of a row."""
_DEGREES_SLACK = 1e-9
"""More than rounding can move a longitude by whole turns, and a tenth of a millimetre."""
_METRES_SLACK = 1.0
"""More than the stated error of distances."""
_MOST_SURE_M = 1e6
_LARGEST_LONGITUDE = 1e4
_FLATTEST_BEND_M = EQUATOR_M * EQUATOR_M / POLE_M
_TIGHTEST_BEND_M = POLE_M * POLE_M / EQUATOR_M


class Side(NamedTuple):
    """Bounds that no record of a range lies beyond, and bounds strictly between which all lie in it."""

    low: float
    high: float
    sure_low: float = math.inf
    sure_high: float = -math.inf


_EVERYWHERE = Side(-math.inf, math.inf)


class SearchWindow(NamedTuple):
    """The box around a range, in the map's x and y; across the antimeridian it has two pieces of x."""

    across: tuple[Side, ...]
    up: Side


class Cells(NamedTuple):
    """A box cut into cells, `across` columns to one unit of x and `up` rows to one unit of y."""

    west: float
    south: float
    east: float
    north: float
    across: float
    up: float
    columns: int
    rows: int


def window_of(asked: Range, public_map: PublicMap) -> SearchWindow:
    """Return the window of a range, of a circle on a lon/lat map only: a circle on a plane has runs of its own.

    A record inside the sure bounds of both sides is in the range.
    """
    match asked:
        case Circle(x, y, radius):
            across, up = _longitudes_near(x, y, radius), _latitudes_near(y, radius)
        case Rectangle(west, south, east, north):
            across, up = Side(west, east, west, east), Side(south, north, south, north)
        case _:
            west, south, east, north = asked.shape.bounds
            across, up = Side(west, east), Side(south, north)
    return SearchWindow(_turned(across, public_map) if public_map.lonlat else (across,), up)


def _latitudes_near(latitude: float, radius_m: float) -> Side:
    """A degree along a meridian is nowhere shorter than on the tightest bend, nor longer than on the flattest."""
    if abs(latitude) > 90:
        return _EVERYWHERE
    reach = math.degrees((radius_m + _METRES_SLACK) / _TIGHTEST_BEND_M) + _DEGREES_SLACK
    sure = _sure_latitudes(radius_m)
    return Side(latitude - reach, latitude + reach, latitude - sure, latitude + sure)


def _longitudes_near(longitude: float, latitude: float, radius_m: float) -> Side:
    """By the chord through the Earth, a place a quarter turn or less away is farther than the sine of its turn times
    the centre's distance to the axis; by a path that is straight in degrees, no farther than on the widest parallel.
    """
    to_axis = EQUATOR_M * math.cos(math.radians(latitude))
    if abs(latitude) > 90 or radius_m + _METRES_SLACK >= to_axis:
        return _EVERYWHERE
    reach = math.degrees(math.asin((radius_m + _METRES_SLACK) / to_axis)) + _DEGREES_SLACK
    lowest = max(abs(latitude) - max(_sure_latitudes(radius_m), 0.0), 0.0)
    sure = _sure_latitudes(radius_m) / math.cos(math.radians(lowest)) - 2 * _DEGREES_SLACK
    return Side(longitude - reach, longitude + reach, longitude - sure, longitude + sure)


def _sure_latitudes(radius_m: float) -> float:
    """Return half the side in degrees of a square inside the circle; less than 0 where there is none."""
    if not 2 * _METRES_SLACK < radius_m < _MOST_SURE_M:
        return -1.0
    return math.degrees((radius_m - _METRES_SLACK) / math.sqrt(2) / _FLATTEST_BEND_M) - _DEGREES_SLACK


def _turned(side: Side, public_map: PublicMap) -> tuple[Side, ...]:
    """Return the pieces of the domain's longitudes that a side covers after whole turns."""
    west, _, east, _ = public_map.domain.sides
    if side.high - side.low > 360 or max(-side.low, side.high) > _LARGEST_LONGITUDE:
        return (_EVERYWHERE,)
    turns = range(math.floor((west - side.high) / 360) - 1, math.ceil((east - side.low) / 360) + 2)
    pieces = (_moved_by(side, 360.0 * turn) for turn in turns)
    return tuple(piece for piece in pieces if piece.low <= east and piece.high >= west)


def _moved_by(side: Side, degrees: float) -> Side:
    return Side(
        side.low + degrees - _DEGREES_SLACK,
        side.high + degrees + _DEGREES_SLACK,
        side.sure_low + degrees + _DEGREES_SLACK,
        side.sure_high + degrees - _DEGREES_SLACK,
    )


@numba.njit(cache=True)
def step_of(value: float, low: float, high: float, per_unit: float, steps: int) -> int:
    """Return the column or row of a coordinate, -1 below the box and `steps` above it."""
    if value < low:
        return -1
    if value >= high:
        return steps
    return int(min((value - low) * per_unit, steps - 1.0))


@numba.njit(cache=True)
def cell_of(cells: Cells, x: Floats, y: Floats) -> Codes:
    """Return the cell of each place, all of which lie in the box."""
    result = np.empty(len(x), dtype=np.int32)
    for i in range(len(x)):
        column = step_of(x[i], cells.west, cells.east, per_unit=cells.across, steps=cells.columns)
        row = step_of(y[i], cells.south, cells.north, per_unit=cells.up, steps=cells.rows)
        result[i] = row * cells.columns + column
    return result


@numba.njit(cache=True)
def offsets_of(cell: Codes, cells: int) -> Ints:
    """Return where each cell's records begin once sorted by cell, and where the last cell's end."""
    offsets = np.zeros(cells + 1, dtype=np.int64)
    for i in range(len(cell)):
        offsets[cell[i] + 1] += 1
    return np.cumsum(offsets)


@numba.njit(cache=True)
def positions_of(cell: Codes, offsets: Ints) -> Ints:
    """Return the place of each record once sorted by cell; records of a cell keep their order."""
    taken = offsets[:-1].copy()
    position = np.empty(len(cell), dtype=np.int64)
    for i in range(len(cell)):
        position[i] = taken[cell[i]]
        taken[cell[i]] += 1
    return position


@numba.njit(cache=True)
def moved(column: npt.NDArray[Any], position: Ints) -> npt.NDArray[Any]:
    """Return a column with each value at its position."""
    result = np.empty_like(column)
    for i in range(len(column)):
        result[position[i]] = column[i]
    return result


@numba.njit(cache=True)
def limits_of(first: int, last: int, sure_first: int, sure_last: int, steps: int) -> Limits:
    """Return the steps that may hold records of a range as first, last, and the sure ones among them.

    The steps of a range's bounds are not sure themselves, only those strictly between.
    """
    first, last = max(first, 0), min(last, steps - 1)
    sure_first, sure_last = sure_first + 1, sure_last - 1
    if sure_first > sure_last:
        sure_first, sure_last = last + 1, last
    return first, last, sure_first, sure_last


@numba.njit(cache=True)
def box_runs(offsets: Ints, columns: int, rows: Limits, pieces: Ints) -> Runs:
    """Return the runs of a range between some rows and, in each, between the columns of some pieces."""
    first, last, sure_first, sure_last = rows
    runs = np.empty((max(last - first + 1, 0) * len(pieces), 4), dtype=np.int64)
    at = 0
    for row in range(first, last + 1):
        for piece in pieces:
            sure = sure_first <= row <= sure_last
            west, east = (piece[2], piece[3]) if sure else (piece[1] + 1, piece[1])
            _set_run(runs[at], offsets, row * columns, limits=(piece[0], piece[1], west, east))
            at += 1
    return runs


@numba.njit(cache=True)
def circle_runs(offsets: Ints, cells: Cells, circle: Floats) -> Runs:
    """Return the runs of a circle on a plane, given as x, y, radius and the radius squared as the test squares it."""
    reach = circle[2] * (1 + _SLACK)
    south = _row_of(cells, np.nextafter(circle[1] - reach, -np.inf))
    north = _row_of(cells, np.nextafter(circle[1] + reach, np.inf))
    first, last = max(south, 0), min(north, cells.rows - 1)
    runs = np.zeros((max(last - first + 1, 0), 4), dtype=np.int64)
    for row in range(first, last + 1):
        limits = _circle_columns(cells, row, circle=circle)
        if limits[0] <= limits[1]:
            _set_run(runs[row - first], offsets, row * cells.columns, limits=limits)
    return runs


@numba.njit(cache=True)
def candidates_in(runs: Runs) -> int:
    """Return how many records the runs hold, tested or not."""
    total = 0
    for run in runs:
        total += run[3] - run[0]
    return total


@numba.njit(cache=True)
def rows_of(runs: Runs) -> tuple[Ints, Bools]:
    """Return the positions of all records in the runs, ascending, and which need no test."""
    total = candidates_in(runs)
    rows, sure = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.bool_)
    at = 0
    for run in runs:
        for row in range(run[0], run[3]):
            rows[at] = row
            sure[at] = run[1] <= row < run[2]
            at += 1
    return rows, sure


@numba.njit(cache=True)
def codes_in_circle(offsets: Ints, cells: Cells, x: Floats, y: Floats, code: Codes, circle: Floats) -> Codes:
    """Return the owners' codes of the records in a circle on a plane."""
    runs = circle_runs(offsets, cells, circle=circle)
    codes = np.empty(candidates_in(runs), dtype=np.int32)
    at = 0
    for run in runs:
        at = _take_tested(codes, at, x=x, y=y, code=code, circle=circle, start=run[0], stop=run[1])
        sure = run[2] - run[1]
        codes[at : at + sure] = code[run[1] : run[2]]
        at = _take_tested(codes, at + sure, x=x, y=y, code=code, circle=circle, start=run[2], stop=run[3])
    return codes[:at]


@numba.njit(cache=True)
def count_in_circle(offsets: Ints, cells: Cells, x: Floats, y: Floats, circle: Floats) -> int:
    """Return how many records lie in a circle on a plane."""
    total = 0
    for run in circle_runs(offsets, cells, circle=circle):
        total += run[2] - run[1]
        total += _count_tested(x, y, circle=circle, start=run[0], stop=run[1])
        total += _count_tested(x, y, circle=circle, start=run[2], stop=run[3])
    return total


@numba.njit(cache=True)
def _count_tested(x: Floats, y: Floats, circle: Floats, start: int, stop: int) -> int:
    """Return how many of some records lie in the circle, by the test of `PublicMap.contains`."""
    total = 0
    for row in range(start, stop):
        dx, dy = x[row] - circle[0], y[row] - circle[1]
        total += dx * dx + dy * dy < circle[3]
    return total


@numba.njit(cache=True)
def _take_tested(
    codes: Codes, at: int, x: Floats, y: Floats, code: Codes, circle: Floats, start: int, stop: int
) -> int:
    """Write the codes of the records in the circle, by the test of `PublicMap.contains`, and return where it ended."""
    for row in range(start, stop):
        dx, dy = x[row] - circle[0], y[row] - circle[1]
        codes[at] = code[row]
        at += dx * dx + dy * dy < circle[3]
    return at


@numba.njit(cache=True)
def _circle_columns(cells: Cells, row: int, circle: Floats) -> Limits:
    """Return the columns of a row that a circle may touch, and those it surely covers; first > last for none."""
    low, high = _row_edges(cells, row)
    near = max(low - circle[1], circle[1] - high, 0.0)
    outer = circle[3] * (1 + _SLACK) - near * near
    if outer < 0:
        return 0, -1, 0, -1
    reach = math.sqrt(outer)
    first = _column_of(cells, np.nextafter(circle[0] - reach, -np.inf))
    last = _column_of(cells, np.nextafter(circle[0] + reach, np.inf))
    far = max(circle[1] - low, high - circle[1])
    inner = circle[3] * (1 - _SLACK) - far * far
    if inner <= 0:
        return limits_of(first, last, sure_first=last, sure_last=last, steps=cells.columns)
    sure = math.sqrt(inner)
    sure_first = _column_of(cells, np.nextafter(circle[0] - sure, np.inf))
    sure_last = _column_of(cells, np.nextafter(circle[0] + sure, -np.inf))
    return limits_of(first, last, sure_first=sure_first, sure_last=sure_last, steps=cells.columns)


@numba.njit(cache=True)
def _row_edges(cells: Cells, row: int) -> tuple[float, float]:
    """Return two values of y that no record of the row lies beyond."""
    if cells.rows == 1:
        return -np.inf, np.inf
    slack = _EDGE_SLACK * (abs(cells.south) + abs(cells.north))
    return cells.south + row / cells.up - slack, cells.south + (row + 1) / cells.up + slack


@numba.njit(cache=True)
def _column_of(cells: Cells, x: float) -> int:
    return step_of(x, cells.west, cells.east, per_unit=cells.across, steps=cells.columns)


@numba.njit(cache=True)
def _row_of(cells: Cells, y: float) -> int:
    return step_of(y, cells.south, cells.north, per_unit=cells.up, steps=cells.rows)


@numba.njit(cache=True)
def _set_run(run: Ints, offsets: Ints, row_start: int, limits: Limits) -> None:
    first, last, sure_first, sure_last = limits
    run[0], run[3] = offsets[row_start + first], offsets[row_start + last + 1]
    run[1], run[2] = offsets[row_start + sure_first], offsets[row_start + sure_last + 1]
