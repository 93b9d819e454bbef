"""What a published map answers for nothing, as values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fedgroup.questions.answers import Answer
from fedgroup.space import Rectangle

NOTHING = (
    "there may be nothing in this range: its interval begins at 0, where counts end, so only its upper end can fail, "
    "and it holds in more than 95 of 100 cases"
)
Z = 1.959964
_TAIL = (Z**3 - 3 * Z) / 24


@dataclass(frozen=True, kw_only=True)
class FreeAnswer(Answer):
    """A count, or sum, read from a map: nothing was asked of anybody, and nothing is charged.

    `epsilon` is what the map cost once. `noise` and `uneven` are the standard deviations of what noise and what the
    unevenness of records inside cells add; the 95 % interval holds both.
    """

    noise: float = 0.0
    uneven: float = 0.0

    @property
    def half_width(self) -> float:
        """Half the length of the interval, before it is cut at 0."""
        return Z * math.hypot(self.noise, self.uneven)


@dataclass(frozen=True)
class Comparison:
    """How much more there is in one range than in another; what both share in noise is not counted twice."""

    difference: float
    interval: tuple[float, float]
    noise: float
    uneven: float
    confidence: float

    @property
    def certain(self) -> bool:
        """Whether the sign is beyond doubt, with 95 %."""
        low, high = self.interval
        return low > 0 or high < 0


@dataclass(frozen=True)
class HotSpot:
    """A cell that holds more than noise can explain; `density` is per square kilometre (1,000 x 1,000 units)."""

    name: str
    cell: Rectangle
    value: float
    interval: tuple[float, float]
    density: float


@dataclass(frozen=True)
class Radius:
    """How far one has to go from a place to have `holding` around it, with its interval; None: farther than the map."""

    holding: float
    radius: float | None
    interval: tuple[float, float | None]


def quantile(excess: float) -> float:
    """Return how many standard deviations hold 95 % of a symmetric law with this excess kurtosis (Cornish-Fisher).

    A sum of L discrete Laplace noises has 3 / L: one noise has heavier tails than many.
    """
    return Z + _TAIL * min(max(excess, 0.0), 3.0)


def nothing_note(interval: tuple[float, float]) -> tuple[str, ...]:
    """Return a note where an interval begins at 0: it cannot fail below, so it holds more often than it says."""
    low, high = interval
    return (NOTHING,) if low == 0 < high else ()


def facts_of(answer: FreeAnswer) -> dict[str, Any]:
    """Return what is told of a free answer besides what every answer tells, as JSON values."""
    return {"noise": answer.noise, "uneven": answer.uneven, "free": True}
