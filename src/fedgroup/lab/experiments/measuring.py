"""One cell of a sweep: some owners, one method, one epsilon; every question asked many times, against the truth."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.data.plans import Plan
from fedgroup.evaluation.shares import judge
from fedgroup.evaluation.truth import exact_vectors
from fedgroup.federation import Federation
from fedgroup.lab.experiments.costs import cost_of
from fedgroup.lab.experiments.methods import Contender
from fedgroup.lab.experiments.scenes import Stage
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.trial import TrialPlan
from fedgroup.space import Circle

KEYS = ("data", "owners", "epsilon", "method", "selection")
MEASURES = (
    "groups",
    "noises",
    "mae",
    "expected_mae",
    "mre",
    "truth",
    "fixed_mae",
    "fixed_mre",
    "fixed_truth",
    "query_s",
    "setup_s",
    "setup_epsilon",
    "epsilon_spent",
    "comparisons",
    "in_doubt",
    "setup_bytes",
    "setup_rounds",
    "question_bytes",
    "question_rounds",
    "false_pair_share",
    "misplaced_share",
    "stranger_share",
    "limited",
)
LEAST_TRUTH = 10
"""Errors of smaller counts are taken relative to this one, lest places with nothing in them decide the mean."""
FIXED_REPEATS = 5
"""How many times as often the fixed question is asked."""

Errors = npt.NDArray[np.float64]


def seed_of(*facts: object) -> int:
    """Return the seed of a cell: its own, and the same in every run."""
    return int.from_bytes(hashlib.sha256(repr(facts).encode()).digest()[:6], "big")


def measure(stage: Stage, method: Contender, trial: TrialPlan, *, epsilon: float, judged: bool = True) -> Row:
    """Return how a method does on a stage: errors, times, what was spent and, if `judged`, how true its groups are."""
    seed = seed_of(stage.scene.name, stage.owners, epsilon, method.name, stage.selection)
    federation = Federation(stage.index, stage.scene.domain, seed=seed, neighbours=method.neighbours)
    asked = method.asked_epsilon(epsilon)
    began = time.perf_counter()
    plan = method.make_plan(federation, stage.index, trial, epsilon=epsilon, seed=seed + 1)
    how: dict[str, Any] = {"plan": plan, **method.asking}
    expected = federation.expect("count", stage.scene.circles[0], epsilon=asked, **how)
    setup_s = time.perf_counter() - began
    circles = stage.scene.circles
    firsts = [federation.count(circles[0], epsilon=asked, fresh=True, **how)]
    spent = federation.spent
    firsts += [federation.count(circle, epsilon=asked, fresh=True, **how) for circle in circles[1:]]
    values = [
        [first.value, *_more(federation, circle, trial.repeats - 1, asked, how)]
        for circle, first in zip(circles, firsts, strict=True)
    ]
    fixed = stage.scene.fixed
    often = [*values[fixed], *_more(federation, circles[fixed], (FIXED_REPEATS - 1) * trial.repeats, asked, how)]
    return {
        "groups": expected.groups,
        "noises": expected.noises,
        "expected_mae": expected.errors["count"].mean_absolute,
        **_errors(values, stage.truths),
        **{f"fixed_{name}": value for name, value in _errors([often], [stage.truths[fixed]]).items()},
        "query_s": statistics.median(first.seconds for first in firsts),
        "setup_s": setup_s,
        "setup_epsilon": 0.0 if plan is None else plan.epsilon,
        "epsilon_spent": spent,
        **vars(cost_of(method, plan, owners=stage.owners, cells=trial.grid[0] * trial.grid[1])),
        **(_quality(stage, method, plan, trial) if judged else {}),
    }


def _more(federation: Federation, circle: Circle, repeat: int, epsilon: float, how: dict[str, Any]) -> Sequence[Any]:
    if repeat < 1:
        return ()
    answer = federation.count(circle, epsilon=epsilon, repeat=repeat, fresh=True, **how)
    return answer.values or (answer.value,)


def _errors(values: Sequence[Sequence[Any]], truths: Sequence[int]) -> dict[str, float]:
    """Return the mean absolute and relative error over all questions and repeats, and the mean true count."""
    truth = np.array(truths, dtype=np.float64)
    errors: Errors = np.abs(np.array(values, dtype=np.float64) - truth[:, None])
    relative = errors / np.maximum(truth, LEAST_TRUTH)[:, None]
    return {"mae": float(errors.mean()), "mre": float(relative.mean()), "truth": float(truth.mean())}


def _quality(stage: Stage, method: Contender, plan: Plan | None, trial: TrialPlan) -> Row:
    """Return how truly groups were found; nothing where members see nothing of each other."""
    if plan is None or method.asking.get("in_group") == "masked":
        return {}
    shares = shares_of(plan, stage, trial)
    limited = any("search limit" in note for note in plan.grouping.notes)
    return {
        **shares,
        "comparisons": plan.settings.get("comparisons"),
        "in_doubt": plan.settings.get("borderline"),
        "limited": int(limited),
    }


def shares_of(plan: Plan, stage: Stage, trial: TrialPlan) -> dict[str, float]:
    """Return the shares of falsely joined pairs and misplaced owners; masked groups count for nothing."""
    records, public_map = stage.index.records, stage.index.public_map
    vectors = exact_vectors(records, public_map.grid(*trial.grid), public_map, most=None)
    return vars(judge(plan.partition, vectors, threshold=trial.threshold))
