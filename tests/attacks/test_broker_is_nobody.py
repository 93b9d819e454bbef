"""Whoever runs the broker reads, forges, changes, redirects and repeats what it carries, and is heard as nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.live.channels import OwnerChannel, ProviderChannels
from fedgroup.messages.asked import Check
from fedgroup.messages.said import Presence, Ready
from fedgroup.secure.channel import FRAME, HELLO
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.inbox import Inbox
from fedgroup.transport.links import Hear
from fedgroup.transport.topics import PROVIDER

AGREED = bytes(range(16))


class End:
    """One end of a wire that a broker holds."""

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker = broker
        self._name = name
        self.inbox = Inbox()
        self._hear: Hear = lambda sender, payloads, _: self.inbox.put(sender, *payloads)

    def listen(self, hear: Hear) -> None:
        self._hear = hear

    def take(self, sender: str, payload: bytes) -> None:
        self._hear(sender, [payload], 0.0)

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        for to, payload in messages:
            self._broker.carry(self._name, to, payload)

    def when_left(self, call: Callable[[], None]) -> None:
        call()

    def hold(self) -> None: ...

    def go_on(self) -> None: ...

    async def send(self, to: str, payload: bytes) -> None:
        self._broker.carry(self._name, to, payload)

    async def send_many(self, messages: Any) -> None:
        for to, payload in messages:
            await self.send(to, payload)

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        return self.inbox.taken()


class Broker:
    """Carries everything, remembers everything, and says anything to anybody in any name."""

    def __init__(self) -> None:
        self.ends: dict[str, End] = {}
        self.carried: list[tuple[str, str, bytes]] = []

    def end(self, name: str) -> End:
        self.ends[name] = End(self, name)
        return self.ends[name]

    def carry(self, sender: str, to: str, payload: bytes) -> None:
        self.carried.append((sender, to, payload))
        self.say(sender, to, payload)

    def say(self, sender: str, to: str, payload: bytes) -> None:
        self.ends[to].take(sender, payload)

    def frames(self, sender: str, to: str) -> list[bytes]:
        return [data for one, other, data in self.carried if (one, other) == (sender, to) and data.startswith(FRAME)]


class Listener:
    """Takes what a channel yields or hands on, as a role would; knows how many messages came together."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.heard: list[tuple[str, bytes]] = []
        self.together: list[int] = []
        if isinstance(channel, OwnerChannel):
            channel.listen(self._hear)
        else:
            self._task = asyncio.create_task(self._listen())

    def _hear(self, sender: str, payloads: Sequence[bytes], _: float) -> None:
        self.heard += [(sender, payload) for payload in payloads]
        self.together.append(len(payloads))

    async def _listen(self) -> None:
        async for said in self.channel.received():
            self.heard.append(said)

    def words(self, sender: str) -> list[bytes]:
        """What was heard of somebody, but for that it is here."""
        return [data for one, data in self.heard if one == sender and data and not is_presence(data)]

    def sees(self, owner: str) -> bool:
        return any(one == owner and data and is_presence(data) for one, data in self.heard)


def is_presence(data: bytes) -> bool:
    try:
        return isinstance(decode(data, (Presence,)), Presence)
    except Exception:
        return False


class Federation:
    """Real certificates, a provider and owners who speak through a broker of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority.create(folder / "authority", "city")
        self.trust = Trust.load(folder / "authority")
        self.broker = Broker()
        self.provider = self.enrolled("provider", "provider")

    def enrolled(self, name: str, role: Any) -> Identity:
        hosts = () if role == "owner" else ("localhost",)
        request = write_request(self.folder / name, name, role, hosts=hosts)
        write_answer(self.folder / name, self.authority.issue(request), self.trust)
        return Identity.load(self.folder / name)

    def owner(self, identity: Identity) -> Listener:
        """Start an owner's process; it shows that it is here."""
        verify = lambda der: self.trust.verify(der, role="provider")
        channel = OwnerChannel(self.broker.end(identity.name), identity, agreed=AGREED, verify_provider=verify)
        listener = Listener(channel)
        here = Presence(identity.name, True, identity.certificate.der, agreed=AGREED)
        self.broker.carry(identity.name, PROVIDER, encode(here))
        return listener

    def start_provider(self) -> Listener:
        """Start a provider's process."""
        return Listener(ProviderChannels(self.broker.end(PROVIDER), self.provider, verify_owner=self.trust.verify))


async def settled() -> None:
    """Wait until everybody has taken everything: each step of the loop moves a message on by one."""
    for _ in range(50):
        await asyncio.sleep(0)


def check(number: int) -> bytes:
    return encode(Check(number.to_bytes(16, "big"), bytes(16)))


Story = Callable[[Federation, Listener, dict[str, Listener]], Coroutine[Any, Any, None]]


@pytest.fixture
def told(tmp_path: Path) -> Callable[[Story], None]:
    """Tell a story of a provider and the owners ann and bob, all of whom have greeted."""

    async def whole(story: Story) -> None:
        federation = Federation(tmp_path)
        provider = federation.start_provider()
        owners = {name: federation.owner(federation.enrolled(name, "owner")) for name in ("ann", "bob")}
        await settled()
        assert all(provider.sees(name) for name in owners)
        await provider.channel.send_many([("ann", check(1)), ("bob", check(2))])
        await settled()
        assert (owners["ann"].words(PROVIDER), owners["bob"].words(PROVIDER)) == ([check(1)], [check(2)])
        owners["ann"].channel.say([(PROVIDER, encode(Ready(bytes(16))))])
        await settled()
        assert provider.words("ann") == [encode(Ready(bytes(16)))]
        await story(federation, provider, owners)

    return lambda story: asyncio.run(whole(story))


