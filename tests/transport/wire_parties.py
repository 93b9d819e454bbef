"""Links and raw clients at a broker under test, and ears that remember what they heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from wire_brokers import PATIENCE_S, TOPICS, BrokerProcess

from fedgroup.messages.said import Presence
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.codec import decode
from fedgroup.transport.connection import Connection
from fedgroup.transport.mqtt import MqttOwnerLink, MqttProviderLink
from fedgroup.transport.packets import Will

SOON = Backoff(first_s=0.1, most_s=0.4)


class Ear:
    """Remembers what a link hears: letters and answers as they came, presences as the latest of each owner."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.here: dict[str, Presence] = {}
        self.news = asyncio.Event()

    async def listen(self, messages: AsyncIterator[tuple[str, bytes]]) -> None:
        async for sender, payload in messages:
            self.note(sender, payload)

    def hear(self, sender: str, payloads: Sequence[bytes], _: float) -> None:
        for payload in payloads:
            self.note(sender, payload)

    def note(self, sender: str, payload: bytes) -> None:
        try:
            self.here[sender] = decode(payload, (Presence,))
        except Exception:
            self.heard.append((sender, payload))
        self.news.set()

    async def until(self, true: Callable[[], Any], what: str) -> None:
        """Wait until something is true of what was heard."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not true():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"{what}: heard {self.heard}, here {self.here}") from None

    async def hears(self, sender: str, payload: bytes) -> None:
        await self.until(lambda: (sender, payload) in self.heard, f"{payload!r} from {sender}")

    async def finds(self, owner: str, *, here: bool) -> None:
        await self.until(lambda: owner in self.here and self.here[owner].here == here, f"{owner} here={here}")


@asynccontextmanager
async def listening(link: Any) -> AsyncIterator[Ear]:
    """A link that is up for the time of the context, with an ear."""
    ear = Ear()
    async with link:
        if isinstance(link, MqttOwnerLink):
            link.listen(ear.hear)
            assert await link.until_up(PATIENCE_S)
            yield ear
            return
        task = asyncio.create_task(ear.listen(link.received()))
        try:
            assert await link.until_up(PATIENCE_S)
            yield ear
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def owner_at(broker: BrokerProcess, name: str) -> MqttOwnerLink:
    certificate = broker.federation.der(name)
    return MqttOwnerLink(name, topics=TOPICS, broker=broker.address(name), certificate=certificate, backoff=SOON)


def provider_at(broker: BrokerProcess) -> MqttProviderLink:
    return MqttProviderLink(topics=TOPICS, broker=broker.address("provider"), backoff=SOON)


@asynccontextmanager
async def raw_client(
    broker: BrokerProcess, name: str, *, client: str | None = None, will: Will | None = None, keepalive_s: int = 10
) -> AsyncIterator[tuple[Connection, list[tuple[str, bytes]]]]:
    """A connection that does as it likes, with the certificate of `name`, and what it received; it ends abruptly."""
    received: list[tuple[str, bytes]] = []
    connection = await Connection.open(
        broker.address(name, keepalive_s=keepalive_s),
        client=name if client is None else client,
        will=will,
        on_message=lambda topic, payload: received.append((topic, payload)),
    )
    try:
        yield connection, received
    finally:
        connection.abort()
        await connection.end()
