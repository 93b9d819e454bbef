"""What secure computation really takes: a hybrid grouping run with every comparison, and the paper's sequential sum."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from fedgroup.federation import Federation
from fedgroup.lab.bench.secure_sum import REFERENCE_OWNERS, measure_sequential
from fedgroup.lab.experiments.costs import comparison_bytes
from fedgroup.lab.experiments.measuring import seed_of
from fedgroup.lab.experiments.methods import ComparingBand, compared_plan
from fedgroup.lab.experiments.scenes import Scene, Stage
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.sweeps import Stages
from fedgroup.lab.experiments.trial import TrialPlan

KEYS = ("data", "owners", "epsilon", "what", "selection")
MEASURES = ("steps", "seconds", "seconds_each", "bytes_each", "session_bytes", "agrees")

COMPARING = "hybrid grouping, every comparison run"
SEQUENTIAL = "sequential garbled sum"


def protocol_cells(scenes: Sequence[Scene], trial: TrialPlan) -> list[Row]:
    """Return one real hybrid grouping of the first scene, and one sequential sum."""
    place: Row = {"data": scenes[0].name, "epsilon": trial.epsilon, "selection": 0}
    few: Row = {"data": "any", "owners": REFERENCE_OWNERS, "epsilon": trial.epsilon, "selection": 0}
    return [{**place, "owners": trial.owners, "what": COMPARING}, {**few, "what": SEQUENTIAL}]


def measure_protocol(cell: Row, stages: Stages, trial: TrialPlan) -> Row:
    """Return the steps of a protocol, and what each took."""
    return _sequential(trial) if cell["what"] == SEQUENTIAL else _comparing(stages.of(cell), trial)


def _comparing(stage: Stage, trial: TrialPlan) -> Row:
    """Run a hybrid grouping for real, and see whether the computed outcomes give the same groups."""
    seed = seed_of("protocol", stage.scene.name, stage.owners)
    federation = Federation(stage.index, stage.scene.domain, seed=seed)
    began = time.perf_counter()
    plan = federation.group(epsilon=trial.epsilon, grid=trial.grid, threshold=trial.threshold, graph="hybrid")
    seconds = time.perf_counter() - began
    computed = compared_plan(federation, stage.index, trial, ComparingBand(), epsilon=trial.epsilon, seed=seed)
    steps = int(plan.settings["comparisons"])
    same = np.array_equal(plan.partition.labels, computed.partition.labels)
    sent = comparison_bytes(trial.grid[0] * trial.grid[1])
    return {
        "steps": steps,
        "seconds": seconds,
        "seconds_each": seconds / max(1, steps),
        "bytes_each": sent.pair,
        "session_bytes": sent.session,
        "agrees": int(same and steps == computed.settings["comparisons"]),
    }


def _sequential(trial: TrialPlan) -> Row:
    found = measure_sequential(REFERENCE_OWNERS, 1 if trial.quick else 5)
    return {
        "steps": found.owners,
        "seconds": found.seconds_per_owner * found.owners,
        "seconds_each": found.seconds_per_owner,
        "bytes_each": found.bytes_per_owner,
        "agrees": 1,
    }
