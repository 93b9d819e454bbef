"""Which cells each of the paper's figures is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from fedgroup.lab.experiments.measuring import measure
from fedgroup.lab.experiments.methods import CLEAR, METHODS, OURS, PAPER
from fedgroup.lab.experiments.scenes import Scene, Stage
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.trial import TrialPlan

SWEPT = tuple(dict.fromkeys([*PAPER, *CLEAR, *OURS]))
TIMED = ("DP", "FG", "FG-C", "FG-Ex", "FG-ExC", "FG hybrid", "FG likely", "FG masked", "cohorts", "MPC")
TRUSTED = (
    "DP",
    "FG likely",
    "FG mixed",
    "FG hybrid",
    "FG masked",
    "cohorts",
    "cohorts, 10 % silent",
    "cohorts, 20 % silent",
    "MPC",
)
LARGEST_SHARE = 0.6
"""A selection of more owners than this share of all would hardly differ from the next one."""
TIMED_SELECTIONS = 3

Cells = list[Row]


def accuracy_epsilon(scenes: Sequence[Scene], trial: TrialPlan) -> Cells:
    """Return the paper's figure 3: every epsilon at the smallest number of owners; at its default, every method."""
    return _cells(scenes, trial, lambda _: [trial.owners], lambda e: list(METHODS) if e == trial.epsilon else SWEPT)


def accuracy_owners(scenes: Sequence[Scene], trial: TrialPlan) -> Cells:
    """Return the paper's figure 4: every number of owners that the data can be sampled for."""
    return _cells(
        scenes, replace(trial, epsilons=(trial.epsilon,)), lambda scene: sizes_of(scene, trial), lambda _: SWEPT
    )


def noisy_vs_clear(scenes: Sequence[Scene], trial: TrialPlan) -> Cells:
    """Return the lower halves of both figures: noisy and exact graphs, along epsilon and along owners."""
    along_epsilon = _cells(scenes, trial, lambda _: [trial.owners], lambda _: CLEAR)
    fixed = replace(trial, epsilons=(trial.epsilon,))
    along_owners = _cells(scenes, fixed, lambda scene: sizes_of(scene, trial), lambda _: CLEAR)
    return [*along_epsilon, *(cell for cell in along_owners if cell not in along_epsilon)]


def timed(scenes: Sequence[Scene], trial: TrialPlan) -> Cells:
    """Return the paper's figure 5 on the largest scene: along owners, and along epsilon at the fewest."""
    largest = max(scenes, key=lambda scene: scene.owners)
    few = replace(trial, selections=min(trial.selections, TIMED_SELECTIONS))
    sizes = [size for size in trial.timed_sizes if size <= largest.owners] or [trial.owners]
    along_owners = _cells([largest], replace(few, epsilons=(trial.epsilon,)), lambda _: sizes, lambda _: TIMED)
    along_epsilon = _cells([largest], few, lambda _: sizes[:1], lambda _: TIMED)
    return [*along_owners, *(cell for cell in along_epsilon if cell not in along_owners)]


def trusted(scenes: Sequence[Scene], trial: TrialPlan) -> Cells:
    """Return one point for every trust assumption."""
    fixed = replace(trial, epsilons=(trial.epsilon,))
    return _cells(scenes, fixed, lambda _: [trial.owners], lambda _: TRUSTED)


def sizes_of(scene: Scene, trial: TrialPlan) -> list[int]:
    """Return the numbers of owners that leave enough owners out for selections to differ."""
    return [size for size in trial.sizes if size <= LARGEST_SHARE * scene.owners] or [trial.owners]


def _cells(
    scenes: Iterable[Scene],
    trial: TrialPlan,
    sizes: Callable[[Scene], Sequence[int]],
    methods: Callable[[float], Iterable[str]],
) -> Cells:
    return [
        {"data": scene.name, "owners": size, "epsilon": epsilon, "method": name, "selection": selection}
        for scene in scenes
        for size in sizes(scene)
        for selection in range(trial.selections)
        for epsilon in trial.epsilons
        for name in methods(epsilon)
    ]


class Stages:
    """Hands out stages by name; the last one stays, since cells of one stage follow each other."""

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self._scenes = {scene.name: scene for scene in scenes}
        self._last: tuple[tuple[object, ...], Stage] | None = None

    def of(self, cell: Row) -> Stage:
        """Return the stage that a cell is measured on."""
        key = (cell["data"], cell["owners"], cell["selection"])
        if self._last is None or self._last[0] != key:
            scene = self._scenes[str(cell["data"])]
            self._last = key, scene.stage(int(str(cell["owners"])), int(str(cell["selection"])))
        return self._last[1]

    def measure(self, cell: Row, trial: TrialPlan) -> Row:
        """Return what is found in a cell."""
        return measure(self.of(cell), METHODS[str(cell["method"])], trial, epsilon=float(str(cell["epsilon"])))
