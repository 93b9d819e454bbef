"""200 live owners in four processes under 20 users at once: every answer right, every budget exact to the last unit.

Three questions of each user by default, fifty with FEDGROUP_LONG set.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from live_world import PLACE, World, until_all_are_here

from fedgroup.epsilon import Epsilon
from fedgroup.questions.answers import Answer
from fedgroup.service.client import AsyncClient, aconnect

OWNERS, USERS, PROCESSES = 200, 20, 4
QUESTIONS = 50 if os.environ.get("FEDGROUP_LONG") else 3
TRUTH = sum(1 + number % 3 for number in range(OWNERS))


@dataclass
class Run:
    """What users asked and were told."""

    answers: list[Answer] = field(default_factory=list)
    paid: Counter[str] = field(default_factory=Counter)

    def epsilon(self) -> Epsilon:
        """Return an epsilon that no other question has, so large that noise is 0."""
        return Epsilon(30_000_000_001 + len(self.answers) + sum(self.paid.values()) % 7_919)


async def asks(name: str, client: AsyncClient, run: Run) -> None:
    """Ask one question after the other, alone and in masked cohorts in turn."""
    for number in range(QUESTIONS):
        epsilon, method = run.epsilon(), ("dp", "cohorts", "dp")[number % 3]
        run.paid[name] += epsilon.nano
        run.answers.append(await client.count(PLACE, epsilon=float(epsilon), method=method, fresh=True))


def test_nothing_is_lost_or_counted_twice_under_load(
    world_of: Callable[..., World], record_property: Callable[[str, object], None]
) -> None:
    world = world_of(OWNERS, cohort_size=50, records_of=lambda number: 1 + number % 3)
    tokens = {f"user-{number}": world.add_user(f"user-{number}") for number in range(USERS)}
    world.start("provider")
    owners = world.start_shared(PROCESSES)
    run = Run()
    asyncio.run(_story(world, tokens, run))
    wrong = [a for a in run.answers if (a.value, a.heard, a.missing) != (TRUTH, OWNERS, 0)]
    assert wrong == []
    assert len(run.answers) == USERS * QUESTIONS
    assert {name: world.user_spent(name) for name in tokens} == dict(run.paid)
    assert set(world.all_spent().values()) == {sum(run.paid.values())}
    peaks = {role: peak_mib(world.pid(role)) for role in ("provider", *owners)}
    told = f"{len(run.answers)} questions, {OWNERS} owners, {USERS} users, MiB at most: {peaks}"
    record_property("load", told)
    print(told)


async def _story(world: World, tokens: dict[str, str], run: Run) -> None:
    clients = {name: aconnect(f"http://127.0.0.1:{world.http_port}", token) for name, token in tokens.items()}
    try:
        await until_all_are_here(next(iter(clients.values())), world)
        await asyncio.gather(*(asks(name, client, run) for name, client in clients.items()))
    finally:
        for client in clients.values():
            await client.close()


def peak_mib(pid: int) -> int:
    """Return the most memory that a process had, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0
