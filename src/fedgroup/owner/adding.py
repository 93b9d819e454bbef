"""Exact totals of one owner's table that comes in parts, in the table's order, through bounded memory."""

from __future__ import annotations

import numpy as np

from fedgroup.owner.counting import Ints, contributing, rows_and_bins, total_units
from fedgroup.owner.firsts import FirstBins, FirstRecords
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import PublicMap


class Adding:
    """What the parts of a table add to a question.

    Requires:  parts come in the table's order, and a subject has the same number in all of them.
    Guarantee: the totals equal, unit for unit, those of the whole table, cut as `protection` says. Of parts gone by it
               remembers how many records a unit had where records are cut, and which people were in which bin.
    """

    def __init__(self, query: RangeQuery, public_map: PublicMap, protection: Protection) -> None:
        self._query = query
        self._map = public_map
        self._unit = protection.unit
        self._most = protection.most_records(query)
        self._taken = FirstRecords()
        self._seen = FirstBins(query.bins, most=protection.most_bins(query))
        self._totals: dict[str, Ints] = {part: np.zeros(query.bins, dtype=np.int64) for part in query.parts}

    def __repr__(self) -> str:
        return "Adding(<private>)"

    def add(self, records: Records) -> None:
        """Add the next part of the table."""
        kept = contributing(records, self._map, most=self._most, unit=self._unit, taken=self._taken)
        found = self._people(kept) if "people" in self._query.parts else total_units(kept, self._query, self._map)
        for part, units in found.items():
            self._totals[part] += units

    def totals(self) -> dict[str, Ints]:
        """Return what all parts so far add to every bin and part of the answer, in whole units."""
        return {part: units.copy() for part, units in self._totals.items()}

    def _people(self, records: Records) -> dict[str, Ints]:
        rows, at = rows_and_bins(records, self._query, self._map)
        first = self._seen.of(records.of_subject[rows], at, subjects=records.subjects)
        return {"people": np.bincount(at[first], minlength=self._query.bins)}
