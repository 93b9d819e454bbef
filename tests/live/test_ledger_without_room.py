"""A disk without room: an owner that cannot write its charge says nothing, and answers again when there is room."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from live_world import PRECISE, World, count, until

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.live.running import running_provider
from fedgroup.privacy.budget import Charge
from fedgroup.storage.owner_ledger import OwnerLedger


def room(pid: int, most: int = resource.RLIM_INFINITY) -> None:
    """Let a process write files up to some length."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


@pytest.mark.parametrize("method", ["dp", "cohorts"])
def test_an_owner_without_room_on_its_disk_is_missing_and_unharmed(method: str, world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(5)
        victim = world.names[3]
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == world.owners)
            assert (await up.provider.ask(count(), method=method, fresh=True)).value == world.everybody
            before = world.all_spent()
            room(world.pid(victim), 1)
            answer = await up.provider.ask(count(), method=method, fresh=True)
            assert (answer.value, answer.heard, answer.missing) == (world.everybody - 8, 4, 1)
            paid = {name: world.spent(name) - before[name] for name in world.names}
            assert paid.pop(victim) == 0
            assert set(paid.values()) == {PRECISE.nano}
            room(world.pid(victim))
            assert (await up.provider.ask(count(), method=method, fresh=True)).value == world.everybody
            assert world.spent(victim) == before[victim] + PRECISE.nano

    asyncio.run(story())


def test_a_full_ledger_refuses_and_takes_nothing(tmp_path: Path) -> None:
    ledger = OwnerLedger(tmp_path / "ledger.db")
    ledger.set_cap(Epsilon.of(1000))
    (pages,) = ledger._connected().execute("PRAGMA page_count").fetchone()
    ledger._connected().execute(f"PRAGMA max_page_count = {pages}")
    kept = fill(ledger)
    spent = ledger.spent()
    assert spent in (Epsilon.of(len(kept)), Epsilon.of(len(kept) + 1))  # the last round may be charged, without a reply
    ledger._connected().execute("PRAGMA max_page_count = 1000000")
    for number, reply in kept.items():
        assert ledger.kept_reply(number.to_bytes(16, "big")) == reply
    assert reply_to(ledger, 9_999)
    assert ledger.spent() == spent + Epsilon.of(1)
    ledger.close()


def fill(ledger: OwnerLedger) -> dict[int, bytes]:
    """Answer until there is no room, and return what was said."""
    kept: dict[int, bytes] = {}
    while True:
        try:
            kept[len(kept)] = reply_to(ledger, len(kept))
        except LedgerUnavailable:
            return kept


def reply_to(ledger: OwnerLedger, number: int) -> bytes:
    charge, reply = Charge(Epsilon.of(1), "query", "?"), number.to_bytes(64, "big")
    ledger.begin_rounds([(number.to_bytes(16, "big"), charge, "1")])
    (kept,) = ledger.keep_replies([(number.to_bytes(16, "big"), reply)])
    return kept
