"""How many records each owner of a trial federation holds, and so which owners a sum of them can be of.

Answers of chaos and soak have noise 0: a value is the sum of the records of the owners that were counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Sum:
    """What an answer says: a value, and of how many owners it is."""

    value: float
    heard: int


class Holdings(Protocol):
    """Who holds how much, and who may be in a sum."""

    @property
    def names(self) -> Sequence[str]: ...

    def records_of(self, number: int) -> int:
        """Return how many records an owner holds, by its number."""
        ...

    def counted(self, answers: Sequence[Sum], charged: Counter[str]) -> Counter[str] | None:
        """Return how often each owner can be in these answers together, if so often it was charged; None: in none."""
        ...


def total(holdings: Holdings) -> int:
    """Return what all owners hold together."""
    return sum(holdings.records_of(number) for number in range(len(holdings.names)))


@dataclass(frozen=True)
class PowersOfTwo:
    """Owner number i holds 2^i records: the bits of a value name the owners in it, whoever was charged. For a few."""

    names: Sequence[str]

    def records_of(self, number: int) -> int:
        return 1 << number

    def counted(self, answers: Sequence[Sum], charged: Counter[str]) -> Counter[str] | None:
        found = Counter[str]()
        for each in answers:
            if each.value != int(each.value) or not 0 < each.value < 1 << len(self.names):
                return None
            found.update(name for number, name in enumerate(self.names) if int(each.value) >> number & 1)
        return found


@dataclass(frozen=True)
class OneMoreEach:
    """Owner number i holds i + 1 records: for many, whose bits would not fit.

    A value is right if some `heard` of the owners that were charged hold as much together. If nobody else was charged,
    it is one number; else one of few, so that a sum in which an owner is twice, or one that was not charged, shows
    unless it happens to be another of these. Every question can show it anew. Answers to one question are added up.
    """

    names: Sequence[str]

    def records_of(self, number: int) -> int:
        return number + 1

    def counted(self, answers: Sequence[Sum], charged: Counter[str]) -> Counter[str] | None:
        lines = [number for number, name in enumerate(self.names) for _ in range(min(charged[name], len(answers)))]
        value, heard = sum(each.value for each in answers), sum(each.heard for each in answers)
        spare = sum(map(self.records_of, lines)) - int(value)
        if any(each.value != int(each.value) or each.heard < 1 for each in answers) or heard > len(lines) or spare < 0:
            return None
        away = _adding_up([self.records_of(number) for number in lines], len(lines) - heard, spare)
        return None if away is None else Counter(self.names[each] for at, each in enumerate(lines) if at not in away)


def _adding_up(weights: Sequence[int], count: int, total: int) -> set[int] | None:
    """Return the places of so many weights that add up to a total; None: there are none.

    After each weight, bit s of number c tells whether c of the weights so far can add up to s.
    """
    reached = [[1] + [0] * count]
    for weight in weights:
        before = reached[-1]
        reached.append([before[0], *(before[c] | before[c - 1] << weight for c in range(1, count + 1))])
    if not reached[-1][count] >> total & 1:
        return None
    found = set[int]()
    for at in range(len(weights) - 1, -1, -1):
        if not reached[at][count] >> total & 1:
            found.add(at)
            count, total = count - 1, total - weights[at]
    return found
