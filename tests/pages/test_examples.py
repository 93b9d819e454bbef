"""Methods that visitors may run: really run, on invented records, in a thread, one at a time, not too often."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from fedgroup.federation import Federation
from fedgroup.lab.experiments.examples import (
    AREA,
    EPSILON,
    METHODS,
    OWNERS,
    SETUP_EPSILON,
    city,
    exact_count,
    example_city,
)
from fedgroup.service.pages.examples import MOST_WAITING, PER_MINUTE, Example, ExampleCity, ExampleRuns
from fedgroup.service.problems import Problem
from fixed_noise import fixed_keys

PATIENCE_S = 60.0
GROUPS = {"dp": OWNERS, "cohorts": 3, "mpc": 1}


@pytest.fixture(scope="module")
def runs():
    with fixed_keys("examples"):
        return {title: [run() for _ in range(8)] for title, run in example_city().run.items()}


def test_the_exact_answer_is_that_of_the_records():
    exact = Federation(city(), city().domain, evaluation=True).count(AREA, method="exact").value
    assert exact_count() == exact > 0


@pytest.mark.parametrize("title", METHODS)
def test_every_method_answers_with_new_noise(runs, title):
    assert len({run.value for run in runs[title]}) > 1
    for run in runs[title]:
        low, high = run.interval
        assert low <= run.value <= high
        assert abs(run.value - run.exact) < 4 * (high - low)
        assert (run.exact, run.groups) == (exact_count(), GROUPS.get(title, run.groups))
        assert 1 <= run.groups <= run.noises <= OWNERS + 1
        assert "{" not in run.seen


def test_groups_of_similar_owners_are_fewer_than_owners(runs):
    assert all(run.groups < OWNERS for title, both in runs.items() if "fedgroup" in title for run in both)
    assert all(run.grouping_seconds is not None for run in runs["fedgroup, hybrid"])
    assert runs["dp"][0].grouping_seconds is None


def test_hybrid_groups_come_from_comparisons_of_two_owners(monkeypatch):
    from fedgroup.owner.comparing import ComparingOwners

    waves, shares = [], ComparingOwners.shares

    def noted(self, first, second):
        waves.append(len(first))
        return shares(self, first, second)

    monkeypatch.setattr(ComparingOwners, "shares", noted)
    seen = METHODS["fedgroup, hybrid"].run().seen
    assert sum(waves) > OWNERS
    assert f"{sum(waves):,} secure comparisons" in seen


def test_leaders_see_exact_counts_in_trusted_groups_only(runs):
    saying = {title for title, both in runs.items() if "exact counts" in both[0].seen}
    assert saying == {"fedgroup, trusted groups", "fedgroup, hybrid"}


def test_a_run_costs_its_own_city_only(monkeypatch):
    charged = []
    monkeypatch.setattr(Federation, "close", lambda self: charged.append(self.spent))
    METHODS["fedgroup, masked groups"].run()
    assert charged == [pytest.approx(EPSILON + SETUP_EPSILON)]


def test_what_serves_them_does_not_load_evaluation():
    words = (
        "import sys\nfrom fedgroup.lab.experiments.examples import example_city\n"
        "[run() for run in example_city().run.values()]\n"
        "print([name for name in sys.modules if name.startswith('fedgroup.evaluation')])"
    )
    ran = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


class Gate:
    """A method that runs until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.threads: list[str] = []
        self.running = self.most = 0

    def run(self) -> Example:
        self.running += 1
        self.most = max(self.most, self.running)
        self.threads.append(threading.current_thread().name)
        assert self.go.wait(PATIENCE_S)
        self.running -= 1
        return Example(1, (0, 2), 1, 1, 1, None, 0.0, "")


async def begun(gate: Gate) -> None:
    while not gate.threads:
        await asyncio.sleep(0.001)


def test_runs_leave_the_event_loop_free_and_wait_for_each_other():
    async def story() -> Gate:
        gate = Gate()
        found = ExampleRuns(ExampleCity("", {"slow": gate.run}))
        tasks = [asyncio.create_task(found.run(f"session-{i}", "slow")) for i in range(3)]
        await asyncio.wait_for(begun(gate), PATIENCE_S)  # the loop turns while the first one runs
        assert not any(task.done() for task in tasks)
        gate.go.set()
        await asyncio.gather(*tasks)
        return gate

    gate = asyncio.run(story())
    assert (gate.most, len(gate.threads)) == (1, 3)
    assert threading.current_thread().name not in gate.threads


def test_only_so_many_wait():
    async def story() -> None:
        gate = Gate()
        found = ExampleRuns(ExampleCity("", {"slow": gate.run}))
        tasks = [asyncio.create_task(found.run(f"session-{i}", "slow")) for i in range(MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="others"):
            await found.run("late", "slow")
        gate.go.set()
        await asyncio.gather(*tasks)
        await found.run("late", "slow")

    asyncio.run(story())


def test_a_session_runs_so_many_a_minute():
    async def story() -> None:
        gate, now = Gate(), [100.0]
        gate.go.set()
        found = ExampleRuns(ExampleCity("", {"quick": gate.run}), clock=lambda: now[0])
        for _ in range(PER_MINUTE):
            await found.run("ann", "quick")
        with pytest.raises(Problem, match="welcome in 60 s"):
            await found.run("ann", "quick")
        await found.run("bob", "quick")
        now[0] += 60
        await found.run("ann", "quick")

    asyncio.run(story())
