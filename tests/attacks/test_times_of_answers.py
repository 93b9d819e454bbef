"""Who times an owner's answers learns when it asked: at a public pace, 10,000 records answer when none do.

The attacker carries all messages of two owners of one process. It asks one of them, at moments that it chooses, while
the other's answers leave, and follows with messages that cost nothing, to both: whatever has to wait for the counting
shows how long that took. Time is driven: counting takes the longer the more records there are, and nothing else takes
any. What it may learn is the epsilon of the answers; where counting takes longer than a period, the number of periods.

It also asks both for more than they have left, in steps of a tenth of a period: to be answered within so long, and of a
window that is over so soon. Whether that is refused for the time or for the budget is seen, too, and costs nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from answering import answering
from driven_time import DrivenLoop, in_driven_time
from fedgroup.epsilon import Epsilon
from fedgroup.live.flushing import Flushing
from fedgroup.live.pacing import Moments, paced
from fedgroup.messages.asked import Ask, Check, Describe
from fedgroup.messages.live import FromOwner
from fedgroup.messages.said import Checked, Described, Noisy, Presence, Refused
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.public_time import PublicTime
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))
EVERY_S = 0.01
LOOK_S, RECORD_S = 100e-6, 0.5e-6
"""How long counting takes, and how much longer for each record: 5.1 ms for 10,000, of a period of 10 ms."""
PRICE = Epsilon.of(0.01)
UNAFFORDABLE = Epsilon.of(50)
ATTEMPTS = 12
PROBES = 30
WEEK = 7 * 86_400.0


class SlowSilo(TableSilo):
    """Records that take their time to be counted, while which nothing else goes on in the process."""

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        self._pass_time()
        return super().totals(query)

    def vector(self, grid: Grid) -> np.ndarray:
        self._pass_time()
        return super().vector(grid)

    def _pass_time(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        loop.stand_still(LOOK_S + RECORD_S * len(self._records))


def number(count: int) -> bytes:
    return count.to_bytes(16, "big")


def asked(turn: int) -> Any:
    """A question that is charged and counted: a count, a map, or a noisy vector."""
    if turn % 3 == 2:
        return Describe(number(turn), 3, 3, PRICE.nano)
    places = Circle(5, 5, 3) if turn % 3 == 0 else MAP.grid(4, 4)
    return Ask(number(turn), WireQuery.of(RangeQuery("count", places, PRICE)), None, 60_000)


def probes(turn: int, at: float) -> Iterator[Any]:
    """Questions that cost nothing: each is refused, for the time or for another reason."""
    for step in range(1, PROBES):
        soon = RangeQuery("count", Circle(5, 5, 3), UNAFFORDABLE)
        yield Ask(number(10_000 + 1_000 * turn + step), WireQuery.of(soon), None, step)
        over = at + step * EVERY_S / 10
        open_until = RangeQuery("count", Circle(5, 5, 3), UNAFFORDABLE, since=0, until=round((WEEK + over) * 1e6))
        yield Ask(number(30_000 + 1_000 * turn + step), WireQuery.of(open_until), None, 60_000)


@contextmanager
def owner(name: str, folder: Path, *, records: int, every_s: float = EVERY_S) -> Iterator[OwnerNode]:
    place, nobody = np.full(records, 5.0), np.zeros(records, dtype=np.int64)
    silo = SlowSilo(Records(owner=nobody, x=place, y=place, time=nobody, owners=[0]), MAP)
    clock = PublicTime(_loops_time, every_s=every_s)
    policy = Policy(
        highest_epsilon=Epsilon.of(100), complete_after=0.0, now=clock.standing(lambda: WEEK + _loops_time())
    )
    ledger = OwnerLedger(folder / f"{name}.db")
    ledger.set_cap(Epsilon.of(10))
    yield OwnerNode(
        Keys(name), silo, public_map=MAP, protection=Protection(), policy=policy, ledger=ledger, noise=SecureNoise(),
        verify=believed, encode=encode, clock=clock,
    )  # fmt: skip
    ledger.close()


def _loops_time() -> float:
    return asyncio.get_running_loop().time()


async def _watched(
    ann: OwnerNode, bob: OwnerNode, every_s: float, *, probing: bool
) -> list[tuple[str, str, bytes, int]]:
    """Attack, and return who said what about which round, and when, in nanoseconds."""
    loop, hub, flushing, moments = asyncio.get_running_loop(), MemoryHub(), Flushing(), random.Random(1)
    pace = Moments(every_s)
    links = [paced(hub.owner(node.name), pace) for node in (ann, bob)]
    provider = hub.provider()
    async with asyncio.TaskGroup() as tasks:
        running = [answering(node, link, flushing=flushing) for node, link in zip((ann, bob), links, strict=True)]
        seen: list[tuple[str, str, bytes, int]] = []

        async def watch() -> None:
            async for sender, payload in provider.received():
                said = decode(payload, (Presence, *get_args(FromOwner)))
                if isinstance(said, (Noisy, Described, Checked, Refused)):
                    what = said.reason if isinstance(said, Refused) else type(said).__name__
                    seen.append((sender, what, getattr(said, "round", b""), round(loop.time() * 1e9)))

        watching = tasks.create_task(watch())
        for turn in range(ATTEMPTS):  # by a clock of its own: what comes while the owners count is read after it
            start = 0.1 * (turn + 1)
            await asyncio.sleep(start + EVERY_S / 2 - loop.time())
            await provider.send("bob", encode(asked(3_000 + turn)))  # leaves when ann begins to count
            at = start + EVERY_S + moments.choice((LOOK_S / 2, moments.random() * EVERY_S))
            await asyncio.sleep(at - loop.time())
            await provider.send("ann", encode(asked(turn)))
            if probing:
                for probe in probes(turn, at):
                    await provider.send("ann", encode(probe))
                    await provider.send("bob", encode(probe))
            # what follows at once, or soon
            await asyncio.sleep(at + turn % 2 * moments.random() * 2 * EVERY_S - loop.time())
            for name in ("ann", "bob"):
                await provider.send(name, encode(Check(number(1_000 + turn), number(turn))))
        await asyncio.sleep(1.0)
        watching.cancel()
        for each in running:
            each.close()
    flushing.close()
    return seen


def watched(
    folder: Path, *, records: int, every_s: float = EVERY_S, probing: bool = False, public_time: bool = True
) -> list[tuple[str, str, bytes, int]]:
    place = folder / f"{records}-{every_s}-{probing}-{public_time}"
    place.mkdir()
    period = every_s if public_time else 0.0
    with (
        owner("ann", place, records=records, every_s=period) as ann,
        owner("bob", place, records=3, every_s=period) as bob,
    ):
        return in_driven_time(_watched(ann, bob, every_s, probing=probing))


def test_at_a_public_pace_no_time_tells_how_many_records_there_are(tmp_path: Path) -> None:
    none = watched(tmp_path, records=0)
    assert len(none) == 4 * ATTEMPTS
    assert watched(tmp_path, records=10_000) == none
    assert watched(tmp_path, records=1) == none
    assert {moment % round(EVERY_S * 1e9) for *_, moment in none} == {0}


def test_what_is_refused_for_the_time_tells_no_more_than_the_times_do(tmp_path: Path) -> None:
    none = watched(tmp_path, records=0, probing=True)
    assert {"late", "budget", "incomplete"} < {what for _, what, *_ in none}
    assert watched(tmp_path, records=10_000, probing=True) == none
    assert watched(tmp_path, records=1, probing=True) == none


def test_by_a_time_that_goes_on_refusals_tell_them_apart(tmp_path: Path) -> None:
    def counted(records: int, reason: str) -> int:
        seen = watched(tmp_path / reason, records=records, probing=True, public_time=False)
        return sum(what == reason for _, what, *_ in seen)

    for reason in ("late", "incomplete"):
        (tmp_path / reason).mkdir()
        assert counted(10_000, reason) != counted(0, reason)


def test_without_a_pace_the_attack_tells_them_apart_by_every_answer_and_by_what_follows_it(tmp_path: Path) -> None:
    few, many = ({said[:3]: said[3] for said in watched(tmp_path, records=n, every_s=0.0)} for n in (0, 10_000))
    assert all(many[said] > few[said] for said in few if said[0] == "ann" and said[1] != "Checked")
    assert any(many[said] > few[said] for said in few if said[:2] == ("bob", "Checked"))


@pytest.mark.parametrize(("records", "periods"), [(0, 1), (19_000, 1), (20_000, 2), (25_000, 2), (50_000, 3)])
def test_counting_that_takes_longer_tells_how_many_periods_it_took_and_no_more(
    tmp_path: Path, records: int, periods: int
) -> None:
    first = next(said for said in watched(tmp_path, records=records) if said[:2] == ("ann", "Noisy"))
    begun = 0.12  # asked at some moment after 0.11 s
    assert first[3] == round((begun + periods * EVERY_S) * 1e9)
