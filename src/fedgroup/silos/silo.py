"""One owner's table, whatever database holds it: exact answers from the rows that a coarse cut brings."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.owner.adding import Adding
from fedgroup.owner.counting import Ints, contributing, count_vectors
from fedgroup.owner.firsts import FirstRecords
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.bins import Categories
from fedgroup.questions.query import RangeQuery
from fedgroup.silos.batches import Batch, Subjects, digest_of, joined, records_of
from fedgroup.silos.settings import Settings
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

    Guarantee: every answer equals, unit for unit, what `owner.counting` finds in the same records, cut as `protection`
               says: the database only leaves out rows that are surely outside, and its rows are tested as records are.
               Where subjects are cut, rows come in the agreed order, some at a time.
    """

    def __init__(self, table: Table, public_map: PublicMap, *, columns: Settings, protection: Protection) -> None:
        self.attributes = columns.attributes
        self.texts = columns.texts
        self.has_time = columns.time is not None
        self._has_subjects = columns.subject is not None and protection.sees_subjects
        self._table = table
        self._map = public_map
        self._protection = protection
        self._one_at_a_time = threading.Lock()
        self._known: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return "DatabaseSilo(<private>)"

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]:
        """Return the exact count of records in each cell of a grid, of those inside the domain."""
        counts = np.zeros(grid.cells, dtype=np.int32)
        with self._one_at_a_time:
            for records in self._contributing(rows_of_domain(self._map), Subjects()):
                counts += count_vectors(records, grid, self._map)[0]
        return counts

    def totals(self, query: RangeQuery) -> dict[str, Ints]:
        """Return what the records in range add to every part of the answer, exactly, in whole units."""
        self.require_answerable(query)
        adding = Adding(query, self._map, self._protection)
        with self._one_at_a_time:
            for records in self._rows_of(query, Subjects()):
                adding.add(records)
        return adding.totals()

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
        with self._one_at_a_time:
            if self._only_first is not None:
                return self._first(self._everything(), self._only_first, Subjects())
            wanted = self._everything()
            batch = joined(list(self._table.batches(wanted)), wanted)
        return contributing(records_of(batch, self._map, Subjects()), self._map)

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
        if query.by is not None:
            self._require_categories(query.by)
        if not self.has_time and (query.since is not None or query.until is not None):
            raise InvalidQuery("this silo has no time column, so a time window cannot be asked; drop since and until")

    def _require_categories(self, by: Categories) -> None:
        kind, columns = ("column of texts", self.texts) if by.of_texts else ("numeric column", self.attributes)
        if by.attribute not in columns:
            known = ", ".join(sorted(columns)) or "none"
            raise InvalidInput(f"there is no {kind} {by.attribute!r}; the silo's are: {known}")

    @property
    def _only_first(self) -> int | None:
        """How many records are all that any question looks at; none where some questions look at all of them."""
        return None if self._protection.of_subjects else self._protection.max_records

    def _everything(self) -> Wanted:
        """Return all rows with all that may be asked of them, in the order in which subjects are cut, if they are."""
        return replace(
            rows_of_domain(self._map),
            with_time=self.has_time,
            attributes=self.attributes,
            with_subject=self._has_subjects,
            texts=self.texts,
            ordered=self._protection.max_records is not None,
        )

    def _digest(self) -> str:
        subjects, wanted = Subjects(), self._everything()
        if self._only_first is not None:
            return digest_of([self._first(wanted, self._only_first, subjects)], subjects)
        rows = (contributing(records, self._map) for records in self._stream(wanted, subjects))
        cuts = (self._protection.max_records, self._protection.max_bins)
        return digest_of(rows, subjects, ordered=cuts if wanted.ordered else None)

    def _rows_of(self, query: RangeQuery, subjects: Subjects) -> Iterator[Records]:
        """Yield the records that a question looks at, in the table's order where something is cut by it."""
        people = "people" in query.parts
        wanted = replace(rows_of_question(query, self._map), with_subject=people and self._has_subjects)
        most = self._protection.most_records(query)
        if most is not None:
            return self._cut(wanted, most, subjects)
        return self._stream(replace(wanted, ordered=self._protection.most_bins(query) is not None), subjects)

    def _contributing(self, wanted: Wanted, subjects: Subjects) -> Iterator[Records]:
        """Yield the wanted records inside the domain, of each unit the first ones that count."""
        most, taken = self._protection.max_records, FirstRecords()
        rows = self._stream(wanted, subjects) if most is None else self._cut(wanted, most, subjects)
        for records in rows:
            yield contributing(records, self._map, most=most, unit=self._protection.unit, taken=taken)

    def _cut(self, wanted: Wanted, most: int, subjects: Subjects) -> Iterator[Records]:
        """Yield rows of the whole domain among which are the first `most` of every unit, in the table's order."""
        everywhere = replace(wanted, boxes=rows_of_domain(self._map).boxes, since_s=None, until_s=None)
        if self._protection.unit == "subject" and self._has_subjects:
            return self._stream(replace(everywhere, with_subject=True, ordered=True), subjects)
        return iter([self._first(everywhere, most, subjects)])

    def _stream(self, wanted: Wanted, subjects: Subjects) -> Iterator[Records]:
        for batch in self._table.batches(wanted):
            yield records_of(batch, self._map, subjects)

    def _first(self, wanted: Wanted, most: int, subjects: Subjects) -> Records:
        """Return the first `most` records inside the domain."""
        fetch = most + _MARGIN
        while True:
            rows = replace(wanted, first=fetch)
            batch = joined(list(self._table.batches(rows)), rows)
            records = contributing(records_of(batch, self._map, subjects), self._map, most=most)
            if len(records) == most or len(batch.x) < fetch:
                return records
            fetch *= 2
