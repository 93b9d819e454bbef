from __future__ import annotations

import numpy as np
import pytest

from fedgroup.secure.permutation import Permutation, blocks_of
from fedgroup.secure.seed_trees import (
    BLOCKS,
    LEAVES,
    OPENING_BYTES,
    PATHS,
    SEALED_BYTES,
    TRANSFERS,
    choices_of,
    grow,
    grow_punctured,
    sealed_sums,
)

PI = Permutation(b"k" * 16)
RNG = np.random.default_rng(1)
ROOTS = blocks_of(RNG.bytes(16 * BLOCKS))
KEYS = [[RNG.bytes(OPENING_BYTES) for _ in range(PATHS)] for _ in range(TRANSFERS)]


def punctured(secret: list[int]) -> np.ndarray:
    """What the side with the secret gets, from its keys and the sealed sums."""
    known = [keys[choice] for keys, choice in zip(KEYS, choices_of(secret), strict=True)]
    return grow_punctured(secret, known, sealed_sums(grow(ROOTS, PI)[1], KEYS), PI)


@pytest.mark.parametrize("shift", range(LEAVES))
def test_all_seeds_but_the_secrets_own_are_learned(shift):
    secret = [(block + shift) % LEAVES for block in range(BLOCKS)]
    leaves, got = grow(ROOTS, PI)[0], punctured(secret)
    missing = np.arange(LEAVES) == np.array(secret)[:, None]
    assert np.array_equal(got[~missing], leaves[~missing])
    assert not got[missing].any()


def test_all_seeds_differ():
    leaves = grow(ROOTS, PI)[0].reshape(-1, 2)
    assert len(np.unique(leaves, axis=0)) == BLOCKS * LEAVES


def test_a_transfers_choice_is_the_path_through_the_levels_that_it_covers():
    assert choices_of([0b1011, 0b0111]) == [0b10, 0b11, 0b01, 0b11]


def test_the_key_of_another_path_opens_sums_that_do_not_fit():
    secret = [block % LEAVES for block in range(BLOCKS)]
    sealed = sealed_sums(grow(ROOTS, PI)[1], KEYS)
    for step in range(1, PATHS):
        known = [keys[choice ^ step] for keys, choice in zip(KEYS, choices_of(secret), strict=True)]
        found = grow_punctured(secret, known, sealed, PI)
        assert not (found == grow(ROOTS, PI)[0]).all(axis=2).any()


def test_the_sums_off_a_path_are_hidden_by_a_key_of_its_own():
    sealed = sealed_sums(grow(ROOTS, PI)[1], KEYS)
    assert len(sealed) == SEALED_BYTES
    changed = [[bytes(OPENING_BYTES), *KEYS[0][1:]], *KEYS[1:]]
    differing = [a != b for a, b in zip(sealed, sealed_sums(grow(ROOTS, PI)[1], changed), strict=True)]
    assert any(differing[:16])
    assert any(differing[16:OPENING_BYTES])
    assert not any(differing[OPENING_BYTES:])
