from __future__ import annotations

import numpy as np
import pytest

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.bitmatrix import packed_bits
from fedgroup.secure.extension import correction_bytes, padded_rows, receive_rows, secret_block, send_rows
from fedgroup.secure.permutation import Permutation, blocks_of
from fedgroup.secure.seed_trees import BLOCKS, LEAVES

PI = Permutation(b"k" * 16)
RNG = np.random.default_rng(1)
LEAF_SEEDS = blocks_of(RNG.bytes(16 * BLOCKS * LEAVES)).reshape(BLOCKS, LEAVES, 2)
SECRET = [int(bits) for bits in RNG.integers(0, LEAVES, BLOCKS)]


def without_secrets(leaves: np.ndarray) -> np.ndarray:
    known = leaves.copy()
    known[np.arange(BLOCKS), SECRET] = 0
    return known


def received(choices: np.ndarray, counter: int) -> tuple[bytes, np.ndarray]:
    words = packed_bits(choices.astype(np.uint32), 1, padded_rows(choices.size) // 64)
    return receive_rows(LEAF_SEEDS, words, counter=counter, permutation=PI)


@pytest.mark.parametrize("rows", [1, 127, 128, 129, 1280])
def test_both_sides_rows_differ_by_the_choice_times_the_secret(rows):
    choices = np.random.default_rng(rows).integers(0, 2, rows).astype(np.uint8)
    correction, t = received(choices, 7)
    q = send_rows(without_secrets(LEAF_SEEDS), SECRET, correction, counter=7, permutation=PI)
    assert len(correction) == correction_bytes(rows)
    assert np.array_equal((q ^ t)[:rows], choices[:, None] * secret_block(SECRET))
    assert not (q ^ t)[rows:].any()


def test_rows_of_different_counters_have_nothing_in_common():
    choices = np.zeros(256, dtype=np.uint8)
    every = np.concatenate([received(choices, counter)[1] for counter in (0, 2, 4, 1 << 40)])
    assert len(np.unique(every, axis=0)) == 4 * 256


def test_a_long_run_reads_the_streams_that_short_runs_do():
    choices = np.random.default_rng(3).integers(0, 2, 256).astype(np.uint8)
    apart = [received(choices[at : at + 128], 9 + at // 128)[1] for at in (0, 128)]
    assert np.array_equal(received(choices, 9)[1], np.concatenate(apart))


def test_the_secret_is_one_block_lowest_bits_first():
    block = secret_block([1, 2] + [0] * 29 + [8])
    assert block.tolist() == [[0x21, 1 << 63]]


@pytest.mark.parametrize("size", [1, 511, 513])
def test_half_a_correction_is_a_violation(size):
    with pytest.raises(ProtocolViolation):
        send_rows(LEAF_SEEDS, SECRET, bytes(size), counter=0, permutation=PI)
