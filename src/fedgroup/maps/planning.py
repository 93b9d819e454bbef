"""Publish or ask? What a map would be like and would cost, beside asking each question; nothing is spent to know it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import NANO, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import number, whole_number
from fedgroup.maps.free import FreeAnswer, quantile
from fedgroup.maps.published import PublishedMap, forecast
from fedgroup.maps.sizing import MapSizes
from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.privacy.release import scale_of_noise
from fedgroup.space import Circle, PublicMap

Floats = npt.NDArray[np.float64]

_MEAN = math.sqrt(2 / math.pi)
"""The mean absolute value of a normal error, in standard deviations."""


@dataclass(frozen=True)
class PublishOrAsk:
    """The mean absolute errors to expect of so many questions of a size: read from a map, or asked one by one.

    `break_even` is the number of questions from which on the map is better; `of_ask` shares the same epsilon among all.
    """

    questions: int
    within: float
    of_map: float
    of_ask: float
    break_even: int

    @property
    def publish(self) -> bool:
        """Whether to publish a map."""
        return self.questions >= self.break_even


@dataclass(frozen=True, eq=False)
class MapPlan:
    """A map that was not published yet: its sizes, its cost, and what answers it would give.

    `moved` is how far one protected unit moves the answer to one question, in whole units; `step` is one of those.
    `rho` is what it counts; None where epsilon is counted.
    """

    sizes: MapSizes
    kind: str
    public_map: PublicMap
    charge: float
    left: float | None
    method: str
    trust: str
    moved: int
    step: float = 1.0
    rho: float | None = None

    @property
    def affordable(self) -> bool:
        return self.left is None or self.charge <= self.left

    @cached_property
    def cells(self) -> tuple[int, int, int]:
        """How many counts each question has; the last if records lay evenly."""
        even = self.sizes.cut(_even(self.sizes))
        return self.sizes.coarse.cells, self.sizes.blocks.cells, len(even)

    def forecast(self, asked: Any, *, like: PublishedMap | None = None) -> FreeAnswer:
        """Return how a range would be answered: if records lay evenly, or as on an earlier map."""
        told = forecast(self.sizes, asked, self.public_map, like=like)
        units = {name: getattr(told, name) * self.step for name in ("value", "noise", "uneven")}
        low, high = told.interval
        return replace(told, kind=self.kind, interval=(low * self.step, high * self.step), **units)

    def against_asking(self, questions: int, within: float, *, like: PublishedMap | None = None) -> PublishOrAsk:
        """Return the errors to expect of so many questions about circles of a radius, by the map and one by one."""
        whole_number(questions, name="questions", least=1, refusal=InvalidQuery)
        radius = number(within, name="within", refusal=InvalidQuery)
        west, south, east, north = self.public_map.domain.sides
        told = self.forecast(Circle((west + east) / 2, (south + north) / 2, radius), like=like)
        of_map = _MEAN * math.hypot(told.noise, told.uneven)
        many = 1
        while self._of_ask(many) < of_map and many < 10**6:
            many *= 2
        low = many // 2
        while many - low > 1:
            middle = (low + many) // 2
            low, many = (middle, many) if self._of_ask(middle) < of_map else (low, middle)
        return PublishOrAsk(questions, radius, of_map, self._of_ask(questions), many)

    def price_of(self, error: float) -> float:
        """Return what one question costs whose answer is off by at most `error` in 95 %."""
        return float(price_of_error(error / self.step, sensitivity=self.moved, noises=self.sizes.noises))

    def _of_ask(self, questions: int) -> float:
        """Return the mean absolute error of each of so many answers that share epsilon."""
        each = Epsilon(max(1, self.sizes.epsilon.nano // questions))
        law = DiscreteLaplace(Fraction(self.moved) / each.exact)
        return NoiseSum(law, self.sizes.noises).mean_absolute() * self.step


def _even(sizes: MapSizes) -> Floats:
    return np.full(sizes.blocks.cells, sizes.records * sizes.unit / sizes.blocks.cells)


def price_of_error(error: float, *, sensitivity: int, noises: float, known: float = math.inf) -> Epsilon:
    """Return the least epsilon with which an answer, together with what is known, is off by at most `error` in 95 %.

    `known` is the standard deviation of what is known already; `error` and it are in whole units.
    """
    wanted = number(error, name="error", refusal=InvalidQuery)
    if wanted <= 0:
        raise InvalidQuery(f"error is how far off an answer may be in 95 %: more than 0, got {error!r}")
    rest = (quantile(3 / max(noises, 1.0)) / wanted) ** 2 - known**-2
    if rest <= 0:
        raise InvalidQuery("what is known is sharp enough")
    target = math.sqrt(1 / rest)
    low, high = 0, 1
    while _deviation(high, sensitivity, noises) > target:
        low, high = high, high * 2
        if high > 1000 * NANO:
            raise InvalidQuery(f"no epsilon makes an answer as sharp as {error:g}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _deviation(middle, sensitivity, noises) > target else (low, middle)
    return Epsilon(high)


def sharp_enough(free: FreeAnswer, error: float) -> bool:
    """Tell whether a free answer's interval reaches no farther than `error`."""
    return _reach(free) <= error


def price_beyond(free: FreeAnswer, error: float, *, step: float, sensitivity: int, noises: float) -> Epsilon:
    """Return the least epsilon of an answer that is, together with a free one, off by at most `error` in 95 %.

    Requires:  the free answer alone is not `sharp_enough`.
    """
    # where one end of the interval is the farther one, that is how little is known
    known = max(math.hypot(free.noise, free.uneven), _reach(free) / quantile(3 / max(noises, 1.0)))
    return price_of_error(error / step, sensitivity=sensitivity, noises=noises, known=known / step)


def _reach(free: FreeAnswer) -> float:
    value = free.value or 0.0
    return max(free.interval[1] - value, value - free.interval[0])


def _deviation(nano: int, sensitivity: int, noises: float) -> float:
    return NoiseSum(DiscreteLaplace(scale_of_noise(sensitivity, Epsilon(nano))), noises).standard_deviation
