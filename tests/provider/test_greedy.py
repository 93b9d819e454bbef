from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import Limits, partition_graph
from fedgroup.provider.grouping.greedy import greedy_labels


def random_networkx(seed: int) -> "nx.Graph[int]":
    draw = np.random.default_rng(seed)
    return nx.gnp_random_graph(int(draw.integers(1, 40)), float(draw.random()), seed=seed)


def similarity_graph(drawn: "nx.Graph[int]") -> SimilarityGraph:
    return SimilarityGraph.from_edges(len(drawn), [a for a, _ in drawn.edges], [b for _, b in drawn.edges])


def test_three_similar_owners_form_a_group_and_the_fourth_stays_alone() -> None:
    graph = SimilarityGraph.from_edges(4, [0, 0, 1], [1, 2, 2])
    assert partition_graph(graph, algorithm="greedy").partition.labels.tolist() == [0, 0, 0, 1]


def test_greedy_equals_first_fit_colouring_of_the_complement_graph() -> None:
    for seed in range(300):
        drawn = random_networkx(seed)
        colours = nx.greedy_color(nx.complement(drawn), strategy=lambda graph, _: sorted(graph))
        assert greedy_labels(similarity_graph(drawn)).tolist() == [colours[owner] for owner in range(len(drawn))]


def test_greedy_makes_at_most_one_group_more_than_the_largest_complement_degree() -> None:
    for seed in range(100):
        drawn = random_networkx(seed)
        largest_degree = max(degree for _, degree in nx.complement(drawn).degree)
        assert partition_graph(similarity_graph(drawn)).partition.groups <= largest_degree + 1


@st.composite
def graphs(draw: st.DrawFn) -> SimilarityGraph:
    """Few edges, or all but few."""
    owners = draw(st.integers(0, 24))
    pairs = list(combinations(range(owners), 2))
    some = draw(st.sets(st.sampled_from(pairs), max_size=80)) if pairs else set()
    edges = [pair for pair in pairs if pair not in some] if draw(st.booleans()) else sorted(some)
    return SimilarityGraph.from_edges(owners, [a for a, _ in edges], [b for _, b in edges])


@given(graphs(), st.data())
def test_lists_and_the_compiled_loop_make_the_same_groups(graph: SimilarityGraph, data: st.DataObject) -> None:
    personal = data.draw(st.none() | st.lists(st.integers(1, 8), min_size=graph.owners, max_size=graph.owners))
    limits = Limits(data.draw(st.none() | st.integers(1, 9)), None if personal is None else np.array(personal))
    turns = data.draw(st.permutations(range(graph.owners)))[: data.draw(st.integers(0, graph.owners))]
    order = data.draw(st.none() | st.just(np.array(turns, dtype=np.int32)))
    compiled = greedy_labels(graph, limits, order=order, compiled=True)
    by_lists = greedy_labels(graph, limits, order=order, compiled=False)
    assert (by_lists.tolist(), by_lists.dtype) == (compiled.tolist(), compiled.dtype)


@pytest.mark.parametrize("seed", range(30))
def test_lists_and_the_compiled_loop_make_the_same_groups_of_many(seed: int) -> None:
    drawn = nx.gnp_random_graph(300, seed / 30, seed=seed)
    draw = np.random.default_rng(seed)
    limits = Limits(largest=20, personal=draw.integers(1, 30, 300)) if seed % 2 else None
    order = draw.permutation(300).astype(np.int32)
    compiled = greedy_labels(similarity_graph(drawn), limits, order=order, compiled=True)
    assert greedy_labels(similarity_graph(drawn), limits, order=order, compiled=False).tolist() == compiled.tolist()


def test_owners_choose_in_the_order_given() -> None:
    path = SimilarityGraph.from_edges(3, [0, 1], [1, 2])
    assert greedy_labels(path, order=np.array([2, 1, 0], dtype=np.int32)).tolist() == [1, 0, 0]


@pytest.mark.parametrize("algorithm", ["greedy", "dsatur", "cliques"])
def test_no_owners_make_no_groups(algorithm: str) -> None:
    assert partition_graph(SimilarityGraph.from_edges(0, [], []), algorithm=algorithm).partition.groups == 0
