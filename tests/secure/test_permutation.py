from __future__ import annotations

import numpy as np
import pytest

from fedgroup.secure.permutation import Permutation, blocks_of

# FIPS 197, appendix C.1.
KEY = bytes(range(16))
PLAIN = bytes.fromhex("00112233445566778899aabbccddeeff")
CIPHER = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")


def some_blocks(count: int, seed: int = 1) -> np.ndarray:
    return blocks_of(np.random.default_rng(seed).bytes(16 * count))


def test_the_permutation_is_aes():
    assert Permutation(KEY)(blocks_of(PLAIN)).tobytes() == CIPHER


def test_blocks_are_permuted_one_by_one():
    pi, blocks = Permutation(KEY), some_blocks(100)
    assert np.array_equal(pi(blocks), np.concatenate([pi(blocks[i : i + 1]) for i in range(100)]))
    assert pi(blocks[:0]).shape == (0, 2)


@pytest.mark.parametrize("tweak", [0, 5, 1 << 63, 2**64 - 64])
def test_the_hash_is_the_published_formula(tweak):
    pi, blocks = Permutation(KEY), some_blocks(64)
    once = pi(blocks)
    tweaked = once.copy()
    tweaked[:, 0] ^= np.uint64(tweak) + np.arange(64, dtype=np.uint64)
    assert np.array_equal(pi.hash(blocks, tweak), pi(tweaked) ^ once)


def test_the_hash_changes_with_key_block_and_tweak():
    blocks = np.repeat(some_blocks(1), 8, axis=0)
    hashes = np.concatenate([Permutation(key).hash(blocks, 0) for key in (KEY, KEY[::-1])])
    assert len(np.unique(hashes, axis=0)) == 16


def test_hashing_leaves_its_input_alone():
    blocks = some_blocks(8)
    Permutation(KEY).hash(blocks, 3)
    assert np.array_equal(blocks, some_blocks(8))
