"""What the user gets, as values; and as JSON, for stores and for the wire between a service and its clients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from fedgroup.questions.shown import answer_html
from fedgroup.space.ranges import Range
from fedgroup.space.shapes import drawn, geometry_of

Number = int | float


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is told with every answer: what it cost, how it came about, and who was heard.

    `refused` tells how many of the owners that are missing refused, by the reason they gave; `absent` how many of them
    were here before, or belong to the plan, and are away. `delta` is the chance that epsilon does not hold: of
    concentrated accounting's statement, where the price was a rho, and that the random mask graph of some large group
    came out badly; 0 where there is neither. `rho` is what it counts in concentrated accounting; None where epsilon is
    counted. `log_entry` is its number in the provider's public log, where there is one.
    """

    confidence: float
    epsilon: float
    method: str
    in_group: str | None
    trust: str
    groups: int
    noises: float
    owners: int
    heard: int
    missing: int
    private: bool
    seconds: float = 0.0
    stored: bool = False
    charged: float = 0.0
    asked_at: str | None = None
    notes: tuple[str, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict, hash=False)
    absent: int = 0
    delta: float = 0.0
    rho: float | None = None
    log_entry: int | None = None


@dataclass(frozen=True, kw_only=True)
class PrivateAnswer(Told):
    """A value, and how far noise may have moved it."""

    kind: str
    value: Number | None
    interval: tuple[Number, Number]


@dataclass(frozen=True, kw_only=True)
class Answer(PrivateAnswer):
    """An answer, and for evaluation what it can be compared with.

    `range` is what was asked about, in degrees where `lonlat`. `values` are those of all repetitions; `true_value` is
    what the data say, `true_value_clipped` the same after clipping and rounding, which is what noise is added to.
    """

    values: tuple[Number | None, ...] = ()
    true_value: Number | None = None
    true_value_clipped: Number | None = None
    range: Range | None = field(default=None, repr=False, compare=False)
    lonlat: bool = field(default=False, repr=False, compare=False)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The range as a GeoJSON feature, with the value and its interval."""
        if self.range is None:
            raise AttributeError("this answer does not know its range")
        low, high = self.interval
        told = {"kind": self.kind, "value": self.value, "low": low, "high": high, "epsilon": self.epsilon}
        shape = geometry_of(drawn(self.range, lonlat=self.lonlat))
        return {"type": "Feature", "properties": told, "geometry": shape}

    def _repr_html_(self) -> str:
        return answer_html(self)

    @property
    def mean_absolute_error(self) -> float | None:
        """How far the answers are from the true value on average, for evaluation; answers without a value left out."""
        values = [value for value in self.values or (self.value,) if value is not None]
        if self.true_value is None or not values:
            return None
        return math.fsum(abs(value - self.true_value) for value in values) / len(values)


@dataclass(frozen=True)
class ExpectedError:
    """How far noise will move a sum: on average, by standard deviation, and at most in 95 % of the answers."""

    mean_absolute: float
    standard_deviation: float
    half_width: float


@dataclass(frozen=True)
class OwnersLeft:
    """What is known of live owners' budgets: the lowest and the median of what is left to those `telling` it.

    `unknown` is how many tell nothing; `refusing` how many of all refused this price, or a lower one, for their budget
    when they were last asked for so much.
    """

    telling: int
    unknown: int
    lowest: float | None
    median: float | None
    refusing: int


@dataclass(frozen=True)
class Expectation:
    """What an answer would be like, told before anything is spent; AVG tells the errors of its SUM and its COUNT.

    `left` is what is left of the budget, or of a user's allowance in a live federation, which also knows `owners_left`;
    `left_in_windows` what the windows of time that it meets have left, where they have a budget of their own. Errors
    are those of each of the `bins` of a map.
    """

    kind: str
    epsilon: float
    charge: float
    method: str
    in_group: str | None
    trust: str
    groups: int
    noises: float
    owners: int
    confidence: float
    errors: Mapping[str, ExpectedError]
    left: float | None
    affordable: bool
    private: bool
    delta: float = 0.0
    notes: tuple[str, ...] = ()
    owners_left: OwnersLeft | None = None
    bins: int = 1
    rho: float | None = None
    left_in_windows: float | None = None


_TOLD_OF_ANSWERS = tuple(each.name for each in fields(PrivateAnswer))


def answer_facts(answer: PrivateAnswer) -> dict[str, Any]:
    """Return an answer as JSON values, without what belongs to evaluation."""
    facts = {name: getattr(answer, name) for name in _TOLD_OF_ANSWERS}
    return facts | {"interval": list(answer.interval), "notes": list(answer.notes), "refused": dict(answer.refused)}


def answer_from(facts: Mapping[str, Any], **changed: Any) -> Answer:
    """Return an answer from JSON values, with some of them `changed`; what a newer party tells besides is left out."""
    return Answer(**_known(Answer, facts) | changed)


def again(facts: Mapping[str, Any], **changed: Any) -> Answer:
    """Return an answer that was kept, marked as such and free."""
    return answer_from(facts, stored=True, charged=0.0, **changed)


def expectation_from(facts: Mapping[str, Any]) -> Expectation:
    """Return an expectation from JSON values."""
    known = _known(Expectation, facts)
    errors = {part: ExpectedError(**_known(ExpectedError, error)) for part, error in known.pop("errors").items()}
    left = known.pop("owners_left", None)
    return Expectation(**known, errors=errors, owners_left=left and OwnersLeft(**_known(OwnersLeft, left)))


def _known(kind: type, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class that were told, with the tuples that JSON has no word for."""
    found = {each.name: facts[each.name] for each in fields(kind) if each.name in facts}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
