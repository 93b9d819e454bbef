from __future__ import annotations

import numpy as np
import pytest

from fedgroup.secure.bitmatrix import packed_bits, rows_of


def bits_of(words: np.ndarray) -> np.ndarray:
    """Each row's bits, the first lowest."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")


@pytest.mark.parametrize("words", [1, 2, 5, 32])
def test_rows_are_the_transposed_columns(words):
    columns = np.random.default_rng(words).integers(0, 2**64, (128, words), dtype=np.uint64)
    before = columns.copy()
    assert np.array_equal(bits_of(rows_of(columns)), bits_of(columns).T)
    assert np.array_equal(columns, before)


def test_every_single_bit_finds_its_place():
    for row, column in [(0, 0), (63, 64), (64, 63), (127, 127), (5, 100)]:
        columns = np.zeros((128, 2), dtype=np.uint64)
        columns[column, row // 64] = np.uint64(1) << np.uint64(row % 64)
        assert np.argwhere(bits_of(rows_of(columns))).tolist() == [[row, column]]


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128])
def test_packed_bits_come_first_and_zeros_after(count):
    bits = np.random.default_rng(count).integers(0, 2, count).astype(np.uint8)
    unpacked = bits_of(packed_bits(bits.astype(np.uint32), 1, 2).reshape(1, -1))[0]
    assert np.array_equal(unpacked[:count], bits)
    assert not unpacked[count:].any()
