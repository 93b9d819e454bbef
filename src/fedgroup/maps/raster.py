"""Shapes as pixels: a pixel shows the place that holds its middle, and a place too small for that its own middle.

Longitudes of pixels are evenly spaced, latitudes are not: rows are given by theirs, so that edges, which are straight
in degrees, are cut exactly where they are.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt
import shapely

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def edges_of(shapes: npt.NDArray[np.object_]) -> tuple[Floats, Ints]:
    """Return the edges of all shapes as x, y, x, y, and where those of each shape begin; the last entry is the end."""
    parts, part_of = shapely.get_parts(shapes, return_index=True)
    rings, ring_of = shapely.get_rings(parts, return_index=True)
    points, point_of = shapely.get_coordinates(rings, return_index=True)
    inner = point_of[1:] == point_of[:-1]
    edges = np.column_stack([points[:-1], points[1:]])[inner]
    shape_of = part_of[ring_of[point_of[:-1][inner]]]
    return np.ascontiguousarray(edges), np.searchsorted(shape_of, np.arange(len(shapes) + 1))


@numba.njit(cache=True, nogil=True)
def fill_boxes(
    pixels: Bytes, chosen: Ints, boxes: Floats, levels: Bytes, middles: Ints, first: float, step: float, souths: Floats
) -> None:
    """Write the levels of the chosen boxes into pixels, the highest where there are several.

    Column i has its middle at `first` + i * `step`, row j at -souths[j], which ascend; `middles` are the column and
    row of every box's own middle.
    """
    rows, columns = pixels.shape
    for at in chosen:
        west, south, east, north = boxes[at]
        left = max(0, math.ceil((west - first) / step))
        right = min(columns, math.ceil((east - first) / step))
        top, bottom = np.searchsorted(souths, -north, side="right"), np.searchsorted(souths, -south, side="right")
        for row in range(top, bottom):
            for column in range(left, right):
                pixels[row, column] = max(pixels[row, column], levels[at])
        column, row = middles[at]
        if (top >= bottom or left >= right) and 0 <= row < rows and 0 <= column < columns:
            pixels[row, column] = max(pixels[row, column], levels[at])


@numba.njit(cache=True, nogil=True)
def fill_shapes(
    pixels: Bytes,
    chosen: Ints,
    boxes: Floats,
    edges: Floats,
    starts: Ints,
    levels: Bytes,
    middles: Ints,
    first: float,
    step: float,
    souths: Floats,
) -> None:
    """Write the levels of the chosen shapes into pixels: inside is where a line to the west meets edges oddly often."""
    rows, columns = pixels.shape
    for at in chosen:
        top = np.searchsorted(souths, -boxes[at, 3], side="right")
        bottom = np.searchsorted(souths, -boxes[at, 1], side="right")
        crossings = np.empty(starts[at + 1] - starts[at])
        painted = False
        for row in range(top, bottom):
            y, count = -souths[row], 0
            for edge in range(starts[at], starts[at + 1]):
                x0, y0, x1, y1 = edges[edge]
                if (y0 <= y) != (y1 <= y):
                    crossings[count] = x0 + (y - y0) / (y1 - y0) * (x1 - x0)
                    count += 1
            met = np.sort(crossings[:count])
            for pair in range(0, count - 1, 2):
                left = max(0, math.ceil((met[pair] - first) / step))
                right = min(columns, math.ceil((met[pair + 1] - first) / step))
                for column in range(left, right):
                    pixels[row, column] = max(pixels[row, column], levels[at])
                    painted = True
        column, row = middles[at]
        inside = (boxes[at, 2] - boxes[at, 0]) < 2 * step  # larger ones hold some pixel's middle, here or elsewhere
        if inside and not painted and 0 <= row < rows and 0 <= column < columns:
            pixels[row, column] = max(pixels[row, column], levels[at])
