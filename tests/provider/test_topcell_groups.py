import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.grouping.topcell import partition_by_cell


def filled_one_by_one(top: list[int], limit: list[int]) -> list[set[int]]:
    groups = [{owner} for owner, cell in enumerate(top) if cell < 0]
    for cell in set(top) - {-1}:
        group: set[int] = set()
        for owner in sorted((o for o in range(len(top)) if top[o] == cell), key=lambda o: (-limit[o], o)):
            if not group or len(group) + 1 > limit[owner]:
                group = set()
                groups.append(group)
            group.add(owner)
    return sorted(groups, key=min)


def test_owners_of_a_cell_form_a_group_and_left_overs_stay_alone() -> None:
    top = np.array([7, -1, 3, 7, 3, -1])
    assert partition_by_cell(top, limits=None).labels.tolist() == [0, 1, 2, 0, 2, 3]


def test_a_cell_is_split_to_the_largest_size() -> None:
    top = np.array([4, 4, 4, 4, 4])
    assert partition_by_cell(top, limits=Limits(largest=2)).labels.tolist() == [0, 0, 1, 1, 2]


def test_within_a_cell_owners_that_accept_more_come_first() -> None:
    limits = Limits(personal=np.array([1, 3, 2, 3, 3], dtype=np.int32))
    assert partition_by_cell(np.zeros(5, dtype=np.int64), limits=limits).labels.tolist() == [0, 1, 2, 1, 1]


def test_no_owners_fill_no_cells() -> None:
    assert partition_by_cell(np.empty(0, dtype=np.int64), limits=None).groups == 0


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(1, 6)), min_size=1, max_size=30))
def test_cells_are_filled_as_if_one_owner_came_after_another(owners: list[tuple[int, int]]) -> None:
    top, limit = [cell for cell, _ in owners], [accepted for _, accepted in owners]
    labels = partition_by_cell(np.array(top), limits=Limits(personal=np.array(limit, dtype=np.int32))).labels
    groups = [set(np.flatnonzero(labels == group).tolist()) for group in range(labels.max() + 1)]
    assert groups == filled_one_by_one(top, limit)
