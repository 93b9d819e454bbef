"""A ladder of published maps: long windows tell where inside cells records lie, short ones tell when.

A map of one day has few records and so large cells. A map of the month before was released already, and is finer:
inside the day's cells, records are taken to lie as that one says instead of evenly. A long time is read from few maps:
those windows that make it up with the least variance (`tree.py`).

Guarantee: everything here is post-processing of released maps: it costs nothing. At unit record, add-remove, a record
           pays for one map of each length (`shelf.cost_together`).
Proof:     docs/guarantees.md#trees-of-windows
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidQuery
from fedgroup.maps.answering import Atlas, Weights
from fedgroup.maps.areas import covered
from fedgroup.maps.free import NOTHING, FreeAnswer, nothing_note, quantile
from fedgroup.maps.intervals import uneven_in
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.shelf import costs_together
from fedgroup.maps.tree import Window, best_weights, needed
from fedgroup.maps.unevenness import Unevenness
from fedgroup.questions.instants import When, as_instant
from fedgroup.space import Box, PublicMap, Range
from fedgroup.space.blocks import Boxes
from fedgroup.space.shapes import as_range

Floats = npt.NDArray[np.float64]

SIDE = 256
"""So many pixels wide and high a shape is."""
_FLOOR = 0.01
"""What a pixel holds at least, in records: nowhere is known to be empty."""
_WHOLE = 1e-9
_SHARED = 0.15
"""Records may lie in the same corners of cells day after day, so deviations of windows add up, not their squares; this
share of it is left where an earlier map tells of these corners (chosen as `lab/experiments/ladder.py` says)."""


@dataclass(frozen=True)
class Pixels:
    """A domain as equal pixels, row by row from the south-west."""

    domain: Box
    side: int = SIDE

    @cached_property
    def edges(self) -> tuple[Floats, Floats]:
        box, steps = self.domain, np.arange(self.side + 1) / self.side
        return box.west + steps * box.width, box.south + steps * box.height

    @cached_property
    def boxes(self) -> Boxes:
        xs, ys = self.edges
        column, row = np.tile(np.arange(self.side), self.side), np.repeat(np.arange(self.side), self.side)
        return Boxes(xs[column], ys[row], xs[column + 1], ys[row + 1])

    @cached_property
    def middles(self) -> tuple[Floats, Floats]:
        west, south, east, north = self.boxes
        return (west + east) / 2, (south + north) / 2

    def covered_by(self, asked: Range, public_map: PublicMap) -> Floats:
        """Return the share of each pixel that a range covers."""
        shares: Floats = covered(asked, public_map, self.boxes)
        return shares


def shape_of(atlas: Atlas, pixels: Pixels) -> Floats:
    """Return how many records each pixel holds as a map has it, and a little more."""
    west, south, east, north = atlas.made.cut.boxes
    density = np.maximum(atlas.made.cells, 0.0) / ((east - west) * (north - south))
    area = pixels.domain.width * pixels.domain.height / pixels.side**2
    shape: Floats = density[atlas.made.cut.cell_of(*pixels.middles)] * area + _FLOOR
    return shape


@dataclass(frozen=True, eq=False)
class Shaped:
    """A map inside whose cells records are taken to lie as a shape says; cells smaller than pixels are cut by area."""

    atlas: Atlas
    shape: Floats
    pixels: Pixels

    def weights(self, asked: Range, cover: Floats) -> Weights:
        """Return what a range takes of the map; `cover` is the share of each pixel in it."""
        atlas, cut, whole = self.atlas, self.atlas.made.cut, self._whole
        plain = atlas.weights(asked)
        part = np.zeros(len(whole))
        part[atlas.cells_of(plain.blocks[plain.share == 1.0])] = 1.0
        part[plain.cells] = plain.part
        inside = np.bincount(self._cell, self.shape * cover, len(whole))
        part = np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), part)
        share = np.add.reduceat(part, cut.offsets[:-1]) / (cut.offsets[1:] - cut.offsets[:-1])
        blocks = np.flatnonzero(share > _WHOLE)
        is_whole = share[blocks] > 1 - _WHOLE
        cells = atlas.cells_of(blocks[~is_whole])
        return Weights(blocks, np.where(is_whole, 1.0, share[blocks]), cells, part[cells])

    @cached_property
    def _cell(self) -> npt.NDArray[np.int64]:
        return self.atlas.made.cut.cell_of(*self.pixels.middles)

    @cached_property
    def _whole(self) -> Floats:
        return np.bincount(self._cell, self.shape, len(self.atlas.made.cells)).astype(np.float64)


@dataclass(frozen=True)
class Rung:
    """What one map tells of a range, in whole units: its value, the variance of its noise, and what is uneven.

    `uneven` is a standard deviation, `below` and `above` how far it reaches in 95 %; `shaped` whether an earlier map
    tells where inside cells records lie.
    """

    value: float
    noise: float
    uneven: float
    below: float
    above: float
    shaped: bool


@dataclass(frozen=True)
class Climbed:
    """What several maps tell together: a value, standard deviations of noise and unevenness, and a 95 % interval."""

    value: float
    noise: float
    uneven: float
    interval: tuple[float, float]


def rung_of(atlas: Atlas, weights: Weights, unevenness: Unevenness, *, shaped: bool) -> Rung:
    """Return what one map tells: free of bias, since what one map is off adds up over many."""
    return Rung(atlas.unbiased(weights), atlas.noise(weights).variance, *uneven_in(atlas, weights, unevenness), shaped)


def climbed(begin: int, end: int, windows: Sequence[Window], rungs: Sequence[Rung], *, noises: float) -> Climbed:
    """Return what maps of these windows tell of [begin, end) together: the sum of them with the least variance."""
    told = np.array([(each.value, each.noise, each.uneven, each.below, each.above) for each in rungs]).reshape(-1, 5)
    value, noise, uneven, below, above = told.T
    weights = best_weights(begin, end, windows, (noise + uneven**2).tolist())
    noise = weights**2 * noise
    spread = float(noise.sum())
    fewness = float((noise**2).sum()) / spread**2 if spread else 0.0
    half = quantile(3 * fewness / max(noises, 1.0)) * math.sqrt(spread)
    shared = np.where([each.shaped for each in rungs], _SHARED, 1.0)

    def together(parts: Floats) -> float:
        """Return how far unevenness reaches in all: some of it is the same in every window and adds up."""
        mine = np.abs(weights) * parts
        return math.hypot(float((np.sqrt(shared) * mine).sum()), math.sqrt(float(((1 - shared) * mine**2).sum())))

    taken = weights < 0  # what is less in such a window is more in the sum
    down, up = together(np.where(taken, above, below)), together(np.where(taken, below, above))
    found = float((weights * value).sum())
    ends = max(found - math.hypot(half, down), 0.0), max(found, 0.0) + math.hypot(half, up)
    return Climbed(found, math.sqrt(spread), together(uneven), ends)


def before(number: int, windows: Sequence[Window]) -> int | None:
    """Return the newest window that is longer than this one and ended when it began, or earlier; None if none did."""
    first, last = windows[number]
    longer = [
        (ended, at) for at, (began, ended) in enumerate(windows) if ended <= first and ended - began > last - first
    ]
    return max(longer)[1] if longer else None


def _about(made: PublishedMap) -> tuple[Any, ...]:
    return made.kind, made.query.measure, made.public_map


@dataclass(frozen=True, eq=False)
class Ladder:
    """Published maps of one kind, of windows of several lengths."""

    maps: tuple[PublishedMap, ...]

    def __post_init__(self) -> None:
        first = self.maps[0] if self.maps else None
        if first is None or any(_about(each) != _about(first) for each in self.maps):
            raise InvalidQuery("a ladder is made of maps of one kind and one domain")
        if first.kind == "people":
            raise InvalidQuery("people do not add up over time: who is there on two days is counted in both maps")
        if any(m.query.since is None or m.query.until is None for m in self.maps):
            raise InvalidQuery("a ladder is made of maps with a time: since and until")
        if first.publication.sizes.signed:
            raise InvalidQuery("signed sums have no shape: they may be negative")

    def count(self, asked: Any, *, since: When, until: When) -> FreeAnswer:
        """Return what lies in a range in a time that maps of the ladder make up; nothing is charged."""
        public_map = self.maps[0].public_map
        about = as_range(asked, public_map)
        public_map.require_reachable(about)
        begin, end = as_instant(since, name="since"), as_instant(until, name="until")
        cover = self._pixels.covered_by(about, public_map)
        chosen = needed(begin, end, self._windows)
        found = climbed(
            begin,
            end,
            [self._windows[number] for number in chosen],
            [self._read(number, about, cover) for number in chosen],
            noises=min((self.maps[number].noises for number in chosen), default=1),
        )
        used = [self.maps[number] for number in chosen]
        told = f"read from {len(used)} map{'' if len(used) == 1 else 's'}, shaped by longer ones released before them"
        template, step = used[0].count(about), used[0].step
        return replace(
            template,
            value=max(found.value, 0.0) * step,
            interval=(found.interval[0] * step, found.interval[1] * step),
            noise=found.noise * step,
            uneven=found.uneven * step,
            **self._cost,
            private=all(each.private for each in used),
            heard=min(each.heard for each in used),
            missing=max(each.missing for each in used),
            notes=(*(each for each in template.notes if each != NOTHING), told, *nothing_note(found.interval)),
        )

    @cached_property
    def _windows(self) -> list[Window]:
        return [(int(m.query.since or 0), int(m.query.until or 0)) for m in self.maps]

    @cached_property
    def _cost(self) -> dict[str, Any]:
        """What all maps cost one protected unit together."""
        return costs_together(self.maps)

    @cached_property
    def _pixels(self) -> Pixels:
        return Pixels(self.maps[0].public_map.domain)

    @cached_property
    def _shapes(self) -> dict[int, Floats]:
        return {}

    def _shaped(self, number: int) -> Shaped | None:
        """Return a map shaped by the one before it, if there is one."""
        longer = before(number, self._windows)
        if longer is None:
            return None
        if longer not in self._shapes:
            self._shapes[longer] = shape_of(self.maps[longer].atlas, self._pixels)
        return Shaped(self.maps[number].atlas, self._shapes[longer], self._pixels)

    def _read(self, number: int, asked: Range, cover: Floats) -> Rung:
        """Return what one map tells of a range."""
        made, shaped = self.maps[number], self._shaped(number)
        weights = made.atlas.weights(asked) if shaped is None else shaped.weights(asked, cover)
        return rung_of(made.atlas, weights, made.unevenness, shaped=shaped is not None)
