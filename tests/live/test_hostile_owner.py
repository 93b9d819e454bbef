"""An owner that does not behave, over real connections: others' words stay theirs, and answers stay right."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from live_world import PATIENCE_S, PRECISE, World, count, until

from fedgroup.epsilon import Epsilon
from fedgroup.identity import Identity, Trust
from fedgroup.live.channels import OwnerChannel
from fedgroup.live.running import RunningProvider, running_provider
from fedgroup.messages.asked import Ask, Check, Describe
from fedgroup.messages.said import Letter, Masked, Noisy, Presence, Ready, Refused
from fedgroup.provider.settings import GroupingSettings
from fedgroup.secure.channel import HELLO
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.links import MOST_BYTES
from fedgroup.transport.packets import Will
from fedgroup.transport.topics import Topics

TOPICS = Topics("trial")


class Intruder:
    """A registered owner, the last one, whose program is somebody else's."""

    def __init__(self, world: World, then: Callable[[Intruder, Any], None]) -> None:
        self.name = world.names[-1]
        self.agreed = world.agreed
        self.value = 1 << (world.owners - 1)
        self.identity = Identity.load(world.owner_folder(self.name) / "identity")
        trust = Trust.load(world.folder / "authority")
        self.channel = OwnerChannel(
            None, self.identity, agreed=self.agreed, verify_provider=lambda der: trust.verify(der, role="provider")
        )
        tls = self.identity.client_context(trust)
        self.address = BrokerAddress("127.0.0.1", world.broker_port, tls)
        self.heard: list[Any] = []
        self.connection: Connection | None = None
        self._then = then

    async def connect(self) -> None:
        """Listen as an owner does, and show up."""
        gone = Will(TOPICS.presence(self.name), encode(Presence(self.name, here=False)))
        self.connection = await self.opened(will=gone)
        await self.connection.subscribe([TOPICS.ask(self.name), TOPICS.letter(self.name, "+")])
        here = Presence(self.name, here=True, certificate=self.identity.certificate.der, agreed=self.agreed)
        self.connection.publish(TOPICS.presence(self.name), encode(here), retain=True)

    async def opened(self, **facts: Any) -> Connection:
        return await Connection.open(
            self.address, **{"client": self.name, "will": None, "on_message": self._hear} | facts
        )

    def say(self, message: Any) -> None:
        """Say something in its own name."""
        self.publish(self.channel.sealed(message if isinstance(message, bytes) else encode(message)))

    def publish(self, payload: bytes) -> None:
        """Send bytes where this owner may speak."""
        self.connection.publish(TOPICS.say(self.name), payload)

    def _hear(self, topic: str, payload: bytes) -> None:
        with suppress(Exception):
            if payload.startswith(HELLO):
                self.publish(self.channel.greeting(payload))
                return
            message = decode(self.channel.opened(payload), (Ask, Check, Describe))
            self.heard.append(message)
            self._then(self, message)


@asynccontextmanager
async def among_others(world: World, then: Callable[[Intruder, Any], None]) -> AsyncIterator[tuple[Any, Intruder]]:
    """A federation whose last owner is an intruder."""
    async with running_provider(world.config) as up:
        intruder = Intruder(world, then)
        world.start_owners(without=(intruder.name,))
        await intruder.connect()
        await until(lambda: len(up.provider.desk.present) == world.owners)
        try:
            yield up, intruder
        finally:
            intruder.connection.abort()
            await intruder.connection.end()


def nothing(intruder: Intruder, message: Any) -> None:
    """Listen, and be silent."""


async def asked(up: RunningProvider, method: str = "dp") -> Any:
    return await up.provider.ask(count(), method=method, fresh=True)


def test_an_owner_that_answers_twice_is_counted_once(world_of: Callable[..., World]) -> None:
    def twice(intruder: Intruder, ask: Ask) -> None:
        for value in (intruder.value, 10**6, intruder.value):
            intruder.say(Noisy(ask.round, [value], [0]))

    async def story() -> None:
        world = world_of(4)
        async with among_others(world, twice) as (up, _):
            for _ in range(3):
                assert (await asked(up)).value == world.everybody

    asyncio.run(story())


def test_malformed_oversized_foreign_replayed_and_early_messages_change_nothing(world_of: Callable[..., World]) -> None:
    def everything(intruder: Intruder, ask: Ask) -> None:
        right = encode(Noisy(ask.round, [intruder.value], [0]))
        for wrong in wrong_answers(intruder, ask, right):
            intruder.say(wrong)
            intruder.publish(wrong if isinstance(wrong, bytes) else encode(wrong))
        intruder.publish(b"\3" + os.urandom(60))
        intruder.say(right)

    async def story() -> None:
        world = world_of(4)
        async with among_others(world, everything) as (up, intruder):
            for _ in range(4):
                answer = await asked(up)
                assert (answer.value, answer.missing) == (world.everybody, 0)
            assert up.provider.desk.refused_messages >= 4 * 10
            assert set(world.all_spent().values()) == {0, 4 * PRECISE.nano}
            with suppress(OSError):  # one byte too many, and the broker hangs up
                intruder.connection.publish(TOPICS.say(intruder.name), bytes(MOST_BYTES + 2_000))
                await asyncio.wait_for(intruder.connection.end(), PATIENCE_S)
            await until(lambda: intruder.name not in up.provider.desk.present)
            assert (await asked(up)).value == world.everybody - intruder.value

    asyncio.run(story())


