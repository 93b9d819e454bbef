"""A federation under fire: owners, provider and broker killed at random while users ask; every number must add up.

    python tests/live/chaos_run.py --seconds 600 --seed 1 --broker mosquitto

Prints what was asked, answered, refused and killed, and how long recovery took. Ends with 1, and with a line for each
thing that does not add up, if anything does not. The same seed gives the same schedule of deaths and questions; when a
process is struck in its work depends on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos_books import PLAN, Asked, Books, wrong_in_answer, wrong_in_books
from chaos_holdings import Holdings, OneMoreEach, PowersOfTwo, total
from chaos_kills import BROKERS, Outage, Stage, blows
from chaos_ledgers import ledger_files
from chaos_log import LogLooked, look_at_log, wrong_in_log
from chaos_users import METHODS, Asker, NoReply, Noted
from live_world import PATIENCE_S, Nursery, World

from fedgroup.epsilon import NANO, Epsilon

SETUP = Epsilon.of(20)
OPERATOR = "operator"


@dataclass(frozen=True)
class Settings:
    """How long, how many, and by which schedule. With `kills` the run ends after so many blows, whenever that is.

    Owners have a process each, unless there are several in one. Each question is by one of the `methods`, by chance.
    """

    seed: int = 1
    seconds: float = 600.0
    kills: int | None = None
    questions: int = 0
    owners: int = 10
    users: int = 5
    owners_in_a_process: int = 1
    cohort_size: int = 5
    methods: Sequence[str] = METHODS
    homes: Sequence[tuple[float, float]] = ()
    broker: str = "mosquitto"
    round_s: float = 6.0
    pause_s: float = 5.0
    down_s: float = 4.0
    think_s: float = 0.5
    patience_s: float = PATIENCE_S
    hasty: bool = False
    plants: str | None = None

    @property
    def hosts(self) -> int:
        """How many processes there are with several owners each."""
        return -(-self.owners // self.owners_in_a_process) if self.owners_in_a_process > 1 else 0

    @property
    def holdings(self) -> Holdings:
        """What owners hold: where they are few, the bits of a value name them."""
        names = [f"owner-{number:03d}" for number in range(self.owners)]
        return OneMoreEach(names) if self.hosts else PowersOfTwo(names)


@dataclass
class Report:
    """What came of a run; `faults` is empty if everything added up."""

    settings: Settings
    asked: list[Asked]
    faults: list[str] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    outages: list[Outage] = field(default_factory=list)
    books: Books = field(default_factory=Books)
    log: LogLooked = field(default_factory=LogLooked)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """Return the summary, and whatever does not add up."""
        return [*self._head(), *self._table(), *self._money(), *self._recoveries(), *self._verdict()]

    def _head(self) -> list[str]:
        settings = self.settings
        killed = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kills.items())) or "nobody"
        spread = f" in {settings.hosts} processes" if settings.hosts else ""
        return [
            f"{settings.owners} owners{spread}, {settings.users} users, {settings.broker} broker, "
            f"seed {settings.seed}, {self.seconds:.0f} s",
            f"killed: {sum(self.kills.values())} ({killed})",
            "",
        ]

    def _table(self) -> list[str]:
        head = ("method", "asked", "answered", "of all", "stored", "charged 2x", "unanswered", "given back", "refused")
        rows = [head, *(self._row(method) for method in dict.fromkeys((*self.settings.methods, PLAN)))]
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
        paid = sum(each.balance for each in self.books.ledgers.values())
        used = sum(each.nano * each.reply["heard"] for each in self.asked if each.fresh and each.method != PLAN)
        return [
            f"users were charged {_epsilon(told)}, of that {_epsilon(lost)} for questions without an answer",
            f"owners were charged {_epsilon(paid)}, of that {_epsilon(used)} for answers that count them",
            str(self.log),
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
    holdings = settings.holdings
    world = World(
        folder, nursery, settings.owners, apart=settings.broker == "mosquitto", hosts=settings.hosts,
        records_of=holdings.records_of, homes=settings.homes,
        seconds=settings.round_s, cohort_size=settings.cohort_size,
    )  # fmt: skip
    stage = Stage.set_up(
        world, broker=settings.broker, patience_s=settings.patience_s, hasty=settings.hasty, plants=settings.plants
    )
    report, noted = Report(settings, []), Noted()
    report.asked, report.kills, report.outages = noted.asked, stage.kills, stage.outages
    noted.on_answer = lambda asked: report.faults.extend(
        wrong_in_answer(asked, holdings, stage.lines(asked.nano), stage.downs)
    )
    roles = {f"user-{number}": "user" for number in range(settings.users)} | {OPERATOR: OPERATOR}
    tokens = {name: world.add_user(name, role=role) for name, role in roles.items()}
    askers = [
        Asker(
            name, token, port=world.http_port, noted=noted, seed=f"{settings.seed} {name}",
            methods=settings.methods, patience_s=settings.patience_s,
        )
        for name, token in tokens.items()
    ]  # fmt: skip
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
    report.faults += wrong_in_books(report.asked, report.books, holdings)
    report.log = look_at_log(folder, ledger_files(world))
    report.faults += wrong_in_log(report.log, report.asked)
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
        for method in dict.fromkeys(settings.methods):
            report.faults += await _heard_again(stage, users[0], noted, method=method, value=total(settings.holdings))
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
    roles, facts = stage.world.owner_roles, {"pause_s": settings.pause_s, "down_s": settings.down_s}
    for number, blow in enumerate(blows(settings.seed, roles, broker=settings.broker, **facts)):
        if number == settings.kills or time.monotonic() > end:
            return
        if blow.patient and not await stage.until_whole():
            return  # whoever waits at the end says so
        await noted.until_begun(noted.begun + blow.after)
        await asyncio.sleep(blow.pause_s)
        await stage.strike(blow)
        if number % 20 == 10:
            await operator.group(noted.new_nano(SETUP))


async def _heard_again(stage: Stage, user: Asker, noted: Noted, *, method: str, value: int) -> list[str]:
    """Ask until the value is that of everybody; return what is wrong if that does not come about.

    A provider learns late of a death where the machine is busy, and may take the dead for present: look again, then.
    """
    end = time.monotonic() + stage.patience_s
    while True:
        asked = await user.ask(method, noted.new_nano())
        if asked.answered and asked.reply["value"] == value:
            return []
        if time.monotonic() > end or not await stage.until_whole(anew=True):
            break
    return [f"all are back, and by {method} {asked.reply.get('value', asked.reason)} is the answer"]


def command(about: str, usual: Settings) -> int:
    """Run what the command line says, print what came of it, and return 1 if something does not add up."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--seconds", type=float, default=usual.seconds)
    parser.add_argument("--owners", type=int, default=usual.owners)
    parser.add_argument("--users", type=int, default=usual.users)
    parser.add_argument("--broker", choices=BROKERS, default=usual.broker)
    settings = replace(usual, **vars(parser.parse_args()))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # whoever runs here ends with us
    nursery = Nursery()
    try:
        with tempfile.TemporaryDirectory() as folder:
            report = asyncio.run(run(Path(folder, "federation"), nursery, settings))
    finally:
        nursery.close()
    print("\n".join(report.lines()))
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(command(str(__doc__), Settings()))
