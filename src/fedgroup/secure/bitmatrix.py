"""Bits turned from columns into rows: 64 x 64 at a time."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.secure.permutation import Blocks

Words = npt.NDArray[np.uint64]


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


def packed(bits: npt.NDArray[np.uint8], words: int) -> Words:
    """Return bits (0 or 1) as `words` 64-bit words, the first bit lowest, the rest 0."""
    padded = np.zeros(64 * words, dtype=np.uint8)
    padded[: bits.size] = bits.ravel()
    return np.packbits(padded, bitorder="little").view(np.uint64)
