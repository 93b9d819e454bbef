"""Every broker keeps everybody to its topics: an owner reads what is for it and writes what is from it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from wire_brokers import TOPICS, BrokerProcess
from wire_certificates import Federation
from wire_parties import listening, owner_at, provider_at, raw_client

from fedgroup.messages.said import Presence
from fedgroup.transport.codec import encode
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.packets import Will
from fedgroup.transport.topics import PROVIDER

FOREIGN_FILTERS = (
    TOPICS.ask("ann-0"),
    TOPICS.say("ann-0"),
    TOPICS.letter("ann-0", "+"),
    TOPICS.ask("+"),
    TOPICS.presence("+"),
    TOPICS.letter("+", "+"),
    "#",
    "fedgroup/#",
    "+/+/+/+/ask",
)


@pytest.mark.parametrize("foreign", FOREIGN_FILTERS)
def test_an_owner_cannot_listen_to_others(broker: BrokerProcess, foreign: str) -> None:
    async def journey() -> None:
        provider_link, ann_link, cid_link = provider_at(broker), owner_at(broker, "ann-0"), owner_at(broker, "cid-0")
        async with (
            listening(provider_link) as provider,
            listening(cid_link),
            raw_client(broker, "bob-0") as (bob, heard),
        ):
            with suppress(ConnectionRefusedError):
                await bob.subscribe([foreign])
            async with listening(ann_link) as ann:
                await provider_link.send("ann-0", b"question")
                await ann.hears(PROVIDER, b"question")
                cid_link.say([("ann-0", b"sealed")])
                await ann.hears("cid-0", b"sealed")
                ann_link.say([(PROVIDER, b"answer")])
                await provider.hears("ann-0", b"answer")
            await provider.finds("ann-0", here=False)
            assert [topic for topic, _ in heard if not topic.startswith("$")] == []

    asyncio.run(journey())


def test_an_owner_cannot_speak_for_others(broker: BrokerProcess) -> None:
    forged = encode(Presence("ann-1", here=False))

    async def journey() -> None:
        ann_link, bob_link = owner_at(broker, "ann-1"), owner_at(broker, "bob-1")
        async with listening(provider_at(broker)) as provider, listening(ann_link) as ann:
            await provider.finds("ann-1", here=True)
            for topic in (TOPICS.say("ann-1"), TOPICS.ask("ann-1"), TOPICS.letter("ann-1", "cid-1"), TOPICS.say("x/y")):
                async with raw_client(broker, "bob-1") as (bob, _):
                    bob.publish(topic, b"forged")
            async with raw_client(broker, "bob-1") as (bob, _):
                bob.publish(TOPICS.presence("ann-1"), forged, retain=True)
            async with listening(bob_link):
                bob_link.say([("ann-1", b"genuine")])
                await ann.hears("bob-1", b"genuine")
                bob_link.say([(PROVIDER, b"genuine")])
                await provider.hears("bob-1", b"genuine")
            assert (ann.heard, provider.heard) == ([("bob-1", b"genuine")], [("bob-1", b"genuine")])
            assert provider.here["ann-1"].here

    asyncio.run(journey())


def test_an_owner_cannot_leave_a_will_for_others(broker: BrokerProcess) -> None:
    will = Will(TOPICS.presence("ann-2"), encode(Presence("ann-2", here=False)))

    async def journey() -> None:
        async with listening(provider_at(broker)) as provider, listening(owner_at(broker, "ann-2")):
            with suppress(ConnectionRefusedError):
                async with raw_client(broker, "bob-2", will=will):
                    pass
            async with listening(owner_at(broker, "bob-2")):
                await provider.finds("bob-2", here=True)
            await provider.finds("bob-2", here=False)
            assert provider.here["ann-2"].here

    asyncio.run(journey())


def test_the_provider_cannot_read_letters_nor_write_them(broker: BrokerProcess) -> None:
    async def journey() -> None:
        ann_link, bob_link = owner_at(broker, "ann-3"), owner_at(broker, "bob-3")
        async with raw_client(broker, "provider") as (client, heard), listening(ann_link), listening(bob_link) as bob:
            with suppress(ConnectionRefusedError):
                await client.subscribe([TOPICS.letter("+", "+")])
            client.publish(TOPICS.letter("bob-3", "ann-3"), b"forged")
            ann_link.say([("bob-3", b"sealed")])
            await bob.hears("ann-3", b"sealed")
            assert heard == []
            assert bob.heard == [("ann-3", b"sealed")]

    asyncio.run(journey())


def test_a_certificate_of_another_authority_is_refused(broker: BrokerProcess, tmp_path) -> None:
    foreign = Federation(tmp_path)

    async def journey() -> None:
        tls = foreign.client("ann-4", trusting=broker.federation)
        address = BrokerAddress("127.0.0.1", broker.port, tls)
        with pytest.raises(OSError):
            await Connection.open(address, client="ann-4", will=None, on_message=lambda *_: None)

    asyncio.run(journey())


def test_a_revoked_certificate_is_refused(broker: BrokerProcess) -> None:
    tls = broker.federation.client("dan", trusting=broker.federation)

    async def journey() -> None:
        with pytest.raises(OSError):
            await Connection.open(
                BrokerAddress("127.0.0.1", broker.port, tls), client="dan", will=None, on_message=lambda *_: None
            )

    asyncio.run(journey())


def test_a_broker_of_another_authority_is_refused(broker: BrokerProcess, tmp_path) -> None:
    foreign = Federation(tmp_path)

    async def journey() -> None:
        tls = broker.federation.client("ann-5", trusting=foreign)
        address = BrokerAddress("127.0.0.1", broker.port, tls)
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            await Connection.open(address, client="ann-5", will=None, on_message=lambda *_: None)

    asyncio.run(journey())
