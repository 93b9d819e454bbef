import numpy as np
import pytest

from fedgroup.errors import InvalidInput
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import Limits, partition_graph

EVERYBODY_SIMILAR = SimilarityGraph.from_edges(3, [0, 0, 1], [1, 2, 2])


@pytest.mark.parametrize("limits", [{"largest": 0}, {"personal": np.array([2, 0])}])
def test_a_limit_below_one_cannot_exist(limits: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"a group limit must be .*at least 1, got 0"):
        Limits(**limits)


@pytest.mark.parametrize("personal", [np.array([1.5, 2.0]), np.ones((2, 2), dtype=np.int32)])
def test_personal_limits_are_one_list_of_whole_numbers(personal: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="whole numbers"):
        Limits(personal=personal)


def test_the_smaller_of_both_limits_counts_and_no_limit_means_everybody() -> None:
    both = Limits(largest=3, personal=np.array([1, 9, 2, 5], dtype=np.int32))
    assert both.per_owner(4).tolist() == [1, 3, 2, 3]
    assert Limits().per_owner(4).tolist() == [4, 4, 4, 4]


def test_personal_limits_for_another_number_of_owners_are_refused() -> None:
    with pytest.raises(InvalidInput, match="3 owners, 2 limits"):
        partition_graph(EVERYBODY_SIMILAR, limits=Limits(personal=np.array([2, 2], dtype=np.int32)))


def test_personal_limits_cannot_change_after_their_birth() -> None:
    given = np.array([2, 2], dtype=np.int32)
    limits = Limits(personal=given)
    given[0] = 0
    assert limits.per_owner(2).tolist() == [2, 2]


def test_a_newcomer_never_breaks_an_earlier_members_limit() -> None:
    # The newcomer, owner 2, accepts three members, so the paper's check lets it in; owner 0 accepts only two.
    limits = Limits(personal=np.array([2, 3, 3], dtype=np.int32))
    assert partition_graph(EVERYBODY_SIMILAR, limits=limits).partition.labels.tolist() == [0, 0, 1]


def test_an_unknown_algorithm_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="greedy, dsatur or cliques, got 'magic'"):
        partition_graph(EVERYBODY_SIMILAR, algorithm="magic")
