"""The user: reads values and honest intervals out of noisy totals. All of it is post-processing, free of charge.

Every interval is that of the noise, from its exact law. Clipping, rounding to the resolution and missing owners are
not in it; answers say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon, weak_notes
from fedgroup.maps.private_map import PrivateMap
from fedgroup.messages import NoiseScale, NoisyTotals
from fedgroup.privacy.concentrated import law_of_noise
from fedgroup.privacy.concentrated_law import ConcentratedSum
from fedgroup.privacy.law import NoiseSum
from fedgroup.questions.answers import Answer, Expectation, ExpectedError
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import PublicMap

CONFIDENCE = 0.95

NO_MEAN = (
    "there is no mean: the noisy count is {count:.0f} where noise alone moves a count by up to {half:.0f}; "
    "ask about a larger range, or with a larger epsilon"
)
WIDE_MEAN = (
    "the interval is wide: the noisy count is {count:.0f}, and noise alone moves a count by up to {half:.0f}; "
    "ask about a larger range, or with a larger epsilon"
)
NO_MEANS = (
    "{hidden} of {bins} bins have no mean: noise hides how many records they have; take fewer bins, or a larger epsilon"
)

Interval = tuple[float, float]
Floats = npt.NDArray[Any]


@dataclass(frozen=True)
class Reading:
    """A value and the interval that the noise leaves open; no value when the noise hides it.

    `notes` say what the reader should know, made of what was asked and of noisy values only.
    """

    value: float | None
    interval: Interval
    notes: tuple[str, ...] = ()


def read(query: RangeQuery, totals: NoisyTotals) -> Reading:
    """Return the value that a question's noisy totals stand for in its first bin, with its 95 % interval."""
    first = {part: float(sums[0]) if totals.continuous else int(sums[0]) for part, sums in totals.parts.items()}
    return _READERS.get(query.kind, _read_sum)(query, _One(first, totals))


@dataclass(frozen=True)
class _One:
    """The noisy totals of one bin, and the laws of their noise."""

    parts: Mapping[str, float]
    of: NoisyTotals

    def interval(self, part: str, confidence: float) -> Interval:
        half = law_of(self.of, part).half_width(confidence)
        return self.parts[part] - half, self.parts[part] + half


def law_of(totals: NoisyTotals, part: str) -> NoiseSum | ConcentratedSum:
    """Return the law of the noise in every bin of a part."""
    noises, shared, continuous = totals.noises, totals.shared, totals.continuous
    return law_of_noise(totals.scales[part], noises=noises, shared=shared, continuous=continuous)


def _read_sum(query: RangeQuery, totals: _One) -> Reading:
    """Return the one part that a sum or a count is made of."""
    part = query.parts[0]
    step = _step(query.measure) if part == "sum" else Fraction(1)
    low, high = totals.interval(part, CONFIDENCE)
    return Reading(
        _number(totals.parts[part], step), (_number(low, step), _number(high, step)), weak_notes(query.epsilon)
    )


def answer(
    query: RangeQuery,
    totals: Sequence[NoisyTotals],
    *,
    method: Mapping[str, Any],
    charged: float,
    notes: Iterable[str],
    lonlat: bool = False,
    **told: Any,
) -> Answer:
    """Return the answer that noisy totals stand for, of one round or, for evaluation, of several.

    `method` are the facts of the method that was used, `told` what its carrier knows besides: who was heard, when.
    """
    readings = [read(query, each) for each in totals]
    first = readings[0]
    return Answer(
        kind=query.kind,
        value=first.value,
        interval=first.interval,
        confidence=CONFIDENCE,
        charged=charged,
        notes=(*notes, *first.notes),
        values=tuple(reading.value for reading in readings) if len(readings) > 1 else (),
        range=query.one_range,
        lonlat=lonlat,
        **method,
        **told,
    )


def map_answer(
    query: RangeQuery,
    totals: NoisyTotals,
    *,
    public_map: PublicMap,
    method: Mapping[str, Any],
    charged: float,
    notes: Iterable[str],
    **told: Any,
) -> PrivateMap:
    """Return the map that noisy totals stand for: a value and a 95 % interval in every bin.

    `half_width_all` holds in all bins at once with 95 %: noises of different bins are independent, so each bin is given
    the confidence 0.95^(1/bins).
    """
    values, low, high, half = (_means if query.kind == "avg" else _sums)(query, totals)
    hidden = int(np.isnan(values).sum())
    no_means = (NO_MEANS.format(hidden=hidden, bins=query.bins),) if hidden and totals.noises else ()
    return PrivateMap(
        query=query,
        public_map=public_map,
        values=values,
        low=low,
        high=high,
        half_width_all=half,
        scales={part: float(scale) for part, scale in totals.scales.items()},
        confidence=CONFIDENCE,
        charged=charged,
        notes=(*notes, *no_means, *weak_notes(query.epsilon)),
        **method,
        **told,
    )


