"""Computed outcomes of comparisons are those of the secure protocol, and so are the groups."""

from __future__ import annotations

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.evaluation.compared import compared_groups, outcomes, raw_borderline
from fedgroup.evaluation.truth import exact_vectors
from fedgroup.messages import NoisyVectors
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.borderline import ASK, NO, YES
from fedgroup.secure.similarity import opened
from fedgroup.space import PublicMap

CITY = fg.synthesize(owners=60, records_per_owner=30, seed=3)
MAP = PublicMap(CITY.domain)
GRID = MAP.grid(5, 5)


def exact() -> np.ndarray:
    return exact_vectors(CITY, GRID, MAP, most=None)


def noisy(seed: int = 4, epsilon: float = 0.3) -> NoisyVectors:
    return release_vectors(
        exact(), grid=GRID, epsilon=Epsilon.of(epsilon), protection=Protection(), noise=SeededNoise(seed)
    )


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9])
def test_outcomes_are_those_of_the_protocol(threshold):
    vectors = exact()[:24]
    vectors[3] = 0  # an owner without records
    vectors[5] *= 700  # counts that must be scaled to their width
    vectors[7] = 2 * vectors[8]
    owners = ComparingOwners(vectors, threshold=threshold)
    said = outcomes(vectors, threshold=threshold)
    pairs = [(i, j) for i in range(24) for j in range(i + 1, 24)]
    assert [bool(said[pair]) for pair in pairs] == [bool(opened(*owners.shares(*pair))[0]) for pair in pairs]


def test_ties_are_a_no():
    vectors = np.array([[1, 0], [1, 1]], dtype=np.int32)
    assert not outcomes(vectors, threshold=float(np.sqrt(0.5)))[0, 1]


def test_groups_and_comparisons_are_those_of_a_real_run():
    plan = fg.Federation(CITY, seed=9).group(epsilon=0.3, grid=(5, 5), threshold=0.5, graph="hybrid")
    found = compared_groups(noisy(seed=9), exact(), threshold=0.5)
    assert found.partition.labels.tolist() == plan.partition.labels.tolist()
    assert (found.comparisons, found.in_doubt) == (plan.settings["comparisons"], plan.settings["borderline"])


def test_the_papers_band_decides_by_the_raw_cosine():
    vectors = noisy()
    values = vectors.values.astype(float)
    cosine = (values @ values.T) / np.outer(np.linalg.norm(values, axis=1), np.linalg.norm(values, axis=1))
    state = raw_borderline(vectors, lower=0.4, upper=0.6).state
    upper = np.triu(np.ones_like(state, dtype=bool), k=1)
    assert (state[upper & (cosine < 0.4)] == NO).all()
    assert (state[upper & (cosine > 0.6)] == YES).all()
    assert (state[upper & (cosine > 0.401) & (cosine < 0.599)] == ASK).all()


def test_an_empty_noisy_vector_is_similar_to_nobody():
    vectors = NoisyVectors(np.zeros((2, 25), dtype=np.int64), GRID, noisy().scale, Epsilon.of(0.3))
    assert raw_borderline(vectors, lower=0.4, upper=0.6).count(NO) == 1


def test_cliques_take_every_pair_in_doubt():
    lazily = compared_groups(noisy(), exact(), threshold=0.5, band=(0.4, 0.6))
    wholly = compared_groups(noisy(), exact(), threshold=0.5, band=(0.4, 0.6), algorithm="cliques")
    assert wholly.comparisons == wholly.in_doubt == lazily.in_doubt >= lazily.comparisons
