"""Exact counts over the owners' records: the inputs of every release, and nothing that may leave this room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidQuery
from fedgroup.owner.firsts import FirstBins, FirstRecords
from fedgroup.owner.identity import Codes
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME, Times
from fedgroup.privacy.sensitivity import Unit
from fedgroup.questions.bins import Categories
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Grid, PublicMap, Range
from fedgroup.space.blocks import Blocks
from fedgroup.space.places import bin_of

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 20
"""How many records are counted together: longitudes that had to be wrapped take 8 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """What records add to the bins of a question: whose each addition is, its bin, and its whole units by part."""

    code: Codes
    bin: Ints
    units: Mapping[str, Ints]

    def of(self, chosen: npt.NDArray[np.bool_]) -> Found:
        """Return some of the additions."""
        return Found(self.code[chosen], self.bin[chosen], {part: each[chosen] for part, each in self.units.items()})

    def totals(self, bins: int) -> dict[str, Ints]:
        """Return what all owners together add to every bin."""
        return {part: sum_by(self.bin, values, bins) for part, values in self.units.items()}


def contributing(
    records: Records,
    public_map: PublicMap,
    *,
    most: int | None = None,
    unit: Unit = "owner",
    taken: FirstRecords | None = None,
) -> Records:
    """Return the records inside the domain, of each owner or subject at most the first `most` in the table's order.

    Of a table that comes in parts `taken` remembers what the parts before had. The cut looks at one unit's records
    only, so a unit that joins or leaves changes no other unit's records.
    """
    inside = public_map.inside(records.x, records.y)
    if most is not None:
        by_subject = unit == "subject"
        whose = records.of_subject if by_subject else records.code
        units = records.subjects if by_subject else len(records.owners)
        inside = (taken or FirstRecords()).of(whose, inside, units=units, most=most)
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
    """Return each owner's exact share of every part of the answer over all bins, in whole units."""
    found = found_units(records, query, public_map)
    return {part: sum_by(found.code, values, len(records.owners)) for part, values in found.units.items()}


def found_units(records: Records, query: RangeQuery, public_map: PublicMap, *, most_bins: int | None = None) -> Found:
    """Return what the records add to every bin of a question; a subject counts in the first `most_bins` it is in."""
    rows, at = rows_and_bins(records, query, public_map)
    return units_of(records, query, rows, at, most_bins=most_bins)


def units_of(records: Records, query: RangeQuery, rows: Rows, at: Ints, *, most_bins: int | None = None) -> Found:
    """Return what these rows, in the table's order and each in the bin `at`, add to every part of the answer."""
    if "people" in query.parts:
        return _people(records, rows, at, bins=query.bins, most=most_bins)
    if query.measure is None:
        return Found(records.code[rows], at, {"count": np.ones(len(rows), dtype=np.int64)})
    values = records.attribute(query.measure.attribute)[rows]
    present = ~np.isnan(values)
    units = {"sum": whole_units(values[present], query.measure), "count": np.ones(int(present.sum()), dtype=np.int64)}
    return Found(records.code[rows][present], at[present], {part: units[part] for part in query.parts})


def total_units(
    records: Records, query: RangeQuery, public_map: PublicMap, *, most_bins: int | None = None
) -> dict[str, Ints]:
    """Return what all records together add to every bin of every part of the answer, in whole units."""
    if query.parts == ("count",) and query.is_range:
        return {"count": np.array([np.count_nonzero(in_range(records, query, public_map))])}
    if query.parts == ("count",) and isinstance(query.range, Grid) and query.only_places:
        return {"count": count_cells(records, query.range, public_map)}
    if query.parts == ("count",) and isinstance(query.range, Blocks) and query.only_places:
        return {"count": _count_blocks(records, query.range, public_map)}
    return found_units(records, query, public_map, most_bins=most_bins).totals(query.bins)


