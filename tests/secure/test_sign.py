from __future__ import annotations

import numpy as np
import pytest

from fedgroup.secure.permutation import Permutation, blocks_of
from fedgroup.secure.sign import GATES, RING_BITS, active_labels, evaluate, garble

PI = Permutation(b"k" * 16)
SEED = b"s" * 16


def shared(x: np.ndarray, y: np.ndarray, *, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Both sides' shares of the sign of x + y."""
    rng = np.random.default_rng(seed)
    secret = blocks_of(rng.bytes(16)) | np.array([[1, 0]], dtype=np.uint64)
    rows = blocks_of(rng.bytes(16 * RING_BITS * len(x)))
    bits = (y[:, None] >> np.arange(RING_BITS, dtype=np.uint32) & np.uint32(1)).reshape(-1, 1).astype(np.uint64)
    tables, first = garble(x, rows, secret, seed=SEED, tweak=1 << 63, permutation=PI)
    assert tables.shape == (GATES, 2, len(x), 2)
    return first, evaluate(rows ^ bits * secret, tables, seed=SEED, tweak=1 << 63, permutation=PI)


@pytest.mark.parametrize("pairs", [1, 2, 63, 2000])
def test_the_shares_open_to_the_sign_of_the_sum(pairs):
    x, y = np.random.default_rng(pairs).integers(0, 2**32, (2, pairs), dtype=np.uint32)
    first, second = shared(x, y)
    assert np.array_equal(first ^ second, (x + y) >> 31)


def test_sums_at_the_edge_of_the_sign_are_right():
    edges = np.array([0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1], dtype=np.uint32)
    x, y = (side.ravel() for side in np.meshgrid(edges, edges))
    first, second = shared(x, y)
    assert np.array_equal(first ^ second, (x + y) >> 31)


@pytest.mark.parametrize("total", [0, 2**31])
def test_a_share_alone_is_a_fair_coin_whatever_the_sign(total):
    """4,000 coins a side: false alarm below 1e-6 (5 standard errors)."""
    x = np.random.default_rng(5).integers(0, 2**32, 4000, dtype=np.uint32)
    for share in shared(x, np.uint32(total) - x, seed=6):
        assert abs(share.mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)


def test_active_labels_are_distinct_and_depend_on_the_seed_alone():
    labels = active_labels(SEED, 10)
    assert labels.shape == (RING_BITS + 1, 10, 2)
    assert len(np.unique(labels.reshape(-1, 2), axis=0)) == 10 * (RING_BITS + 1)
    assert np.array_equal(labels, active_labels(SEED, 10))
    assert not np.array_equal(labels, active_labels(SEED[:-1] + b"t", 10))


def test_a_gate_is_two_halves_by_the_published_formula_with_a_tweak_each():
    rng = np.random.default_rng(7)
    secret = blocks_of(rng.bytes(16)) | np.array([[1, 0]], dtype=np.uint64)
    rows = blocks_of(rng.bytes(16 * RING_BITS * 5))
    x = rng.integers(0, 2**32, 5, dtype=np.uint32)
    tables, _ = garble(x, rows, secret, seed=SEED, tweak=100, permutation=PI)
    labels = active_labels(SEED, 5)
    a = labels[0] ^ labels[RING_BITS] ^ (x & 1).astype(np.uint64)[:, None] * secret
    b = rows.reshape(5, RING_BITS, 2)[:, 0] ^ labels[RING_BITS]
    generator = PI.hash(a, 100) ^ PI.hash(a ^ secret, 100) ^ (b[:, :1] & np.uint64(1)) * secret
    assert np.array_equal(tables[0, 0], generator)
    assert np.array_equal(tables[0, 1], PI.hash(b, 105) ^ PI.hash(b ^ secret, 105) ^ a)
