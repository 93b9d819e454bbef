"""The methods under the paper's names, and ours: how each groups owners, and how it is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedgroup.data.plans import Plan
from fedgroup.epsilon import Epsilon
from fedgroup.evaluation.compared import Band, compared_groups
from fedgroup.evaluation.truth import NO_GUARANTEE, exact_vectors
from fedgroup.federation import Federation
from fedgroup.lab.experiments.trial import TrialPlan
from fedgroup.messages import Grouping
from fedgroup.owner.index import RecordIndex
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Neighbours

PAPER_BAND: Band = (0.4, 0.6)
"""The paper calls r_l and r_u hyper-parameters and prints none; this is its threshold 0.5 -/+ 0.1."""

NOBODY = "nobody"
LEADERS = "the leader of one's group, with one's exact answer"
BITS = "leaders; and exact similarities leave, one bit each"
MIXED = "leaders, by owners that could be placed; nobody by the others"
EVERYBODY = "everybody: exact vectors, for evaluation only"


@dataclass(frozen=True)
class ComparingBand:
    """A graph whose pairs in doubt are compared: the paper's fixed band of raw cosines, or limits derived per pair."""

    band: Band | None = None
    algorithm: str = "greedy"


@dataclass(frozen=True)
class Contender:
    """A method, who is trusted with what, how it groups owners (None: not by their data), and how it is asked.

    `questions` is for methods without a set-up: they get what others pay for it, shared by so many questions, on top
    of each question's epsilon, so that all spend the same in total. `neighbours` is what one change of the data is.
    """

    name: str
    what: str
    trust: str
    grouping: Mapping[str, Any] | ComparingBand | None = None
    asking: Mapping[str, Any] = field(default_factory=dict)
    questions: int | None = None
    neighbours: Neighbours = "add-remove"

    def asked_epsilon(self, epsilon: float) -> float:
        """Return what one question costs."""
        return epsilon if self.questions is None else round(epsilon * (1 + 1 / self.questions), 9)

    def make_plan(
        self, federation: Federation, index: RecordIndex, trial: TrialPlan, *, epsilon: float, seed: int
    ) -> Any:
        """Return the method's plan, or None; it costs `epsilon` unless it is made of exact vectors."""
        if self.grouping is None:
            return None
        if isinstance(self.grouping, ComparingBand):
            return compared_plan(federation, index, trial, self.grouping, epsilon=epsilon, seed=seed)
        costs = self.grouping["graph"] != "exact"
        return federation.group(
            epsilon=epsilon if costs else None, grid=trial.grid, threshold=trial.threshold, **self.grouping
        )


def compared_plan(
    federation: Federation, index: RecordIndex, trial: TrialPlan, how: ComparingBand, *, epsilon: float, seed: int
) -> Plan:
    """Return the plan that a real run of the comparisons would give, with outcomes computed from exact vectors."""
    grid, cost = federation.public_map.grid(*trial.grid), Epsilon.of(epsilon)
    exact = exact_vectors(
        index.records,
        grid,
        federation.public_map,
        most=federation.protection.max_records,
        unit=federation.protection.unit,
    )
    noisy = release_vectors(exact, grid=grid, epsilon=cost, protection=federation.protection, noise=SeededNoise(seed))
    found = compared_groups(noisy, exact, threshold=trial.threshold, band=how.band, algorithm=how.algorithm)
    settings = {
        "graph": "hybrid",
        "algorithm": how.algorithm,
        "threshold": trial.threshold,
        "comparisons": found.comparisons,
        "borderline": found.in_doubt,
        "waves": found.waves,
        "grid": f"{grid.columns}x{grid.rows}",
        "domain": list(federation.public_map.domain.sides),
        "lonlat": federation.public_map.lonlat,
        "protection": str(federation.protection),
    }
    grouping = Grouping(found.partition, settings, cost, NO_GUARANTEE, private=False, notes=found.notes)
    name = hashlib.sha256(found.partition.labels.tobytes() + f"{seed} {how}".encode()).hexdigest()
    return Plan(index.records.owners, grouping, name[:32])


