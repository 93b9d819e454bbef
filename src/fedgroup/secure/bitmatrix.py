"""Bits turned from columns into rows: 64 x 64 at a time."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.permutation import Blocks

Words = npt.NDArray[np.uint64]


@numba.njit(cache=True, nogil=True)
def transpose_together(columns: Words) -> None:
    """Transpose every 64 x 64 square of columns in place, those beside each other at once."""
    words = columns.shape[1]
    for half in range(0, len(columns), 64):
        step = 32
        mask = np.uint64(0x00000000FFFFFFFF)
        while step:
            shift = np.uint64(step)
            for start in range(half, half + 64, 2 * step):
                for i in range(start, start + step):
                    for w in range(words):
                        swap = ((columns[i, w] >> shift) ^ columns[i + step, w]) & mask
                        columns[i, w] ^= swap << shift
                        columns[i + step, w] ^= swap
            step >>= 1
            if step:
                mask ^= mask << np.uint64(step)


@numba.njit(cache=True)
def rows_of(columns: Words) -> Blocks:
    """Return 128 columns of bits, shape (128, words), as 64 * words rows of 128 bits."""
    words = columns.shape[1]
    rows = np.empty((64 * words, 2), dtype=np.uint64)
    square = np.empty(64, dtype=np.uint64)
    for word in range(words):
        for half in range(2):
            for i in range(64):
                square[i] = columns[64 * half + i, word]
            _transpose(square)
            for i in range(64):
                rows[64 * word + i, half] = square[i]
    return rows


@numba.njit(cache=True)
def _transpose(square: Words) -> None:
    """Transpose a 64 x 64 bit matrix in place, bit i of word j against bit j of word i."""
    step = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while step:
        shift = np.uint64(step)
        for start in range(0, 64, 2 * step):
            for i in range(start, start + step):
                swap = ((square[i] >> shift) ^ square[i + step]) & mask
                square[i] ^= swap << shift
                square[i + step] ^= swap
        step >>= 1
        if step:
            mask ^= mask << np.uint64(step)


@numba.njit(cache=True, nogil=True)
def packed_bits(values: npt.NDArray[np.uint32], width: int, words: int) -> Words:
    """Return the lowest `width` bits of every value, lowest first, as `words` 64-bit words, the rest 0."""
    result = np.zeros(words, dtype=np.uint64)
    mask = np.uint64((1 << width) - 1)
    at = 0
    for value in values.flat:
        kept = np.uint64(value) & mask
        result[at >> 6] |= kept << np.uint64(at & 63)
        if (at & 63) + width > 64:
            result[(at >> 6) + 1] |= kept >> np.uint64(64 - (at & 63))
        at += width
    return result
