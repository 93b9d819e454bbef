"""The scalability experiment: synthetic cities of up to a million owners."""

from __future__ import annotations

from dataclasses import replace

from fedgroup.data.synthetic import synthesize
from fedgroup.lab.experiments.measuring import measure
from fedgroup.lab.experiments.methods import METHODS
from fedgroup.lab.experiments.places import public_places
from fedgroup.lab.experiments.scenes import SYNTHETIC, Scene, Stage
from fedgroup.lab.experiments.sheets import Row
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
