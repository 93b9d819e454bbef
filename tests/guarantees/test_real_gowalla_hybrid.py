"""The hybrid graph on real check-ins: same groups as the eager algorithm, and every compared in-group pair similar."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.evaluation.compared import outcomes
from fedgroup.evaluation.selection import select_owners
from fedgroup.evaluation.shares import judge
from fedgroup.evaluation.truth import exact_vectors
from fedgroup.messages import Partition
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.borderline import Borderline, classify
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.greedy import greedy_labels
from fedgroup.provider.lazy_grouping import EXTRA, group_lazily
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.similarity import opened
from fedgroup.space import PublicMap

NEW_YORK = fg.Box(-74.26, 40.48, -73.70, 40.92)


@pytest.fixture(scope="module")
def records() -> fg.Records:
    return fg.read(Path(os.environ["FEDGROUP_DATA"]) / "gowalla_nyc_u7115.parquet")


def vectors_of(records: fg.Records, owners: int) -> np.ndarray:
    some = select_owners(records, owners, min_records=10, seed=0)
    public_map = PublicMap(NEW_YORK, lonlat=True)
    return exact_vectors(some, public_map.grid(5, 5), public_map, most=None)


@pytest.fixture(scope="module")
def vectors(records: fg.Records) -> np.ndarray:
    return vectors_of(records, 500)


def cosines(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1)
    return (vectors @ vectors.T) / np.outer(lengths, lengths)


@pytest.fixture(scope="module")
def doubts(vectors: np.ndarray) -> Borderline:
    return doubts_about(vectors)


def doubts_about(vectors: np.ndarray) -> Borderline:
    grid, epsilon = PublicMap(NEW_YORK).grid(5, 5), Epsilon.of(0.3)
    noise = SeededNoise(1)
    return classify(
        release_vectors(vectors, grid=grid, epsilon=epsilon, protection=Protection(), noise=noise), threshold=0.5
    )


@pytest.mark.parametrize(("share", "most"), [(0.02, 8.0), (0.1, 4.0), (0.25, 3.0), (0.5, 1.6), (0.9, 1.3), (1.0, 1.3)])
def test_with_a_cap_groups_grow_slowly(vectors: np.ndarray, doubts: Borderline, share, most) -> None:
    said = outcomes(vectors, threshold=0.5)
    free = group_lazily(doubts, lambda first, second: said[first, second])
    cap = int(share * free.comparisons)
    capped = group_lazily(doubts, lambda first, second: said[first, second], comparisons=cap)
    assert 0.85 * cap <= capped.comparisons <= cap
    assert capped.labels.max() + 1 <= most * (free.labels.max() + 1)
    assert judge(Partition(capped.labels), vectors, threshold=0.5).misplaced_share == 0


def test_lazy_groups_equal_the_eager_algorithms_and_hold_similar_pairs_only(records: fg.Records) -> None:
    # 200 owners are compared 7,750 times, a millisecond each; of so few comparisons none may be wrong
    vectors = vectors_of(records, 200)
    doubts = doubts_about(vectors)
    owners, bits = ComparingOwners(vectors, threshold=0.5), {}

    def decide(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        said = opened(*owners.shares(first, second))
        bits.update(zip(zip(first.tolist(), second.tolist(), strict=True), said.tolist(), strict=True))
        return said

    found = group_lazily(doubts, decide)
    truth = cosines(vectors)
    wrong = [pair for pair, bit in bits.items() if bit != (truth[pair] > 0.5)]
    margin = SecureComparison(25, 0.5).margin + 0.01
    assert len(wrong) <= len(bits) / 10_000
    assert all(abs(truth[pair] - 0.5) < margin for pair in wrong)
    # The eager algorithm asks all borderline pairs; those the lazy one never asked are answered by the truth.
    yes = (doubts.state == 1) | ((doubts.state == 2) & (truth > 0.5))
    for (i, j), bit in bits.items():
        yes[i, j] = yes[j, i] = bit
    first, second = np.nonzero(np.triu(yes, k=1))
    eager = greedy_labels(SimilarityGraph.from_edges(200, first, second))
    assert found.labels.tolist() == eager.tolist()
    assert found.comparisons == len(bits) < doubts.asked
    assert 4 * found.waves + 4 <= 400
    said = outcomes(vectors, threshold=0.5)
    strict = group_lazily(doubts, lambda first, second: said[first, second], extra=0)
    assert found.labels.tolist() == strict.labels.tolist()
    assert found.comparisons <= (1 + EXTRA) * strict.comparisons
