import networkx as nx
import numpy as np
import pytest

from fedgroup.errors import InvalidInput
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import Limits, partition_graph
from fedgroup.provider.grouping.cliques import clique_labels, degeneracy_order


def as_similarity_graph(drawn: "nx.Graph[int]") -> SimilarityGraph:
    edges = np.array(list(drawn.edges), dtype=np.int32).reshape(-1, 2)
    return SimilarityGraph.from_edges(len(drawn), edges[:, 0], edges[:, 1])


def largest_clique(drawn: "nx.Graph[int]") -> int:
    return max(len(clique) for clique in nx.find_cliques(drawn))


def test_every_group_is_a_largest_clique_of_what_the_earlier_ones_left() -> None:
    for seed in range(60):
        drawn = nx.gnp_random_graph(1 + seed // 2, (seed % 10) / 9, seed=seed)
        grouped = partition_graph(as_similarity_graph(drawn), algorithm="cliques")
        assert grouped.notes == ()
        for group in range(grouped.partition.groups):
            members = np.flatnonzero(grouped.partition.labels == group).tolist()
            assert len(members) == largest_clique(drawn)
            drawn.remove_nodes_from(members)


def test_the_first_group_is_a_maximum_clique_of_a_larger_graph() -> None:
    drawn = nx.gnp_random_graph(150, 0.4, seed=5)
    grouped = partition_graph(as_similarity_graph(drawn), algorithm="cliques")
    assert grouped.partition.sizes[0] == largest_clique(drawn)


def test_in_degeneracy_order_no_owner_is_followed_by_more_neighbours_than_its_core_number() -> None:
    for seed in range(30):
        drawn = nx.gnp_random_graph(25, seed / 30, seed=seed)
        graph = as_similarity_graph(drawn)
        order, position = degeneracy_order(graph.offsets, graph.neighbours)
        assert position[order].tolist() == list(range(25))
        for owner, core in nx.core_number(drawn).items():
            assert (position[graph.neighbours_of(owner)] > position[owner]).sum() <= core


def test_owners_without_similar_ones_each_stay_alone() -> None:
    grouped = partition_graph(SimilarityGraph.from_edges(5, [], []), algorithm="cliques")
    assert sorted(grouped.partition.labels.tolist()) == [0, 1, 2, 3, 4]


def test_a_stopped_search_keeps_its_best_clique_and_says_so() -> None:
    graph = as_similarity_graph(nx.gnp_random_graph(120, 0.7, seed=1))
    labels, notes = clique_labels(graph, steps_per_owner=1, steps_per_clique=1)
    proven = int(notes[0].split()[0])
    assert notes[0].startswith(f"{proven} of {labels.max() + 1} groups are proven largest cliques")
    assert np.bincount(labels)[0] >= 8


def test_past_the_total_limit_the_rest_is_grouped_by_the_greedy_algorithm() -> None:
    graph = as_similarity_graph(nx.complete_graph(6))
    labels, notes = clique_labels(graph, Limits(largest=2), steps_in_total=1)
    assert np.bincount(labels).tolist() == [2, 2, 2]
    assert "the last 4 owners were grouped by the greedy algorithm" in notes[0]


def test_a_clique_beyond_the_limits_keeps_the_members_that_accept_most() -> None:
    graph = as_similarity_graph(nx.complete_graph(5))
    limits = Limits(personal=np.array([1, 3, 2, 3, 3], dtype=np.int32))
    labels = partition_graph(graph, algorithm="cliques", limits=limits).partition.labels
    assert [np.flatnonzero(labels == group).tolist() for group in range(3)] == [[1, 3, 4], [2], [0]]


def test_more_owners_than_a_search_can_take_are_refused_with_the_way_out() -> None:
    graph = SimilarityGraph(np.zeros(20_002, dtype=np.int64), np.empty(0, dtype=np.int32))
    with pytest.raises(InvalidInput, match="at most 20,000 owners, got 20,001; use greedy or dsatur"):
        partition_graph(graph, algorithm="cliques")
