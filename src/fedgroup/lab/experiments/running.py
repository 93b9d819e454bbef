"""Runs experiments into a folder: finished cells stay there, and only the rest is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fedgroup.data.drafts import replacing
from fedgroup.data.synthetic import synthesize
from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments import curves, measuring, protocols, sweeps
from fedgroup.lab.experiments.means import load_means, means, save_means
from fedgroup.lab.experiments.measuring import measure
from fedgroup.lab.experiments.methods import METHODS
from fedgroup.lab.experiments.places import public_places
from fedgroup.lab.experiments.scenes import SYNTHETIC, Scene, Stage
from fedgroup.lab.experiments.sheets import Key, ResultSheet, Row
from fedgroup.lab.experiments.tables import Results
from fedgroup.lab.experiments.trial import TrialPlan
from fedgroup.owner.index import RecordIndex
from fedgroup.space import Circle, PublicMap

KEYS = ("owners", "epsilon", "method")
MEASURES = ("groups", "noises", "mae", "expected_mae", "mre", "truth", "query_s", "setup_s", "epsilon_spent")

SCALED = ("DP", "FG topcell", "FG topcell, mixed", "cohorts", "MPC")
"""Every method that takes time in proportion to the owners, and seconds for a million."""
RADIUS_M = 500.0
QUESTIONS = 12
REPEATS = 10
RECORDS_PER_OWNER = 20


def city_cells(trial: TrialPlan) -> list[Row]:
    """Return the paper's figure 6: along owners, and along epsilon in the smallest city."""
    along_owners = [(size, trial.epsilon) for size in trial.cities]
    along_epsilon = [(trial.cities[0], epsilon) for epsilon in trial.epsilons]
    places = list(dict.fromkeys([*along_epsilon, *along_owners]))
    return [{"owners": size, "epsilon": epsilon, "method": name} for size, epsilon in places for name in SCALED]


class Cities:
    """Builds cities; the last one stays, since its cells follow each other."""

    def __init__(self) -> None:
        self._last: Stage | None = None

    def measure(self, cell: Row, trial: TrialPlan) -> Row:
        """Return how a method does in a city."""
        size, epsilon = int(str(cell["owners"])), float(str(cell["epsilon"]))
        if self._last is None or self._last.owners != size:
            self._last = None  # let go of one city before the next is built
            self._last = _city(size)
        few = replace(trial, repeats=REPEATS)
        return measure(self._last, METHODS[str(cell["method"])], few, epsilon=epsilon, judged=False)


