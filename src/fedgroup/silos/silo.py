"""One owner's table, whatever database holds it: exact answers from the rows that a coarse cut brings."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.owner.counting import Ints, contributing, count_vectors, total_units
from fedgroup.owner.records import Records
from fedgroup.questions.query import RangeQuery
from fedgroup.silos.batches import Batch, digest_of, records_of
from fedgroup.silos.wanted import Wanted, rows_of_domain, rows_of_question
from fedgroup.space import Grid, PublicMap

_MARGIN = 64
"""How many more rows than the cut needs are fetched at first: the coarse cut brings a few from outside the domain."""


class Silo(Protocol):
    """What an owner asks its database."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The numeric columns that may be summed."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of words that records may be told apart by."""

    @property
    def has_time(self) -> bool:
        """Whether a time window may be asked."""

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]:
        """Return the exact count of records in each cell of a grid, of those inside the domain."""

    def totals(self, query: RangeQuery) -> dict[str, Ints]:
        """Return what the records in range add to every part of the answer, exactly, in whole units."""

    def snapshot(self) -> str:
        """Return a text that is the same as long as no row changes."""

    def close(self) -> None:
        """Let go of the database; the next question opens it again."""


class Table(Protocol):
    """A table in a database: rows fetched after a coarse cut, and marks that tell whether they changed.

    Every method raises `SiloUnavailable` when the database cannot be asked now.
    """

    def batches(self, wanted: Wanted) -> Iterator[Batch]:
        """Yield the wanted rows as they are at one moment, and perhaps a few others."""

    def mark(self) -> str | None:
        """Return a text that stays the same at most as long as nothing changed, or none where there is none."""

    def version(self) -> str | None:
        """Return a text that differs between any two states of the table, or none: then its rows are looked at."""

    def close(self) -> None:
        """Close the connection; the next call opens another."""


class DatabaseSilo:
    """A silo on a table.

    Guarantee: every answer equals, unit for unit, what `owner.counting` finds in the same records: the database only
               leaves out rows that are surely outside, and its rows are tested as records are.
    """

    def __init__(
        self,
        table: Table,
        public_map: PublicMap,
        *,
        attributes: Sequence[str],
        has_time: bool,
        max_records: int | None = None,
    ) -> None:
        self.attributes = tuple(attributes)
        self.texts: tuple[str, ...] = ()
        self.has_time = has_time
        self._table = table
        self._map = public_map
        self._most = max_records
        self._one_at_a_time = threading.Lock()
        self._known: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return "DatabaseSilo(<private>)"

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]:
        """Return the exact count of records in each cell of a grid, of those inside the domain."""
        counts = np.zeros(grid.cells, dtype=np.int32)
        with self._one_at_a_time:
            for records in self._contributing(rows_of_domain(self._map)):
                counts += count_vectors(records, grid, self._map)[0]
        return counts

    def totals(self, query: RangeQuery) -> dict[str, Ints]:
        """Return what the records in range add to every part of the answer, exactly, in whole units."""
        self.require_answerable(query)
        totals: dict[str, Ints] = {part: np.zeros(query.bins, dtype=np.int64) for part in query.parts}
        with self._one_at_a_time:
            for records in self._contributing(rows_of_question(query, self._map)):
                for part, units in total_units(records, query, self._map).items():
                    totals[part] += units
        return totals

    def snapshot(self) -> str:
        """Return a text that is the same as long as no row changes."""
        with self._one_at_a_time:
            # The mark comes first: a change while the rows are looked at makes the next mark another one.
            mark = self._table.mark()
            if mark is None or self._known is None or self._known[0] != mark:
                version = self._table.version()
                state = self._digest() if version is None else hashlib.sha256(version.encode()).hexdigest()
                self._known = None if mark is None else (mark, state)
                return state
            return self._known[1]

    def records(self) -> Records:
        """Return all records that count, with everything that may be asked of them, as they are at one moment."""
        everything = rows_of_domain(self._map, with_time=self.has_time, attributes=self.attributes)
        with self._one_at_a_time:
            if self._most is not None:
                return self._first(everything, self._most)
            batch, _ = _one_batch(self._table.batches(everything), everything)
        return contributing(records_of(batch, self._map), self._map)

    def close(self) -> None:
        """Let go of the database; the next question opens it again."""
        with self._one_at_a_time:
            self._table.close()
            self._known = None

    def require_answerable(self, query: RangeQuery) -> None:
        if query.measure is not None and query.measure.attribute not in self.attributes:
            known = ", ".join(sorted(self.attributes)) or "none"
            asked = query.measure.attribute
            raise InvalidInput(f"there is no numeric column {asked!r}; the numeric columns are: {known}")
        if not self.has_time and (query.since is not None or query.until is not None):
            raise InvalidQuery("this silo has no time column, so a time window cannot be asked; drop since and until")

    def _digest(self) -> str:
        everything = rows_of_domain(self._map, with_time=self.has_time, attributes=self.attributes)
        return digest_of(self._contributing(everything))

    def _contributing(self, wanted: Wanted) -> Iterator[Records]:
        """Yield the wanted records inside the domain; with a cut, of the first records inside the domain."""
        if self._most is not None:
            yield self._first(wanted, self._most)
            return
        for batch in self._table.batches(wanted):
            yield contributing(records_of(batch, self._map), self._map)

    def _first(self, wanted: Wanted, most: int) -> Records:
        fetch = most + _MARGIN
        while True:
            rows = rows_of_domain(self._map, with_time=wanted.with_time, attributes=wanted.attributes, first=fetch)
            batch, fetched = _one_batch(self._table.batches(rows), rows)
            records = contributing(records_of(batch, self._map), self._map, most=most)
            if len(records) == most or fetched < fetch:
                return records
            fetch *= 2


def _one_batch(batches: Iterator[Batch], wanted: Wanted) -> tuple[Batch, int]:
    """Return all batches as one, and how many rows it has."""
    parts = list(batches)
    none = np.zeros(0)
    x = np.concatenate([none, *(part.x for part in parts)])
    y = np.concatenate([none, *(part.y for part in parts)])
    times = [part.time for part in parts if part.time is not None]
    time = np.concatenate([np.zeros(0, dtype=np.int64), *times]) if wanted.with_time else None
    attributes = {
        name: np.concatenate([none, *(part.attributes[name] for part in parts)]) for name in wanted.attributes
    }
    return Batch(x, y, time, attributes), len(x)
