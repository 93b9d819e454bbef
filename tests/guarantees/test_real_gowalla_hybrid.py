"""The hybrid graph on real check-ins: same groups as the eager algorithm, and every compared in-group pair similar."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.evaluation.selection import select_owners
from fedgroup.evaluation.truth import exact_vectors
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.borderline import classify
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.greedy import greedy_labels
from fedgroup.provider.lazy_grouping import group_lazily
from fedgroup.secure.comparison import Comparison
from fedgroup.secure.similarity import opened
from fedgroup.space import PublicMap

NEW_YORK = fg.Box(-74.26, 40.48, -73.70, 40.92)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    records = fg.read(Path(os.environ["FEDGROUP_DATA"]) / "gowalla_nyc_u7115.parquet")
    some = select_owners(records, 500, min_records=10, seed=0)
    public_map = PublicMap(NEW_YORK, lonlat=True)
    return exact_vectors(some, public_map.grid(5, 5), public_map, most=None)


def cosines(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1)
    return (vectors @ vectors.T) / np.outer(lengths, lengths)


def test_lazy_groups_equal_the_eager_algorithms_and_hold_similar_pairs_only(vectors: np.ndarray) -> None:
    noisy = release_vectors(
        vectors,
        grid=PublicMap(NEW_YORK).grid(5, 5),
        epsilon=Epsilon.of(0.3),
        protection=Protection(),
        noise=SeededNoise(1),
    )
    doubts = classify(noisy, threshold=0.5)
    owners, bits = ComparingOwners(vectors, threshold=0.5), {}

    def decide(i: int, j: int) -> bool:
        bits[i, j] = bool(opened(*owners.shares(i, j))[0])
        return bits[i, j]

    found = group_lazily(doubts, decide)
    truth = cosines(vectors)
    wrong = [pair for pair, bit in bits.items() if bit != (truth[pair] > 0.5)]
    margin = Comparison(25, 0.5).margin + 0.01
    assert len(wrong) <= len(bits) / 10_000
    assert all(abs(truth[pair] - 0.5) < margin for pair in wrong)
    # The eager algorithm asks all borderline pairs; those the lazy one never asked are answered by the truth.
    yes = (doubts.state == 1) | ((doubts.state == 2) & (truth > 0.5))
    for (i, j), bit in bits.items():
        yes[i, j] = yes[j, i] = bit
    first, second = np.nonzero(np.triu(yes, k=1))
    eager = greedy_labels(SimilarityGraph.from_edges(500, first, second))
    assert found.labels.tolist() == eager.tolist()
    assert found.comparisons == len(bits) < doubts.asked
