"""A provider that does not follow the protocol, over real connections: owners refuse, and pay for nothing else."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, get_args

from live_world import PATIENCE_S, PRECISE, World, count, until

from fedgroup.epsilon import Epsilon
from fedgroup.identity import Authority, Identity, Trust
from fedgroup.live.channels import ProviderChannels
from fedgroup.live.trial import _issue
from fedgroup.messages.asked import Ask, Check, Describe, Go, Leave, Offer, Relay, Reveal, Seal
from fedgroup.messages.live import FromOwner
from fedgroup.messages.said import Accepted, Letter, Masked, Noisy, Presence, Ready, Refused, Revealed, Sealed
from fedgroup.messages.wire_query import WireQuery
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.links import MOST_MESSAGE
from fedgroup.transport.mqtt import MqttProviderLink
from fedgroup.transport.topics import Topics

TOPICS = Topics("trial")
WORD = 1 << 64


class Puppeteer:
    """A provider's certificate and its link, in the hands of a test."""

    def __init__(self, world: World, link: ProviderChannels) -> None:
        self.world = world
        self.link = link
        self.said: dict[str, list[bytes]] = {name: [] for name in world.names}
        self.here: dict[str, Presence] = {}
        self.unsealed: list[str] = []

    async def listen(self) -> None:
        async for owner, payload in self.link.received():
            if not payload:  # not sealed by who is said to have said it
                self.unsealed.append(owner)
                continue
            message = decode(payload, (*get_args(FromOwner), Letter, Presence))
            if isinstance(message, Presence):
                self.here[owner] = message
            else:
                self.said[owner].append(payload)

    async def bytes_for(self, owner: str, message: Any) -> bytes:
        """Send a message and return the bytes of the reply to it."""
        before = len(self.said[owner])
        await self.link.send(owner, message if isinstance(message, bytes) else encode(self.agreeing(message)))
        async with asyncio.timeout(PATIENCE_S):
            while len(self.said[owner]) == before:
                await asyncio.sleep(0.005)
        return self.said[owner][before]

    def agreeing(self, message: Any) -> Any:
        """Return a message that says what all parties agreed on, where it can."""
        return replace(message, agreed=self.world.agreed) if hasattr(message, "agreed") else message

    async def reply_to(self, owner: str, message: Any) -> Any:
        return decode(await self.bytes_for(owner, message), get_args(FromOwner))

    async def reason(self, owner: str, message: Any) -> str:
        """Return why an owner refuses a message."""
        reply = await self.reply_to(owner, message)
        assert isinstance(reply, Refused)
        return reply.reason

    async def until_here(self, owners: list[str]) -> None:
        await until(lambda: all(name in self.here and self.here[name].here for name in owners))

    def certificates(self, *names: str) -> list[bytes]:
        return [self.here[name].certificate for name in names]

    async def grouped(self, plan: str, mode: str, *names: str, dropouts: int = 0) -> None:
        """Form a group by the book."""
        roster = self.certificates(*names)
        accepted = [await self.reply_to(n, Offer(plan, mode, roster, p, 1, dropouts)) for p, n in enumerate(names)]
        revealed = [await self.reply_to(name, Reveal.of(plan, accepted)) for name in names]
        for name in names:
            assert isinstance(await self.reply_to(name, Seal.of(plan, revealed)), Sealed)


@asynccontextmanager
async def pulling_strings(world: World, *, without: tuple[str, ...] = ()) -> AsyncIterator[Puppeteer]:
    """All owners as processes, a broker, and a provider that does as the test likes."""
    world.start("broker")
    world.start_owners(without=without)
    identity, trust = Identity.load(world.folder / "provider"), Trust.load(world.folder / "authority")
    address = BrokerAddress("127.0.0.1", world.broker_port, identity.client_context(trust))
    async with MqttProviderLink(topics=TOPICS, broker=address) as link:
        provider = Puppeteer(world, ProviderChannels(link, identity, verify_owner=trust.verify))
        listening = asyncio.create_task(provider.listen())
        await provider.until_here([name for name in world.names if name not in without])
        try:
            yield provider
        finally:
            listening.cancel()
            await asyncio.wait([listening])


def ask(round_id: bytes, plan: str | None = None, *, epsilon: Epsilon = PRECISE, radius: float = 500.0) -> Ask:
    return Ask(round_id, WireQuery.of(count(epsilon, radius)), plan, 5_000, "ann")


def new() -> bytes:
    return os.urandom(16)


