"""A federation under fire: owners, provider and broker killed at random while users ask; every number must add up.

    python tests/live/chaos_run.py --seconds 600 --seed 1 --broker mosquitto

Prints what was asked, answered, refused and killed, and how long recovery took. Ends with 1, and with a line for each
thing that does not add up, if anything does not. The same seed gives the same schedule of deaths and questions; when a
process is struck in its work depends on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos_books import PLAN, Asked, Books, counted, wrong_in_answer, wrong_in_books
from chaos_kills import BROKERS, Outage, Stage, blows
from chaos_users import METHODS, Asker, NoReply, Noted
from live_world import PATIENCE_S, Nursery

from fedgroup.epsilon import NANO, Epsilon

SETUP = Epsilon.of(20)
OPERATOR = "operator"


@dataclass(frozen=True)
class Settings:
    """How long, how many, and by which schedule. With `kills` the run ends after so many blows, whenever that is."""

    seed: int = 1
    seconds: float = 600.0
    kills: int | None = None
    questions: int = 0
    owners: int = 10
    users: int = 5
    broker: str = "mosquitto"
    round_s: float = 6.0
    pause_s: float = 5.0
    down_s: float = 4.0
    think_s: float = 0.5
    hasty: bool = False
    plants: str | None = None


@dataclass
class Report:
    """What came of a run; `faults` is empty if everything added up."""

    settings: Settings
    asked: list[Asked]
    faults: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    outages: list[Outage] = field(default_factory=list)
    books: Books = field(default_factory=Books)
    seconds: float = 0.0
    names: Sequence[str] = ()

    def lines(self) -> list[str]:
        """Return the summary, and whatever does not add up."""
        return [*self._head(), *self._table(), *self._money(), *self._recoveries(), *self._verdict()]

    def _head(self) -> list[str]:
        settings = self.settings
        killed = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items())) or "nobody"
        return [
            f"{settings.owners} owners, {settings.users} users, {settings.broker} broker, seed {settings.seed}, "
            f"{self.seconds:.0f} s",
            f"killed: {sum(self.kills.values())} ({killed})",
            "",
        ]

    def _table(self) -> list[str]:
        head = ("method", "asked", "answered", "of all", "stored", "charged 2x", "unanswered", "given back", "refused")
        rows = [head, *(self._row(method) for method in (*METHODS, PLAN))]
        text = [f"{row[0]:10}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in rows]
        reasons = Counter(f"{a.reason}{', charged' if a.told else ''}" for a in self.asked if not a.answered)
        return [*text, "", "no answer: " + (", ".join(f"{n} {why}" for why, n in reasons.most_common()) or "never"), ""]

    def _row(self, method: str) -> tuple[str, ...]:
        asked = [each for each in self.asked if each.method == method]
        answered, silent = [a for a in asked if a.answered], [a for a in asked if not a.answered]
        free = [each for each in silent if not each.told]
        back = [each for each in free if each.key in self.books.rows]
        whole = [each for each in answered if method != PLAN and each.reply["missing"] == 0]
        stored, twice = [a for a in answered if not a.fresh], [a for a in asked if a.told > a.nano]
        unanswered = [each for each in silent if each.told]
        columns = (asked, answered, whole, stored, twice, unanswered, back)
        return (method, *(str(len(each)) for each in columns), str(len(free) - len(back)))

    def _money(self) -> list[str]:
        told, lost = sum(each.told for each in self.asked), sum(a.told for a in self.asked if not a.answered)
        paid, used = sum(each.balance for each in self.books.ledgers.values()), 0
        for each in (each for each in self.asked if each.fresh and each.method != PLAN):
            used += each.nano * len(counted(each.reply["value"], self.names))
        return [
            f"users were charged {_epsilon(told)}, of that {_epsilon(lost)} for questions without an answer",
            f"owners were charged {_epsilon(paid)}, of that {_epsilon(used)} for answers that count them",
        ]

    def _recoveries(self) -> list[str]:
        over = [each for each in self.outages if each.ended is not None]
        if not over:
            return []
        longest = max(over, key=lambda each: each.recovery_s)
        kinds = ", ".join(longest.kinds)
        return [
            f"{len(over)} times whole again; longest recovery {longest.recovery_s:.1f} s after the last of: {kinds}"
        ]

    def _verdict(self) -> list[str]:
        return ["", "everything adds up"] if not self.faults else ["", "THIS DOES NOT ADD UP:", *self.faults]


def _epsilon(nano: int) -> str:
    return f"{nano // NANO:,}.{nano % NANO:09d}"


async def run(folder: Path, nursery: Nursery, settings: Settings) -> Report:
    """Run a federation under fire, and return what came of it."""
    stage = Stage.set_up(
        folder, nursery, owners=settings.owners, broker=settings.broker, seconds=settings.round_s,
        hasty=settings.hasty, plants=settings.plants,
    )  # fmt: skip
    report, noted = Report(settings, [], names=stage.world.names), Noted()
    report.asked, report.kills, report.outages = noted.asked, stage.kills, stage.outages
    noted.on_answer = lambda asked: report.faults.extend(
        wrong_in_answer(asked, stage.world.names, stage.lines(asked.nano), stage.downs)
    )
    roles = {f"user-{number}": "user" for number in range(settings.users)} | {OPERATOR: OPERATOR}
    tokens = {name: stage.world.add_user(name, role=role) for name, role in roles.items()}
    askers = [
        Asker(name, token, port=stage.world.http_port, noted=noted, seed=f"{settings.seed} {name}")
        for name, token in tokens.items()
    ]
    began = time.monotonic()
    try:
        stage.start_all()
        await _story(stage, askers, noted, settings, report)
        report.books = stage.books()
    finally:
        stage.end()
        for asker in askers:
            await asker.close()
    report.seconds = time.monotonic() - began
    report.faults += wrong_in_books(report.asked, report.books, stage.world.names)
    return report


async def _story(stage: Stage, askers: Sequence[Asker], noted: Noted, settings: Settings, report: Report) -> None:
    *users, operator = askers
    watching = asyncio.create_task(stage.watch(operator.here))
    try:
        if not await stage.until_whole():
            report.faults.append("the federation did not come up")
            return
        await operator.group(noted.new_nano(SETUP))
        await _under_fire(stage, askers, noted, settings)
        if not await stage.until_whole():
            report.faults.append("the federation is not whole again")
            return
        report.faults += [fault for method in METHODS for fault in await _heard_again(stage, users[0], noted, method)]
    except* NoReply as errors:
        report.faults += map(str, errors.exceptions)
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


async def _under_fire(stage: Stage, askers: Sequence[Asker], noted: Noted, settings: Settings) -> None:
    """Let users ask, and strike, until all blows have fallen and everybody asked often enough."""
    *users, operator = askers
    struck = asyncio.Event()

    def done(number: int) -> bool:
        return struck.is_set() and number >= settings.questions

    async with asyncio.TaskGroup() as tasks:
        for user in users:
            tasks.create_task(user.ask_on(done, pause_s=settings.think_s))
        await _strike(stage, operator, noted, settings)
        struck.set()


async def _strike(stage: Stage, operator: Asker, noted: Noted, settings: Settings) -> None:
    """Kill by the schedule; now and then owners are grouped anew."""
    end = time.monotonic() + settings.seconds
    names, facts = stage.world.names, {"pause_s": settings.pause_s, "down_s": settings.down_s}
    for number, blow in enumerate(blows(settings.seed, names, broker=settings.broker, **facts)):
        if number == settings.kills or time.monotonic() > end:
            return
        if blow.patient and not await stage.until_whole():
            return  # whoever waits at the end says so
        await noted.until_begun(noted.begun + blow.after)
        await asyncio.sleep(blow.pause_s)
        await stage.strike(blow)
        if number % 20 == 10:
            await operator.group(noted.new_nano(SETUP))


async def _heard_again(stage: Stage, user: Asker, noted: Noted, method: str) -> list[str]:
    """Ask until everybody is heard; return what is wrong if that does not come about.

    A provider learns late of a death where the machine is busy, and may take the dead for present: look again, then.
    """
    end = time.monotonic() + PATIENCE_S
    while True:
        asked = await user.ask(method, noted.new_nano())
        if asked.answered and asked.reply["value"] == stage.world.everybody:
            return []
        if time.monotonic() > end or not await stage.until_whole(anew=True):
            break
    return [f"all are back, and by {method} {asked.reply.get('value', asked.reason)} is the answer"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--owners", type=int, default=10)
    parser.add_argument("--users", type=int, default=5)
    parser.add_argument("--broker", choices=BROKERS, default="mosquitto")
    given = parser.parse_args()
    nursery = Nursery()
    try:
        with tempfile.TemporaryDirectory() as folder:
            report = asyncio.run(run(Path(folder, "federation"), nursery, Settings(**vars(given))))
    finally:
        nursery.close()
    print("\n".join(report.lines()))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
