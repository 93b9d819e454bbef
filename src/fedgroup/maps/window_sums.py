"""Plain maps of many windows, added up: a map of any time that windows make up, from as few noises as they allow.

Standing maps are such: one map of every hour, of every 16 hours, of every 256. Their bins are the same, so that bin by
bin a long time is the sum of few maps, weighted as `tree.py` has it.

Guarantee: this is post-processing of released maps: it costs nothing. Intervals are of the weighted noises: 95 % by
           their variance and kurtosis, and all bins at once by a bound that holds for every such sum (Chernoff).
Proof:     docs/guarantees.md#trees-of-windows
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import quantile
from fedgroup.maps.private_map import PrivateMap, noise_in
from fedgroup.maps.shelf import costs_together
from fedgroup.maps.tree import Window, best_weights, needed
from fedgroup.privacy.law import NoiseSum
from fedgroup.questions.instants import When, as_instant
from fedgroup.rho import Rho

Floats = npt.NDArray[np.float64]

_STEPS = 400


@dataclass(frozen=True, eq=False)
class WindowMaps:
    """Maps of the same bins, each of one window of time."""

    maps: tuple[PrivateMap, ...]

    def __post_init__(self) -> None:
        if any(made.query.every is not None for made in self.maps):
            raise InvalidQuery("a series has windows of its own: add up maps of one window each")
        if not self.maps or any(_about(made) != _about(self.maps[0]) for made in self.maps):
            raise InvalidQuery("maps of windows are added up if they are of one kind, domain, places and categories")
        if any(each.query.since is None or each.query.until is None for each in self.maps):
            raise InvalidQuery("maps of windows have a time: since and until")
        if self.maps[0].kind not in ("count", "sum"):
            raise InvalidQuery("counts and sums add up over time; people who come twice, and means, do not")

    def between(self, since: When, until: When) -> PrivateMap:
        """Return the map of a time that windows make up; nothing is charged.

        Its epsilon, or rho, is what all maps here cost one protected unit together: a record has one time, and pays for
        one map of each level.
        """
        begin, end = as_instant(since, name="since"), as_instant(until, name="until")
        chosen = [self.maps[number] for number in needed(begin, end, self._windows)]
        noises = [_BinNoise.of(made) for made in chosen]
        weights = best_weights(begin, end, [_window(made) for made in chosen], [each.variance for each in noises])
        law = Weighted(tuple(zip(weights.tolist(), noises, strict=True)))
        values: Floats = np.sum([w * made.values for w, made in zip(weights, chosen, strict=True)], axis=0)
        some = chosen[0]
        step = 1.0 if some.query.measure is None else float(some.query.measure.step)
        half = law.half_width() * step
        floor = -math.inf if some.signed else 0.0
        told = f"added up from {len(chosen)} map{'' if len(chosen) == 1 else 's'} of windows; nothing was charged"
        return replace(
            some,
            **self._cost,
            query=replace(some.query, since=begin, until=end, **self._price),
            values=values,
            low=np.maximum(values - half, floor),
            high=np.maximum(values, floor) + half,
            half_width_all=law.half_width_all(some.bins, some.confidence) * step,
            noises=some.noises * (law.variance / noises[0].variance if noises[0].variance else 1.0),
            charged=0.0,
            notes=(*dict.fromkeys(note for made in chosen for note in made.notes), told),
            id=None,
            log_entry=None,
            heard=min(made.heard for made in chosen),
            missing=max(made.missing for made in chosen),
            private=all(made.private for made in chosen),
        )

    @cached_property
    def _windows(self) -> list[Window]:
        return [_window(made) for made in self.maps]

    @cached_property
    def _cost(self) -> dict[str, Any]:
        """What all maps cost one protected unit together."""
        return costs_together(self.maps)

    @cached_property
    def _price(self) -> dict[str, Any]:
        """The same as a price, so that what is made of the sum knows what noise is in it."""
        if self.maps[0].query.rho is None:
            return {"epsilon": Epsilon.of(self._cost["epsilon"])}
        return {"rho": Rho.of(self._cost["rho"])}


@dataclass(frozen=True)
class _BinNoise:
    """The noise in one bin of one map, in whole units; `laplace` is None where tails are no heavier than Skellam's."""

    variance: float
    laplace: NoiseSum | None

    @classmethod
    def of(cls, made: PrivateMap) -> _BinNoise:
        law = noise_in(made, 1)
        return cls(law.standard_deviation**2, law if isinstance(law, NoiseSum) else None)

    @property
    def excess(self) -> float:
        """The excess kurtosis."""
        if self.laplace is None:
            return 1 / self.variance if self.variance else 0.0
        one = self.laplace.law
        return (one.square_variance / one.variance**2 - 2) / self.laplace.count if one.variance else 0.0

    @property
    def reach(self) -> float:
        """The frequencies below which exponential moments exist."""
        return math.inf if self.laplace is None else 1 / float(self.laplace.law.scale)

    def log_moment(self, at: Floats) -> Floats:
        """Return the logarithm of the mean of exp(at x noise), or no less."""
        if self.laplace is None:
            of_skellam: Floats = 2 * self.variance * np.sinh(at / 2) ** 2
            return of_skellam
        a, lack = self.laplace.law.a, -math.expm1(-self.reach)
        found: Floats = -self.laplace.count * np.log1p(-4 * a * np.sinh(at / 2) ** 2 / lack**2)
        return found


@dataclass(frozen=True)
class Weighted:
    """The law of a weighted sum of independent noises."""

    parts: tuple[tuple[float, _BinNoise], ...]

    @cached_property
    def variance(self) -> float:
        return math.fsum(weight**2 * noise.variance for weight, noise in self.parts)

    def half_width(self) -> float:
        """Return how far from 0 the sum is at most in 95 %."""
        if not self.variance:
            return 0.0
        fourth = math.fsum(noise.excess * (weight**2 * noise.variance) ** 2 for weight, noise in self.parts)
        return quantile(fourth / self.variance**2) * math.sqrt(self.variance)

    def half_width_all(self, bins: int, confidence: float) -> float:
        """Return how far from 0 none of so many independent sums is with `confidence`, or a little more.

        P(|S| > h) <= 2 exp(K(t) - t h) for every t > 0, with K the logarithm of the mean of exp(t S); so h is the least
        (K(t) + ln(2 bins / (1 - confidence))) / t.
        """
        if not self.variance:
            return 0.0
        deviation = math.sqrt(self.variance)
        last = min((noise.reach / abs(weight) for weight, noise in self.parts if weight), default=math.inf)
        at = np.linspace(0, min(last, 40 / deviation), _STEPS + 2)[1:-1]
        moments = sum((noise.log_moment(abs(weight) * at) for weight, noise in self.parts), start=np.zeros(_STEPS))
        return float(((moments + math.log(2 * bins / (1 - confidence))) / at).min())


def _window(made: PrivateMap) -> Window:
    return int(made.query.since or 0), int(made.query.until or 0)


def _about(made: PrivateMap) -> Any:
    """Return what maps have in common that can be added up."""
    query = made.query
    priced = None if query.rho is None else "rho"
    return replace(query, since=None, until=None, epsilon=Epsilon(1), rho=None), made.public_map, priced
