"""Which sums honest owners could give at all: counts between 0 and their members' public bounds, and noise.

Guarantee: the sums of a group of honest members are found impossible with a chance of at most 2^-40 a group and
           question. What is looked at was released; what is decided by it, that a group is not counted, is
           post-processing and public.
Not covered: a liar within bounds. It can move the sum of its group, in each bin, to anything between the lowest and the
             highest that the whole group could give, noise included.
Proof:     docs/guarantees.md#lies-are-bounded
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.privacy.largest_noise import largest_noise
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery

Ints = npt.NDArray[np.int64]

FALSE_ALARM = 2.0**-40
"""The chance that an honest group's sums are found impossible, of one question."""


@dataclass(frozen=True)
class Bounds:
    """The most records of an owner in one bin, as it says itself (`declared`), and as the operator allows at most.

    None: nobody said it, and only what is too low is found. Where owners are the unit, the K records of one that count
    bound it, too, in all bins together.
    """

    protection: Protection
    declared: Mapping[str, int | None]
    most_records: int | None = None

    def possible(self, query: RangeQuery, sums: Ints, members: Collection[str], *, parts: int = 0) -> bool:
        """Tell whether honest members could have given these sums, bin after bin, each with the question's parts.

        `parts` is in how many shares their noise was cut; 0 where one of them drew it whole.
        """
        records = self._records_of(members)
        noises = len(members) / parts if parts else 1.0
        columns = sums.reshape(-1, len(query.parts)).T
        for (part, scale), column in zip(scales_of(query, self.protection).items(), columns, strict=True):
            chance = FALSE_ALARM / (len(query.parts) * (query.bins + 1))
            moved = largest_noise(scale, noises=noises, shared=bool(parts), chance=chance)
            most = None if records is None else records * _units(query, part)
            if not _within(*ends_of(column), most, moved, signed=_signed(query, part)):
                return False
            if self.protection.unit == "owner":
                in_all = largest_noise(scale, noises=noises * query.bins, shared=bool(parts), chance=chance)
                total = sum(column.tolist())
                if not _within(total, total, most, in_all, signed=_signed(query, part)):
                    return False
        return True

    def _records_of(self, members: Collection[str]) -> int | None:
        each = [self._of(name) for name in members]
        known = [most for most in each if most is not None]
        return sum(known) if len(known) == len(each) else None

    def _of(self, owner: str) -> int | None:
        agreed = self.protection.records if self.protection.unit == "owner" else None
        said = [most for most in (self.declared.get(owner), self.most_records, agreed) if most is not None]
        return min(said, default=None)


def ends_of(values: Ints) -> tuple[int, int]:
    """Return the lowest and the highest of some numbers; most often there is one, and a provider looks at thousands."""
    if len(values) == 1:
        return (one := int(values[0])), one
    return int(values.min()), int(values.max())


def _within(lowest: int, highest: int, most: int | None, moved: int, *, signed: bool) -> bool:
    if signed:
        return most is None or -most - moved <= lowest <= highest <= most + moved
    return -moved <= lowest and (most is None or highest <= most + moved)


def _units(query: RangeQuery, part: str) -> int:
    return query.measure.units if part == "sum" and query.measure is not None else 1


def _signed(query: RangeQuery, part: str) -> bool:
    return part == "sum" and query.measure is not None and query.measure.signed
