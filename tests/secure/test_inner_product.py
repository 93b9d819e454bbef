from __future__ import annotations

import numpy as np
import pytest

from fedgroup.secure.inner_product import receiver_share, sender_share
from fedgroup.secure.permutation import Permutation, blocks_of

PI = Permutation(b"k" * 16)


def shared(numbers: np.ndarray, counts: np.ndarray, *, width: int, seed: int) -> tuple[np.ndarray, ...]:
    """Corrections and both shares, on rows that differ as the extension makes them."""
    rng = np.random.default_rng(seed)
    secret = blocks_of(rng.bytes(16))
    rows = blocks_of(rng.bytes(16 * counts.size * width))
    bits = (counts[..., None] >> np.arange(width, dtype=np.uint32) & np.uint32(1)).reshape(-1, 1).astype(np.uint64)
    corrections, first = sender_share(numbers, rows, secret, width=width, tweak=seed, permutation=PI)
    theirs = rows ^ bits * secret
    return corrections, first, receiver_share(counts, theirs, corrections, width=width, tweak=seed, permutation=PI)


@pytest.mark.parametrize(("pairs", "cells", "width"), [(1, 1, 1), (7, 20, 4), (3, 100, 8), (2, 5, 16)])
def test_the_shares_add_up_to_the_inner_product(pairs, cells, width):
    rng = np.random.default_rng(cells)
    numbers = rng.integers(0, 2**32, (pairs, cells), dtype=np.uint32)
    counts = rng.integers(0, 2**width, (pairs, cells), dtype=np.uint32)
    _, first, second = shared(numbers, counts, width=width, seed=1)
    assert np.array_equal(first + second, (numbers * counts).sum(axis=1, dtype=np.uint32))


def test_zeros_and_the_largest_values_add_up_too():
    numbers = np.array([[0, 0], [2**32 - 1, 2**32 - 1], [0, 2**31]], dtype=np.uint32)
    counts = np.array([[255, 255], [255, 255], [0, 0]], dtype=np.uint32)
    _, first, second = shared(numbers, counts, width=8, seed=2)
    assert np.array_equal(first + second, (numbers * counts).sum(axis=1, dtype=np.uint32))


def test_a_share_alone_says_nothing_about_its_product():
    """Means of 4,000 shares, each side, two inputs: false alarm below 1e-6 (5 standard errors)."""
    for value in (0, 255):
        numbers = np.full((4000, 1), 2**20, dtype=np.uint32)
        counts = np.full((4000, 1), value, dtype=np.uint32)
        for share in shared(numbers, counts, width=8, seed=3 + value)[1:]:
            assert abs(share.mean() / 2**32 - 0.5) < 5 / np.sqrt(12 * 4000)
