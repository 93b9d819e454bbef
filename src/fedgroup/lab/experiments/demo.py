"""The demo: one synthetic city, every method, every epsilon, against the true answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedgroup.data.city import SIZE_M
from fedgroup.data.plans import Plan
from fedgroup.data.synthetic import synthesize
from fedgroup.federation import Federation
from fedgroup.owner.records import Records
from fedgroup.questions.answers import Answer
from fedgroup.space import Circle

EPSILONS = (0.2, 0.3, 0.4, 0.5)
RADIUS_M = 1_000.0
REPEATS = 25


@dataclass(frozen=True)
class DemoRow:
    """How one method did at one epsilon, over all questions and repeats."""

    method: str
    setup_epsilon: float
    epsilon: float
    groups: int
    mean_absolute_error: float
    mean_relative_error: float
    seconds: float


@dataclass(frozen=True)
class DemoMethod:
    """A method, who is trusted with what, how it groups owners (None: not by their data), and how it is asked for."""

    name: str
    what: str
    grouping: Mapping[str, Any] | None
    asking: Mapping[str, Any] = field(default_factory=dict)

    def make_plan(self, federation: Federation, epsilon: float) -> Plan | None:
        """Return the method's plan, made at the price of `epsilon` where it costs anything."""
        if self.grouping is None:
            return None
        costs = self.grouping["graph"] != "exact"
        return federation.group(epsilon=epsilon if costs else None, **self.grouping)


_TOPCELL = {"graph": "topcell"}
_NOISY = {"graph": "noisy", "algorithm": "dsatur"}
_EXACT = {"graph": "exact", "algorithm": "greedy"}

METHODS = (
    DemoMethod("DP", "every owner alone; nobody is trusted", None),
    DemoMethod("FG topcell", "owners whose largest noisy cell is the same; their leaders are trusted", _TOPCELL),
    DemoMethod("FG noisy", "cliques of the noisy similarity graph; their leaders are trusted", _NOISY),
    DemoMethod("FG masked", "the groups of FG topcell, masked; nobody is trusted", _TOPCELL, {"in_group": "masked"}),
    DemoMethod("FG mixed", "FG topcell, with masked cohorts for owners left over", _TOPCELL | {"leftovers": "cohort"}),
    DemoMethod("cohorts", "random masked cohorts of 50; nobody is trusted", None, {"method": "cohorts"}),
    DemoMethod("MPC", "all owners in one masked group; nobody is trusted", None, {"method": "mpc"}),
    DemoMethod("FG-C", "cliques of the exact graph (not private)", _EXACT),
    DemoMethod("FG-ExC", "largest cliques of the exact graph (not private)", _EXACT | {"algorithm": "cliques"}),
)


def demo_city(*, owners: int, seed: int) -> Records:
    """Return the city that the demo plays in."""
    return synthesize(owners, records_per_owner=40, seed=seed)


def demo_questions() -> list[Circle]:
    """Return circles around 13 public places: a lattice over the inner city."""
    steps = np.array([-2, 0, 2]) * RADIUS_M
    lattice = [(SIZE_M / 2 + dx, SIZE_M / 2 + dy) for dx in steps for dy in steps]
    between = [(SIZE_M / 2 + dx, SIZE_M / 2 + dy) for dx in (-RADIUS_M, RADIUS_M) for dy in (-RADIUS_M, RADIUS_M)]
    return [Circle(x, y, RADIUS_M) for x, y in [*lattice, *between]]


def run_demo(records: Records, *, seed: int, epsilons: Sequence[float] = EPSILONS) -> Iterator[DemoRow]:
    """Yield one row per method and epsilon."""
    federation = Federation(records, seed=seed)
    for method in METHODS:
        for epsilon in epsilons:
            started = time.perf_counter()
            plan = method.make_plan(federation, epsilon)
            answers = [
                federation.count(circle, epsilon=epsilon, plan=plan, repeat=REPEATS, evaluate=True, **method.asking)
                for circle in demo_questions()
            ]
            setup = 0.0 if plan is None else plan.epsilon
            yield _row(method.name, setup, epsilon, answers, seconds=time.perf_counter() - started)


def _row(method: str, setup: float, epsilon: float, answers: Sequence[Answer], *, seconds: float) -> DemoRow:
    errors = np.array([[abs((value or 0) - (a.true_value or 0)) for value in a.values] for a in answers])
    truth = np.array([max(1.0, a.true_value or 0) for a in answers])
    relative = float((errors / truth[:, None]).mean())
    return DemoRow(method, setup, epsilon, answers[0].groups, float(errors.mean()), relative, seconds)
