"""A log that is kept up: no owner makes the provider read it again, no round stays open, nothing unwritten is named."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.identity import Identity
from fedgroup.live import public_log
from fedgroup.live.asking import NamedRound
from fedgroup.live.desk import Desk
from fedgroup.live.public_log import USUAL_LINKS, PublicLog
from fedgroup.live.settings import LiveSettings
from fedgroup.live.tally import Tally
from fedgroup.live.verifying import read_log
from fedgroup.messages.asked import Go
from fedgroup.messages.logged import Chain
from fedgroup.messages.said import Noisy
from fedgroup.messages.wire_query import WireQuery
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.chain import FIRST, heads_along, stated
from fedgroup.secure.signatures import require_signed
from fedgroup.space import Box, Circle, PublicMap
from fedgroup.storage.log_file import LogFile
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub
from owner_keys import believed

ONE = Epsilon.of(1)
COUNT = RangeQuery("count", Circle(5, 5, 3), ONE)
ROUND = b"r" * 16


@pytest.fixture
def log(tmp_path: Path, signer: Identity) -> Iterator[PublicLog]:
    file = LogFile(tmp_path / "log.jsonl")
    yield opened(file, signer)
    file.close()


def opened(file: LogFile, signer: Identity) -> PublicLog:
    return PublicLog(file, LiveSettings("city", PublicMap(Box(0, 0, 10, 10)), Protection()), signer, agreed=b"")


def grown(log: PublicLog, entries: int) -> None:
    """Write so many questions that nobody was asked, at once."""
    for number in range(entries):
        log._add({"kind": "failed", "rounds": [f"{number:032x}"], "at": log._at()})
    log._write()


# --- owners that are led on -------------------------------------------------------------------------------------------


def test_owners_are_led_over_a_log_that_is_not_read_again(
    log: PublicLog, signer: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_log, "MOST_LINKS", 64)
    grown(log, 100)
    looked, read = list[tuple[int, int]](), LogFile.read

    def counted(file: LogFile, first: int, count: int) -> list[bytes]:
        looked.append((first, count))
        return read(file, first, count)

    for one in (log, opened(log._file, signer)):  # as after a restart
        with monkeypatch.context() as counting:
            counting.setattr(LogFile, "read", counted)
            chains = asyncio.run(one.chains_after(0))
        assert looked == [(64, 1), (100, 1)]  # for their signatures
        looked.clear()
        require_leading(chains, signer, one)


def require_leading(chains: list[Chain], signer: Identity, log: PublicLog) -> None:
    """Follow chains from the first entry on, as owners do."""
    head = heads_along(0, FIRST, bytes(log._digests[:32]))[-1]
    for chain in chains:
        heads = heads_along(chain.first, head, chain.links)
        head, last = heads[-1], chain.first + len(heads) - 2
        require_signed(signer.certificate.tls_key, stated("city", last, head), chain.signature)
    assert (head, last) == (log._head, len(log) - 1)


def test_a_restarted_provider_shows_questions_the_same_links(log: PublicLog, signer: Identity) -> None:
    grown(log, 3 * USUAL_LINKS)
    again = opened(log._file, signer)
    assert (again._digests, again._head, again._count) == (log._digests, log._head, log._count)
    shown = asyncio.run(again.asked(ROUND, WireQuery.of(COUNT), owners=2))
    assert len(shown.links) == 32 * USUAL_LINKS
    assert heads_along(shown.first, shown.base, shown.links)[-1] == log._head


def test_an_owner_is_led_once_at_a_time_and_from_where_it_said_last() -> None:
    async def run() -> None:
        hub = MemoryHub()
        desk = Desk(hub.provider(), encode=encode, decode=decode, verify=believed)
        led, gate = list[tuple[str, int]](), asyncio.Event()

        async def lead_on(owner: str, number: int) -> None:
            led.append((owner, number))
            await gate.wait()
            if number == 2:
                raise LedgerUnavailable("no disk")

        desk.lead_on = lead_on
        for number in range(50):
            desk._lead_on("ann", number)
        await asyncio.sleep(0)
        for number in range(50, 99):
            desk._lead_on("ann", number)
        desk._lead_on("bob", 2)
        await asyncio.sleep(0)
        assert led == [("ann", 49), ("bob", 2)]
        tasks = list(desk._leading.values())
        gate.set()
        await asyncio.gather(*tasks)
        assert led == [("ann", 49), ("bob", 2), ("ann", 98)]
        desk._lead_on("bob", 7)
        await asyncio.gather(*desk._leading.values())
        assert (led[-1], desk._leading) == (("bob", 7), {})

    asyncio.run(run())


# --- rounds that are under way ----------------------------------------------------------------------------------------


def test_a_question_that_is_cancelled_while_it_is_written_is_not_under_way(
    log: PublicLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        never = asyncio.Event()

        async def hangs() -> None:
            await never.wait()

        monkeypatch.setattr(log, "_durable", hangs)
        task = asyncio.create_task(log.asked(ROUND, WireQuery.of(COUNT), owners=2))
        await asyncio.sleep(0)
        assert log._open
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert not log._open

    asyncio.run(run())


def _tally() -> Tally:
    tally = Tally(COUNT, set(), frozenset({"ann"}))
    tally.rounds.append(ROUND)
    tally.add([7], heard=["ann"])
    return tally


def test_whatever_comes_of_writing_an_answer_its_round_is_over(log: PublicLog, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        await log.asked(ROUND, WireQuery.of(COUNT), owners=1)
        tally = _tally()
        monkeypatch.setattr(tally, "sheet", None)
        with pytest.raises(AttributeError):
            await log.answered(COUNT, tally, tally.totals(Protection()))
        assert not log._open

    asyncio.run(run())


def test_an_answer_names_no_entry_that_is_not_on_disk(log: PublicLog, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        await log.asked(ROUND, WireQuery.of(COUNT), owners=1)
        tally = _tally()
        with monkeypatch.context() as broken:
            broken.setattr(LogFile, "append", _fails)
            assert await log.answered(COUNT, tally, tally.totals(Protection())) is None
        assert (len(log), await log.told_in(ROUND)) == (2, {})
        await log.failed([secrets.token_bytes(16)])
        assert b'"answered"' in log.lines(2, 1)[0]  # it was written before what came after it

    asyncio.run(run())


def _fails(_self: LogFile, _lines: Any) -> None:
    raise LedgerUnavailable("no room")


# --- rounds that are asked again --------------------------------------------------------------------------------------


def test_a_leader_that_gives_other_sums_when_its_round_is_asked_again_is_not_counted(
    city: Callable[..., Any], signer: Identity
) -> None:
    """Else it would make a log that nobody verifies any more."""

    async def keep(_fixed: Any, _paid: bool) -> None:
        """Nothing dies here."""

    async def run() -> None:
        async with city(signer=signer, owners=4) as found:
            await found.provider.regroup(GroupingSettings(graph="topcell"), epsilon=ONE, grid=(2, 2), mode="trusted")
            named = NamedRound(secrets.token_bytes(16), frozenset(), {}, keep)

            async def heard() -> set[str]:
                async with found.provider.question(COUNT, method="fedgroup", as_map=True) as asked:
                    tally, _ = await asked.tallied(by="ann", quorum=None, may_rerun=lambda: False, named=named)
                    return tally.heard

            assert await heard() == set(found.owners)
            assert await heard() == set(found.owners)
            group = found.provider.plan.groups[0]
            _lie(found.owners[group.members[0]])
            assert await heard() == set(found.owners) - set(group.members)
            log = read_log((found.folder / "provider.log.jsonl").read_bytes().splitlines())
            assert (log.answered, log.unended) == (3, 0)
            assert await found.provider.log.told_in(named.id) == log.rounds[named.id.hex()].told

    asyncio.run(run())


def _lie(leader: Any) -> None:
    honest = leader.node.prepare

    def prepare(sender: str, message: Any, **more: Any) -> Any:
        letters = honest(sender, message, **more)
        if not isinstance(message, Go):
            return letters
        ((to, said),) = letters
        noisy = decode(said, (Noisy,))
        return [(to, encode(Noisy(noisy.round, [sums + 1 for sums in noisy.sums], noisy.heard)))]

    leader.node.prepare = prepare
