from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import Limits, partition_graph
from fedgroup.provider.grouping.dsatur import MOST_PASSES, passes, saturation_labels


def groups_of(graph: SimilarityGraph, algorithm: str, limits: Limits | None = None) -> int:
    return partition_graph(graph, algorithm=algorithm, limits=limits).partition.groups


def random_graph(owners: int, density: float, seed: int) -> SimilarityGraph:
    edges = np.array(list(combinations(range(owners), 2))).reshape(-1, 2)
    kept = edges[np.random.default_rng(seed).random(len(edges)) < density]
    return SimilarityGraph.from_edges(owners, kept[:, 0], kept[:, 1])


def fewest_cliques(graph: SimilarityGraph, placed: tuple[frozenset[int], ...] = (), owner: int = 0) -> int:
    """Count the groups of the best partition by trying every one."""
    if owner == graph.owners:
        return len(placed)
    near = set(graph.neighbours_of(owner).tolist())
    joined = [
        fewest_cliques(graph, (*placed[:i], group | {owner}, *placed[i + 1 :]), owner + 1)
        for i, group in enumerate(placed)
        if group <= near
    ]
    return min([*joined, fewest_cliques(graph, (*placed, frozenset({owner})), owner + 1)])


def labels_in_saturation_order(graph: SimilarityGraph, limit: list[int]) -> list[int]:
    """Group by definition: at every turn look at every unplaced owner and every group."""
    near = [set(graph.neighbours_of(owner).tolist()) for owner in range(graph.owners)]
    groups: list[set[int]] = []

    def is_open(group: set[int], owner: int) -> bool:
        return group <= near[owner] and len(group) < min(limit[member] for member in group | {owner})

    for _ in range(graph.owners):
        unplaced = set(range(graph.owners)).difference(*groups)
        owner = min(unplaced, key=lambda u: (sum(is_open(group, u) for group in groups), len(near[u]), u))
        fits = [group for group in groups if is_open(group, owner)]
        fits[0].add(owner) if fits else groups.append({owner})
    return [next(g for g, group in enumerate(groups) if owner in group) for owner in range(graph.owners)]


@pytest.mark.parametrize("seed", range(40))
def test_saturation_order_follows_its_definition(seed: int) -> None:
    draw = np.random.default_rng(seed)
    graph = random_graph(int(draw.integers(1, 30)), float(draw.random()), seed)
    limit = draw.integers(1, 8, graph.owners) if seed % 2 else np.full(graph.owners, graph.owners)
    found = saturation_labels(graph, limit.astype(np.int32))
    assert found.tolist() == labels_in_saturation_order(graph, limit.tolist())


@pytest.mark.parametrize("seed", range(60))
def test_dsatur_never_makes_more_groups_than_greedy(seed: int) -> None:
    draw = np.random.default_rng(seed)
    graph = random_graph(int(draw.integers(1, 60)), float(draw.random()), seed)
    limits = Limits(largest=6, personal=draw.integers(1, 9, graph.owners)) if seed % 2 else None
    assert groups_of(graph, "dsatur", limits) <= groups_of(graph, "greedy", limits)


def test_dsatur_finds_the_fewest_groups_on_small_graphs() -> None:
    for seed in range(40):
        graph = random_graph(9, 0.2 + 0.6 * (seed % 7) / 6, seed)
        assert groups_of(graph, "dsatur") == fewest_cliques(graph)


def test_dsatur_pairs_a_path_whose_ids_mislead_greedy() -> None:
    path = SimilarityGraph.from_edges(4, [2, 0, 1], [0, 1, 3])
    assert (groups_of(path, "greedy"), groups_of(path, "dsatur")) == (3, 2)


def test_dsatur_groups_are_numbered_by_their_lowest_members() -> None:
    labels = partition_graph(random_graph(40, 0.5, 1), algorithm="dsatur").partition.labels
    lowest = [int(np.flatnonzero(labels == group)[0]) for group in range(labels.max() + 1)]
    assert lowest == sorted(lowest)


def test_dsatur_improves_clearly_on_hidden_groups() -> None:
    hidden = nx.random_partition_graph([25] * 8, 0.9, 0.1, seed=2)
    first, second = np.random.default_rng(2).permutation(200)[np.array(hidden.edges).T]
    graph = SimilarityGraph.from_edges(200, first, second)
    assert groups_of(graph, "dsatur") <= 0.8 * groups_of(graph, "greedy")


def test_the_number_of_passes_falls_with_the_number_of_edges() -> None:
    assert passes(SimilarityGraph.from_edges(2, [0], [1])) == MOST_PASSES
    lists = np.broadcast_to(np.int32(0), (200_000_000,))
    assert passes(SimilarityGraph(np.zeros(100_001, dtype=np.int64), lists)) == 4
