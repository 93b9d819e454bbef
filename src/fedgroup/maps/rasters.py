"""A published map as a picture has it: squares of one size, how dense they are, and which of them noise explains.

Cells differ in size by thousands; the finest are too small to be seen, and too small to stand out of their noise one by
one. A square holds many of them, or a part of one, and is tested as what it holds.

Guarantee: this is post-processing of released counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedgroup.maps.areas import square_km
from fedgroup.maps.private_map import Array, PrivateMap
from fedgroup.maps.published import PublishedMap
from fedgroup.privacy.law import NoiseSum
from fedgroup.space.blocks import Blocks

SIDE = 128
_PHANTOMS = 0.1
"""Twice the chance that noise alone shows any square of a picture."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Raster(PrivateMap):
    """A map on a grid of squares; values are per square kilometre (1,000 x 1,000 units)."""

    sure: Array = field(repr=False)
    cells: int


def raster(made: PublishedMap) -> Raster:
    """Return a published map as squares: no fewer than its blocks, and at least 128 a side."""
    blocks = made.blocks
    side = max(SIDE, blocks.side)
    grid = made.public_map.grid(side, side)
    row, column, across = blocks.places
    fine = across >= side
    pixel = np.where(fine, (row * side // across) * side + column * side // across, -1)
    counts, noisy = (_squares(values, blocks, pixel, side) for values in (made.atlas.made.cells, made.atlas.made.noisy))
    many = np.bincount(pixel[fine], minlength=side * side)
    area = square_km(Blocks(blocks.box, int(np.log2(side)), bytes(side * side)).boxes, made.public_map)
    shares = np.where(many > 0, 1.0, _shares(blocks, side))
    noisy_whole = np.where(many > 0, noisy, noisy / shares)
    sure = np.abs(noisy_whole) > _thresholds(made, np.maximum(many, 1))
    density = counts * made.step / area
    return Raster(
        **{each: getattr(made, each) for each in made.__dataclass_fields__ if each not in _OWN},
        query=made.publication.subject.question(grid, made.query.epsilon),
        values=density,
        low=density,
        high=density,
        sure=sure,
        cells=made.bins,
    )


_OWN = ("query", "values", "low", "high", "publication", "true_values")


def _squares(values: Array, blocks: Blocks, pixel: Array, side: int) -> Array:
    """Return what squares hold: the sum of their cells, or their share of the cell around them."""
    found = np.bincount(pixel[pixel >= 0], values[pixel >= 0], minlength=side * side)
    around = _around(blocks, side)
    part = pixel[around] < 0
    shared: Array = np.where(part, values[around] * _shares(blocks, side), found)
    return shared


def _shares(blocks: Blocks, side: int) -> Array:
    """Return which share of the cell around it a square is; more than 1 where it holds several."""
    shares: Array = (blocks.places[2][_around(blocks, side)] / side) ** 2
    return shares


def _around(blocks: Blocks, side: int) -> Array:
    """Return the cell that holds the middle of each square."""
    box = blocks.box
    x, y = np.meshgrid(_middles(box.west, box.width, side), _middles(box.south, box.height, side))
    return blocks.cell_of(x.ravel(), y.ravel())


def _middles(low: float, length: float, side: int) -> Array:
    middles: Array = low + length * (np.arange(side) + 0.5) / side
    return middles


def _thresholds(made: PublishedMap, many: Array) -> Array:
    """Return what the noise of so many cells together passes in the whole picture with a chance of 5 %."""
    law, noises = made.publication.sizes.laws[2], made.publication.released[2].noises
    found = np.zeros(len(many))
    for each in np.unique(many).tolist():
        found[many == each] = NoiseSum(law, noises * each).half_width(1 - _PHANTOMS / len(many))
    return found
