from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import Limits, partition_graph


@st.composite
def similarity_graphs(draw: st.DrawFn) -> SimilarityGraph:
    owners = draw(st.integers(1, 16))
    pairs = list(combinations(range(owners), 2))
    is_edge = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    edges = [pair for pair, joined in zip(pairs, is_edge, strict=True) if joined]
    return SimilarityGraph.from_edges(owners, [a for a, _ in edges], [b for _, b in edges])


@st.composite
def limits_for(draw: st.DrawFn, owners: int) -> Limits | None:
    largest = draw(st.none() | st.integers(1, 6))
    personal = draw(st.none() | st.lists(st.integers(1, 8), min_size=owners, max_size=owners))
    if largest is None and personal is None:
        return None
    return Limits(largest=largest, personal=None if personal is None else np.array(personal, dtype=np.int32))


@pytest.mark.parametrize("algorithm", ["greedy", "dsatur", "cliques"])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_groups_cover_every_owner_once_are_cliques_and_keep_all_limits(algorithm: str, data: st.DataObject) -> None:
    graph = data.draw(similarity_graphs())
    limits = data.draw(limits_for(graph.owners))
    partition = partition_graph(graph, algorithm=algorithm, limits=limits).partition
    assert partition.owners == graph.owners
    assert partition.sizes.sum() == graph.owners
    accepted = (limits or Limits()).per_owner(graph.owners)
    assert (partition.sizes[partition.labels] <= accepted).all()
    for a, b in combinations(range(graph.owners), 2):
        assert partition.labels[a] != partition.labels[b] or b in graph.neighbours_of(a)


@pytest.mark.parametrize("algorithm", ["greedy", "dsatur", "cliques"])
@settings(deadline=None, max_examples=30)
@given(graph=similarity_graphs())
def test_grouping_twice_gives_the_same_groups(algorithm: str, graph: SimilarityGraph) -> None:
    once, again = (partition_graph(graph, algorithm=algorithm).partition.labels for _ in range(2))
    assert once.tolist() == again.tolist()
