"""Borderline pairs: the stated limits, and one verdict per pair."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider import borderline as module
from fedgroup.provider.borderline import ASK, NO, YES, Borderline, ask_all, classify
from fedgroup.space import Box, Grid

CELLS = 9
SCALE = Fraction(2)
GRID = Grid(Box(0, 0, 1, 1), 3, 3)

# Cells up to 40 beside noise of scale 2: some owners far above 3 sd of the noise, some below, some without a length.
noisy_values = st.sampled_from([3, 12, 40]).flatmap(
    lambda top: hnp.arrays(np.int64, st.tuples(st.integers(1, 10), st.just(CELLS)), elements=st.integers(-3, top))
)


def as_message(values: np.ndarray, scale: Fraction = SCALE) -> NoisyVectors:
    return NoisyVectors(values, GRID, scale, Epsilon.of(0.5))


def released(exact: np.ndarray, *, seed: int) -> NoisyVectors:
    noise = SeededNoise(seed)
    return release_vectors(
        exact.astype(np.int32), grid=GRID, epsilon=Epsilon.of(0.5), protection=Protection(), noise=noise
    )


def mixed_message(owners: int = 60) -> NoisyVectors:
    random = np.random.default_rng(3)
    exact = random.poisson(random.gamma(0.5, 1.0, (owners, CELLS)) * random.choice([2, 15, 60], (owners, 1)))
    return released(exact, seed=4)


def reference(first: np.ndarray, second: np.ndarray, r: float) -> tuple[float, float, float, float]:
    """The weight, the rank and the limits of one pair, written down formula by formula."""
    law = DiscreteLaplace(SCALE)
    s2, kappa = law.variance, law.square_variance
    lengths = [float(v @ v) - CELLS * s2 for v in (first, second)]
    floor = 3 * math.sqrt(CELLS * kappa)
    rank = float(first @ second) / math.sqrt(math.prod(max(n, floor) for n in lengths))
    weight = float(first @ second) / math.sqrt(math.prod(lengths)) if min(lengths) > 0 else rank
    if any(n < 3 * math.sqrt(4 * s2 * max(n, 0) + CELLS * kappa) for n in lengths):
        return weight, rank, -math.inf, math.inf
    variance = (s2 * sum(lengths) + CELLS * s2**2) / math.prod(lengths)
    variance += r**2 * sum(CELLS * kappa / (4 * n**2) - s2 / n for n in lengths)
    reach = 1.96 * math.sqrt(max(variance, 0))
    return weight, rank, r - reach, r + reach


def verdict(weight: float, lower: float, upper: float) -> int | None:
    """What the limits say of a weight; nothing where it is closer to one than rounding."""
    if min(abs(weight - lower), abs(weight - upper)) < 1e-9:
        return None
    return NO if weight < lower else YES if weight > upper else ASK


def upper_triangle(table: np.ndarray) -> np.ndarray:
    return table[np.triu_indices(len(table), k=1)]


@pytest.mark.parametrize(("lower", "upper"), [(None, None), (0.2, None), (None, 0.8), (0.2, 0.8), (-1.0, 1.0)])
@given(values=noisy_values, threshold=st.sampled_from([0.2, 0.5, 0.7]))
def test_every_pair_follows_the_written_formulas(
    values: np.ndarray, threshold: float, lower: float | None, upper: float | None
) -> None:
    found = classify(as_message(values), threshold=threshold, lower=lower, upper=upper)
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            weight, rank, derived_lower, derived_upper = reference(values[i], values[j], threshold)
            stated = (derived_lower if lower is None else lower, derived_upper if upper is None else upper)
            assert found.state[i, j] == found.state[j, i]
            assert verdict(weight, *stated) in (None, found.state[i, j])
            assert found.rank[i, j] == found.rank[j, i] == pytest.approx(rank, rel=1e-5, abs=1e-6)


def test_the_reference_meets_all_verdicts_and_owners_without_a_length() -> None:
    message = mixed_message()
    found = classify(message, threshold=0.5)
    lengths = (message.values.astype(np.int64) ** 2).sum(axis=1) - CELLS * DiscreteLaplace(SCALE).variance
    assert min(found.count(NO), found.count(YES), found.asked) > 20
    assert (lengths <= 0).any()
    assert found.count(NO) + found.count(YES) + found.asked == found.pairs == 60 * 59 // 2


def test_a_light_owner_is_borderline_with_everybody() -> None:
    values = np.zeros((4, CELLS), dtype=np.int64)
    values[:3, 0] = 500
    values[1, 1:] = 500
    values[3, 5] = 4
    state = classify(as_message(values), threshold=0.6).state
    assert (state[3, :3] == ASK).all()
    assert (state[0, 1], state[0, 2]) == (NO, YES)


def test_blocks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = classify(mixed_message(), threshold=0.5)
    monkeypatch.setattr(module, "_BLOCK", 130)
    pieces = classify(mixed_message(), threshold=0.5)
    assert whole.state.tolist() == pieces.state.tolist()
    assert whole.rank.tolist() == pieces.rank.tolist()
    assert whole.asked == pieces.asked > 0


def test_without_noise_to_speak_of_only_ties_and_empty_owners_are_borderline() -> None:
    values = np.zeros((4, CELLS), dtype=np.int64)
    values[0, :4], values[1, 0], values[2, 0] = 1, 1, 3
    found = classify(as_message(values, Fraction(1, 2000)), threshold=0.5)
    assert found.state[0].tolist() == [NO, ASK, ASK, ASK]
    assert found.state[1].tolist() == [ASK, NO, YES, ASK]
    assert np.isfinite(found.rank).all()


def test_a_pair_at_the_threshold_leaves_its_limits_five_times_in_a_hundred() -> None:
    # 3,000 pairs, each of two owners of its own: 5 % +/- 4 standard deviations, a false alarm in 15,000 seeds.
    exact = np.zeros((6000, CELLS))
    exact[0::2, :4], exact[1::2, 3:8] = (30, 10, 0, 25), (28, 12, 6, 3, 1)
    cosine = float(exact[0] @ exact[1] / math.sqrt((exact[0] @ exact[0]) * (exact[1] @ exact[1])))
    states = []
    for part in range(0, 6000, 600):
        found = classify(released(exact[part : part + 600], seed=part), threshold=cosine)
        states += [found.state[i, i + 1] for i in range(0, 600, 2)]
    assert np.mean(np.array(states) != ASK) == pytest.approx(0.05, abs=0.016)


def test_few_pairs_of_owners_with_many_records_are_decided_against_the_truth() -> None:
    # At most 2.5 % of all pairs, those at the threshold, are expected on its wrong side; one seed, far from the edge.
    random = np.random.default_rng(5)
    exact = random.poisson(random.gamma(0.5, 1.0, (150, CELLS)) * 40)
    heavy = exact[(exact**2).sum(axis=1) > 1000]
    length = np.sqrt((heavy**2).sum(axis=1))
    similar = upper_triangle((heavy @ heavy.T) / np.outer(length, length) > 0.5)
    state = upper_triangle(classify(released(heavy, seed=6), threshold=0.5).state)
    decided = state != ASK
    assert decided.mean() > 0.3
    assert np.mean((state == YES)[decided] != similar[decided]) < 0.025


def test_every_pair_is_borderline_when_all_are_asked() -> None:
    everybody = ask_all(5)
    assert everybody.asked == everybody.pairs == 10
    assert not np.diagonal(everybody.state).any()
    assert not everybody.rank.any()


@pytest.mark.parametrize("owners", [0, 1])
def test_without_a_pair_nothing_is_asked(owners: int) -> None:
    found = classify(as_message(np.zeros((owners, CELLS), dtype=np.int64)), threshold=0.5)
    assert (found.owners, found.pairs, found.asked) == (owners, 0, 0)
    assert ask_all(owners).asked == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 1.5},
        {"threshold": math.nan},
        {"threshold": 0.5, "lower": 0.6},
        {"threshold": 0.5, "upper": 0.4},
        {"threshold": 0.5, "lower": -1.1},
        {"threshold": 0.5, "upper": 1.1},
        {"threshold": 0.5, "lower": math.nan},
    ],
)
def test_limits_out_of_order_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        classify(mixed_message(), **wrong)


def test_more_owners_than_a_table_of_pairs_can_hold_are_refused() -> None:
    with pytest.raises(InvalidInput, match="20,000 owners, got 20,001"):
        ask_all(20_001)
    with pytest.raises(InvalidInput, match="20,000 owners"):
        classify(as_message(np.zeros((20_001, CELLS), dtype=np.int8)), threshold=0.5)


@pytest.mark.parametrize("state", [[[0, 1], [2, 0]], [[1, 0], [0, 0]], [[0, 3], [3, 0]], [[0, 1]]])
def test_a_table_that_contradicts_itself_is_refused(state: list[list[int]]) -> None:
    with pytest.raises(ProtocolViolation):
        Borderline(np.array(state, dtype=np.uint8), np.zeros((len(state), len(state)), dtype=np.float32))


def test_what_was_decided_cannot_be_changed() -> None:
    found = classify(mixed_message(), threshold=0.5)
    for table in (found.state, found.rank, ask_all(3).state):
        with pytest.raises(ValueError, match="read-only"):
            table[0, 1] = 1
