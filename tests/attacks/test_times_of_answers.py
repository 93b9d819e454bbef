"""Who times an owner's answers learns when it asked: at a public pace, 10,000 records answer when none do.

The attacker carries all messages of two owners of one process. It asks one of them, at moments that it chooses, while
the other's answers leave, and follows with messages that cost nothing, to both: whatever has to wait for the counting
shows how long that took. Time is driven: counting takes the longer the more records there are, and nothing else takes
any. What it may learn is the epsilon of the answers; where counting takes longer than a period, the number of periods.
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
from fedgroup.messages.said import Checked, Described, Noisy, Presence
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.policy import Policy
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
ATTEMPTS = 12


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


@contextmanager
def owner(name: str, folder: Path, *, records: int) -> Iterator[OwnerNode]:
    place = np.full(records, 5.0)
    silo = SlowSilo(Records(owner=np.zeros(records, dtype=np.int64), x=place, y=place, owners=[0]), MAP)
    ledger = OwnerLedger(folder / f"{name}.db")
    ledger.set_cap(Epsilon.of(10))
    yield OwnerNode(
        Keys(name), silo, public_map=MAP, protection=Protection(), policy=Policy(), ledger=ledger, noise=SecureNoise(),
        verify=believed, encode=encode,
    )  # fmt: skip
    ledger.close()


async def _watched(ann: OwnerNode, bob: OwnerNode, every_s: float) -> list[tuple[str, str, bytes, int]]:
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
                if isinstance(said, (Noisy, Described, Checked)):
                    seen.append((sender, type(said).__name__, said.round, round(loop.time() * 1e9)))

        watching = tasks.create_task(watch())
        for turn in range(ATTEMPTS):  # by a clock of its own: what comes while the owners count is read after it
            start = 0.1 * (turn + 1)
            await asyncio.sleep(start + EVERY_S / 2 - loop.time())
            await provider.send("bob", encode(asked(3_000 + turn)))  # leaves when ann begins to count
            at = start + EVERY_S + moments.choice((LOOK_S / 2, moments.random() * EVERY_S))
            await asyncio.sleep(at - loop.time())
            await provider.send("ann", encode(asked(turn)))
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


def watched(folder: Path, *, records: int, every_s: float = EVERY_S) -> list[tuple[str, str, bytes, int]]:
    place = folder / f"{records}-{every_s}"
    place.mkdir()
    with owner("ann", place, records=records) as ann, owner("bob", place, records=3) as bob:
        return in_driven_time(_watched(ann, bob, every_s))


def test_at_a_public_pace_no_time_tells_how_many_records_there_are(tmp_path: Path) -> None:
    none = watched(tmp_path, records=0)
    assert len(none) == 4 * ATTEMPTS
    assert watched(tmp_path, records=10_000) == none
    assert watched(tmp_path, records=1) == none
    assert {moment % round(EVERY_S * 1e9) for *_, moment in none} == {0}


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
