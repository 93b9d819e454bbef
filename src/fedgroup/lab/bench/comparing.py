"""`fedgroup bench comparing`: groups by secure comparison with every comparison run, and owners placed by `likely`.

The reference of a hybrid grouping compares one pair after the other, as owners are placed: some pairs are timed, and
multiplied by how many that would take. The reference of `likely` is its formula in 64-bit floats, owner by owner. Real
check-ins are taken from the folder in FEDGROUP_DATA where it is set, else a synthetic city.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import Epsilon
from fedgroup.evaluation.compared import outcomes, raw_borderline
from fedgroup.evaluation.truth import exact_vectors
from fedgroup.lab.bench.measuring import BenchRow, peak_mb
from fedgroup.lab.experiments.scenes import Scene, open_scenes
from fedgroup.lab.experiments.trial import FULL, QUICK
from fedgroup.messages import NoisyVectors
from fedgroup.owner.comparing import ComparingOwners
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.borderline import Borderline, classify
from fedgroup.provider.lazy_grouping import Decide, compare_all, group_lazily
from fedgroup.provider.placing import SIZES, likely_cells, profiles_of
from fedgroup.secure.similarity import opened
from fedgroup.space import PublicMap

THRESHOLD, EPSILON, GRID = 0.5, Epsilon.of(0.3), (5, 5)
COMPARISON_ROUNDS, SESSION_ROUNDS = 4, 3
_ALONE = 100
"""Pairs that are compared one after the other."""
_REFERENCE_OWNERS = 200
_CITY_GRID = (10, 10)

Vectors = tuple[npt.NDArray[np.int32], NoisyVectors]


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for each federation that is grouped, and for each number of owners that are placed."""
    folder = os.environ.get("FEDGROUP_DATA")
    scenes = open_scenes(None if folder is None or quick else Path(folder), QUICK if quick else FULL)
    few, many = scenes[0], scenes[-1]
    sizes = ((few, 60), (many, 80)) if quick else ((few, 500), (many, 1_000), (many, 4_000))
    for scene, owners in sizes:
        yield _hybrid(scene, owners)
    yield _all_pairs(many, 80 if quick else 1_000)
    for owners in (2_000,) if quick else (10_000, 1_000_000):
        yield _likely(owners)


def _vectors(scene: Scene, owners: int) -> Vectors:
    records = scene.stage(min(owners, scene.owners), 0).index.records
    public_map = PublicMap(scene.domain, records.lonlat)
    grid = public_map.grid(*GRID)
    exact = exact_vectors(records, grid, public_map, most=None)
    return exact, release_vectors(exact, grid=grid, epsilon=EPSILON, protection=Protection(), noise=SeededNoise(1))


def _hybrid(scene: Scene, owners: int) -> BenchRow:
    exact, noisy = _vectors(scene, owners)
    doubts, host = classify(noisy, threshold=THRESHOLD), ComparingOwners(exact, threshold=THRESHOLD)
    decide = _comparing(host)
    decide(np.zeros(2_000, dtype=np.int64), np.ones(2_000, dtype=np.int64))  # opens sessions and loads every loop
    found, taken = _timed(lambda: group_lazily(doubts, decide))
    said = outcomes(exact, threshold=THRESHOLD)
    eager = group_lazily(doubts, lambda first, second: said[first, second], extra=math.inf)
    if not np.array_equal(found.labels, eager.labels):
        raise RuntimeError("groups in waves are not those of comparing every pair in doubt")
    more = _rates(found.comparisons, found.waves, taken) | {
        "needed": found.needed,
        "extra": found.comparisons / max(1, found.needed) - 1,
        "groups": int(found.labels.max()) + 1,
    }
    return _row(f"hybrid, {scene.name}, {len(exact):,} owners", taken, found.needed * _alone(decide), more)


