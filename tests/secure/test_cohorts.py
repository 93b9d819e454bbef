from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from fedgroup.errors import InvalidInput
from fedgroup.messages import Partition
from fedgroup.secure.mask_graph import cohort_labels

FALSE_ALARM = 1e-6
"""The chance that a right implementation fails a statistical test, were its seeds not fixed."""


@given(st.integers(1, 300), st.integers(1, 350))
def test_cohorts_are_as_few_and_as_equal_as_can_be(members, size):
    partition = Partition(cohort_labels(members, size=size, seed=b"seed"))
    assert partition.owners == members
    assert partition.groups == -(-members // size)
    assert partition.sizes.max() <= size
    assert np.ptp(partition.sizes) <= 1


def test_every_partition_is_equally_likely():
    trials = 9000
    labels = [cohort_labels(4, size=2, seed=b"%d" % i) for i in range(trials)]
    beside_the_first = [int(np.flatnonzero(row == row[0])[1]) for row in labels]
    counts = np.bincount(beside_the_first)[1:]
    assert ((counts - trials / 3) ** 2).sum() / (trials / 3) < chi2.isf(FALSE_ALARM, 2)


def test_the_seed_decides():
    one, same, other = (cohort_labels(100, size=10, seed=seed) for seed in (b"a", b"a", b"b"))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(("members", "size"), [(0, 5), (10, 0), (10, -1)])
def test_no_members_and_no_size_are_invalid(members, size):
    with pytest.raises(InvalidInput):
        cohort_labels(members, size=size, seed=b"seed")
