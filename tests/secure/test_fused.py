"""Loops with AES inside give what the plain definitions give, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from fedgroup.secure.aes import is_supported, round_keys
from fedgroup.secure.bitmatrix import packed_bits, rows_of, transpose_together
from fedgroup.secure.extension import padded_rows, receive_rows, send_rows
from fedgroup.secure.inner_product import receiver_share, sender_share
from fedgroup.secure.permutation import Permutation, blocks_of
from fedgroup.secure.seed_trees import BLOCKS, LEAVES
from fedgroup.secure.sign import GATES, RING_BITS, evaluate, garble

KEY = b"a public key!!!!"


class PlainPermutation(Permutation):
    """The same permutation on a processor without AES instructions."""

    keys = None


FUSED, PLAIN = Permutation(KEY), PlainPermutation(KEY)


def some_blocks(count: int, seed: int) -> np.ndarray:
    return blocks_of(np.random.default_rng(seed).bytes(16 * count))


def test_round_keys_are_those_of_the_standard() -> None:
    """FIPS 197, appendix A.1."""
    keys = round_keys(bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")).tobytes()
    assert keys[16:32].hex() == "a0fafe1788542cb123a339392a6c7605"
    assert keys[-16:].hex() == "d014f9a8c9ee2589e13f0cc8b6630ca6"


def test_this_test_compares_two_things() -> None:
    """Where the processor has no AES, both are the plain one and the other tests show nothing."""
    assert (FUSED.keys is None) == (not is_supported())
    assert PLAIN.keys is None


@pytest.mark.parametrize("rows", [1, 128, 1024, 1025, 3000])
def test_rows_of_transfers_are_the_plain_ones(rows: int) -> None:
    leaves = some_blocks(BLOCKS * LEAVES, 1).reshape(BLOCKS, LEAVES, 2)
    secret = np.random.default_rng(2).integers(0, LEAVES, BLOCKS).tolist()
    bits = np.random.default_rng(3).integers(0, 2, rows).astype(np.uint8)
    choices = packed_bits(bits.astype(np.uint32), 1, padded_rows(rows) // 64)
    (one, t), (other, plain_t) = (receive_rows(leaves, choices, counter=2**40, permutation=pi) for pi in (FUSED, PLAIN))
    assert one == other
    assert np.array_equal(t, plain_t)
    q, plain_q = (send_rows(leaves, secret, one, counter=2**40, permutation=pi) for pi in (FUSED, PLAIN))
    assert np.array_equal(q, plain_q)


@pytest.mark.parametrize(("pairs", "cells", "width"), [(1, 1, 1), (3, 25, 8), (40, 7, 16)])
def test_inner_products_are_the_plain_ones(pairs: int, cells: int, width: int) -> None:
    rng = np.random.default_rng(pairs)
    numbers = rng.integers(0, 2**20, (pairs, cells), dtype=np.uint32)
    counts = rng.integers(0, 2**width, (pairs, cells), dtype=np.uint32)
    rows, secret = some_blocks(pairs * cells * width, 4), some_blocks(1, 5)
    sent, plain = (
        sender_share(numbers, rows, secret, width=width, tweak=2**50, permutation=pi) for pi in (FUSED, PLAIN)
    )
    assert np.array_equal(sent[0], plain[0])
    assert np.array_equal(sent[1], plain[1])
    got, expected = (
        receiver_share(counts, rows, sent[0], width=width, tweak=2**50, permutation=pi) for pi in (FUSED, PLAIN)
    )
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("pairs", [1, 7, 300])
def test_garbled_gates_are_the_plain_ones(pairs: int) -> None:
    x = np.random.default_rng(pairs).integers(0, 2**32, pairs, dtype=np.uint32)
    rows, secret = some_blocks(RING_BITS * pairs, 6), some_blocks(1, 7) | np.array([[1, 0]], dtype=np.uint64)
    said = {"seed": b"s" * 16, "tweak": (1 << 63) + 5}
    (tables, bits), (plain_tables, plain_bits) = (
        garble(x, rows, secret, permutation=pi, **said) for pi in (FUSED, PLAIN)
    )
    assert tables.shape == (GATES, 2, pairs, 2)
    assert np.array_equal(tables, plain_tables)
    assert np.array_equal(bits, plain_bits)
    got, expected = (evaluate(rows, tables, permutation=pi, **said) for pi in (FUSED, PLAIN))
    assert np.array_equal(got, expected)


def test_squares_are_transposed_together_as_one_by_one() -> None:
    columns = some_blocks(128 * 3, 8).reshape(128, 6)
    turned = columns.copy()
    transpose_together(turned)
    rows = rows_of(columns)
    for word in range(6):
        assert np.array_equal(
            np.stack([turned[:64, word], turned[64:, word]], axis=1), rows[64 * word : 64 * word + 64]
        )


@pytest.mark.parametrize("width", [1, 3, 8, 13, 16, 32])
def test_bits_are_packed_lowest_first(width: int) -> None:
    values = np.random.default_rng(width).integers(0, 2**32, (5, 9), dtype=np.uint32)
    bits = (values[..., None] >> np.arange(width, dtype=np.uint32) & np.uint32(1)).astype(np.uint8)
    words = packed_bits(values, width, padded_rows(bits.size) // 64)
    unpacked = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert np.array_equal(unpacked[: bits.size], bits.ravel())
    assert not unpacked[bits.size :].any()
