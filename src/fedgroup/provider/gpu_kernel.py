"""The Triton kernels of the all-pairs graph: which pairs may be similar, without ever writing the matrix of all pairs.

The first kernel looks at every pair above the diagonal. A program keeps the vectors of a tile of owners and walks over
a span of column tiles; the dot products of two tiles stay in registers, and all that is written is which tiles have a
product above its bound. Programs that run together walk over the same columns, which stay in the cache. The second
kernel multiplies these few tiles once more and appends their pairs to a list. It needs many registers, and apart from
the first, it costs the first none. Both lists end at an atomic counter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Tiling(NamedTuple):
    """How the work is cut: tiles of `rows` x `columns` pairs, `span` of them to a program of the first kernel."""

    rows: int = 128
    columns: int = 128
    span: int = 64
    warps: int = 8
    stages: int = 2


CELLS_AT_ONCE = 128
"""Vectors of up to this many cells are multiplied in one step; longer ones in steps of half as many cells."""
CAPACITY = 1 << 25
"""How many pairs one launch of the second kernel has room for: 256 MB."""


class Padded(NamedTuple):
    """What the kernels read, with zeros up to whole tiles and steps; an owner of zeros is close to none."""

    vectors: torch.Tensor
    bounds: torch.Tensor
    lengths: torch.Tensor
    step: int


def close_pairs(
    vectors: torch.Tensor,
    bounds: torch.Tensor,
    lengths: torch.Tensor,
    *,
    capacity: int = CAPACITY,
    tiling: Tiling | None = None,
) -> Iterator[torch.Tensor]:
    """Yield the keys i * owners + j of all pairs i < j with vectors[i] . vectors[j] > bounds[i] * lengths[j].

    Vectors are float16, summed in float32; bounds and lengths are float32. Keys come once each, in any order. Where
    tiles have more than `capacity` pairs, they are halved and tried again: memory stays bounded however many there are.
    """
    tiling = tiling or Tiling()
    padded = padded_to_tiles(vectors, bounds, lengths, tiling)
    tiles = tiles_with_pairs(padded, tiling)
    room = torch.empty(max(capacity, tiling.rows * tiling.columns), dtype=torch.int64, device=vectors.device)
    waiting = [tiles] if len(tiles) else []
    while waiting:
        some = waiting.pop()
        number = _append_pairs(padded, some, room, len(vectors), tiling)
        if number <= len(room):
            yield room[:number].clone()
        else:
            waiting += some.tensor_split(2)


def padded_to_tiles(vectors: torch.Tensor, bounds: torch.Tensor, lengths: torch.Tensor, tiling: Tiling) -> Padded:
    """Return the filter with zeros up to whole tiles and steps."""
    owners, cells = vectors.shape
    step = max(16, triton.next_power_of_2(cells)) if cells <= CELLS_AT_ONCE else CELLS_AT_ONCE // 2
    tile = max(tiling.rows, tiling.columns)
    height, width = -(-owners // tile) * tile, -(-cells // step) * step
    return Padded(_filled_up(vectors, height, width), _filled_up(bounds, height), _filled_up(lengths, height), step)


def _filled_up(tensor: torch.Tensor, *shape: int) -> torch.Tensor:
    if tensor.shape == shape and tensor.is_contiguous():
        return tensor
    whole = tensor.new_zeros(shape)
    whole[tuple(slice(0, size) for size in tensor.shape)] = tensor
    return whole


def tiles_with_pairs(padded: Padded, tiling: Tiling) -> torch.Tensor:
    """Return the numbers of the tiles on or above the diagonal that have a product above its bound, in any order."""
    height, width = padded.vectors.shape
    row_tiles, column_tiles = height // tiling.rows, height // tiling.columns
    found = torch.empty(row_tiles * column_tiles, dtype=torch.int64, device=padded.vectors.device)
    counter = torch.zeros(1, dtype=torch.int64, device=found.device)
    with torch.cuda.device_of(found):
        _note_tiles[(row_tiles * -(-column_tiles // tiling.span),)](
            *padded[:3],
            found,
            counter,
            row_tiles,
            column_tiles,
            cells=width,
            step=padded.step,
            rows=tiling.rows,
            columns=tiling.columns,
            span=tiling.span,
            num_warps=tiling.warps,
            num_stages=tiling.stages,
        )
    return found[: int(counter.item())]


def _append_pairs(padded: Padded, tiles: torch.Tensor, room: torch.Tensor, owners: int, tiling: Tiling) -> int:
    """Write the keys of the close pairs of `tiles` into `room`, and return how many there are, room or not."""
    height, width = padded.vectors.shape
    counter = torch.zeros(1, dtype=torch.int64, device=room.device)
    with torch.cuda.device_of(room):
        _note_pairs[(len(tiles),)](
            *padded[:3],
            tiles,
            room,
            counter,
            owners,
            len(room),
            height // tiling.columns,
            cells=width,
            step=padded.step,
            rows=tiling.rows,
            columns=tiling.columns,
            num_warps=8,
            num_stages=2,
        )
    return int(counter.item())


@triton.jit(do_not_specialize=["row_tiles", "column_tiles"])
def _note_tiles(
    vectors: tl.tensor,
    bounds: tl.tensor,
    lengths: tl.tensor,
    found: tl.tensor,
    counter: tl.tensor,
    row_tiles: tl.tensor,
    column_tiles: tl.tensor,
    cells: tl.constexpr,
    step: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
    span: tl.constexpr,
) -> None:
    program = tl.program_id(0)
    row = program % row_tiles
    start = tl.maximum(program // row_tiles * span, row * rows // columns)
    stop = tl.minimum((program // row_tiles + 1) * span, column_tiles)
    if start >= stop:
        return
    cell = tl.arange(0, step)[None, :]
    bound = tl.load(bounds + row * rows + tl.arange(0, rows))
    upper = vectors + tl.cast(row, tl.int64) * (rows * cells) + tl.arange(0, rows)[:, None] * cells + cell
    inner = tl.arange(0, columns)[:, None] * cells + cell
    first = tl.load(upper)
    for column in range(start, stop):
        left = vectors + tl.cast(column, tl.int64) * (columns * cells) + inner
        dots = tl.dot(first, tl.trans(tl.load(left)))
        for other in range(step, cells, step):
            dots = tl.dot(tl.load(upper + other), tl.trans(tl.load(left + other)), dots)
        length = tl.load(lengths + column * columns + tl.arange(0, columns))
        if tl.max(dots - bound[:, None] * length[None, :]) > 0:
            place = tl.atomic_add(counter, 1, sem="relaxed")
            tl.store(found + place, tl.cast(row, tl.int64) * column_tiles + column)


@triton.jit(do_not_specialize=["owners", "capacity", "column_tiles"])
def _note_pairs(
    vectors: tl.tensor,
    bounds: tl.tensor,
    lengths: tl.tensor,
    tiles: tl.tensor,
    room: tl.tensor,
    counter: tl.tensor,
    owners: tl.tensor,
    capacity: tl.tensor,
    column_tiles: tl.tensor,
    cells: tl.constexpr,
    step: tl.constexpr,
    rows: tl.constexpr,
    columns: tl.constexpr,
) -> None:
    tile = tl.load(tiles + tl.program_id(0))
    i = tile // column_tiles * rows + tl.arange(0, rows)
    j = tile % column_tiles * columns + tl.arange(0, columns)
    cell = tl.arange(0, step)[None, :]
    dots = tl.zeros((rows, columns), tl.float32)
    for start in range(0, cells, step):
        first = tl.load(vectors + i[:, None] * cells + start + cell)
        second = tl.load(vectors + j[:, None] * cells + start + cell)
        dots = tl.dot(first, tl.trans(second), dots)
    excess = dots - tl.load(bounds + i)[:, None] * tl.load(lengths + j)[None, :]
    close = (excess > 0) & (i[:, None] < j[None, :])
    place = tl.atomic_add(counter + tl.zeros((rows, columns), tl.int32), 1, mask=close, sem="relaxed")
    tl.store(room + place, i[:, None] * owners + j[None, :], mask=close & (place < capacity))
