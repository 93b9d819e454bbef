"""Questions, partitions, noisy values and answers, as roles exchange them in memory.

Owners are positions in the public roster; no value here holds a record, an exact count or an owner's name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery, ProtocolViolation
from fedgroup.given import written
from fedgroup.space import Grid, Range

Kind = Literal["count", "sum", "avg"]
Labels = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Noisy = npt.NDArray[np.signedinteger[Any]] | npt.NDArray[np.float64]

MOST_UNITS = 4_000_000_000
"""The largest clip in units of its resolution: beyond it sums and noise might leave 64 bits."""


@dataclass(frozen=True)
class Measure:
    """How a numeric attribute is summed: each value is cut to the clip range and rounded to whole units first.

    The clip range is [0, clip], or [-clip, clip] when `signed`. Whole units make the sum of any subset exact, so one
    record moves it by at most `units`, whatever the order of summation.
    """

    attribute: str
    clip: float
    signed: bool = False
    resolution: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.clip) and self.clip > 0):
            raise InvalidQuery(f"clip must be a number greater than 0, got {written(self.clip)}")
        if self.resolution is None:
            object.__setattr__(self, "resolution", float(10.0 ** (math.floor(math.log10(self.clip)) - 3)))
        if not (math.isfinite(self.step_value) and self.step_value > 0):
            raise InvalidQuery(f"resolution must be a number greater than 0, got {written(self.resolution)}")
        if not 1 <= self.units <= MOST_UNITS:
            raise InvalidQuery(
                f"clip / resolution must lie between 1 and {MOST_UNITS:,}, "
                f"got {written(self.clip)} / {written(self.resolution)}"
            )

    @property
    def step_value(self) -> float:
        assert self.resolution is not None  # noqa: S101  set at birth
        return self.resolution

    @property
    def step(self) -> Fraction:
        """One unit, exactly as written in decimals."""
        return Fraction(str(self.step_value))

    @property
    def units(self) -> int:
        """The clip in whole units, rounded down, so that the clip is never exceeded."""
        return math.floor(Fraction(str(self.clip)) / self.step)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and largest value a record can contribute."""
        top = float(self.units * self.step)
        return (-top if self.signed else 0.0, top)


@dataclass(frozen=True)
class RangeQuery:
    """A question: how many records lie in a range (and a time window), or what is the sum or mean of an attribute."""

    kind: Kind
    range: Range
    epsilon: Epsilon
    measure: Measure | None = None
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.kind, str) and self.kind in ("count", "sum", "avg")):
            raise InvalidQuery(f"a question is count, sum or avg, got {written(self.kind)}")
        if (self.kind == "count") != (self.measure is None):
            raise InvalidQuery("sum and avg need an attribute with a clip; count takes none")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidQuery("a time window needs since before until")

    @cached_property
    def parts(self) -> tuple[Literal["count", "sum"], ...]:
        """The sums the answer is made of."""
        return {"count": ("count",), "sum": ("sum",), "avg": ("sum", "count")}[self.kind]  # type: ignore[return-value]

    @cached_property
    def epsilon_of_part(self) -> Epsilon:
        """What each part may cost: AVG splits its budget equally between SUM and COUNT."""
        return self.epsilon.split(len(self.parts))


@dataclass(frozen=True, eq=False)
class Partition:
    """Disjoint groups that cover all owners: `labels[i]` is the group of owner i, groups are numbered from 0.

    `masked[g]` tells whether the members of group g hide their answers from each other; by default none do.
    """

    labels: Labels
    masked: Flags | None = None

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels, dtype=np.int32)
        if labels.ndim != 1 or (len(labels) and not 0 <= labels.min() <= labels.max() < len(labels)):
            raise ProtocolViolation("a partition gives every owner one group, numbered from 0")
        sizes = np.bincount(labels)
        if not sizes.all():
            raise ProtocolViolation("a partition's groups are numbered without gaps")
        labels = labels.copy() if labels.flags.writeable else labels
        labels.flags.writeable = False
        object.__setattr__(self, "labels", labels)
        if self.masked is not None and np.shape(self.masked) != (self.groups,):
            raise ProtocolViolation("a partition says of each group whether it is masked")

    @property
    def is_masked(self) -> Flags:
        """Tell of each group whether it is masked."""
        return np.zeros(self.groups, dtype=np.bool_) if self.masked is None else self.masked

    @classmethod
    def singletons(cls, owners: int) -> Partition:
        """Every owner alone."""
        return cls(np.arange(owners, dtype=np.int32))

    @property
    def owners(self) -> int:
        return len(self.labels)

    @cached_property
    def groups(self) -> int:
        """How many groups there are, lambda."""
        return int(self.labels.max()) + 1 if len(self.labels) else 0

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.labels, minlength=self.groups)


@dataclass(frozen=True, eq=False)
class NoisyVectors:
    """Every owner's count vector with noise on each cell; `scale` is the noise's scale, Delta / epsilon."""

    values: Noisy
    grid: Grid
    scale: Fraction
    epsilon: Epsilon

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != self.grid.cells:
            raise ProtocolViolation(f"a noisy vector has one count for each of the {self.grid.cells} cells")

    @property
    def owners(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class MaskedAnswers:
    """One masked number per member of the masked groups, a column per part; only a whole group's sum means anything."""

    values: npt.NDArray[np.uint64]
    labels: Labels
    groups: int
    noises: float


@dataclass(frozen=True, eq=False)
class NoisyAnswers:
    """The noisy sum of one or more groups for each part of a question, in whole units, with the noise's scale.

    `noises` is how many groups it is of, each with its own noise; members of masked groups send theirs in `masked`.
    """

    parts: Mapping[str, int | float]
    scales: Mapping[str, Fraction]
    continuous: bool
    noises: int
    heard: int
    masked: MaskedAnswers | None = None


@dataclass(frozen=True, eq=False)
class NoisyTotals:
    """The sums of all groups' noisy answers, and how many noises each holds: one a group, more in masked ones."""

    parts: Mapping[str, int | float]
    scales: Mapping[str, Fraction]
    continuous: bool
    noises: float
    heard: int


@dataclass(frozen=True, eq=False)
class Grouping:
    """What the provider made of the noisy vectors: a partition and how it came about."""

    partition: Partition
    settings: Mapping[str, Any]
    epsilon: Epsilon
    guarantee: str
    private: bool
    edges: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What the user gets: a value, how far noise may have moved it, and what it cost.

    `refused` tells how many of the owners that are missing refused, by the reason they gave; `absent` how many of them
    were here before, or belong to the plan, and are away. `delta` is the chance that epsilon does not hold at all:
    that the random mask graph of some large group came out badly; 0 where no group has one. For evaluation only:
    `true_value` is what the data say, `true_value_clipped` the same after clipping and rounding, which is what noise is
    added to.
    """

    kind: Kind
    value: float | None
    interval: tuple[float, float]
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
    asked_at: str | None = None
    charged: float = 0.0
    stored: bool = False
    values: tuple[float | None, ...] = ()
    true_value: float | None = None
    true_value_clipped: float | None = None
    notes: tuple[str, ...] = field(default=())
    refused: Mapping[str, int] = field(default_factory=dict, hash=False)
    absent: int = 0
    delta: float = 0.0

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

    `left` is what is left of the budget, or of a user's allowance in a live federation, which also knows `owners_left`.
    """

    kind: Kind
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
