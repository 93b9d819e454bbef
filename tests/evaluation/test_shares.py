"""How good a grouping is: a hand-made example, and plain Python over all pairs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.evaluation import shares
from fedgroup.evaluation.shares import judge
from fedgroup.evaluation.truth import exact_graph
from fedgroup.messages import Partition
from fedgroup.provider.grouping import partition_graph

VECTORS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12)


def by_hand(labels: list[int], vectors: np.ndarray[Any, np.dtype[np.int32]]) -> shares.Shares:
    """The shares at the threshold 1/2: similar means 4 dot^2 > |v|^2 |w|^2, in whole numbers."""
    dots = (vectors.astype(np.int64) @ vectors.T).tolist()
    owners = range(len(labels))

    def friends(i: int) -> list[int]:
        return [j for j in mates[i] if 4 * dots[i][j] ** 2 > dots[i][i] * dots[j][j]]

    mates = {i: [j for j in owners if j != i and labels[j] == labels[i]] for i in owners}
    pairs, similar = sum(map(len, mates.values())), sum(len(friends(i)) for i in owners)
    return shares.Shares(
        (pairs - similar) / pairs if pairs else 0.0,
        sum(2 * (len(friends(i)) + 1) < len(mates[i]) + 1 for i in owners) / len(labels),
        sum(2 * len(friends(i)) < len(mates[i]) for i in owners) / len(labels),
    )


def test_a_hand_made_example() -> None:
    vectors = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [1, 1], [0, 0]], dtype=np.int32)
    found = judge(Partition(np.array([0, 0, 0, 0, 1, 1])), vectors, threshold=0.5)
    assert found.false_pair_share == pytest.approx(4 / 7)
    assert found.misplaced_share == pytest.approx(1 / 6)
    assert found.stranger_share == pytest.approx(3 / 6)


def test_two_strangers_in_a_pair_are_a_false_pair_and_not_misplaced() -> None:
    found = judge(Partition(np.zeros(2)), np.eye(2, dtype=np.int32), threshold=0.5)
    assert found == shares.Shares(1.0, 0.0, 1.0)


def test_owners_alone_are_in_no_wrong_place() -> None:
    vectors = np.zeros((3, 2), dtype=np.int32)
    assert judge(Partition.singletons(3), vectors, threshold=0.5) == shares.Shares(0.0, 0.0, 0.0)


@given(VECTORS, st.data())
def test_the_shares_are_those_of_all_pairs(rows: list[list[int]], data: st.DataObject) -> None:
    vectors = np.array(rows, dtype=np.int32)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    labels = [sorted(set(drawn)).index(label) for label in drawn]
    found = judge(Partition(np.array(labels)), vectors, threshold=0.5)
    assert asdict(found) == pytest.approx(asdict(by_hand(labels, vectors)))


@given(VECTORS, st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_groups_of_the_exact_graph_hold_no_false_pair(rows: list[list[int]], threshold: float) -> None:
    vectors = np.array(rows, dtype=np.int32)
    grouped = partition_graph(exact_graph(vectors, threshold=threshold), algorithm="greedy", limits=None)
    assert judge(grouped.partition, vectors, threshold=threshold) == shares.Shares(0.0, 0.0, 0.0)


def test_blocks_do_not_change_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(5)
    vectors = chance.integers(0, 4, (50, 4)).astype(np.int32)
    partition = Partition(np.arange(50) % 3)
    whole = judge(partition, vectors, threshold=0.7)
    monkeypatch.setattr(shares, "_BLOCK", 40)
    assert judge(partition, vectors, threshold=0.7) == whole


def test_masked_groups_are_not_judged() -> None:
    vectors = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=np.int32)
    partition = Partition(np.array([0, 0, 1, 1]), np.array([True, False]))
    assert judge(partition, vectors, threshold=0.5) == shares.Shares(1.0, 0.0, 0.5)
