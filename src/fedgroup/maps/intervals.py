"""The interval of a free answer: it holds what noise adds, and what records may do inside the cells that a border cuts.

Noise is symmetric, and its variance is exact. What lies inside of cut cells is not symmetric: it cannot be negative,
most of it may be in one place, and people ask where it is busy, so that a place is the likelier to be asked about the
more it holds. A gamma law with the same mean and variance holds all three: weighted by its own size it is a gamma law
again, of a shape larger by one. That one gives the upper end, the plain one the lower.

So an interval holds for two laws: that of places drawn by area, and that of places drawn where records are. The first
hardly ever fails above, the second hardly ever below. Where both are far apart each may fail in 5 % at its own end;
where they are one, in 2.5 % at both (Imbens and Manski, Econometrica 72, 2004).

A cell may hold more than it seems to: how much cells of its depth hold beyond their noise is learnt from the map, and
is part of the variance. Cells that were made non-negative are biased where they were changed much: how far the sum is
from that of plain least squares, beyond its noise, is added to the end that lies there. A busy sum is below it for one
reason: cells elsewhere, that noise had made negative, were brought up at its cost. So all of that is added.

Where most cells are empty their noise is gone once they are 0: a busy sum then has far less than least squares leave.
How much is left were the empty ones known is exact (`Atlas.noise_left`), but they are not known: twice of it is taken,
where that is less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedgroup.maps.answering import Atlas, Floats, Weights
from fedgroup.maps.free import Z, quantile
from fedgroup.maps.unevenness import Unevenness

ROUGH = (
    "this range is small against the cells of the map that it cuts: how much of them it holds is hardly known, and the "
    "interval is rough; ask about a larger range, snap it to cells, or sharpen it"
)
GUESSED = (
    "this map has too few cells to show how unevenly records lie inside of them, which is much of this answer's error: "
    "that part of the interval is a guess; snap the range to cells, or sharpen it"
)
_MATTERS = 0.6
"""From so many times the noise on unevenness must not be a guess: were v 1 where it is taken as 0.6, an interval that
holds in 95 % would hold in less than 93 %."""
_EDGE = 1e-9
_ONE_SIDED = 1.644854
_STEPS = 6
_BUSY = 5.0
"""A sum of so many times its noise is busy. Chosen on the synthetic cities: from 2 on it makes little difference."""
_UNSURE = 2.0
"""So many times the noise that is left were empty cells known. In the clumped city it was 1.5 to 2 times that, where
that is less than half of what least squares leave; in New York it hardly ever is."""
_MILDER, _FROM, _TO = 0.4, 0.1, 0.2
"""How much less of the variance of unevenness is taken above, from and to which shares of the sum its root has.

