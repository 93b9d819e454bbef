"""Links in memory behave as links over a broker: presence, wills, losses, bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages.said import Presence
from fedgroup.transport.codec import decode
from fedgroup.transport.inbox import MOST_WAITING_BYTES, Inbox
from fedgroup.transport.links import MOST_BYTES, OwnerLink, ProviderLink
from fedgroup.transport.memory import MemoryHub
from fedgroup.transport.topics import PROVIDER


async def presences(messages: AsyncIterator[tuple[str, bytes]], count: int) -> list[tuple[str, bool]]:
    found = [await anext(messages) for _ in range(count)]
    return [(owner, decode(payload, (Presence,)).here) for owner, payload in found]


def test_owners_come_go_and_are_lost() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        ann = hub.owner("ann", b"certificate")
        provider = hub.provider()
        bob = hub.owner("bob")
        await ann.close()
        bob.drop()
        assert await presences(provider.received(), 4) == [("ann", True), ("bob", True), ("ann", False), ("bob", False)]

    asyncio.run(journey())


def test_a_late_provider_learns_who_is_here_and_who_is_gone() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        hub.owner("ann")
        hub.owner("bob").drop()
        await hub.provider().close()
        assert await presences(hub.provider().received(), 2) == [("ann", True), ("bob", False)]

    asyncio.run(journey())


def test_messages_reach_whom_they_are_for() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        provider: ProviderLink = hub.provider()
        ann, bob = hub.owner("ann"), hub.owner("bob")
        await provider.send_many([("ann", b"question"), ("gone", b"lost")])
        ann.say([("bob", b"sealed")])
        ann.say([("gone", b"lost")])
        bob.say([(PROVIDER, b"answer")])
        assert await anext(ann.received()) == (PROVIDER, b"question")
        assert await anext(bob.received()) == ("ann", b"sealed")
        assert await presences(provider.received(), 2) == [("ann", True), ("bob", True)]
        assert await anext(provider.received()) == ("bob", b"answer")

    asyncio.run(journey())


def test_a_listener_hears_what_waits_and_what_comes_and_nothing_while_somebody_holds() -> None:
    async def journey() -> None:
        hub, heard = MemoryHub(), list[tuple[str, bytes]]()
        provider, link = hub.provider(), hub.owner("ann")
        ann: OwnerLink = link

        async def now_heard() -> list[bytes]:
            for _ in range(10):
                await asyncio.sleep(0)
            return [payload for _, payload in heard]

        await provider.send("ann", b"1")
        ann.listen(lambda sender, payloads, _: heard.extend((sender, each) for each in payloads))
        assert await now_heard() == [b"1"]
        ann.hold()
        ann.hold()
        for payload in (b"2", b"3", b"4"):
            await provider.send("ann", payload)
        ann.go_on()
        assert len(await now_heard()) <= 2, "what was read before may still come"
        ann.go_on()
        assert await now_heard() == [b"1", b"2", b"3", b"4"]

    asyncio.run(journey())


def test_what_is_sent_on_a_closed_link_is_lost() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        provider, ann = hub.provider(), hub.owner("ann")
        await ann.close()
        ann.say([(PROVIDER, b"lost")])
        await provider.close()
        assert [message async for message in ann.received()] == []
        assert len([message async for message in provider.received()]) == 2

    asyncio.run(journey())


def test_an_owner_that_comes_again_takes_its_own_place() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        provider, older, newer = hub.provider(), hub.owner("ann"), hub.owner("ann")
        older.drop()
        await provider.send("ann", b"question")
        assert await anext(newer.received()) == (PROVIDER, b"question")
        assert await presences(provider.received(), 3) == [("ann", True), ("ann", False), ("ann", True)]

    asyncio.run(journey())


def test_long_messages_and_foreign_names_are_refused() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        provider, ann = hub.provider(), hub.owner("ann")
        with pytest.raises(ProtocolViolation):
            await provider.send("ann", bytes(MOST_BYTES + 1))
        with pytest.raises(InvalidInput):
            ann.say([("a/b", b"")])
        with pytest.raises(InvalidInput):
            hub.owner(PROVIDER)

    asyncio.run(journey())


def test_a_full_inbox_says_so_and_goes_on_when_half_is_taken() -> None:
    async def journey() -> None:
        said: list[str] = []
        inbox = Inbox(most=4, when_full=lambda: said.append("full"), when_room=lambda: said.append("room"))
        for number in range(4):
            inbox.put("ann", bytes([number]))
        taken = inbox.taken()
        assert (said, inbox.full) == (["full"], True)
        assert [await anext(taken) for _ in range(2)] == [("ann", b"\0"), ("ann", b"\1")]
        assert (said, inbox.full) == (["full", "room"], False)
        inbox.close()
        assert [message async for message in taken] == [("ann", b"\2"), ("ann", b"\3")]

    asyncio.run(journey())


def test_an_inbox_is_full_by_bytes_before_it_is_by_number() -> None:
    async def journey() -> None:
        said: list[str] = []
        inbox = Inbox(most_bytes=8, when_full=lambda: said.append("full"), when_room=lambda: said.append("room"))
        for payload in (b"12", b"345", b"678"):
            assert not inbox.full
            inbox.put("ann", payload)
        taken = inbox.taken()
        assert (said, inbox.full) == (["full"], True)
        assert await anext(taken) == ("ann", b"12")
        assert inbox.full
        assert await anext(taken) == ("ann", b"345")
        assert (said, inbox.full) == (["full", "room"], False)

    asyncio.run(journey())


def test_long_messages_that_nobody_takes_fill_an_inbox_to_a_bound() -> None:
    async def journey() -> None:
        hub = MemoryHub()
        provider, ann = hub.provider(), hub.owner("ann")
        for _ in range(2 * MOST_WAITING_BYTES // MOST_BYTES):
            await provider.send("ann", bytes(MOST_BYTES))
        await ann.close()
        kept = [len(payload) async for _, payload in ann.received()]
        assert sum(kept) == MOST_WAITING_BYTES

    asyncio.run(journey())