_RAW = {"graph": "noisy", "estimate": "raw"}
_EXACT = {"graph": "exact"}
_FIVE_IN_HUNDRED = {"graph": "likely", "misplaced": 0.05}
_TWO_IN_HUNDRED = {"graph": "likely", "misplaced": 0.02}
_COHORTS = {"method": "cohorts", "cohort_size": 50, "colluders": 1}
_MPC = {"method": "mpc", "colluders": 1, "dropouts": 0.0}

_ALL = (
    Contender("DP", "every owner adds its own noise", NOBODY),
    Contender("FG", "the paper's hybrid graph: raw cosines, fixed r_l and r_u", BITS, ComparingBand(PAPER_BAND)),
    Contender("FG-Ex", "the same graph, largest cliques first", BITS, ComparingBand(PAPER_BAND, "cliques")),
    Contender("FG-C", "the exact graph", EVERYBODY, _EXACT | {"algorithm": "greedy"}),
    Contender("FG-ExC", "the exact graph, largest cliques first", EVERYBODY, _EXACT | {"algorithm": "cliques"}),
    Contender("MPC", "all owners in one masked group", NOBODY, None, _MPC),
    Contender("FG raw", "plain cosine of noisy vectors, none compared", LEADERS, _RAW),
    Contender("FG thresholded", "cosine of noisy vectors without small cells", LEADERS, {"graph": "noisy"}),
    Contender("FG topcell", "owners whose largest noisy cell is the same", LEADERS, {"graph": "topcell"}),
    Contender(
        "FG topcell, mixed",
        "the same; all others in masked cohorts of 50",
        MIXED,
        {"graph": "topcell", "leftovers": "cohort"},
        {"dropouts": 0.0},
    ),
    Contender("FG likely", "owners that are likely similar, 5 % expected to be misplaced", LEADERS, _FIVE_IN_HUNDRED),
    Contender(
        "FG mixed",
        "likely similar owners, 2 % expected to be misplaced; all others in masked cohorts of 50",
        MIXED,
        _TWO_IN_HUNDRED | {"leftovers": "cohort"},
        {"dropouts": 0.0},
    ),
    Contender(
        "FG masked",
        "the groups of FG likely, masked",
        NOBODY,
        _FIVE_IN_HUNDRED,
        {"in_group": "masked", "dropouts": 0.0},
    ),
    Contender("FG hybrid", "hybrid graph, limits derived for each pair", BITS, ComparingBand()),
    Contender("cohorts", "random masked cohorts of 50", NOBODY, None, _COHORTS | {"dropouts": 0.0}),
    Contender("cohorts, 10 % silent", "the same, though 10 % may drop out", NOBODY, None, _COHORTS | {"dropouts": 0.1}),
    Contender("cohorts, 20 % silent", "the same, though 20 % may drop out", NOBODY, None, _COHORTS | {"dropouts": 0.2}),
    Contender(
        "FG, replaced record",
        "FG with noise for what the paper promises: a changed record moves two cells",
        BITS,
        ComparingBand(PAPER_BAND),
        neighbours="replace",
    ),
    Contender("DP, total of 1", "DP with what FG spends on set-up and 1 question", NOBODY, questions=1),
    Contender("DP, total of 10", "DP with what FG spends on set-up and 10 questions", NOBODY, questions=10),
    Contender(
        "cohorts, total of 1",
        "cohorts with what FG spends on set-up and 1 question",
        NOBODY,
        None,
        _COHORTS | {"dropouts": 0.0},
        questions=1,
    ),
    Contender(
        "cohorts, total of 10",
        "cohorts with what FG spends on set-up and 10 questions",
        NOBODY,
        None,
        _COHORTS | {"dropouts": 0.0},
        questions=10,
    ),
)
METHODS = {method.name: method for method in _ALL}

PAPER = ("DP", "FG", "FG-Ex", "MPC")
CLEAR = ("FG", "FG-C", "FG-Ex", "FG-ExC")
OURS = ("FG hybrid", "FG likely", "FG mixed", "cohorts")
"""Swept along with the paper's methods; the others are measured at one point."""
