"""Which event tells two worlds apart best: looked for among some outcomes, to be judged on others.

An outcome is a row of released numbers, and an event a threshold of a score. Scores add up what each number tells, as
the logarithm of its likelihood ratio: learnt from frequencies, bin by bin; or that of noise with exponential tails, or
of normal noise, around middles that are learnt. Where numbers are independent and one of these is right, no event tells
more than some threshold of it; where not, the event is as valid and tells less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fedgroup.lab.audit.bounds import least_epsilon

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Score = Callable[[Numbers], Numbers]

_BINS = 32
_THRESHOLDS = 96
_LUCK = 0.01
"""How often chance alone may make an event look as good as it does: few outcomes prove little of a rare one."""
_FAR = 4.0
"""So many standard errors the middles of a number differ, or so much a bin's frequencies, before it is listened to."""


@dataclass(frozen=True, eq=False)
class Event:
    """The outcomes whose score exceeds `above`; `swapped` where it is the second world that they are likelier in."""

    score: Score
    above: float
    swapped: bool

    def holds(self, outcomes: Numbers) -> Flags:
        """Tell of each outcome whether it is in the event."""
        scores = self.score(outcomes)
        return np.asarray((-scores if self.swapped else scores) > self.above)


@dataclass(frozen=True, eq=False)
class FoundEvent:
    """The best event of a search, and the bound that it showed there."""

    event: Event
    hoped: float


def best_event(one: Numbers, other: Numbers, *, delta: float) -> FoundEvent:
    """Return the event for which the bound is highest: scores are learnt from half of these outcomes.

    The other half chooses among scores and thresholds, so that what was learnt by heart wins nothing.
    """
    half = len(one) // 2
    found = []
    for score in _scores(one[:half], other[:half]):
        first, second = score(one[half:]), score(other[half:])
        for swapped, likely, unlikely in ((False, first, second), (True, -second, -first)):
            for above, often, seldom in _cuts(likely, unlikely):
                bound = least_epsilon(often, seldom, len(likely), alarm=_LUCK, delta=delta)
                found.append((bound, Event(score, above, swapped)))
    hoped, event = max(found, key=lambda each: each[0])
    return FoundEvent(event, hoped)


def _scores(one: Numbers, other: Numbers) -> Iterator[Score]:
    """Yield what an outcome can be scored by; where the worlds look alike, by the numbers that differ most."""
    yield partial(_by_frequency, *_frequencies(one, other))
    middles = np.median(one, axis=0), np.median(other, axis=0)
    spread = (np.abs(one - middles[0]).mean(axis=0) + np.abs(other - middles[1]).mean(axis=0)) / 2
    spread = np.where(spread > 0, spread, 1.0)
    apart = np.abs(middles[0] - middles[1]) / spread * np.sqrt(len(one))
    weights = np.where(apart >= min(_FAR, float(apart.max())), 1.0, 0.0) / spread
    yield partial(_by_exponential, *middles, weights)
    yield partial(_by_normal, middles[0] - middles[1], weights / spread)


def _by_exponential(first: Numbers, second: Numbers, weights: Numbers, outcomes: Numbers) -> Numbers:
    scores: Numbers = (np.abs(outcomes - second) - np.abs(outcomes - first)) @ weights
    return scores


def _by_normal(shift: Numbers, weights: Numbers, outcomes: Numbers) -> Numbers:
    scores: Numbers = outcomes @ (shift * weights)
    return scores


def _by_frequency(
    columns: tuple[int, ...], edges: tuple[Numbers, ...], ratios: tuple[Numbers, ...], outcomes: Numbers
) -> Numbers:
    scores = np.zeros(len(outcomes))
    for column, cut, ratio in zip(columns, edges, ratios, strict=True):
        scores += ratio[np.searchsorted(cut, outcomes[:, column], side="right")]
    return scores


def _frequencies(one: Numbers, other: Numbers) -> tuple[tuple[int, ...], tuple[Numbers, ...], tuple[Numbers, ...]]:
    """Return the numbers that differ, the bins of each, and the logarithms of the ratio of frequencies."""
    found = []
    for column in range(one.shape[1]):
        both = np.concatenate([one[:, column], other[:, column]])
        edges = np.unique(np.quantile(both, np.arange(1, _BINS) / _BINS))
        first, second = (_counted(side[:, column], edges) for side in (one, other))
        differs = float(((first - second) ** 2 / (first + second + 1)).sum()) / len(first)
        found.append((differs, column, edges, np.log((first + 0.5) / (second + 0.5))))
    least = min(_FAR, max(differs for differs, *_ in found))
    _, columns, edges, ratios = zip(*(each for each in found if each[0] >= least), strict=True)
    return columns, edges, ratios


def _counted(values: Numbers, edges: Numbers) -> Numbers:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1).astype(np.float64)


def _cuts(likely: Numbers, unlikely: Numbers) -> Iterator[tuple[float, int, int]]:
    """Yield thresholds with how many of either world's outcomes are above."""
    both = np.concatenate([likely, unlikely])
    likely, unlikely = np.sort(likely), np.sort(unlikely)
    for above in np.unique(np.quantile(both, np.linspace(0, 1, _THRESHOLDS, endpoint=False))):
        often = len(likely) - np.searchsorted(likely, above, side="right")
        seldom = len(unlikely) - np.searchsorted(unlikely, above, side="right")
        yield float(above), int(often), int(seldom)
