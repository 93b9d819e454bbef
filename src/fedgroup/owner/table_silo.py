"""Records in memory as a silo: for owners whose table is read once, as small ones and trial federations do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fedgroup.messages import RangeQuery
from fedgroup.owner.counting import contributing, count_vectors, total_units
from fedgroup.owner.records import Records, require_degrees
from fedgroup.space import Grid, PublicMap


class TableSilo:
    """One owner's records, whatever owners the table names."""

    def __init__(self, records: Records, public_map: PublicMap, *, max_records: int | None = None) -> None:
        if public_map.lonlat:
            require_degrees(records.x, records.y)
        self._snapshot = records.snapshot
        inside = contributing(records, public_map)
        self._records = inside if max_records is None else inside.keep(np.arange(min(len(inside), max_records)))
        self._map = public_map

    def __repr__(self) -> str:
        return "TableSilo(<private>)"

    @property
    def attributes(self) -> Sequence[str]:
        return tuple(self._records.attributes)

    @property
    def has_time(self) -> bool:
        return self._records.time is not None

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]:
        """Return the count of records in each cell."""
        counts: npt.NDArray[np.int32] = count_vectors(self._records, grid, self._map).sum(axis=0, dtype=np.int32)
        return counts

    def totals(self, query: RangeQuery) -> dict[str, int]:
        """Return what the records in range add to every part of the answer, in whole units."""
        return total_units(self._records, query, self._map)

    def snapshot(self) -> str:
        """Return the digest of the table that was read."""
        return self._snapshot
