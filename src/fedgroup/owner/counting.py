"""Exact counts over the owners' records: the inputs of every release, and nothing that may leave this room."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidQuery
from fedgroup.messages import Measure, RangeQuery
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME, Times
from fedgroup.space import Grid, PublicMap

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]


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
    cell = grid.cell_of(public_map.place(records.x), records.y)
    counts = np.zeros((len(records.owners), grid.cells), dtype=np.int32)
    _tally(records.code, cell, counts)
    return counts


def partial_answers(records: Records, query: RangeQuery, public_map: PublicMap) -> dict[str, Ints]:
    """Return each owner's exact share of every part of the answer, in whole units."""
    rows = _rows_in_range(records, query, public_map)
    code = records.code[rows]
    owners = len(records.owners)
    if query.measure is None:
        return {"count": sum_by(code, np.ones(len(code), dtype=np.int64), owners)}
    values = records.attribute(query.measure.attribute)[rows]
    present = ~np.isnan(values)
    code = code[present]
    units = whole_units(values[present], query.measure)
    sums = {"sum": sum_by(code, units, owners), "count": sum_by(code, np.ones(len(code), dtype=np.int64), owners)}
    return {part: sums[part] for part in query.parts}


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


def _rows_in_range(records: Records, query: RangeQuery, public_map: PublicMap) -> Rows:
    chosen = public_map.contains(query.range, records.x, records.y)
    if query.since is not None or query.until is not None:
        time = times_of(records)
        chosen &= time >= (NO_TIME + 1 if query.since is None else query.since)
        if query.until is not None:
            chosen &= time < query.until
    return np.flatnonzero(chosen)


@numba.njit(cache=True)
def _tally(code: npt.NDArray[np.int32], cell: Ints, counts: npt.NDArray[np.int32]) -> None:
    for i in range(len(code)):
        if cell[i] >= 0:
            counts[code[i], cell[i]] += 1


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
