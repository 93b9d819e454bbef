from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.secure.comparison import MOST_FRACTION_BITS, SESSION_BYTES, SecureComparison


def decided(comparison: SecureComparison, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The bits that the protocol opens, computed in the clear by its own formula in 32 bits."""
    scaled = comparison.scaled_counts(second)
    products = (comparison.unit_vectors(first) * scaled).sum(axis=1, dtype=np.uint32)
    return (products - comparison.limits(scaled) - np.uint32(1)) >> 31 == 0


@pytest.mark.parametrize("width", range(1, 17))
def test_the_ring_has_room_for_the_largest_product_and_limit(width):
    for cells in range(1, 4097):
        bits = SecureComparison(cells, 0.5, width).fraction_bits
        most = (2**width - 1) * math.sqrt(cells) * 2**bits
        assert 8 <= bits <= MOST_FRACTION_BITS
        assert width + math.log2(cells) / 2 + bits < 31
        assert most + (2**width - 1) * cells / 2 + 3.5 < 2**31


@pytest.mark.parametrize(("cells", "width"), [(4095, 16), (255, 16), (1023, 12), (4085, 11), (4096, 8), (1, 1)])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.99, 1 - 2**-40])
def test_a_zero_vector_is_similar_to_nothing_not_even_to_a_full_one(cells, width, threshold):
    full, zero = np.full((1, cells), 2**width - 1), np.zeros((1, cells), dtype=np.int64)
    comparison = SecureComparison(cells, threshold, width)
    assert not any(decided(comparison, a, b)[0] for a, b in [(zero, full), (full, zero), (zero, zero)])


@given(
    st.integers(1, 16).flatmap(
        lambda width: st.tuples(st.just(width), *[st.lists(st.integers(0, 2**width - 1), min_size=5, max_size=5)] * 2)
    )
)
def test_a_pair_exactly_at_the_threshold_is_always_a_no(drawn):
    width, first, second = drawn
    a, b = np.array([first]), np.array([second])
    norms = math.sqrt((a @ a.T).item() * (b @ b.T).item())
    cosine = (a @ b.T).item() / norms if norms else 0.0
    if cosine < 1:
        assert not decided(SecureComparison(5, cosine, width), a, b)[0]


@pytest.mark.parametrize("triple", [(3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29)])
def test_ties_of_whole_right_angled_triangles_are_no_and_just_above_is_yes(triple):
    near, far, length = triple
    a, b = np.array([[1, 0]]), np.array([[near, far]])
    for first, second in [(a, b), (b, a)]:
        assert not decided(SecureComparison(2, near / length), first, second)[0]
        comparison = SecureComparison(2, near / length - 2 * SecureComparison(2, 0.5).margin)
        assert decided(comparison, first, second)[0]


@pytest.mark.parametrize(("cells", "width"), [(1, 8), (9, 1), (25, 8), (100, 4), (1024, 8), (4096, 16)])
def test_a_pair_above_the_threshold_by_the_margin_is_a_yes(cells, width):
    rng = np.random.default_rng(cells)
    first, second = rng.integers(0, 2**width, (2, 50, cells))
    second[:, 0] = first[:, 0] = 1
    cosine = (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    for pair in range(50):
        threshold = cosine[pair] - SecureComparison(cells, 0.5, width).margin
        if threshold > 0:
            assert decided(SecureComparison(cells, threshold, width), first[pair : pair + 1], second[pair : pair + 1])[
                0
            ]


def test_counts_above_the_width_are_scaled_and_others_left_alone():
    counts = np.array([[0, 100, 255], [0, 256, 512], [2**62, 2**61, 0], [0, 0, 0]])
    scaled = SecureComparison(3, 0.5, 8).scaled_counts(counts)
    assert scaled.tolist() == [[0, 100, 255], [0, 128, 255], [255, 128, 0], [0, 0, 0]]


def test_a_session_id_binds_names_context_and_parameters():
    names = {"first": b"a", "second": b"b", "context": b"c"}
    others = [names | {"first": b"b"}, names | {"first": b"ab", "second": b""}, names | {"context": b"d"}]
    ids = [SecureComparison(4, 0.5).session(**each) for each in [names, *others]]
    ids += [SecureComparison(*parameters).session(**names) for parameters in [(5, 0.5), (4, 0.6), (4, 0.5, 7)]]
    assert len(set(ids)) == 7
    assert {len(each) for each in ids} == {SESSION_BYTES}
    assert SecureComparison(4, np.float64(0.5)).session(**names) == ids[0]


@pytest.mark.parametrize(
    "bad", [(0, 0.5, 8), (4, 1.0, 8), (4, -0.1, 8), (4, math.nan, 8), (4, 0.5, 0), (4, 0.5, 17), (2**16, 0.5, 16)]
)
def test_parameters_that_do_not_fit_are_refused(bad):
    with pytest.raises(InvalidInput):
        SecureComparison(*bad)
