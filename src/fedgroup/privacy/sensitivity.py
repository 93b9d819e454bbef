"""What is protected, and how far one protected thing can move an exact result.

A result is a vector over disjoint bins; a range is one bin. Its L1 distance between neighbours is at most

| unit, add-remove               | records | people | sum of [0, theta] |
|--------------------------------|---------|--------|-------------------|
| record                         | 1       | 1      | theta             |
| subject                        | K       | M      | K theta           |
| owner                          | K       | K      | K theta           |
| owner that is its only subject | K       | M      | K theta           |

and with `replace` twice that over several bins. In one bin `replace` needs no more where nothing is negative, and twice
for sums of [-theta, theta]. K is the most records of a unit that count, M the most bins a subject counts in, each at
most the number of bins; see docs/guarantees.md#sensitivity. `squared` is the same in the L2 distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedgroup.errors import InvalidInput
from fedgroup.given import one_of, whole_number
from fedgroup.questions.query import RangeQuery

Neighbours = Literal["add-remove", "replace"]
Unit = Literal["record", "subject", "owner"]


@dataclass(frozen=True)
class Protection:
    """Two databases are neighbours when one unit is added or removed, or replaced by another.

    `max_records` (K) is the most records of a unit that count, `max_bins` (M) the most bins of a map that a subject
    counts in as one of the people there. With `subjects` owners' tables say which of their records are of one subject,
    such as a car; without, an owner is its own and only subject.

    Guarantee: the sensitivities below bound the L1 distance, and the squared L2 distance, of the exact results of any
               two neighbours.
    Proof:     docs/guarantees.md#sensitivity
    """

    neighbours: Neighbours = "add-remove"
    unit: Unit = "record"
    max_records: int | None = None
    max_bins: int | None = None
    subjects: bool = False

    def __post_init__(self) -> None:
        one_of(self.neighbours, ("add-remove", "replace"), name="neighbours")
        one_of(self.unit, ("record", "subject", "owner"), name="unit")
        if (self.unit != "record") != (self.max_records is not None):
            raise InvalidInput(
                "units subject and owner need max_records, the most records of one that count; record takes none"
            )
        if self.max_bins is not None and (self.unit == "record" or (self.unit == "owner" and self.subjects)):
            raise InvalidInput("max_bins is for unit subject; at unit record nothing is cut, at unit owner max_records")
        for name in ("max_records", "max_bins"):
            if getattr(self, name) is not None:
                # between two whole numbers more would be kept than noise is calibrated to
                object.__setattr__(self, name, whole_number(getattr(self, name), name=name, least=1))

    def __str__(self) -> str:
        if self.max_records is None:
            return f"one record, {self.neighbours}"
        bins = "" if self.max_bins is None else f" in {self.max_bins} bins"
        whose = " with its subjects" if self.unit == "owner" and self.subjects else ""
        return f"one {self.unit} of {self.max_records} records{bins}{whose}, {self.neighbours}"

    @property
    def records(self) -> int:
        """How many records one protected unit holds at most."""
        return self.max_records or 1

    @property
    def of_subjects(self) -> bool:
        """Whether the protected unit is one subject: then it counts once in a bin, however many records it has."""
        return self.unit == "subject" or (self.unit == "owner" and not self.subjects)

    @property
    def sees_subjects(self) -> bool:
        """Whether owners tell their subjects apart: where one is its only subject, noise is made for one of them."""
        return self.unit != "owner" or self.subjects

    def most_records(self, query: RangeQuery) -> int | None:
        """Return how many records of a unit a question looks at; None for all: people are not cut to some records."""
        return None if "people" in query.parts and self.of_subjects else self.max_records

    def bins_of_subject(self, bins: int) -> int:
        """Return in how many of so many bins one subject counts at most."""
        if bins == 1:
            return 1
        if self.max_bins is None:
            raise InvalidInput("a map of people at this unit needs max_bins, the most bins that one subject counts in")
        return min(self.max_bins, bins)

    def most_bins(self, query: RangeQuery) -> int | None:
        """Return in how many bins of a question a subject counts at most; None where nothing is cut by bins."""
        cut = self.of_subjects and "people" in query.parts and query.bins > 1
        return self.bins_of_subject(query.bins) if cut else None

    def of_histogram(self) -> int:
        return self.records * (2 if self.neighbours == "replace" else 1)

    def of(self, part: str, query: RangeQuery) -> int:
        """Return how far one unit moves a part of a question's answer, in whole units, over all bins together."""
        most = self.bins_of_subject(query.bins) if part == "people" and self.of_subjects else self.records
        each = query.measure.units if part == "sum" and query.measure is not None else 1
        signed = part == "sum" and query.measure is not None and query.measure.signed
        return most * each * (2 if self.neighbours == "replace" and (query.bins > 1 or signed) else 1)

    def squared(self, part: str, query: RangeQuery) -> int:
        """Return the square of how far one unit moves a part in the L2 distance, over all bins together.

        One unit's records may all lie in one bin, a subject is one of the people in bins that differ. Replaced by
        another, it moves other bins as far again; a signed sum twice as far in the same bin.
        """
        in_bins = part == "people" and self.of_subjects
        signed = part == "sum" and query.measure is not None and query.measure.signed
        each = query.measure.units if part == "sum" and query.measure is not None else 1
        once = self.bins_of_subject(query.bins) if in_bins else (self.records * each) ** 2
        if self.neighbours == "add-remove":
            return once
        return once * (4 if signed else 2 if query.bins > 1 else 1)
