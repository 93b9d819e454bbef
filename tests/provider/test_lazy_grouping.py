"""Lazy grouping: the groups of the eager algorithms, with fewer comparisons, none of them twice, and within a cap."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.provider.borderline import ASK, NO, YES, Borderline, ask_all
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import Limits, partition_graph
from fedgroup.provider.lazy_grouping import EXTRA, GroupingProgress, compare_all, group_lazily


class Truth:
    """Answers from a table of true similarities, and remembers the questions."""

    def __init__(self, similar: np.ndarray) -> None:
        self.similar = similar
        self.questions: list[tuple[int, int]] = []
        self.waves = 0

    def __call__(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        self.questions += zip(first.tolist(), second.tolist(), strict=True)
        self.waves += 1
        return self.similar[first, second]


def symmetric(owners: int, pairs: list[float], kind: type) -> np.ndarray:
    table = np.zeros((owners, owners), dtype=kind)
    table[np.triu_indices(owners, k=1)] = pairs
    return table + table.T


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Borderline, np.ndarray, Limits | None]:
    """What is known of pairs, the truth about them, which it may contradict, and limits."""
    owners = draw(st.integers(0, 14))
    pairs = owners * (owners - 1) // 2
    per_pair = lambda elements: draw(st.lists(elements, min_size=pairs, max_size=pairs))
    state = symmetric(owners, per_pair(st.sampled_from([NO, YES, ASK, ASK])), np.uint8)
    rank = symmetric(owners, per_pair(st.sampled_from([-0.5, 0.0, 0.25, 0.5])), np.float32)
    similar = symmetric(owners, per_pair(st.sampled_from([True, True, False])), np.bool_)
    personal = draw(st.none() | st.lists(st.integers(1, 6), min_size=owners, max_size=owners))
    limits = None if personal is None else Limits(draw(st.none() | st.integers(1, 5)), np.array(personal, np.int32))
    return Borderline(state, rank), similar, limits


def eager_graph(borderline: Borderline, similar: np.ndarray) -> SimilarityGraph:
    joined = (borderline.state == YES) | ((borderline.state == ASK) & similar)
    return SimilarityGraph.from_edges(borderline.owners, *np.nonzero(np.triu(joined, k=1)))


def random_world(owners: int, seed: int) -> tuple[Borderline, np.ndarray]:
    random = np.random.default_rng(seed)
    pairs = owners * (owners - 1) // 2
    weight = random.random(pairs)
    state = symmetric(owners, np.select([weight < 0.3, weight > 0.9], [NO, YES], ASK), np.uint8)
    similar = symmetric(owners, weight + random.normal(0, 0.2, pairs) > 0.6, np.bool_)
    return Borderline(state, symmetric(owners, weight, np.float32)), similar


@settings(max_examples=300)
@given(worlds(), st.sampled_from([0.0, 0.1, EXTRA, 1.0, math.inf]))
def test_groups_are_those_of_algorithm_1_followed_by_algorithm_2(
    world: tuple[Borderline, np.ndarray, Limits | None], extra: float
) -> None:
    borderline, similar, limits = world
    eager = partition_graph(eager_graph(borderline, similar), algorithm="greedy", limits=limits).partition
    lazy = group_lazily(borderline, Truth(similar), limits=limits, extra=extra)
    assert lazy.labels.dtype == np.int32
    assert lazy.labels.tolist() == eager.labels.tolist()


@given(worlds())
def test_only_borderline_pairs_are_compared_and_none_twice(
    world: tuple[Borderline, np.ndarray, Limits | None],
) -> None:
    borderline, similar, limits = world
    truth = Truth(similar)
    lazy = group_lazily(borderline, truth, limits=limits)
    assert all(i < j and borderline.state[i, j] == ASK for i, j in truth.questions)
    assert len(set(truth.questions)) == len(truth.questions) == lazy.comparisons <= borderline.asked


@given(worlds())
def test_what_was_revealed_is_counted(world: tuple[Borderline, np.ndarray, Limits | None]) -> None:
    borderline, similar, limits = world
    truth = Truth(similar)
    lazy = group_lazily(borderline, truth, limits=limits)
    seen = np.bincount(np.array(truth.questions, dtype=np.int64).ravel(), minlength=borderline.owners)
    assert lazy.revealed_per_owner.tolist() == seen.tolist()
    assert lazy.edges == borderline.count(YES) + sum(bool(similar[pair]) for pair in truth.questions)


def test_many_owners_get_the_eager_groups_with_a_fraction_of_the_comparisons() -> None:
    borderline, similar = random_world(300, seed=1)
    eager = partition_graph(eager_graph(borderline, similar)).partition
    lazy = group_lazily(borderline, Truth(similar))
    assert lazy.labels.tolist() == eager.labels.tolist()
    assert lazy.comparisons < borderline.asked / 2
    assert lazy.notes == (
        f"{lazy.comparisons:,} of {borderline.asked:,} borderline pairs were compared; "
        "the others could not change the groups",
    )


def test_the_least_likely_member_is_asked_first_and_its_no_ends_the_group() -> None:
    state = symmetric(4, [YES, YES, ASK, YES, ASK, ASK], np.uint8)
    rank = symmetric(4, [0.9, 0.9, 0.6, 0.9, 0.4, 0.5], np.float32)
    refused, welcome = Truth(np.zeros((4, 4), dtype=np.bool_)), Truth(np.ones((4, 4), dtype=np.bool_))
    assert group_lazily(Borderline(state, rank), refused, extra=0).labels.tolist() == [0, 0, 0, 1]
    assert refused.questions == [(1, 3)]
    assert group_lazily(Borderline(state, rank), welcome, extra=0).labels.tolist() == [0, 0, 0, 0]
    assert welcome.questions == [(1, 3), (2, 3), (0, 3)]


def test_a_group_with_a_sure_no_or_without_room_is_not_asked() -> None:
    state = symmetric(3, [YES, ASK, NO], np.uint8)
    truth = Truth(np.ones((3, 3), dtype=np.bool_))
    assert group_lazily(Borderline(state, np.zeros((3, 3), np.float32)), truth).labels.tolist() == [0, 0, 1]
    assert group_lazily(ask_all(3), truth, limits=Limits(largest=1)).labels.tolist() == [0, 1, 2]
    assert truth.questions == []


def test_nothing_is_asked_or_noted_when_all_pairs_are_decided() -> None:
    truth = Truth(np.zeros((3, 3), dtype=np.bool_))
    decided = Borderline(symmetric(3, [YES, NO, YES], np.uint8), np.zeros((3, 3), np.float32))
    lazy = group_lazily(decided, truth)
    assert (lazy.labels.tolist(), lazy.edges, lazy.comparisons, lazy.notes) == ([0, 0, 1], 2, 0, ())


def test_when_all_are_asked_every_similar_clique_is_found_by_comparisons_alone() -> None:
    similar = np.kron(np.eye(3, dtype=np.bool_), np.ones((4, 4), dtype=np.bool_))
    lazy = group_lazily(ask_all(12), Truth(similar))
    assert lazy.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert lazy.edges == sum(bool(similar[pair]) for pair in combinations(range(12), 2))
    assert lazy.comparisons < ask_all(12).asked


def test_an_error_while_comparing_reaches_the_caller() -> None:
    def unreachable(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        raise ConnectionError(f"{first[0]} and {second[0]}")

    with pytest.raises(ConnectionError, match="0 and 1"):
        group_lazily(ask_all(2), unreachable)


def crowded_world(owners: int, seed: int) -> tuple[Borderline, np.ndarray]:
    """Two large crowds and some others; nearly all pairs are in doubt, and ranks tell little."""
    random = np.random.default_rng(seed)
    crowd = random.choice([0, 1, 2, 3], p=[0.5, 0.3, 0.15, 0.05], size=owners)
    similar = crowd[:, None] == crowd[None, :]
    rank = symmetric(owners, random.normal(0, 0.3, owners * (owners - 1) // 2), np.float32)
    return Borderline(ask_all(owners).state, rank + np.float32(0.5) * similar), similar


@given(worlds(), st.integers(0, 40))
def test_with_a_cap_all_in_a_group_are_known_to_be_similar_and_no_pair_is_compared_twice(
    world: tuple[Borderline, np.ndarray, Limits | None], cap: int
) -> None:
    borderline, similar, limits = world
    truth = Truth(similar)
    capped = group_lazily(borderline, truth, limits=limits, comparisons=cap)
    assert len(set(truth.questions)) == len(truth.questions) == capped.comparisons <= cap
    known = {*truth.questions, *zip(*np.nonzero(borderline.state == YES), strict=True)}
    for pair in combinations(range(borderline.owners), 2):
        if capped.labels[pair[0]] == capped.labels[pair[1]]:
            assert pair in known
            assert borderline.state[pair] == YES or similar[pair]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("share", "most"), [(0.9, 2), (0.5, 2), (0.25, 4), (0.1, 9), (0.02, 20)])
def test_large_groups_come_in_parts_as_the_cap_shrinks(share: float, most: int, seed: int) -> None:
    borderline, similar = crowded_world(150, seed)
    free = group_lazily(borderline, Truth(similar))
    capped = group_lazily(borderline, Truth(similar), comparisons=int(share * free.comparisons))
    assert free.labels.max() + 1 == 4  # a group for each crowd
    assert capped.labels.max() + 1 <= most * 4


def test_few_comparisons_go_where_they_join_most_owners() -> None:
    """With half a comparison an owner, a likely pair each: as many pairs as that, all of them similar."""
    borderline, similar = crowded_world(200, seed=4)
    truth = Truth(similar)
    capped = group_lazily(borderline, truth, comparisons=100)
    sizes = np.bincount(capped.labels)
    assert sizes.max() <= 3
    assert sum(bool(similar[pair]) for pair in truth.questions) >= 80
    assert len(sizes) <= 200 - 75


def test_a_cap_of_all_pairs_in_doubt_changes_nothing() -> None:
    for borderline, similar in (random_world(120, 1), crowded_world(120, 1)):
        free = group_lazily(borderline, Truth(similar))
        capped = group_lazily(borderline, Truth(similar), comparisons=borderline.asked)
        assert capped.labels.tolist() == free.labels.tolist()
        assert (capped.comparisons, capped.notes) == (free.comparisons, free.notes)


def test_without_comparisons_only_sure_pairs_join() -> None:
    borderline, similar = random_world(60, seed=2)
    truth = Truth(similar)
    none = group_lazily(borderline, truth, comparisons=0)
    sure = SimilarityGraph.from_edges(60, *np.nonzero(np.triu(borderline.state == YES, k=1)))
    assert none.labels.tolist() == partition_graph(sure).partition.labels.tolist()
    assert truth.questions == []
    assert "more were not allowed" in none.notes[0]


def test_a_negative_cap_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 0, got -1"):
        group_lazily(ask_all(2), Truth(np.ones((2, 2), dtype=np.bool_)), comparisons=-1)


@pytest.mark.parametrize("owners", [30, 60])
def test_two_hundred_instances_get_the_eager_groups_and_few_comparisons_more_than_needed(owners: int) -> None:
    """A hundred instances of each size, half of them with crowds; over all of them the stated share holds."""
    asked = needed = 0
    for seed in range(50):
        for borderline, similar in (random_world(owners, seed), crowded_world(owners, seed)):
            eager = partition_graph(eager_graph(borderline, similar)).partition
            strict = group_lazily(borderline, Truth(similar), extra=0)
            waves = group_lazily(borderline, Truth(similar))
            assert waves.labels.tolist() == strict.labels.tolist() == eager.labels.tolist()
            assert waves.needed <= strict.comparisons
            asked, needed = asked + waves.comparisons, needed + strict.comparisons
    assert asked <= (1 + EXTRA) * needed


def test_one_after_the_other_asks_one_at_a_time_and_all_at_once_asks_once() -> None:
    borderline, similar = random_world(40, seed=3)
    strict, eager = Truth(similar), Truth(similar)
    assert group_lazily(borderline, strict, extra=0).waves == strict.waves == len(strict.questions)
    assert group_lazily(borderline, eager, extra=math.inf).waves == eager.waves == 1
    assert len(eager.questions) == borderline.asked


def test_more_in_vain_takes_fewer_waves() -> None:
    borderline, similar = crowded_world(150, seed=5)
    waves = [group_lazily(borderline, Truth(similar), extra=extra).waves for extra in (0.0, 0.25, math.inf)]
    assert waves[0] > 20 * waves[1] > waves[2] == 1


def test_progress_tells_how_many_were_compared_and_are_to_be() -> None:
    borderline, similar = crowded_world(150, seed=6)
    told: list[GroupingProgress] = []
    found = group_lazily(borderline, Truth(similar), report=told.append)
    assert [each.waves for each in told] == list(range(1, found.waves + 1))
    assert told[-1].compared == found.comparisons
    assert all(each.compared <= each.expected <= borderline.asked for each in told)
    middle = told[len(told) // 2]
    assert middle.expected < 3 * found.comparisons


def test_whoever_decides_gives_one_outcome_a_pair() -> None:
    with pytest.raises(ProtocolViolation, match="as many outcomes"):
        group_lazily(ask_all(3), lambda first, second: np.ones(len(first) + 1, dtype=np.bool_))


@pytest.mark.parametrize("extra", [-0.1, math.nan])
def test_a_negative_share_is_refused(extra: float) -> None:
    with pytest.raises(InvalidInput, match="at least 0"):
        group_lazily(ask_all(2), Truth(np.ones((2, 2), dtype=np.bool_)), extra=extra)


def test_comparing_all_gives_the_whole_graph_of_algorithm_1_at_once() -> None:
    borderline, similar = random_world(50, seed=7)
    truth = Truth(similar)
    found = compare_all(borderline, truth)
    graph = SimilarityGraph.from_edges(50, *np.nonzero(np.triu(found.similar, k=1)))
    eager = eager_graph(borderline, similar)
    assert (truth.waves, len(truth.questions)) == (1, borderline.asked)
    assert partition_graph(graph).partition.labels.tolist() == partition_graph(eager).partition.labels.tolist()
    assert found.groups.edges == eager.edges