def _sums(query: RangeQuery, totals: NoisyTotals) -> tuple[Floats, Floats, Floats, float]:
    """Return every bin's value, its interval, and how far off any of them is at most."""
    part = query.parts[0]
    step = float(_step(query.measure)) if part == "sum" else 1
    law, values = law_of(totals, part), np.asarray(totals.parts[part]) * step
    confidences = (CONFIDENCE, CONFIDENCE ** (1 / query.bins))
    half, together = (_whole(law.half_width(confidence)) * step for confidence in confidences)
    return values, values - half, values + half, together


def _means(query: RangeQuery, totals: NoisyTotals) -> tuple[Floats, Floats, Floats, None]:
    """Return every bin's mean, NaN where noise hides it, and its interval."""
    bins = ({part: float(sums[at]) for part, sums in totals.parts.items()} for at in range(query.bins))
    readings = [_read_average(query, _One(each, totals)) for each in bins]
    low, high = np.array([each.interval for each in readings]).T
    return np.array([math.nan if each.value is None else each.value for each in readings]), low, high, None


def expectation(
    query: RangeQuery,
    *,
    scales: Mapping[str, NoiseScale],
    method: Mapping[str, Any],
    charge: Epsilon,
    left: Epsilon | None,
    continuous: bool = False,
    shared: float = 0.0,
    affordable: bool | None = None,
    **told: Any,
) -> Expectation:
    """Return what an answer by a method would be like and would cost, where so much is `left` to spend."""
    return Expectation(
        kind=query.kind,
        charge=float(charge),
        confidence=CONFIDENCE,
        errors=expect(query, scales=scales, noises=method["noises"], shared=shared, continuous=continuous),
        left=None if left is None else float(left),
        affordable=left is None or charge <= left if affordable is None else affordable,
        bins=query.bins,
        **method,
        **told,
    )


def expect(
    query: RangeQuery, *, scales: Mapping[str, NoiseScale], noises: float, continuous: bool, shared: float = 0.0
) -> dict[str, ExpectedError]:
    """Return the error to expect of each part of an answer, in the unit of the answer."""
    return {
        part: _expected(query, part, law_of_noise(scales[part], noises=noises, shared=shared, continuous=continuous))
        for part in query.parts
    }


def _expected(query: RangeQuery, part: str, law: NoiseSum | ConcentratedSum) -> ExpectedError:
    step = float(_step(query.measure)) if part == "sum" else 1.0
    return ExpectedError(law.mean_absolute() * step, law.standard_deviation * step, law.half_width(CONFIDENCE) * step)


def _read_average(query: RangeQuery, totals: _One) -> Reading:
    """Return SUM / COUNT; each is given half of the 5 % that may be missed, so both hold together in 95 %."""
    assert query.measure is not None  # noqa: S101  checked at the query's birth
    bounds = query.measure.bounds
    each = 1 - (1 - CONFIDENCE) / 2
    step = query.measure.step
    sums = tuple(float(Fraction(end) * step) for end in totals.interval("sum", each))
    counts = totals.interval("count", each)
    notes = (*_small_count_notes(totals.parts["count"], counts), *weak_notes(query.epsilon))
    if totals.parts["count"] <= 0:
        # without noise there is no mean of nothing; with it, any may be right
        return Reading(None, bounds if totals.of.noises else (math.nan, math.nan), notes)
    mean = float(Fraction(totals.parts["sum"]) * step / Fraction(totals.parts["count"]))
    return Reading(_cut(mean, bounds), _quotients(sums, counts, bounds), notes)


def _small_count_notes(count: float, interval: Interval) -> tuple[str, ...]:
    """Return why a mean is missing, or hardly known: noise may halve the count it is divided by."""
    half = interval[1] - count
    if count > 2 * half:
        return ()
    return ((WIDE_MEAN if count > 0 else NO_MEAN).format(count=count, half=half),)


def _quotients(sums: tuple[float, ...], counts: Interval, bounds: Interval) -> Interval:
    """Return the range of sum / count, cut to the values a mean can take; a true mean has a count of 1 or more.

    Where none of it is a value that a mean can take, noise was larger than an interval allows for, and all are left.
    """
    low, high = max(1.0, counts[0]), max(1.0, counts[1])
    corners = [end / count for end in sums for count in (low, high)]
    least, most = min(corners), max(corners)
    if least < most and (most <= bounds[0] or least >= bounds[1]):
        return bounds
    return _cut(least, bounds), _cut(most, bounds)


def _cut(value: float, bounds: Interval) -> float:
    return min(max(value, bounds[0]), bounds[1])


def _step(measure: Measure | None) -> Fraction:
    return Fraction(1) if measure is None else measure.step


def _whole(number: float) -> float:
    """Return a number as an int where it is one: counts that noise moved by whole numbers stay whole."""
    return int(number) if float(number).is_integer() else number


def _number(units: float, step: Fraction) -> float:
    """Return units of the resolution as a number, whole where it can be."""
    if step == 1:
        return int(units) if float(units).is_integer() else float(units)
    return float(Fraction(units) * step)


_READERS = {"avg": _read_average}
"""How kinds are read whose value is no sum itself."""
