"""What is protected, and how far one protected thing can move an exact result.

| exact result           | add-remove | replace |
|------------------------|------------|---------|
| histogram over cells   | 1          | 2       |
| COUNT                  | 1          | 1       |
| SUM of [0, theta]      | theta      | theta   |
| SUM of [-theta, theta] | theta      | 2 theta |

The unit `owner` protects all records of an owner: its contribution is cut to K records first, and every entry is
multiplied by K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedgroup.errors import InvalidInput
from fedgroup.given import one_of, whole_number
from fedgroup.questions.query import Measure

Neighbours = Literal["add-remove", "replace"]
Unit = Literal["record", "owner"]


@dataclass(frozen=True)
class Protection:
    """Two databases are neighbours when one unit is added or removed, or replaced by another.

    Guarantee: the sensitivities below bound the L1 distance of the exact results of any two neighbours.
    Proof:     docs/guarantees.md#sensitivity
    """

    neighbours: Neighbours = "add-remove"
    unit: Unit = "record"
    max_records: int | None = None

    def __post_init__(self) -> None:
        one_of(self.neighbours, ("add-remove", "replace"), name="neighbours")
        one_of(self.unit, ("record", "owner"), name="unit")
        if (self.unit == "owner") != (self.max_records is not None):
            raise InvalidInput(
                "unit owner needs max_records, the most records one owner contributes; record takes none"
            )
        if self.max_records is not None:
            # between two whole numbers more records would be kept than noise is calibrated to
            object.__setattr__(self, "max_records", whole_number(self.max_records, name="max_records", least=1))

    def __str__(self) -> str:
        unit = "one record" if self.max_records is None else f"one owner of {self.max_records} records"
        return f"{unit}, {self.neighbours}"

    @property
    def records(self) -> int:
        """How many records one protected unit holds at most."""
        return self.max_records or 1

    def of_histogram(self) -> int:
        return self.records * (2 if self.neighbours == "replace" else 1)

    def of_count(self) -> int:
        return self.records

    def of_sum(self, measure: Measure) -> int:
        """Return the sensitivity of a sum, in units of its resolution."""
        widest = 2 if self.neighbours == "replace" and measure.signed else 1
        return self.records * widest * measure.units
