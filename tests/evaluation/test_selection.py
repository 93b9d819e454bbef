"""Choosing owners for an experiment: a stated draw over ascending ids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.evaluation.selection import select_owners
from fedgroup.owner.records import Records


def table(owner: list[int]) -> Records:
    places = np.arange(len(owner), dtype=np.float64)
    return Records(owner=owner, x=places, y=places, owners=range(0, 40, 2))


@given(st.lists(st.integers(0, 19).map(lambda i: 2 * i), max_size=60), st.integers(0, 99), st.integers(0, 3))
def test_the_draw_is_numpys_choice_over_ascending_ids(owner: list[int], seed: int, least: int) -> None:
    enough = [one for one in range(0, 40, 2) if owner.count(one) >= least]
    count = len(enough) // 2 + 1
    if len(enough) < count:
        return
    chosen = select_owners(table(owner), count, min_records=least, seed=seed)
    expected = sorted(np.random.default_rng(seed).choice(np.array(enough), count, replace=False).tolist())
    assert chosen.owners.tolist() == expected
    assert chosen.x.tolist() == [at for at, one in enumerate(owner) if one in expected]


def test_chosen_owners_keep_their_records_and_no_others() -> None:
    chosen = select_owners(table([4, 2, 4, 6, 2]), 2, min_records=2)
    assert chosen.owners.tolist() == [2, 4]
    assert chosen.code.tolist() == [1, 0, 1, 0]


def test_the_same_seed_chooses_the_same_owners() -> None:
    first, same, other = (select_owners(table([]), 5, seed=seed).owners.tolist() for seed in (1, 1, 2))
    assert first == same != other


@pytest.mark.parametrize(("count", "least"), [(0, 0), (-1, 0), (21, 0), (2, 2)])
def test_too_few_or_too_many_owners_are_refused(count: int, least: int) -> None:
    with pytest.raises(InvalidInput):
        select_owners(table([2, 2, 4]), count, min_records=least)