def test_nothing_makes_an_owner_spend_beyond_its_cap(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3, apart=True, cap=100.0)
        a, b, c = world.names
        async with pulling_strings(world) as provider:
            await provider.grouped("p", "masked", a, b, c)
            assert isinstance(await provider.reply_to(a, ask(new(), epsilon=Epsilon.of(99.5))), Noisy)
            spent = world.spent(a)
            beyond = Epsilon(500_000_001)
            assert await provider.reason(a, ask(new(), epsilon=beyond)) == "budget"
            assert await provider.reason(a, ask(new(), "p", epsilon=beyond)) == "budget"
            assert await provider.reason(a, Describe(new(), 5, 5, beyond.nano)) == "budget"
            assert world.spent(a) == spent
            assert isinstance(await provider.reply_to(a, ask(new(), epsilon=Epsilon(500_000_000))), Noisy)
            assert world.spent(a) == Epsilon.of(100).nano
            assert await provider.reason(a, ask(new(), epsilon=Epsilon(1))) == "budget"
            assert isinstance(await provider.reply_to(b, ask(new())), Noisy)

    asyncio.run(story())


def test_a_round_has_one_reply_whatever_is_asked_and_whoever_died(
    world_of: Callable[..., World],
) -> None:
    async def story() -> None:
        world = world_of(4, apart=True)
        a, b, c, d = world.names
        async with pulling_strings(world) as provider:
            await provider.grouped("p", "masked", a, b, c, d, dropouts=1)
            alone, masked, described = new(), new(), new()
            first = await provider.bytes_for(a, ask(alone))
            vector = await provider.bytes_for(a, Describe(described, 4, 4, PRECISE.nano))
            for name in (a, b, c, d):
                assert isinstance(await provider.reply_to(name, ask(masked, "p")), Ready)
            assert await provider.reason(a, ask(masked, "p", radius=400)) == "protocol"
            word = await provider.bytes_for(a, Go(masked, [0, 1, 2]))
            spent = world.spent(a)
            for _ in range(2):
                for other in (ask(alone), ask(alone, radius=1), ask(alone, "p"), Go(alone, [0, 1, 2, 3])):
                    assert await provider.bytes_for(a, other) == first
                for other in (Go(masked, [0, 1, 2, 3]), Go(masked, [0]), ask(masked), ask(masked, radius=100)):
                    assert await provider.bytes_for(a, other) == word
                assert await provider.bytes_for(a, Describe(described, 64, 64, 1)) == vector
                assert world.spent(a) == spent == 3 * PRECISE.nano
                provider.here.clear()
                world.kill(a)
                world.start(a)
                await provider.until_here([a])

    asyncio.run(story())


def test_what_comes_in_another_order_is_refused(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3, apart=True)
        a, b, c = world.names
        async with pulling_strings(world) as provider:
            roster = provider.certificates(a, b, c)
            assert await provider.reason(a, Go(new(), [0, 1, 2])) == "round"
            ghosts = [Accepted("p", bytes(32), bytes(64))] * 3
            assert await provider.reason(a, Reveal.of("p", ghosts)) == "plan"
            assert await provider.reason(a, seal_of_nobody("p")) == "plan"
            accepted = await provider.reply_to(a, Offer("p", "masked", roster, 0))
            assert isinstance(accepted, Accepted)
            assert await provider.reason(a, seal_of_nobody("p")) == "protocol"
            assert await provider.reason(a, ask(new(), "p")) == "plan"
            assert await provider.reason(a, Reveal.of("p", [accepted, ghosts[0]])) == "protocol"
            assert await provider.reason(a, Reveal.of("p", [accepted, *ghosts[:2]])) == "protocol"
            others = [await provider.reply_to(n, Offer("p", "masked", roster, p)) for p, n in ((1, b), (2, c))]
            assert isinstance(await provider.reply_to(a, Reveal.of("p", [accepted, *others])), Revealed)
            assert await provider.reason(a, seal_of_nobody("p")) == "protocol"
            assert await provider.reason(a, ask(new(), "p")) == "plan"
            assert set(world.all_spent().values()) == {0}

    asyncio.run(story())


def seal_of_nobody(plan: str) -> Seal:
    return Seal(plan, [bytes(32)] * 3, [bytes(64)] * 3)


