"""Graphs of many owners: the same edges as plain products, and lists built without sorting all edges."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.messages import NoisyVectors
from fedgroup.provider import graph as module
from fedgroup.provider.graph import EdgeBlock, SimilarityGraph
from fedgroup.provider.similarity import kept_cells, noisy_graph
from fedgroup.space import Box, Grid

OWNERS = 3_000
SCALE = Fraction(10, 3)

pairs = st.integers(2, 30).flatmap(
    lambda owners: st.tuples(
        st.just(owners),
        st.sets(st.tuples(st.integers(0, owners - 1), st.integers(0, owners - 1)).filter(lambda p: p[0] < p[1])),
    )
)


def many_owners() -> NoisyVectors:
    """Counts in a few cells, of which some are everybody's, and noise in all of them."""
    random = np.random.default_rng(5)
    counts = np.zeros((OWNERS, 100), dtype=np.int16)
    for _ in range(3):
        counts[np.arange(OWNERS), random.zipf(1.5, OWNERS) % 100] += random.integers(5, 40, OWNERS)
    noise = random.laplace(0, float(SCALE), counts.shape).round().astype(np.int16)
    return NoisyVectors(counts + noise, Grid(Box(0, 0, 1, 1), 10, 10), SCALE, Epsilon.of(0.3))


@pytest.mark.parametrize("estimate", ["thresholded", "raw"])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.8])
def test_every_pair_of_many_owners_follows_the_rule(estimate: str, threshold: float) -> None:
    vectors = many_owners()
    values = kept_cells(vectors, 0.1).toarray() if estimate == "thresholded" else vectors.values.astype(np.int64)
    squares = (values**2).sum(axis=1).astype(np.float64)
    above = (values @ values.T).astype(np.float64) > threshold * np.sqrt(np.outer(squares, squares))
    above &= np.outer(squares > 0, squares > 0) & ~np.eye(OWNERS, dtype=bool)
    found = noisy_graph(vectors, threshold=threshold, estimate=estimate, false_cells=0.1)
    assert np.array_equal(found.offsets[1:], above.sum(axis=1).cumsum())
    assert np.array_equal(found.neighbours, np.nonzero(above)[1])


@given(pairs, st.integers(1, 40), st.randoms(use_true_random=False))
def test_blocks_of_edges_make_the_same_graph_as_edges_in_any_order(
    given_pairs: tuple[int, set[tuple[int, int]]], together: int, random: Random
) -> None:
    owners, edges = given_pairs
    mixed = [edge[::-1] if random.random() < 0.5 else edge for edge in random.sample(sorted(edges), len(edges))]
    first, second = ([edge[side] for edge in mixed] for side in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", together)
        of_edges = SimilarityGraph.from_edges(owners, first, second)
        of_blocks = SimilarityGraph.from_blocks(owners, one_block_an_owner(edges))
    near = [sorted({sum(edge) - owner for edge in edges if owner in edge}) for owner in range(owners)]
    assert [of_edges.neighbours_of(owner).tolist() for owner in range(owners)] == near
    assert [of_blocks.neighbours_of(owner).tolist() for owner in range(owners)] == near


def one_block_an_owner(edges: set[tuple[int, int]]) -> list[EdgeBlock]:
    """Owners without later neighbours stand in no block."""
    later = {i: sorted(b for a, b in edges if a == i) for i in sorted({a for a, _ in edges})}
    return [
        EdgeBlock(np.array([i], dtype=np.int32), np.array([len(js)]), np.array(js, dtype=np.int32))
        for i, js in later.items()
    ]
