"""Records in memory as a silo: for owners whose table is read once, as that of a file is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fedgroup.owner.counting import Ints, contributing, count_vectors, total_units
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records, require_degrees
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Grid, PublicMap

INDEXED = 100_000
"""So many records are sorted by place when they are read; fewer are looked through as quickly."""


class TableSilo:
    """One owner's records, whatever owners the table names, cut as `protection` says.

    Requires:  `snapshot`, if it is given, differs between any two tables of this owner.
    Guarantee: every answer equals, unit for unit, what `counting.total_units` finds: many records have an index.
    Proof:     see `index`.
    """

    def __init__(
        self,
        records: Records,
        public_map: PublicMap,
        *,
        protection: Protection | None = None,
        snapshot: str | None = None,
    ) -> None:
        if public_map.lonlat:
            require_degrees(records.x, records.y)
        self._snapshot = records.snapshot if snapshot is None else snapshot
        self._protection = Protection() if protection is None else protection
        inside = _alone(contributing(records, public_map), subjects=self._protection.sees_subjects)
        most = self._protection.max_records
        kept = contributing(inside, public_map, most=most, unit=self._protection.unit)
        self._index = RecordIndex.build(kept, public_map) if len(kept) >= INDEXED else None
        self._records = kept if self._index is None else self._index.records
        # people are not cut to some records, but to some bins, in the table's order
        self._uncut = self._records if most is None or not self._protection.of_subjects else inside
        self._map = public_map

    def __repr__(self) -> str:
        return "TableSilo(<private>)"

    @property
    def attributes(self) -> Sequence[str]:
        return tuple(self._records.attributes)

    @property
    def texts(self) -> Sequence[str]:
        return tuple(self._records.texts)

    @property
    def has_time(self) -> bool:
        return self._records.time is not None

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]:
        """Return the count of records in each cell."""
        counts: npt.NDArray[np.int32] = count_vectors(self._records, grid, self._map).sum(axis=0, dtype=np.int32)
        return counts

    def totals(self, query: RangeQuery) -> dict[str, Ints]:
        """Return what the records add to every bin and part of the answer, in whole units."""
        records = self._records if self._protection.most_records(query) is not None else self._uncut
        if self._index is not None and query.is_range and records is self._records:
            return self._index.totals(query)
        return total_units(records, query, self._map, most_bins=self._protection.most_bins(query))

    def snapshot(self) -> str:
        """Return the digest of the table that was read."""
        return self._snapshot


def _alone(records: Records, *, subjects: bool) -> Records:
    """Return a table as that of one owner; without `subjects` it is its own only subject."""
    if len(records.owners) == 1 and (subjects or records.subject is None):
        return records
    return Records.of_columns(
        np.zeros(len(records), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        x=records.x,
        y=records.y,
        attributes=records.attributes,
        time=records.time,
        lonlat=records.lonlat,
        domain=records.domain,
        listed=True,
        subject=records.subject if subjects else None,
        texts=records.texts,
    )