def test_it_cannot_ask_as_the_provider(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        broker = federation.enrolled("broker", "broker")
        posing = [federation.enrolled("second", "provider"), broker]
        for payload in (check(9), FRAME + bytes(80), HELLO, HELLO + bytes(32) + federation.provider.certificate.der):
            federation.broker.say(PROVIDER, "ann", payload)
        for identity in posing:  # certified, and not the provider
            federation.broker.say(PROVIDER, "ann", HELLO + OwnerKey.fresh().public + identity.certificate.der)
        await settled()
        assert owners["ann"].words(PROVIDER) == [check(1)]
        await provider.channel.send("ann", check(3))
        await settled()
        assert owners["ann"].words(PROVIDER) == [check(1), check(3)]

    told(story)


def test_it_cannot_repeat_change_or_redirect_a_question(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        (question,) = federation.broker.frames(PROVIDER, "ann")
        for payload in (
            question,
            question[:-1] + bytes([question[-1] ^ 1]),
            *federation.broker.frames(PROVIDER, "bob"),
        ):
            federation.broker.say(PROVIDER, "ann", payload)
            federation.broker.say("bob", "ann", payload)
        await settled()
        assert owners["ann"].words(PROVIDER) == [check(1)]

    told(story)


def test_what_is_said_at_the_same_time_is_one_frame_that_is_heard_whole_and_once(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        asking = [provider.channel.send_many([("ann", check(n)), ("bob", check(n))]) for n in (3, 4, 5)]
        await asyncio.gather(*asking)
        await settled()
        _, pack = federation.broker.frames(PROVIDER, "ann")
        federation.broker.say(PROVIDER, "ann", pack)
        await settled()
        assert owners["ann"].words(PROVIDER) == [check(n) for n in (1, 3, 4, 5)]
        assert owners["bob"].words(PROVIDER) == [check(n) for n in (2, 3, 4, 5)]
        said = [encode(Ready(bytes([n]) * 16)) for n in (1, 2, 3)]
        owners["ann"].channel.say([(PROVIDER, each) for each in said])
        await settled()
        _, pack = federation.broker.frames("ann", PROVIDER)
        federation.broker.say("ann", PROVIDER, pack)
        await settled()
        assert provider.words("ann") == [encode(Ready(bytes(16))), *said]

    told(story)


def test_an_owner_knows_how_many_messages_came_together(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        await asyncio.gather(*(provider.channel.send("ann", check(n)) for n in (3, 4, 5)))
        await provider.channel.send("ann", check(6))
        await settled()
        assert owners["ann"].together == [1, 3, 1]

    told(story)


def test_it_cannot_answer_as_an_owner(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        (answer,) = federation.broker.frames("ann", PROVIDER)
        for owner in ("ann", "bob"):
            for payload in (encode(Ready(b"f" * 16)), answer, answer[:-1] + b"?", FRAME + bytes(99), b"\2" + bytes(99)):
                federation.broker.say(owner, PROVIDER, payload)
        await settled()
        assert (provider.words("ann"), provider.words("bob")) == ([encode(Ready(bytes(16)))], [])

    told(story)


def test_it_cannot_make_an_owner_up_or_say_that_one_is_here(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        cid = federation.enrolled("cid", "owner")
        federation.broker.end("cid")
        for certificate in (cid.certificate.der, federation.provider.certificate.der, b""):
            federation.broker.say("cid", PROVIDER, encode(Presence("cid", True, certificate, agreed=AGREED)))
        await settled()
        greeting = next(data for one, _, data in federation.broker.carried if one == "ann" and data.startswith(b"\2"))
        federation.broker.say("cid", PROVIDER, greeting)
        await settled()
        assert not provider.sees("cid")

    told(story)


def test_what_was_carried_before_a_restart_is_worthless_after_it(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        old = list(federation.broker.carried)
        again = {name: federation.owner(Identity.load(federation.folder / name)) for name in owners}
        anew = federation.start_provider()
        for _ in range(2):
            for sender, to, payload in old:
                federation.broker.say(sender, to, payload)
            await settled()
        assert all(listener.words(PROVIDER) == [] for listener in again.values())
        assert anew.words("ann") == []
        await anew.channel.send("ann", check(5))  # greeted anew by the presences above
        await settled()
        assert again["ann"].words(PROVIDER) == [check(5)]

    told(story)


def test_it_reads_nothing_but_who_how_long_and_when(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        secret = b"sixteen letters!"
        await provider.channel.send("ann", encode(Check(secret, secret)))
        owners["ann"].channel.say([(PROVIDER, encode(Ready(secret)))])
        await settled()
        assert (provider.words("ann")[-1], len(owners["ann"].words(PROVIDER))) == (encode(Ready(secret)), 2)
        assert not any(secret in payload for _, _, payload in federation.broker.carried)

    told(story)


def test_a_revoked_provider_is_not_obeyed_in_a_session_that_stands(told: Callable[[Story], None]) -> None:
    async def story(federation: Federation, provider: Listener, owners: dict[str, Listener]) -> None:
        federation.authority.revoke(PROVIDER)
        federation.trust = Trust.load(federation.folder / "authority")
        await provider.channel.send("ann", check(7))
        await settled()
        assert owners["ann"].words(PROVIDER) == [check(1)]

    told(story)
