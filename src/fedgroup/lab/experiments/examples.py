"""One question by each method over an invented city, in this process: what the pages let visitors try."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from fedgroup.data.plans import Plan
from fedgroup.data.synthetic import synthesize
from fedgroup.federation import Federation
from fedgroup.owner.records import Records
from fedgroup.questions.answers import Answer
from fedgroup.service.pages.examples import Example, ExampleCity
from fedgroup.space import Circle

OWNERS = 60
AREA = Circle(10_000, 10_000, 3_000)
EPSILON = 0.3
SETUP_EPSILON = 0.5
_COHORT = 20
_GRID = (5, 5)


@dataclass(frozen=True)
class ExampleMethod:
    """How a method groups owners (None: not by their data), how it is asked for, and who sees what."""

    seen: str
    grouping: Mapping[str, Any] | None = None
    asking: Mapping[str, Any] = field(default_factory=dict)

    def run(self) -> Example:
        """Ask the city once, in a federation of its own with a ledger in memory."""
        records = city()
        with Federation(records, records.domain, budget=EPSILON + SETUP_EPSILON) as federation:
            started = time.perf_counter()
            plan = self._plan(federation)
            grouped = time.perf_counter()
            answer = federation.count(AREA, epsilon=EPSILON, plan=plan, **self.asking)
            return _shown(answer, plan, self.seen, grouped - started, time.perf_counter() - grouped)

    def _plan(self, federation: Federation) -> Plan | None:
        if self.grouping is None:
            return None
        return federation.group(epsilon=SETUP_EPSILON, grid=_GRID, **self.grouping)


METHODS = {
    "dp": ExampleMethod(
        "The provider saw {groups} noisy counts, one of each owner. No owner saw anything of another.",
        asking={"method": "dp"},
    ),
    "fedgroup, trusted groups": ExampleMethod(
        "The provider saw a noisy vector of each owner, and {groups} noisy sums. Leaders saw their members' exact "
        "counts; the largest group has {largest}.",
        {"graph": "likely"},
    ),
    "fedgroup, masked groups": ExampleMethod(
        "The provider saw a noisy vector of each owner, and masked counts that add up to {groups} noisy sums. No "
        "owner saw another's count.",
        {"graph": "likely"},
        {"in_group": "masked"},
    ),
    "fedgroup, hybrid": ExampleMethod(
        "The provider saw a noisy vector of each owner, one exact bit of each of {bits} secure comparisons of two "
        "owners, and {groups} noisy sums. Leaders saw their members' exact counts; the largest group has {largest}.",
        {"graph": "hybrid"},
    ),
    "cohorts": ExampleMethod(
        "The provider saw masked counts that add up to {groups} noisy sums. No owner saw another's count.",
        asking={"method": "cohorts", "cohort_size": _COHORT},
    ),
    "mpc": ExampleMethod(
        "The provider saw masked counts that add up to one noisy sum. No owner saw another's count.",
        asking={"method": "mpc"},
    ),
}


def example_city() -> ExampleCity:
    """Return the city and its methods, for pages to run."""
    about = (
        f"How many of {len(city().x):,} records of {OWNERS} owners lie within {AREA.radius:,.0f} m of the middle? An "
        f"answer costs epsilon {EPSILON:g}, finding groups {SETUP_EPSILON:g} more. Cohorts are of {_COHORT} here."
    )
    runs: dict[str, Callable[[], Example]] = {title: method.run for title, method in METHODS.items()}
    return ExampleCity(about, runs)


@functools.cache
def city() -> Records:
    """Return the invented records."""
    return synthesize(OWNERS, seed=1)


def exact_count() -> int:
    """Return the true count: nobody is behind these records."""
    records = city()
    return int(np.count_nonzero(np.hypot(records.x - AREA.x, records.y - AREA.y) < AREA.radius))


def _shown(answer: Answer, plan: Plan | None, seen: str, grouping: float, asking: float) -> Example:
    known = {} if plan is None else {"largest": plan.largest_group, "bits": plan.settings.get("comparisons")}
    return Example(
        value=cast(float, answer.value),
        interval=answer.interval,
        exact=exact_count(),
        groups=answer.groups,
        noises=answer.noises,
        grouping_seconds=None if plan is None else grouping,
        asking_seconds=asking,
        seen=seen.format(groups=answer.groups, **known),
    )