def count_cells(records: Records, grid: Grid, public_map: PublicMap) -> Ints:
    """Return how many records lie in each cell, whoever owns them."""
    counts = np.zeros((1, grid.cells), dtype=np.int32)
    nobody = np.zeros(min(len(records), _CHUNK), dtype=np.int32)
    total = np.zeros(grid.cells, dtype=np.int64)
    for start in range(0, len(records), _CHUNK):
        part = slice(start, start + _CHUNK)
        x, y = public_map.place(records.x[part]), records.y[part]
        _tally(nobody[: len(x)], x, y, grid.x_edges, grid.y_edges, counts)
        total += counts[0]
        counts[:] = 0
    return total


def _count_blocks(records: Records, blocks: Blocks, public_map: PublicMap) -> Ints:
    """Return how many records lie in each cell of blocks, whoever owns them."""
    total = np.zeros(len(blocks), dtype=np.int64)
    for start in range(0, len(records), _CHUNK):
        part = slice(start, start + _CHUNK)
        cell = bin_of(blocks, public_map, records.x[part], records.y[part])
        total += np.bincount(cell[cell >= 0], minlength=len(blocks))
    return total


def _people(records: Records, rows: Rows, at: Ints, *, bins: int, most: int | None) -> Found:
    """Return every subject once in each bin that it is in, or in the first `most` of them."""
    first = FirstBins(bins, most=most).of(records.of_subject[rows], at, subjects=records.subjects)
    return Found(records.code[rows][first], at[first], {"people": np.ones(len(first), dtype=np.int64)})


def rows_and_bins(records: Records, query: RangeQuery, public_map: PublicMap) -> tuple[Rows, Ints]:
    """Return the records that lie in a bin, in the table's order, and the bin of each."""
    if query.is_range:
        rows = np.flatnonzero(in_range(records, query, public_map))
        return rows, np.zeros(len(rows), dtype=np.int64)
    place = bin_of(query.range, public_map, records.x, records.y)
    rows = np.flatnonzero(place >= 0)
    step = step_of(records, query, rows)
    category = category_of(records, query.by, rows)
    _, steps, categories = query.shape
    at = (place[rows] * steps + step) * categories + category
    chosen = (step >= 0) & (category >= 0)
    return rows[chosen], at[chosen]


def step_of(records: Records, query: RangeQuery, rows: Rows) -> Ints:
    """Return the step of time of each record, -1 outside the window."""
    if query.since is None and query.until is None:
        return np.zeros(len(rows), dtype=np.int64)
    time = times_of(records)[rows]
    since = NO_TIME + 1 if query.since is None else query.since
    inside = time >= since
    if query.until is not None:
        inside &= time < query.until
    step = np.zeros(len(rows), dtype=np.int64) if query.every is None else (time - since) // query.every
    return np.where(inside, step, -1)


def category_of(records: Records, by: Categories | None, rows: Rows) -> Ints:
    """Return the category of each record, -1 for those in none."""
    if by is None:
        return np.zeros(len(rows), dtype=np.int64)
    rest = len(by.values) if by.other else -1
    if by.of_texts:
        column = records.text(by.attribute)
        place = {name: at for at, name in enumerate(by.values)}
        known = np.array([*(place.get(name, rest) for name in column.values), rest], dtype=np.int64)
        return known[column.codes[rows]]  # -1, no text, is the last
    values = records.attribute(by.attribute)[rows]
    order = np.argsort(np.array(by.values))
    listed = np.array(by.values, dtype=np.float64)[order]
    at = np.minimum(np.searchsorted(listed, values), len(listed) - 1)
    return np.where(listed[at] == values, order[at], rest)


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
def sum_by(label: npt.NDArray[np.integer], values: Ints, labels: int) -> Ints:
    """Return for each label the sum of its values, exactly."""
    sums = np.zeros(labels, dtype=np.int64)
    for i in range(len(label)):
        sums[label[i]] += values[i]
    return sums


def in_range(records: Records, query: RangeQuery, public_map: PublicMap) -> npt.NDArray[np.bool_]:
    """Tell for each record whether it lies in the range and the time window."""
    if isinstance(query.range, Range):
        chosen = public_map.contains(query.range, records.x, records.y)
    else:
        chosen = bin_of(query.range, public_map, records.x, records.y) >= 0
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