def _city(owners: int) -> Stage:
    records = synthesize(owners, records_per_owner=RECORDS_PER_OWNER, seed=1)
    assert records.domain is not None  # noqa: S101  cities state theirs
    places = public_places(records.domain)
    circles = tuple(Circle(x, y, RADIUS_M) for x, y in places[:: len(places) // QUESTIONS][:QUESTIONS])
    scene = Scene(SYNTHETIC, records, records.domain, circles, fixed=0)
    return Stage(scene, RecordIndex.build(records, PublicMap(records.domain)), selection=0)


SETTINGS = "settings.json"
_WITH_WIDTH = ("groups", "mae", "mre", "fixed_mae", "fixed_mre", "misplaced_share", "expected_mae")


@dataclass(eq=False)
class World:
    """What cells are measured in."""

    scenes: Sequence[Scene]
    trial: TrialPlan
    cities: Cities = field(default_factory=Cities)

    def __post_init__(self) -> None:
        self.stages = sweeps.Stages(self.scenes)

    @property
    def facts(self) -> dict[str, Any]:
        """The settings of a run, as plain values."""
        return self.trial.facts | {"scenes": [scene.facts for scene in self.scenes]}


@dataclass(frozen=True)
class Part:
    """One sheet: which cells it has, and how one is measured. Parts with the same `kind` share their cells."""

    keys: tuple[str, ...]
    measures: tuple[str, ...]
    cells: Callable[[World], list[Row]]
    measure: Callable[[Row, World], Row]
    kind: str = ""


def _accuracy(cells: Callable[[Sequence[Scene], TrialPlan], list[Row]], *, kind: str = "accuracy") -> Part:
    return Part(
        measuring.KEYS,
        measuring.MEASURES,
        lambda world: cells(world.scenes, world.trial),
        lambda cell, world: world.stages.measure(cell, world.trial),
        kind,
    )


PARTS = {
    "accuracy-epsilon": _accuracy(sweeps.accuracy_epsilon),
    "accuracy-owners": _accuracy(sweeps.accuracy_owners),
    "noisy-vs-clear": _accuracy(sweeps.noisy_vs_clear),
    "trust": _accuracy(sweeps.trusted),
    "time": _accuracy(sweeps.timed, kind="time"),
    "misplaced": Part(
        curves.KEYS,
        curves.MEASURES,
        lambda world: curves.curve_cells(world.scenes, world.trial),
        lambda cell, world: curves.measure_curve(cell, world.stages, world.trial),
    ),
    "protocols": Part(
        protocols.KEYS,
        protocols.MEASURES,
        lambda world: protocols.protocol_cells(world.scenes, world.trial),
        lambda cell, world: protocols.measure_protocol(cell, world.stages, world.trial),
    ),
    "scalability": Part(
        KEYS,
        MEASURES,
        lambda world: city_cells(world.trial),
        lambda cell, world: world.cities.measure(cell, world.trial),
    ),
}
EXPERIMENTS: dict[str, tuple[str, ...]] = {
    "accuracy-epsilon": ("accuracy-epsilon",),
    "accuracy-owners": ("accuracy-owners",),
    "noisy-vs-clear": ("noisy-vs-clear",),
    "misplaced": ("misplaced",),
    "time": ("time", "protocols"),
    "scalability": ("scalability", "protocols"),
    "trust": ("trust", "protocols"),
}
"""Each experiment, and the parts it needs."""


def parts_of(names: Sequence[str]) -> list[str]:
    """Return the parts that experiments need, each once."""
    return list(dict.fromkeys(part for name in names for part in EXPERIMENTS[name]))


def cells_of(names: Sequence[str], world: World) -> int:
    """Return how many cells experiments have."""
    return sum(len(PARTS[part].cells(world)) for part in parts_of(names))


def require_folder(out: Path, world: World) -> None:
    """Make the folder, or refuse one that holds results of other settings: they would be mixed."""
    path = out / SETTINGS
    facts = json.loads(json.dumps(world.facts))
    try:
        out.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_text()) if path.exists() else None
        if known is None:
            with replacing(path) as draft:
                draft.write_text(json.dumps(facts, indent=1) + "\n")
    except (OSError, ValueError):
        raise InvalidInput(f"the folder {out} cannot be used; give another one with --out") from None
    if known is not None and known != facts:
        other = ", ".join(name for name in facts if known.get(name) != facts[name])
        raise InvalidInput(f"{out} holds results of other settings ({other}); give another folder with --out")


def run(names: Sequence[str], world: World, out: Path) -> Iterator[str]:
    """Measure what is not there yet, yielding what each cell is about, and write the rows and means of every part."""
    require_folder(out, world)
    known: dict[str, dict[Key, Row]] = {}
    for part in PARTS:
        if (spec := PARTS[part]).kind and (out / f"{part}.csv").exists():
            known.setdefault(spec.kind, {}).update(ResultSheet(out / f"{part}.csv", spec.keys, spec.measures).rows)
    for part in parts_of(names):
        spec = PARTS[part]
        sheet = ResultSheet(out / f"{part}.csv", spec.keys, spec.measures)
        shared = known.setdefault(spec.kind, {}) if spec.kind else {}
        cells = spec.cells(world)
        yield from sheet.fill(cells, partial(_measured, spec, world), known=shared)
        shared.update(sheet.rows)
        found = means(sheet.write(cells), spec.keys, spec.measures)
        save_means(out / f"{part}-means.csv", found, shown=_WITH_WIDTH)


def _measured(part: Part, world: World, cell: Row) -> Row:
    return part.measure(cell, world)


def load_results(folder: Path) -> Results:
    """Return the means that a folder holds, and the facts of their run."""
    found: Mapping[str, Sequence[Row]] = {part: load_means(folder / f"{part}-means.csv") for part in PARTS}
    return Results({part: rows for part, rows in found.items() if rows}, json.loads((folder / SETTINGS).read_text()))
