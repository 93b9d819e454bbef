"""The same journeys over every broker: who is here, who hears what, and what happens when somebody is lost."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest
from wire_brokers import HERE, PATIENCE_S, TOPICS, BrokerProcess
from wire_parties import listening, owner_at, provider_at, raw_client

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.said import Presence
from fedgroup.transport.codec import encode
from fedgroup.transport.links import MOST_BYTES
from fedgroup.transport.packets import Will
from fedgroup.transport.topics import PROVIDER


def test_an_owner_appears_with_its_certificate_and_leaves(broker: BrokerProcess) -> None:
    async def journey() -> None:
        async with listening(provider_at(broker)) as provider:
            async with listening(owner_at(broker, "ann-0")):
                await provider.finds("ann-0", here=True)
                assert provider.here["ann-0"] == Presence("ann-0", True, broker.federation.der("ann-0"))
            await provider.finds("ann-0", here=False)

    asyncio.run(journey())


def test_a_question_reaches_its_owner_only_and_an_answer_has_the_right_sender(broker: BrokerProcess) -> None:
    async def journey() -> None:
        provider_link, ann_link, bob_link = provider_at(broker), owner_at(broker, "ann-1"), owner_at(broker, "bob-1")
        async with listening(provider_link) as provider, listening(ann_link) as ann, listening(bob_link) as bob:
            await provider_link.send_many([("ann-1", b"question"), ("bob-1", b"last")])
            await ann.hears(PROVIDER, b"question")
            await bob.hears(PROVIDER, b"last")
            assert bob.heard == [(PROVIDER, b"last")]
            ann_link.say([(PROVIDER, b"answer")])
            await provider.hears("ann-1", b"answer")
            ann_link.say([("bob-1", b"sealed")])
            await bob.hears("ann-1", b"sealed")
            bob_link.say([(PROVIDER, b"done")])
            await provider.hears("bob-1", b"done")
            assert ("ann-1", b"sealed") not in provider.heard

    asyncio.run(journey())


def test_many_questions_are_answered_at_once(broker: BrokerProcess) -> None:
    async def journey() -> None:
        provider_link, owner_link = provider_at(broker), owner_at(broker, "ann-2")

        asked = [bytes([kind]) * 1_000 for kind in range(200)]
        async with listening(provider_link) as provider, owner_link:
            owner_link.listen(lambda sender, payloads, _: owner_link.say([(sender, each) for each in payloads]))
            assert await owner_link.until_up(PATIENCE_S)
            await provider_link.send_many(("ann-2", each) for each in asked)
            await provider.until(lambda: len(provider.heard) == len(asked), "all answers")
            assert provider.heard == [("ann-2", each) for each in asked]

    asyncio.run(journey())


def test_a_provider_that_starts_late_finds_who_is_here_and_who_is_gone(broker: BrokerProcess) -> None:
    async def journey() -> None:
        async with listening(owner_at(broker, "bob-2")):
            pass
        async with listening(owner_at(broker, "ann-3")):
            for _ in range(2):
                async with listening(provider_at(broker)) as provider:
                    await provider.finds("ann-3", here=True)
                    await provider.finds("bob-2", here=False)

    asyncio.run(journey())


def test_a_killed_owner_is_gone(broker: BrokerProcess) -> None:
    folder = broker.federation.folder
    broker.federation.pem("ann-4")
    command = [sys.executable, str(HERE / "run_owner_link.py"), str(folder), str(broker.port), "ann-4"]

    async def journey(process: subprocess.Popen[bytes]) -> None:
        async with listening(provider_at(broker)) as provider:
            await provider.finds("ann-4", here=True)
            process.send_signal(signal.SIGKILL)
            await provider.finds("ann-4", here=False)

    with subprocess.Popen(command) as process:
        try:
            asyncio.run(journey(process))
        finally:
            process.kill()


def test_an_owner_that_comes_again_before_it_was_missed_stays_here(broker: BrokerProcess) -> None:
    will = Will(TOPICS.presence("ann-5"), encode(Presence("ann-5", here=False)))

    async def journey() -> None:
        async with raw_client(broker, "ann-5", will=will) as (stale, _), listening(owner_at(broker, "ann-5")):
            await asyncio.wait_for(stale.end(), PATIENCE_S)
            async with listening(provider_at(broker)) as provider:
                await provider.finds("ann-5", here=True)

    asyncio.run(journey())


def test_a_message_that_is_too_long_is_not_sent(broker: BrokerProcess) -> None:
    async def journey() -> None:
        provider_link, owner_link = provider_at(broker), owner_at(broker, "ann-6")
        async with listening(provider_link) as provider, listening(owner_link) as ann:
            with pytest.raises(ProtocolViolation):
                owner_link.say([(PROVIDER, bytes(MOST_BYTES + 1))])
            with pytest.raises(ProtocolViolation):
                await provider_link.send("ann-6", bytes(MOST_BYTES + 1))
            longest = b"x" * MOST_BYTES
            owner_link.say([(PROVIDER, longest)])
            await provider.until(lambda: ("ann-6", longest) in provider.heard, "the longest message")
            assert ann.heard == []

    asyncio.run(journey())


def test_a_message_that_is_too_long_is_not_delivered(broker: BrokerProcess) -> None:
    async def journey() -> None:
        async with listening(provider_at(broker)) as provider:
            async with raw_client(broker, "ann-7") as (client, _):
                client.publish(TOPICS.say("ann-7"), bytes(2 * MOST_BYTES))
                await client.room()
            async with listening(owner_at(broker, "ann-7")):
                await provider.finds("ann-7", here=True)
            assert provider.heard == []

    asyncio.run(journey())


def test_links_come_back_after_their_broker_was_killed(mortal_broker: BrokerProcess) -> None:
    async def journey() -> None:
        provider_link, owner_link = provider_at(mortal_broker), owner_at(mortal_broker, "ann-8")
        async with listening(provider_link) as provider, listening(owner_link) as ann:
            await provider.finds("ann-8", here=True)
            mortal_broker.kill()
            owner_link.say([(PROVIDER, b"lost")])
            provider.here.clear()
            await asyncio.to_thread(mortal_broker.start)
            await provider.finds("ann-8", here=True)
            assert await provider_link.until_up(PATIENCE_S)
            assert await owner_link.until_up(PATIENCE_S)  # NATS remembers, on disk, who was here
            await provider_link.send("ann-8", b"again")
            await ann.hears(PROVIDER, b"again")
            owner_link.say([(PROVIDER, b"answer")])
            await provider.hears("ann-8", b"answer")
            assert ("ann-8", b"lost") not in provider.heard

    asyncio.run(journey())
