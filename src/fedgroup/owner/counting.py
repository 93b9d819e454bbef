"""Exact counts over the owners' records: the inputs of every release, and nothing that may leave this room."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidQuery
from fedgroup.owner.identity import Codes
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME, Times
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Grid, PublicMap

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 20
"""How many records are counted together: longitudes that had to be wrapped take 8 MB."""


def contributing(records: Records, public_map: PublicMap, *, most: int | None = None) -> Records:
    """Return the records inside the domain, of each owner at most the first `most` in the table's order.

    The cut looks at one owner's records only, so an owner that joins or leaves changes no other owner's records.
    """
    inside = public_map.inside(records.x, records.y)
    if most is not None:
        inside[_rank_within_owner(records.code, inside, len(records.owners)) >= most] = False
    return records if inside.all() else records.keep(np.flatnonzero(inside))


def count_vectors(records: Records, grid: Grid, public_map: PublicMap) -> npt.NDArray[np.int32]:
    """Return each owner's count of records in each cell."""
    counts = np.zeros((len(records.owners), grid.cells), dtype=np.int32)
    for start in range(0, len(records), _CHUNK):
        part = slice(start, start + _CHUNK)
        x, y = public_map.place(records.x[part]), records.y[part]
        _tally(records.code[part], x, y, grid.x_edges, grid.y_edges, counts)
    return counts


def partial_answers(records: Records, query: RangeQuery, public_map: PublicMap) -> dict[str, Ints]:
    """Return each owner's exact share of every part of the answer, in whole units."""
    code, units = found_units(records, query, public_map)
    return {part: sum_by(code, values, len(records.owners)) for part, values in units.items()}


def found_units(records: Records, query: RangeQuery, public_map: PublicMap) -> tuple[Codes, dict[str, Ints]]:
    """Return the owner of each record in range, and what it adds to every part of the answer, in whole units."""
    rows = np.flatnonzero(in_range(records, query, public_map))
    code = records.code[rows]
    if query.measure is None:
        return code, {"count": np.ones(len(code), dtype=np.int64)}
    values = records.attribute(query.measure.attribute)[rows]
    present = ~np.isnan(values)
    units = {"sum": whole_units(values[present], query.measure), "count": np.ones(int(present.sum()), dtype=np.int64)}
    return code[present], {part: units[part] for part in query.parts}


def total_units(records: Records, query: RangeQuery, public_map: PublicMap) -> dict[str, int]:
    """Return what all records in range together add to every part of the answer, in whole units."""
    if query.measure is None:
        return {"count": int(np.count_nonzero(in_range(records, query, public_map)))}
    return {part: int(values.sum()) for part, values in found_units(records, query, public_map)[1].items()}


def whole_units(values: npt.NDArray[np.float64], measure: Measure) -> Ints:
    """Return values cut to the clip range and rounded to whole units of the resolution."""
    low, high = measure.bounds
    units = np.rint(np.clip(values, low, high) / float(measure.step)).astype(np.int64)
    return np.clip(units, -measure.units if measure.signed else 0, measure.units)


def times_of(records: Records) -> Times:
    """Return the time of each record; records without a time column cannot be asked about a time window."""
    if records.time is None:
        raise InvalidQuery(
            "these records have no time column, so a time window cannot be asked; name one with --time or time=, "
            "or drop since and until"
        )
    return records.time


@numba.njit(cache=True)
def sum_by(label: npt.NDArray[np.int32], values: Ints, labels: int) -> Ints:
    """Return for each label the sum of its values, exactly."""
    sums = np.zeros(labels, dtype=np.int64)
    for i in range(len(label)):
        sums[label[i]] += values[i]
    return sums


def in_range(records: Records, query: RangeQuery, public_map: PublicMap) -> npt.NDArray[np.bool_]:
    """Tell for each record whether it lies in the range and the time window."""
    chosen = public_map.contains(query.range, records.x, records.y)
    if query.since is not None or query.until is not None:
        time = times_of(records)
        chosen &= time >= (NO_TIME + 1 if query.since is None else query.since)
        if query.until is not None:
            chosen &= time < query.until
    return chosen


@numba.njit(cache=True)
def _tally(
    code: npt.NDArray[np.int32], x: Floats, y: Floats, x_edges: Floats, y_edges: Floats, counts: npt.NDArray[np.int32]
) -> None:
    """Count each place in its owner's row, in the cell that `Grid.cell_of` gives it; places outside are not counted."""
    columns, cells = len(x_edges) - 1, counts.shape[1]
    flat = counts.ravel()
    place = np.empty(1024, np.int64)
    # Places first and counts after them: a plain loop over far-off counts waits for many of them at once.
    for start in range(0, len(code), len(place)):
        found = 0
        for i in range(start, min(start + len(place), len(code))):
            column, row = _interval(x[i], x_edges), _interval(y[i], y_edges)
            place[found] = np.int64(code[i]) * cells + row * columns + column
            found += column >= 0 and row >= 0
        for k in range(found):
            flat[place[k]] += 1


@numba.njit(cache=True)
def _interval(place: float, edges: Floats) -> int:
    """Return k with edges[k] <= place < edges[k + 1], or -1; the edges are about equally far from each other."""
    parts = len(edges) - 1
    if not edges[0] <= place < edges[parts]:
        return -1
    k = min(int((place - edges[0]) / (edges[parts] - edges[0]) * parts), parts - 1)
    while place < edges[k]:
        k -= 1
    while place >= edges[k + 1]:
        k += 1
    return k


@numba.njit(cache=True)
def _rank_within_owner(code: npt.NDArray[np.int32], inside: npt.NDArray[np.bool_], owners: int) -> Ints:
    """Return for each record how many earlier records inside the domain its owner has."""
    seen = np.zeros(owners, dtype=np.int64)
    rank = np.empty(len(code), dtype=np.int64)
    for i in range(len(code)):
        rank[i] = seen[code[i]]
        if inside[i]:
            seen[code[i]] += 1
    return rank
