import pytest

from fedgroup.errors import ProtocolViolation
from fedgroup.provider.graph import SimilarityGraph


def test_neighbours_stand_in_ascending_order_on_both_sides_of_an_edge() -> None:
    graph = SimilarityGraph.from_edges(4, [2, 3, 1], [0, 0, 2])
    assert [graph.neighbours_of(owner).tolist() for owner in range(4)] == [[2, 3], [2], [0, 1], [0]]
    assert (graph.owners, graph.edges) == (4, 3)


def test_a_graph_without_edges_or_owners_is_a_graph() -> None:
    assert SimilarityGraph.from_edges(3, [], []).neighbours_of(2).tolist() == []
    assert SimilarityGraph.from_edges(0, [], []).owners == 0


@pytest.mark.parametrize("edge", [(0, 0), (0, 3), (-1, 2)])
def test_an_edge_joins_two_different_known_owners(edge: tuple[int, int]) -> None:
    with pytest.raises(ProtocolViolation, match=r"two different owners numbered 0\.\.2"):
        SimilarityGraph.from_edges(3, [edge[0]], [edge[1]])


def test_an_edge_given_twice_is_refused_in_either_direction() -> None:
    with pytest.raises(ProtocolViolation, match="given once"):
        SimilarityGraph.from_edges(3, [0, 1], [1, 0])