Ranges that cut few of the records they hold need all of it. Of those that cut many, 2.5 % were above by 2 standard
deviations or more in New York; with all of it the upper end is at 2.5 to 3."""


@dataclass(frozen=True)
class FoundSum:
    """What a weighted sum of a map comes to, in whole units: its value, its interval and both parts of its error."""

    value: float
    low: float
    high: float
    noise: float
    uneven: float


def interval_of(atlas: Atlas, weights: Weights, unevenness: Unevenness, *, noises: float) -> FoundSum:
    """Return the value of a weighted sum with its 95 % interval."""
    value, spread = atlas.value(weights), atlas.noise(weights)
    noise = math.sqrt(spread.variance)
    cut = _Cut.of(atlas, weights, unevenness)
    excess = 3 * spread.fewness / max(noises, 1.0)
    if atlas.made.sizes.signed:
        both = math.hypot(quantile(excess) * noise, Z * math.sqrt(cut.most))
        return FoundSum(value, value - both, value + both, noise, math.sqrt(cut.most))
    mean = max(value, noise, float(atlas.made.sizes.unit))
    busy = value > _BUSY * noise
    left = min(_UNSURE * math.sqrt(atlas.noise_left(weights).variance), noise) if busy else noise
    reach = reach_of_two(cut.most / mean / math.hypot(left, math.sqrt(cut.most))) if cut.most else Z
    down, up = cut.ends(mean, reach)
    half = quantile(excess) * left * reach / Z
    moved = atlas.unbiased(weights) - value
    below = max(-moved - noise, 0.0)
    # what noise is gone is in the plain sum still, and does not tell how far this one was moved
    above = max(moved * left / noise if busy else moved - noise, 0.0)
    low = max(0.0, value - math.hypot(half, down) - below)
    high = max(value, 0.0) + math.hypot(half, up) + above
    return FoundSum(value, low, high, left, math.sqrt(cut.most))


def reach_of_two(apart: float) -> float:
    """Return how many deviations below the lower and above the upper of two normal laws an interval holds both in 95 %.

    Their means are so many deviations `apart`: 1.96 where they are one, 1.64 where they are far from each other.
    """
    reach = _ONE_SIDED
    for _ in range(_STEPS):
        # Newton's steps from the left: what is outside falls, and falls ever slower, so none goes too far
        outside = _tail(reach) + _tail(reach + apart) - 0.05
        reach += outside / (_density(reach) + _density(reach + apart))
    return reach


def uneven_in(atlas: Atlas, weights: Weights, unevenness: Unevenness) -> tuple[float, float, float]:
    """Return what records may do inside the cells that a border cuts, in whole units, where sums are not signed.

    It is the standard deviation, and how far that reaches below and above in 95 %.
    """
    cut, noise = _Cut.of(atlas, weights, unevenness), math.sqrt(atlas.noise(weights).variance)
    return math.sqrt(cut.most), *cut.ends(max(atlas.value(weights), noise, float(atlas.made.sizes.unit)))


def rough_note(found: FoundSum, unevenness: Unevenness) -> tuple[str, ...]:
    """Return a note where unevenness is larger than what was found, or much of the error and only guessed."""
    if found.uneven > max(found.value, found.noise):
        return (ROUGH,)
    return (GUESSED,) if unevenness.guessed and found.uneven > _MATTERS * found.noise else ()


@dataclass(frozen=True)
class _Cut:
    """Variances of what lies inside of cut cells, without and with what may hide in noise; all that is in or out."""

    least: float
    most: float
    inside: float
    beyond: float

    def ends(self, mean: float, reach: float = Z) -> tuple[float, float]:
        """Return how far a sum of this mean is below and above in 95 %, or in so many standard deviations."""
        below = min(mean - _gamma(mean, self.least, -reach), reach * math.sqrt(self.least), self.inside)
        part = (math.sqrt(self.most) / mean - _FROM) / (_TO - _FROM)
        most = self.most * (1 - _MILDER * min(max(part, 0.0), 1.0))
        return below, min(_gamma(mean, most, reach, busy=True) - mean, max(self.beyond, 0.0))

    @classmethod
    def of(cls, atlas: Atlas, weights: Weights, unevenness: Unevenness) -> _Cut:
        made = atlas.made
        parted = (weights.part > _EDGE) & (weights.part < 1 - _EDGE)
        cells, part = weights.cells[parted], weights.part[parted]
        block = made.cut.block_of[cells]
        depth = made.cut.depth[block]
        held = np.abs(made.cells[cells]) if made.sizes.signed else np.maximum(made.cells[cells], 0)
        # a cell's own count may be 0 by luck: half of what its block suggests is kept
        mean = np.maximum(made.blocks[block], 0) / np.power(4.0, depth)
        near: Floats = np.maximum(held, mean / 2)
        hidden = unevenness.hidden[depth]
        lumps = unevenness.by_depth[depth] * part * (1 - part)
        beyond = float((held + Z * np.sqrt(hidden) - part * held).sum())
        inside = float((part * held).sum())
        return cls(float((lumps * near**2).sum()), float((lumps * (near**2 + hidden)).sum()), inside, beyond)


def _tail(reach: float) -> float:
    return math.erfc(reach / math.sqrt(2)) / 2


def _density(reach: float) -> float:
    return math.exp(-(reach**2) / 2) / math.sqrt(2 * math.pi)


def _gamma(mean: float, variance: float, z: float, *, busy: bool = False) -> float:
    """Return a quantile of a gamma law, or of the same weighted by its size (Wilson and Hilferty's approximation)."""
    if variance <= mean**2 * 1e-12:
        return mean
    shape = mean**2 / variance + busy
    return variance / mean * shape * max(1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape)), 0.0) ** 3
