"""A published map looked at from afar: squares of one size hold all smaller cells, larger cells stay as they are.

The finest cells are too small to be seen, and too small to stand out of their noise one by one. A square is known, and
tested, as what it holds.

Guarantee: this is post-processing of released counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import quantile
from fedgroup.maps.published import PublishedMap
from fedgroup.privacy.law import NoiseSum
from fedgroup.space.blocks import Boxes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEWEST, MOST = 1, 4096
_PHANTOMS = 0.1
"""Twice the chance that noise alone shows any square of the whole map."""
_OCTAVE = 4
"""Numbers of cells are rounded up to one of so many between a number and its double: few laws serve all squares."""


@dataclass(frozen=True, eq=False)
class Squares:
    """Places of a map that do not overlap, with 95 % intervals.

    `sure` tells which of them hold more than noise alone explains anywhere in the map; what is not sure is, by what was
    released, no more than `least`.
    """

    boxes: Boxes = field(repr=False)
    values: Floats = field(repr=False)
    half_widths: Floats = field(repr=False)
    sure: npt.NDArray[np.bool_] = field(repr=False)
    least: float


def squares(made: PublishedMap, side: int) -> Squares:
    """Return a map as squares of which `side`, a power of two, lie along its domain; larger cells are left whole."""
    if side.bit_count() != 1 or not FEWEST <= side <= MOST:
        raise InvalidQuery(f"squares lie along a side by 1, 2, 4 and so on up to {MOST}, got {side}")
    place, boxes = _placed(made, side)
    count = len(boxes.west)
    held: Floats = np.bincount(place, made.atlas.made.cells, minlength=count).astype(float)
    tests = [_test(made, place, count, released=2, parts=_PHANTOMS / count)]
    if side < made.blocks.side:
        block = np.zeros(len(made.blocks.depths), dtype=np.int64)
        block[made.blocks.block_of] = place
        tests = [_test(made, place, count, released=2, parts=_PHANTOMS / 2 / count)]
        tests.append(_test(made, block, count, released=1, parts=_PHANTOMS / 2 / count))
    signed = made.publication.sizes.signed
    sure = np.any([(np.abs(noisy) if signed else noisy) > threshold for noisy, threshold in tests], axis=0)
    least = np.min([threshold for _, threshold in tests], axis=0)
    half = quantile(3 / max(made.noises, 1)) * np.sqrt(_variances(made, place, count))
    unsure = least[~sure]
    return Squares(boxes, held * made.step, half * made.step, sure, float(unsure.max(initial=0.0)) * made.step)


def _placed(made: PublishedMap, side: int) -> tuple[Ints, Boxes]:
    """Return the square, or the larger cell, that holds each cell; and where they all are."""
    row, column, across = made.blocks.places
    fine = across >= side
    # cells that are larger than squares have numbers after all squares
    number = np.where(fine, (row * side // across) * side + column * side // across, side * side + np.arange(len(row)))
    names, place = np.unique(number, return_inverse=True)
    domain, cells = made.public_map.domain, made.blocks.boxes
    x = domain.west + domain.width * np.arange(side + 1) / side
    y = domain.south + domain.height * np.arange(side + 1) / side
    south, west = np.divmod(np.minimum(names, side * side - 1), side)
    own = names >= side * side
    cell = np.where(own, names - side * side, 0)
    whole = Boxes(x[west], y[south], x[west + 1], y[south + 1])
    return place, Boxes(*(np.where(own, mine[cell], its) for mine, its in zip(cells, whole, strict=True)))


def _test(made: PublishedMap, place: Ints, count: int, *, released: int, parts: float) -> tuple[Floats, Floats]:
    """Return noisy sums of what was released, by place, and what noise passes in one of them with a chance `parts`."""
    answer = made.publication.released[released]
    noisy: Floats = np.bincount(place, answer.counts.astype(float), minlength=count).astype(float)
    many = _rounded_up(np.bincount(place, minlength=count))
    law, threshold = made.publication.sizes.laws[released], np.zeros(count)
    for each in np.unique(many).tolist():
        threshold[many == each] = NoiseSum(law, answer.noises * each).half_width(1 - parts)
    return noisy, threshold


def _rounded_up(many: Ints) -> Ints:
    at = np.ceil(np.log2(np.maximum(many, 1)) * _OCTAVE) / _OCTAVE
    up: Ints = np.ceil(np.exp2(at) - 1e-9).astype(np.int64)
    return np.maximum(up, many)


def _variances(made: PublishedMap, place: Ints, count: int) -> Floats:
    """Return the variance of what noise leaves in every place, exactly as least squares have it.

    Of n cells in a block m lie in a place: sum of own noises less their mean, m (1 - m / n), and the share m / n of
    the block. Of the blocks' variances v lie in a place out of T in a coarse cell that is known with variance C:
    v - v^2 / T + C v^2 / T^2.
    """
    atlas, blocks = made.atlas, made.blocks
    cells = np.power(4.0, blocks.depth)
    pair, many = np.unique(place * len(cells) + blocks.block_of, return_counts=True)
    square, block = np.divmod(pair, len(cells))
    share = many / cells[block]
    own = atlas.made.variances[2] * many * (1 - share)
    coarse, together = atlas.coarse
    spread, weighted = atlas.made.block_variance[block] * share**2, atlas.made.block_variance[block] * share
    group, at = np.unique(square * len(together) + coarse[block], return_inverse=True)
    v2, v1 = np.bincount(at, spread), np.bincount(at, weighted)
    whole, known = together[group % len(together)], atlas.made.coarse_variance[group % len(together)]
    tied = v2 - v1**2 / whole + known * v1**2 / whole**2
    of_blocks = np.bincount(group // len(together), np.maximum(tied, 0), minlength=count)
    found: Floats = (np.bincount(square, own, minlength=count) + of_blocks).astype(float)
    return found
