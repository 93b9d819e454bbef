"""Similarity graphs: each pair decided once, by the stated estimate."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider import dense_graph, graph, sparse_graph
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.similarity import cosine_graph, kept_cells, noisy_graph, smallest_kept_cell, top_cells
from fedgroup.space import Box, Grid

vectors = hnp.arrays(np.int32, st.tuples(st.integers(1, 12), st.just(9)), elements=st.integers(0, 6))
noisy_values = st.sampled_from([np.int16, np.int32, np.int64]).flatmap(
    lambda width: hnp.arrays(width, st.tuples(st.integers(1, 12), st.just(9)), elements=st.integers(-9, 15))
)


def as_message(values: np.ndarray) -> NoisyVectors:
    cells = values.shape[1]
    return NoisyVectors(values, Grid(Box(0, 0, 1, 1), cells, 1), Fraction(10, 3), Epsilon.of(0.3))


def edges_of(graph: SimilarityGraph) -> set[tuple[int, int]]:
    return {(i, int(j)) for i in range(graph.owners) for j in graph.neighbours_of(i) if i < j}


def brute_force(values: np.ndarray, threshold: float, *, spread: float = 0.0) -> set[tuple[int, int]]:
    """The rule, pair by pair; `spread` is taken off every squared length."""
    rows = values.astype(np.int64)
    squares = [float(row @ row) - spread for row in rows]
    return {
        (i, j)
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
        if squares[i] > 0 and squares[j] > 0
        if float(rows[i] @ rows[j]) > threshold * math.sqrt(squares[i] * squares[j])
    }


def test_the_papers_two_vectors_are_similar_by_0_973() -> None:
    v = np.array([[0, 1, 1, 1, 0, 0, 2, 5, 0], [0, 0, 1, 1, 0, 0, 1, 4, 0]])
    assert edges_of(cosine_graph(v, threshold=0.9733)) == {(0, 1)}
    assert edges_of(cosine_graph(v, threshold=0.9734)) == set()


@given(vectors, st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_sparse_products_join_the_same_pairs_as_brute_force(values: np.ndarray, threshold: float) -> None:
    assert edges_of(cosine_graph(values, threshold=threshold)) == brute_force(values, threshold)


@given(noisy_values, st.sampled_from([0.0, 0.5]))
def test_raw_is_the_plain_cosine_of_noisy_vectors(values: np.ndarray, threshold: float) -> None:
    graph = noisy_graph(as_message(values), threshold=threshold, estimate="raw", false_cells=1)
    assert edges_of(graph) == brute_force(values, threshold)


@given(noisy_values, st.sampled_from([0.0, 0.5]), st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(10, 3)]))
def test_debiased_takes_the_noises_share_off_every_length(
    values: np.ndarray, threshold: float, scale: Fraction
) -> None:
    message = NoisyVectors(values, Grid(Box(0, 0, 1, 1), 9, 1), scale, Epsilon.of(0.3))
    graph = noisy_graph(message, threshold=threshold, estimate="debiased", false_cells=1)
    assert edges_of(graph) == brute_force(values, threshold, spread=9 * DiscreteLaplace(scale).variance)


@given(noisy_values)
def test_thresholded_looks_at_cells_from_tau_up_only(values: np.ndarray) -> None:
    tau = smallest_kept_cell(Fraction(10, 3), 9, 1)
    graph = noisy_graph(as_message(values), threshold=0.5, estimate="thresholded", false_cells=1)
    assert edges_of(graph) == brute_force(np.where(values >= tau, values, 0), 0.5)


def test_a_pair_at_the_threshold_exactly_is_not_joined() -> None:
    values = np.array([[1, 0, 0, 0], [1, 1, 1, 1]])
    assert edges_of(cosine_graph(values, threshold=0.5)) == set()


@pytest.mark.parametrize("count", [1, 3, 1000, 30_000_000])
@pytest.mark.parametrize("join", ["raw", "cosine"])
def test_pairs_nearer_to_the_threshold_than_rounding_are_decided_exactly(count: int, join: str) -> None:
    """Similarities of 0.5, and of 0.5 plus or minus about 3 / (8 count)."""
    values = np.array(
        [[count, 0, 0, 0], [count, count, count, count], [count + 1, *[count] * 3], [count, *[count + 1] * 3]]
    )
    graph = (
        cosine_graph(values, threshold=0.5)
        if join == "cosine"
        else noisy_graph(as_message(values), threshold=0.5, estimate="raw", false_cells=1)
    )
    assert edges_of(graph) == {(0, 2), (1, 2), (1, 3), (2, 3)}


@pytest.mark.parametrize("estimate", ["raw", "debiased", "thresholded"])
@pytest.mark.parametrize("width", [np.int16, np.int32, np.int64, np.float64])
def test_neither_blocks_nor_the_width_of_numbers_change_anything(
    estimate: str, width: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(1).integers(-5, 12, (60, 9))
    whole = noisy_graph(as_message(values), threshold=0.5, estimate=estimate, false_cells=1)
    monkeypatch.setattr(dense_graph, "_TILE", (7, 11))
    monkeypatch.setattr(dense_graph, "_CHUNK", 20)
    monkeypatch.setattr(sparse_graph, "_BLOCK", 1)
    monkeypatch.setattr(graph, "_TOGETHER", 13)
    blocked = noisy_graph(as_message(values.astype(width)), threshold=0.5, estimate=estimate, false_cells=1)
    assert blocked.offsets.tolist() == whole.offsets.tolist()
    assert blocked.neighbours.tolist() == whole.neighbours.tolist()


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 0"):
        cosine_graph(np.eye(2), threshold=-0.1)


@given(noisy_values, st.sampled_from([0.1, 1, 100]))
def test_kept_and_top_cells_are_those_from_tau_up(values: np.ndarray, false_cells: float) -> None:
    tau = smallest_kept_cell(Fraction(10, 3), 9, false_cells)
    assert kept_cells(as_message(values), false_cells).toarray().tolist() == np.where(values >= tau, values, 0).tolist()
    top = np.where(values.max(axis=1) >= tau, values.argmax(axis=1), -1)
    assert top_cells(as_message(values), false_cells).tolist() == top.tolist()


def test_raw_is_biased_to_zero_and_debiased_is_not() -> None:
    """33 records per owner, 100 cells, epsilon 0.3: a true 0.87 shows as about 0.08."""
    exact = np.zeros((4_000, 100), dtype=np.int32)
    exact[0::2, :4] = [24, 6, 2, 1]
    exact[1::2, :4] = [20, 4, 8, 1]
    true = exact[0] @ exact[1] / np.linalg.norm(exact[0]) / np.linalg.norm(exact[1])
    noisy = release_vectors(
        exact,
        grid=Grid(Box(0, 0, 1, 1), 10, 10),
        epsilon=Epsilon.of(0.3),
        protection=Protection(),
        noise=SeededNoise(3),
    ).values.astype(float)
    dots = (noisy[0::2] * noisy[1::2]).sum(axis=1)
    squares = (noisy**2).sum(axis=1)
    raw = (dots / np.sqrt(squares[0::2] * squares[1::2])).mean()
    spread = 100 * 22.06
    assert true > 0.85
    assert raw < 0.3
    assert dots.mean() / math.sqrt((squares[0::2] - spread).mean() * (squares[1::2] - spread).mean()) == pytest.approx(
        true, abs=0.05
    )


@pytest.mark.parametrize("false_cells", [0.1, 0.3, 1, 3])
@pytest.mark.parametrize("scale", [Fraction(10, 3), Fraction(1, 2), Fraction(50)])
def test_tau_is_the_smallest_that_keeps_few_false_cells(scale: Fraction, false_cells: float) -> None:
    a = math.exp(-1 / scale)
    expected = next(k for k in range(1, 10_000) if 100 * a**k / (1 + a) <= false_cells)
    assert smallest_kept_cell(scale, 100, false_cells) == expected


def test_noise_alone_fills_as_many_cells_as_asked() -> None:
    noise = SeededNoise(4).laplace(Fraction(10, 3), 1_000_000).reshape(-1, 100)
    tau = smallest_kept_cell(Fraction(10, 3), 100, 0.1)
    assert 0.07 < (noise >= tau).sum(axis=1).mean() <= 0.1 + 0.005


def test_the_top_cell_is_the_first_largest_one_from_tau_up() -> None:
    tau = smallest_kept_cell(Fraction(10, 3), 3, 0.1)
    message = as_message(np.array([[0, tau, tau], [tau - 1, 0, -5], [-9, 0, tau + 2]]))
    assert top_cells(message, 0.1).tolist() == [1, -1, 2]


def test_owners_without_a_length_are_similar_to_none() -> None:
    message = as_message(np.array([[0, 0, 0], [0, 0, 0], [50, 1, 1], [60, 0, 1]]))
    assert edges_of(noisy_graph(message, threshold=0.0, estimate="raw", false_cells=1)) == {(2, 3)}
    assert edges_of(noisy_graph(message, threshold=0.0, estimate="debiased", false_cells=1)) == {(2, 3)}


@pytest.mark.parametrize("false_cells", [0, -1, math.nan, math.inf])
def test_nonsense_false_cells_are_refused(false_cells: float) -> None:
    with pytest.raises(InvalidInput):
        smallest_kept_cell(Fraction(1), 10, false_cells)
