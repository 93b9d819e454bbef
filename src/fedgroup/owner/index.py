"""The owners' records sorted by place, so that a question looks only at the records near its range.

Requires:  the records lie inside the domain.
Guarantee: every answer equals, unit for unit, what `counting.partial_answers` finds by looking at every record: a
           record is taken untested only where no rounding could make the test say otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.owner.counting import Found, times_of, units_of
from fedgroup.owner.identity import Codes
from fedgroup.owner.range_scan import (
    Cells,
    Floats,
    Ints,
    Limits,
    Runs,
    SearchWindow,
    Side,
    box_runs,
    cell_of,
    circle_runs,
    codes_in_circle,
    count_in_circle,
    limits_of,
    moved,
    offsets_of,
    positions_of,
    rows_of,
    step_of,
    window_of,
)
from fedgroup.owner.records import Records, Texts
from fedgroup.owner.times import NO_TIME
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, PublicMap, Range
from fedgroup.space.places import Places

_RECORDS_PER_CELL = 32
MOST_CELLS = 4_000_000


@dataclass(frozen=True, eq=False, repr=False)
class RecordIndex:
    """The contributing records of one host, cell by cell: `offsets[c]` is where the records of cell c begin.

    `records` holds the sorted columns; `most` is the cut of each owner's records that was made before.
    """

    records: Records
    public_map: PublicMap
    columns: int
    rows: int
    offsets: Ints
    most: int | None = None

    @classmethod
    def build(
        cls, records: Records, public_map: PublicMap, *, most: int | None = None, snapshot: str | None = None
    ) -> RecordIndex:
        """Return the index of records that `counting.contributing` chose.

        `snapshot` is the digest of the whole table they come from; without it the sorted table has its own.
        """
        if not public_map.inside(records.x, records.y).all():
            raise InvalidInput("an index holds records inside the domain only; drop the others first")
        cells = _cells(public_map.domain, *_columns_and_rows(public_map.domain, len(records)))
        cell = cell_of(cells, public_map.place(records.x), records.y)
        offsets = offsets_of(cell, cells.columns * cells.rows)
        table = _sorted(records, positions_of(cell, offsets), public_map=public_map, snapshot=snapshot)
        offsets.flags.writeable = False
        return cls(table, public_map, cells.columns, cells.rows, offsets, most)

    def rows_in(self, asked: Range, since: int | None = None, until: int | None = None) -> Ints:
        """Return the ascending positions of the records in a range and a time window."""
        rows, sure = rows_of(self._runs(asked))
        doubtful = np.flatnonzero(~sure)
        tested = rows[doubtful]
        sure[doubtful] = self.public_map.contains(asked, self.records.x[tested], self.records.y[tested])
        chosen: Ints = rows[sure]
        return chosen if since is None and until is None else self._in_time(chosen, since, until)

    def partials(self, query: RangeQuery) -> Found:
        """Return what the records add to a question about one range."""
        if self._counts_in_circle(query):
            code = self._codes_in_circle(query)
            ones = np.ones(len(code), dtype=np.int64)
            return Found(code, np.zeros(len(code), dtype=np.int64), {"count": ones})
        rows = self.rows_in(_one_range(query), query.since, query.until)
        return units_of(self.records, query, rows, np.zeros(len(rows), dtype=np.int64))

    def totals(self, query: RangeQuery) -> dict[str, Ints]:
        """Return what all the records in one range add up to, in whole units."""
        if self._counts_in_circle(query):
            table = self.records
            found = count_in_circle(self.offsets, self._cells, table.x, table.y, _squared(query.range))
        elif query.parts == ("count",):
            found = len(self.rows_in(_one_range(query), query.since, query.until))
        else:
            return self.partials(query).totals(1)
        return {"count": np.array([found], dtype=np.int64)}

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return "RecordIndex(<private>)"

    @cached_property
    def _cells(self) -> Cells:
        return _cells(self.public_map.domain, self.columns, self.rows)

    def _counts_in_circle(self, query: RangeQuery) -> bool:
        on_plane = isinstance(query.range, Circle) and not self.public_map.lonlat
        return on_plane and query.parts == ("count",) and query.since is None and query.until is None

    def _codes_in_circle(self, query: RangeQuery) -> Codes:
        table = self.records
        return codes_in_circle(self.offsets, self._cells, table.x, table.y, table.code, _squared(query.range))

    def _in_time(self, rows: Ints, since: int | None, until: int | None) -> Ints:
        time = times_of(self.records)[rows]
        chosen = time >= (NO_TIME + 1 if since is None else since)
        if until is not None:
            chosen &= time < until
        return rows[chosen]

    def _runs(self, asked: Range) -> Runs:
        if isinstance(asked, Circle) and not self.public_map.lonlat:
            return circle_runs(self.offsets, self._cells, _squared(asked))
        window = window_of(asked, self.public_map)
        pieces = np.array(_apart([self._columns(side) for side in window.across]), dtype=np.int64).reshape(-1, 4)
        return box_runs(self.offsets, self.columns, self._rows(window), pieces)

    def _columns(self, side: Side) -> Limits:
        cells = self._cells
        return _limits(side, cells.west, cells.east, per_unit=cells.across, steps=cells.columns)

    def _rows(self, window: SearchWindow) -> Limits:
        cells = self._cells
        return _limits(window.up, cells.south, cells.north, per_unit=cells.up, steps=cells.rows)


def _one_range(query: RangeQuery) -> Range:
    assert isinstance(query.range, Range)  # noqa: S101  asked about one range only
    return query.range


def _squared(circle: Places) -> Floats:
    """Return a circle's x, y, radius, and its square, taken here because Python's power may round otherwise."""
    assert isinstance(circle, Circle)  # noqa: S101  asked for circles only
    return np.array((circle.x, circle.y, circle.radius, circle.radius**2))


def _limits(side: Side, low: float, high: float, *, per_unit: float, steps: int) -> Limits:
    first, last, sure_first, sure_last = (
        step_of(value, low, high, per_unit, steps) for value in (side.low, side.high, side.sure_low, side.sure_high)
    )
    return limits_of(first, last, sure_first, sure_last, steps)


def _apart(pieces: Sequence[Limits]) -> list[Limits]:
    """Return ascending pieces of a row without the columns that an earlier piece has."""
    result: list[Limits] = []
    taken = -1
    for first, last, sure_first, sure_last in pieces:
        begin = max(first, taken + 1)
        if begin <= last:
            result.append((begin, last, max(sure_first, begin), max(sure_last, begin - 1)))
            taken = last
    return result


def _columns_and_rows(domain: Box, records: int) -> tuple[int, int]:
    cells = min(max(records // _RECORDS_PER_CELL, 1), MOST_CELLS)
    wide = math.sqrt(cells) * math.sqrt(domain.width) / math.sqrt(domain.height)
    columns = int(min(max(wide, 1), cells))
    return _finite(columns, domain.width), _finite(cells // columns, domain.height)


def _finite(steps: int, length: float) -> int:
    """A side too short for a finite number of steps to one unit is not cut."""
    return steps if math.isfinite(_per_unit(steps, length)) else 1


def _cells(domain: Box, columns: int, rows: int) -> Cells:
    return Cells(
        *domain.sides,
        across=_per_unit(columns, domain.width),
        up=_per_unit(rows, domain.height),
        columns=columns,
        rows=rows,
    )


def _per_unit(steps: int, length: float) -> float:
    """Return the steps to one unit, 0 where one step is all there is."""
    if steps == 1:
        return 0.0
    return math.inf if length < steps * 1e-300 else steps / length


def _sorted(records: Records, position: Ints, *, public_map: PublicMap, snapshot: str | None) -> Records:
    return Records.of_columns(
        moved(records.code, position),
        records.owners,
        x=moved(records.x, position),
        y=moved(records.y, position),
        attributes={name: moved(column, position) for name, column in records.attributes.items()},
        time=None if records.time is None else moved(records.time, position),
        lonlat=public_map.lonlat,
        domain=public_map.domain,
        listed=bool(records.listed),
        crs=records.crs,
        snapshot=snapshot,
        subject=None if records.subject is None else moved(records.subject, position),
        texts={name: Texts(moved(each.codes, position), each.values) for name, each in records.texts.items()},
    )
