"""A question as a value: of what kind, about which bins, at what price. A range is the map with one bin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import written
from fedgroup.questions.bins import MOST_BINS, Categories, steps_of
from fedgroup.questions.kinds import KINDS, Part, require_kind
from fedgroup.rho import Rho
from fedgroup.space import Range
from fedgroup.space.places import Places, how_many

MOST_UNITS = 4_000_000_000
"""The largest clip in units of its resolution: beyond it sums and noise might leave 64 bits."""

MOST_CLIP = 1e100
"""The largest clip: sums of up to 2^63 units, and their squares, are still floating-point numbers."""


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
        if not 0 < self.clip <= MOST_CLIP:
            raise InvalidQuery(
                f"clip must be a number greater than 0 and at most {MOST_CLIP:g}, got {written(self.clip)}"
            )
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
    """A question: how many records or people there are, or what is the sum or mean of an attribute, in every bin.

    Bins are `range`, one range or the places of a map, times the steps `every` of the window [since, until), times the
    categories `by`. A record is in one bin at most.

    With a `rho` that is its price, and its noise that of concentrated accounting; `epsilon` is then always the largest
    pure one that costs no more, so that who does not know of rho neither counts nor hides too little.
    """

    kind: str
    range: Places
    epsilon: Epsilon
    measure: Measure | None = None
    since: int | None = None
    until: int | None = None
    every: int | None = None
    by: Categories | None = None
    rho: Rho | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            object.__setattr__(self, "epsilon", self.rho.pure)
        if require_kind(self.kind).measured != (self.measure is not None):
            needed = "needs an attribute with a clip" if self.measure is None else "takes no attribute"
            raise InvalidQuery(f"{self.kind} {needed}")
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise InvalidQuery("a time window needs since before until")
        if self.bins > MOST_BINS:
            raise InvalidQuery(f"a map has at most {MOST_BINS:,} bins, got {self.bins:,}; make them larger or fewer")

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The sums the answer is made of."""
        return KINDS[self.kind].parts

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """How many places, steps of time and categories there are."""
        steps = steps_of(self.since, self.until, self.every)
        return how_many(self.range), steps, 1 if self.by is None else len(self.by)

    @cached_property
    def bins(self) -> int:
        """How many bins there are; the bin of a place, a step and a category is its position in `shape`."""
        return math.prod(self.shape)

    @property
    def is_range(self) -> bool:
        """Whether it is about one range and one time window, the usual question."""
        return self.every is None and self.by is None and isinstance(self.range, Range)

    @property
    def one_range(self) -> Range | None:
        """The range that it is about; None for the places of a map."""
        return self.range if isinstance(self.range, Range) else None

    @property
    def only_places(self) -> bool:
        """Whether its bins are places alone, at all times and of all categories."""
        return self.since is None and self.until is None and self.by is None

    @cached_property
    def epsilon_of_part(self) -> Epsilon:
        """What each part may cost: a kind of several parts splits its budget equally."""
        return self.epsilon.split(len(self.parts))

    @cached_property
    def rho_of_part(self) -> Rho | None:
        """What each part may cost as a rho; None where the price is an epsilon."""
        return None if self.rho is None else self.rho.split(len(self.parts))