def wrong_answers(intruder: Intruder, ask: Ask, right: bytes) -> list[Any]:
    """Return what is no answer of this owner to this question, though some of it looks like one."""
    earlier = [Noisy(old.round, [5], [0]) for old in intruder.heard[:-1] if isinstance(old, Ask)]
    foreign = [ask, Letter(ask.round, b"sealed"), Presence("owner-000", here=False)]
    unfit = [Masked(os.urandom(16), bytes(8)), Ready(os.urandom(16)), Noisy(os.urandom(16), [5], [0])]
    broken = [b"", b"\xc1", right[:-1], right + b"\0", bytes(100), os.urandom(200), b"\x81" * 5_000]
    spelled = [right.replace(b"Noisy", b"Nosiy"), right.replace(b"\xa1v\x01", b"\xa1v\x02")]
    return [*earlier, *foreign, *unfit, *broken, *spelled, bytes(MOST_BYTES - 100)]


def test_an_owner_cannot_speak_for_another_one(world_of: Callable[..., World]) -> None:
    forged: list[bytes] = []

    def forge(intruder: Intruder, ask: Ask) -> None:
        forged.append(ask.round)
        intruder.say(Noisy(ask.round, [intruder.value], [0]))

    async def story() -> None:
        world = world_of(4)
        async with among_others(world, forge) as (up, intruder):
            victim = world.names[0]
            link: Any = up.provider.desk._link
            usual = link.send_many

            async def overheard(messages: Any) -> None:
                """Let the intruder speak first: it knows the round, and the victim does not yet."""
                link.send_many, found = usual, list(messages)
                await usual([pair for pair in found if pair[0] == intruder.name])
                await until(lambda: bool(forged))
                await speak_for(intruder, victim, forged.pop())
                await usual([pair for pair in found if pair[0] != intruder.name])

            link.send_many = overheard
            answer = await asked(up)
            assert (answer.value, answer.missing) == (world.everybody, 0)
            assert victim in up.provider.desk.present

    asyncio.run(story())


async def speak_for(intruder: Intruder, victim: str, round_id: bytes) -> None:
    """Try every way to say something as somebody else; a connection that tries may be cut off."""
    attempts = {
        TOPICS.say(victim): Noisy(round_id, [10**6], [0]),
        TOPICS.presence(victim): Presence(victim, here=False),
        TOPICS.letter("owner-001", victim): Letter(round_id, b"sealed"),
        TOPICS.ask(victim): Check(round_id, round_id),
    }
    for topic, message in attempts.items():
        intruder.connection.publish(topic, encode(message), retain=topic.endswith("presence"))
    with pytest.raises(OSError, match="let this client in"):
        await intruder.opened(client=victim)
    second = await intruder.opened()
    with pytest.raises(OSError, match="topics"):
        await second.subscribe([TOPICS.ask(victim)])
    await intruder.connect()


def test_letters_of_strangers_and_under_other_names_reach_no_sum(world_of: Callable[..., World]) -> None:
    leaders: list[str] = []

    def spam(intruder: Intruder, ask: Ask | Describe) -> None:
        if isinstance(ask, Describe):
            intruder.say(Refused(ask.round, "mode"))
            return
        for leader in leaders:
            for sealed in (b"", os.urandom(82), os.urandom(512)):
                intruder.connection.publish(TOPICS.letter(leader, intruder.name), encode(Letter(ask.round, sealed)))
                intruder.connection.publish(TOPICS.letter(leader, "owner-001"), encode(Letter(ask.round, sealed)))
        intruder.say(Noisy(ask.round, [intruder.value], [0]))

    async def story() -> None:
        world = world_of(5)
        async with among_others(world, spam) as (up, intruder):
            plan = await up.provider.regroup(
                GroupingSettings(), epsilon=Epsilon.of(20), grid=(2, 2), mode="trusted"
            )  # the intruder refuses to describe itself, and so stays alone
            assert plan.sizes() == [4]
            leaders.append(plan.groups[0].members[0])
            for _ in range(3):
                answer = await asked(up, "fedgroup")
                if answer.heard == 4:  # the broker may have cut the intruder off
                    assert answer.value == world.everybody - intruder.value
                else:
                    assert answer.value == world.everybody

    asyncio.run(story())


def test_an_owner_that_says_ready_and_then_nothing_is_left_out_and_nobody_pays_twice(
    world_of: Callable[..., World],
) -> None:
    async def story() -> None:
        world = world_of(5)
        liar = world.names[4]
        async with running_provider(world.config) as up:
            world.start_owners(without=(liar,))
            world.start(liar, dies="Go received")
            await until(lambda: len(up.provider.desk.present) == world.owners)
            world.doom()
            answer = await asked(up, "cohorts")
            world.died(liar)
            assert (answer.value, answer.heard, answer.missing) == (world.everybody - 16, 4, 1)
            assert answer.epsilon == float(PRECISE)
            assert sorted(world.all_spent().values()) == [0, *[PRECISE.nano] * 4]

    asyncio.run(story())