def test_rosters_cannot_change_and_hold_certified_owners_only(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(4, apart=True)
        a, b, c, d = world.names
        async with pulling_strings(world) as provider:
            await provider.grouped("p", "masked", a, b, c)
            assert await provider.reason(a, Offer("p", "masked", provider.certificates(a, b, d), 0)) == "protocol"
            assert await provider.reason(a, Offer("p", "masked", provider.certificates(a, b, c, d), 0)) == "protocol"
            for stranger in strangers(world, provider):
                wrong = Offer("q", "masked", [*provider.certificates(a, b), stranger], 0)
                assert await provider.reason(a, wrong) == "protocol"
            assert await provider.reason(a, Offer("q", "masked", provider.certificates(a, b, b), 0)) == "protocol"
            assert await provider.reason(a, Offer("q", "masked", provider.certificates(b, a, c), 0)) == "protocol"
            assert await provider.reason(a, Offer("q", "masked", provider.certificates(a, b), 0)) == "members"
            assert isinstance(await provider.reply_to(a, ask(new(), "p")), Ready)

    asyncio.run(story())


def strangers(world: World, provider: Puppeteer) -> list[bytes]:
    """Return certificates that are no owner's: the provider's own, another authority's, and torn ones."""
    elsewhere = world.folder / "elsewhere"
    _issue(Authority.create(elsewhere / "authority", "trial"), Trust.load(elsewhere / "authority"),
           elsewhere / "ghost", "owner-003", "owner")  # fmt: skip
    own = Identity.load(world.folder / "provider").certificate.der
    ghost = Identity.load(elsewhere / "ghost").certificate.der
    torn = provider.here[world.names[2]].certificate[:-1]
    return [own, ghost, torn, b"", os.urandom(300)]


def test_members_told_different_rosters_give_a_worthless_sum_and_no_value(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(5, apart=True)
        a, b, c, d, _ = world.names
        async with pulling_strings(world) as provider:
            await provider.grouped("p", "masked", a, b, c, d, dropouts=1)
            this = new()
            for name in (a, b, c, d):
                assert isinstance(await provider.reply_to(name, ask(this, "p")), Ready)
            told = {a: [0, 1, 2], b: [0, 1, 3], c: [0, 1, 2, 3], d: [0, 2, 3]}
            replies = {name: await provider.reply_to(name, Go(this, positions)) for name, positions in told.items()}
            words = {
                name: int.from_bytes(reply.words, "little")
                for name, reply in replies.items()
                if isinstance(reply, Masked)
            }
            assert set(words) == {a, b, c, d}
            for bits in range(1, 16):
                chosen = [words[name] for i, name in enumerate(words) if bits >> i & 1]
                assert 1 << 20 < sum(chosen) % WORD < WORD - (1 << 20)  # by chance with 2^-40
            assert await provider.reason(a, Go(new(), [0, 1, 2])) == "round"

    asyncio.run(story())


def test_malformed_oversized_and_foreign_messages_neither_stop_an_owner_nor_cost_it(
    world_of: Callable[..., World],
) -> None:
    async def story() -> None:
        world = world_of(3, apart=True)
        a, b, other = world.names
        async with pulling_strings(world, without=(other,)) as provider:
            right, long = encode(provider.agreeing(ask(new()))), "é" * 64
            silent = [
                *(b"", b"\xc1", right[:-1], right + b"\0", os.urandom(500), b"\x81" * 9_000, bytes(MOST_MESSAGE)),
                *(encode(Noisy(new(), [1], [0])), encode(Presence(a, here=False)), right.replace(b"Ask", b"Aks")),
            ]
            for wrong in silent:
                await provider.link.send(a, wrong)
            refused = [Reveal(long, [], []), Seal(long, [], []), Offer(long, "masked", [b"?"], 0), ask(new(), long),
                       relay(b""), relay(b"frame"), Offer("p", "trusted", [b"?"] * 2_000, 1_999)]  # fmt: skip
            for wrong in refused:
                assert await provider.reason(a, wrong) in ("protocol", "plan", "members", "budget")
            outside = RangeQuery("count", Circle(-9_000, -9_000, 1), PRECISE)
            assert await provider.reason(a, Ask(new(), WireQuery.of(outside), None, 60_000, "")) == "protocol"
            await provider.link.send(a, encode(Leave(long)))
            await speak_as_provider(world, provider, other, b)
            for name in (a, b):  # what came before this was read before it
                assert not (await provider.reply_to(name, Check(new(), new()))).same
            assert set(world.all_spent().values()) == {0}
            assert (await provider.reply_to(a, right)).sums == [1]
            assert (await provider.reply_to(b, ask(new()))).sums == [2]

    asyncio.run(story())


def relay(frame: bytes) -> Relay:
    return Relay(new(), b"nobody", 4, 4, 0.5, True, frame)


async def speak_as_provider(world: World, provider: Puppeteer, asker: str, victim: str) -> None:
    """Ask an owner with another owner's certificate: the broker carries no such question.

    Return when the broker has read it all: it hung up, or carried the word that came last.
    """
    identity = Identity.load(world.owner_folder(asker) / "identity")
    tls = identity.client_context(Trust.load(world.folder / "authority"))
    connection = await Connection.open(
        BrokerAddress("127.0.0.1", world.broker_port, tls), client=asker, will=None, on_message=lambda *_: None
    )
    asked = encode(replace(ask(new()), agreed=world.agreed))
    connection.publish(TOPICS.ask(victim), asked)
    connection.publish(TOPICS.letter(victim, asker), asked)  # where an owner may write, but not ask
    connection.publish(TOPICS.say(asker), encode(Ready(new())))
    ended = asyncio.create_task(connection.end())
    await until(lambda: ended.done() or asker in provider.unsealed)
    connection.abort()
    await ended