def _all_pairs(scene: Scene, owners: int) -> BenchRow:
    """Return what the whole graph of the paper's FG-Ex takes: every pair in doubt, fixed limits of plain cosines."""
    exact, noisy = _vectors(scene, owners)
    doubts: Borderline = raw_borderline(noisy, lower=0.4, upper=0.6)
    host = ComparingOwners(exact, threshold=THRESHOLD)
    decide = _comparing(host)
    decide(np.zeros(2_000, dtype=np.int64), np.ones(2_000, dtype=np.int64))
    found, taken = _timed(lambda: compare_all(doubts, decide))
    made = found.groups.comparisons
    return _row(
        f"FG-Ex's graph, {scene.name}, {len(exact):,} owners", taken, made * _alone(decide), _rates(made, 1, taken)
    )


def _comparing(host: ComparingOwners) -> Decide:
    return lambda first, second: opened(*host.shares(first, second))


def _rates(comparisons: int, waves: int, taken: tuple[float, float]) -> dict[str, Any]:
    return {
        "comparisons": comparisons,
        "comparisons_per_s": comparisons / taken[0],
        "rounds": 1 + SESSION_ROUNDS + waves * COMPARISON_ROUNDS,
        "processor_s": taken[1],
    }


def _row(case: str, taken: tuple[float, float], reference_s: float, more: dict[str, Any]) -> BenchRow:
    reference = "the needed comparisons, one after the other"
    return BenchRow(
        case=case, ours_s=taken[0], peak_mb=peak_mb(), reference=reference, reference_s=reference_s, more=more
    )


def _alone(decide: Decide) -> float:
    """Return what a comparison takes that travels alone."""
    _, (seconds, _) = _timed(lambda: [decide(np.array([0]), np.array([1])) for _ in range(_ALONE)])
    return seconds / _ALONE


def _timed(work: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    wall, processor = time.perf_counter(), time.process_time()
    found = work()
    return found, (time.perf_counter() - wall, time.process_time() - processor)


def _likely(owners: int) -> BenchRow:
    vectors = _city_vectors(owners)
    place = partial(likely_cells, false_cells=0.1, threshold=THRESHOLD, misplaced=0.02)
    place(NoisyVectors(vectors.values[:100], vectors.grid, vectors.scale, vectors.epsilon))
    found, taken = _timed(lambda: place(vectors))
    placed = int((found.cell >= 0).sum())
    one_by_one = _one_by_one(vectors, _REFERENCE_OWNERS)
    return BenchRow(
        case=f"likely, {owners:,} owners of {vectors.grid.cells} cells",
        ours_s=taken[0],
        peak_mb=peak_mb(),
        reference="the formula in 64-bit floats, owner by owner",
        reference_s=one_by_one / _REFERENCE_OWNERS * owners,
        more={"placed": placed, "processor_s": taken[1], "owners_per_s": owners / taken[0]},
    )


def _city_vectors(owners: int) -> NoisyVectors:
    records = synthesize(owners, records_per_owner=33, seed=1)
    assert records.domain is not None  # noqa: S101  cities state theirs
    public_map = PublicMap(records.domain)
    grid = public_map.grid(*_CITY_GRID)
    exact = exact_vectors(records, grid, public_map, most=None)
    return release_vectors(exact, grid=grid, epsilon=EPSILON, protection=Protection(), noise=SeededNoise(2))


def _one_by_one(vectors: NoisyVectors, owners: int) -> float:
    """Return the time of the likelihoods alone of some owners, with numpy: a lower limit of the whole formula."""
    profiles = profiles_of(vectors, 0.1)
    scale = float(Fraction(vectors.scale))
    means = profiles.share[:, None] * SIZES / scale
    values = vectors.values[:owners].astype(np.float64) / scale

    def work() -> None:
        for value in values:
            noisy = value[profiles.cell, None]
            logs = np.add.reduceat(np.abs(noisy) - np.abs(noisy - means), profiles.start[:-1], axis=0)
            np.exp(logs - logs.max()).sum(axis=1)

    return _timed(work)[1][0]
