"""How many groups a grouping needs against how many owners it misplaces: a curve for every graph, not one point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.federation import Federation
from fedgroup.federation.masks import with_cohorts
from fedgroup.lab.experiments.measuring import seed_of, shares_of
from fedgroup.lab.experiments.scenes import Scene
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.sweeps import Stages
from fedgroup.lab.experiments.trial import TrialPlan
from fedgroup.privacy.law import DiscreteLaplace, NoiseSum
from fedgroup.privacy.release import scale_of_noise
from fedgroup.questions.methods import COHORT_SIZE
from fedgroup.secure.round import MaskSettings, noises_of

KEYS = ("data", "owners", "epsilon", "graph", "setting", "selection")
MEASURES = (
    "groups",
    "expected_mae",
    "mixed_noises",
    "mixed_mae",
    "false_pair_share",
    "misplaced_share",
    "stranger_share",
)

Settings = Mapping[str, Any]


def _by_cells(**settings: str) -> dict[str, Settings]:
    """Return the points of a graph that keeps cells above the noise: q = how many false ones it may keep."""
    return {f"q = {q:g}": settings | {"false_cells": q} for q in (0.1, 0.3, 1.0, 3.0)}


POINTS: dict[str, dict[str, Settings]] = {
    "exact": {"greedy": {"graph": "exact"}, "dsatur": {"graph": "exact", "algorithm": "dsatur"}},
    "raw": {"greedy": {"graph": "noisy", "estimate": "raw"}},
    "thresholded": _by_cells(graph="noisy", estimate="thresholded"),
    "topcell": _by_cells(graph="topcell"),
    "likely": {
        f"{share:.0%} expected": {"graph": "likely", "misplaced": share}
        for share in (0.01, 0.02, 0.03, 0.05, 0.08, 0.12)
    },
}


def curve_cells(scenes: Sequence[Scene], trial: TrialPlan) -> list[Row]:
    """Return every graph at every point of its curve."""
    return [
        {
            "data": scene.name,
            "owners": trial.owners,
            "epsilon": trial.epsilon,
            "graph": graph,
            "setting": setting,
            "selection": selection,
        }
        for scene in scenes
        for selection in range(trial.selections)
        for graph, points in POINTS.items()
        for setting in points
    ]


def measure_curve(cell: Row, stages: Stages, trial: TrialPlan) -> Row:
    """Return the groups and misplaced owners of one graph, and what cohorts for the owners left alone make of it."""
    stage = stages.of(cell)
    seed = seed_of("curve", *(cell[name] for name in KEYS))
    federation = Federation(stage.index, stage.scene.domain, seed=seed)
    settings = POINTS[str(cell["graph"])][str(cell["setting"])]
    epsilon = None if settings["graph"] == "exact" else trial.epsilon
    plan = federation.group(epsilon=epsilon, grid=trial.grid, threshold=trial.threshold, **settings)
    mixed = with_cohorts(plan.partition, size=COHORT_SIZE, seed=b"public places of cohorts")
    noises = noises_of(mixed, MaskSettings(dropouts=0.0))
    return {
        "groups": plan.groups,
        "expected_mae": _expected(plan.groups, trial.epsilon),
        "mixed_noises": noises,
        "mixed_mae": _expected(noises, trial.epsilon),
        **shares_of(plan, stage, trial),
    }


def _expected(noises: float, epsilon: float) -> float:
    """Return the mean absolute error of a count that holds so many noises."""
    scale = scale_of_noise(1, Epsilon.of(epsilon))
    return NoiseSum(DiscreteLaplace(scale), noises, continuous=False).mean_absolute()
