"""The embedded broker in its loop: a door that knows its clients, limits, and time limits."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from wire_brokers import PATIENCE_S, TOPICS
from wire_certificates import Federation, by_subject, refusing
from wire_parties import Ear

from fedgroup.errors import InvalidInput
from fedgroup.messages.said import Presence
from fedgroup.transport import packets
from fedgroup.transport.broker import EmbeddedBroker
from fedgroup.transport.codec import encode
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.listening import Identify, by_common_name
from fedgroup.transport.packets import Will

GONE = Will(TOPICS.presence("ann-0"), encode(Presence("ann-0", here=False)))


def embedded(federation: Federation, *, port: int = 0, identify: Identify = by_subject) -> EmbeddedBroker:
    return EmbeddedBroker(TOPICS, bind="127.0.0.1", port=port, tls=federation.listening(port).tls(), identify=identify)


class House:
    """An embedded broker in the same loop, and ways to come to its door."""

    def __init__(self, federation: Federation, port: int) -> None:
        self._federation = federation
        self.port = port

    async def client(self, name: str, *, called: str | None = None, will: Will | None = None) -> tuple[Connection, Ear]:
        ear = Ear()
        address = BrokerAddress("127.0.0.1", self.port, self._federation.client(name))
        return await Connection.open(
            address, client=name if called is None else called, will=will, on_message=ear.note
        ), ear

    async def stream(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self._federation.client(name))


@asynccontextmanager
async def house(federation: Federation) -> AsyncIterator[House]:
    async with embedded(federation) as broker:
        yield House(federation, broker.port)


async def watching(there: House) -> tuple[Connection, Ear]:
    connection, ear = await there.client("provider")
    await connection.subscribe([TOPICS.say("+"), TOPICS.presence("+")])
    return connection, ear


def test_a_client_comes_in_its_own_name_only(federation: Federation) -> None:
    async def journey() -> None:
        async with house(federation) as there:
            ann, heard = await there.client("ann-0")
            await ann.subscribe([TOPICS.ask("ann-0")])
            for called in ("ann-0", "provider", "", "other"):
                with pytest.raises(ConnectionRefusedError):
                    await there.client("bob-0", called=called)
            provider, _ = await there.client("provider")
            provider.publish(TOPICS.ask("ann-0"), b"still here")
            await heard.hears(TOPICS.ask("ann-0"), b"still here")

    asyncio.run(journey())


def test_a_role_or_a_name_that_the_federation_does_not_know_is_refused(federation: Federation) -> None:
    async def journey(identify: Identify) -> None:
        async with embedded(federation, identify=identify) as broker:
            with pytest.raises(ConnectionRefusedError):
                await House(federation, broker.port).client("ann-0")

    for identify in (refusing, lambda _: ("stranger", "ann-0"), lambda _: ("owner", "bob-0"), lambda _: ("owner", "+")):
        asyncio.run(journey(identify))


def test_the_common_name_does_where_nothing_better_is_known(federation: Federation) -> None:
    async def journey() -> None:
        async with embedded(federation, identify=by_common_name) as broker:
            there = House(federation, broker.port)
            _, provider = await watching(there)
            ann, _ = await there.client("ann-0")
            ann.publish(TOPICS.say("ann-0"), b"answer")
            await provider.hears(TOPICS.say("ann-0"), b"answer")

    asyncio.run(journey())


def test_a_client_without_a_certificate_is_refused(federation: Federation) -> None:
    async def journey() -> None:
        async with house(federation) as there:
            nobody = ssl.create_default_context(cafile=federation.pem("authority"))
            with pytest.raises(OSError):
                await Connection.open(
                    BrokerAddress("127.0.0.1", there.port, nobody), client="ann-0", will=None, on_message=print
                )

    asyncio.run(journey())


def test_what_is_retained_goes_to_whoever_subscribed_only(federation: Federation) -> None:
    async def journey() -> None:
        async with house(federation) as there:
            _, provider = await watching(there)
            ann, _ = await there.client("ann-0", will=GONE)
            ann.publish(GONE.topic, encode(Presence("ann-0", here=True)), retain=True)
            await provider.finds(GONE.topic, here=True)
            bob, heard = await there.client("bob-0")
            await bob.subscribe([TOPICS.ask("bob-0")])
            bob.publish(TOPICS.say("bob-0"), b"barrier")
            await provider.hears(TOPICS.say("bob-0"), b"barrier")
            assert (heard.heard, heard.here) == ([], {})

    asyncio.run(journey())


def test_a_silent_client_is_cut_off_and_its_will_is_told(federation: Federation) -> None:
    async def journey() -> None:
        async with house(federation) as there:
            _, provider = await watching(there)
            reader, writer = await there.stream("ann-0")
            writer.write(packets.connect("ann-0", keepalive_s=1, will=GONE))
            assert await reader.readexactly(4) == b"\x20\x02\x00\x00"
            await provider.finds(GONE.topic, here=False)
            assert await reader.read() == b""
            writer.close()

    asyncio.run(journey())


AT_QOS_1 = b"\x32\x09\x00\x04topi\x00\x01x"
FORBIDDEN = {
    "a message at QoS 1": AT_QOS_1,
    "a packet that is too long": b"\x30\xff\xff\xff\x7f",
    "an endless length": b"\x30\xff\xff\xff\xff\x7f",
    "a second greeting": packets.connect("ann-0", keepalive_s=10),
    "a packet for clients": b"\x20\x02\x00\x00",
    "a ping with something inside": b"\xc0\x0a" + packets.publish("x", b"hidden"),
}


@pytest.mark.parametrize("packet", FORBIDDEN.values(), ids=list(FORBIDDEN))
def test_what_a_client_has_no_reason_to_send_ends_its_connection(federation: Federation, packet: bytes) -> None:
    async def journey() -> None:
        async with house(federation) as there:
            _, provider = await watching(there)
            reader, writer = await there.stream("ann-0")
            writer.write(packets.connect("ann-0", keepalive_s=10, will=GONE) + packet)
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b"\x20\x02\x00\x00"
            await provider.finds(GONE.topic, here=False)
            writer.close()

    asyncio.run(journey())


@pytest.mark.parametrize("greeting", [b"", b"GET / HTTP/1.1\r\n\r\n", packets.PINGREQ, b"\x10\x02\x00\x04"])
def test_whoever_does_not_greet_is_shown_out(federation: Federation, greeting: bytes) -> None:
    async def journey() -> None:
        async with house(federation) as there:
            reader, writer = await there.stream("ann-0")
            writer.write(greeting)
            if not greeting:
                writer.transport.abort()
            else:
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
            writer.close()
            ann, _ = await there.client("ann-0")
            await ann.subscribe([TOPICS.ask("ann-0")])

    asyncio.run(journey())


def test_files_that_cannot_be_used_are_named(federation: Federation, tmp_path) -> None:
    with pytest.raises(InvalidInput, match="certificate files"):
        replace(federation.listening(0), key=tmp_path / "missing.key").tls()


def test_a_broker_that_asks_for_no_certificates_is_refused() -> None:
    with pytest.raises(InvalidInput, match="certificates"):
        EmbeddedBroker(TOPICS, bind="127.0.0.1", port=0, tls=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))


def test_a_port_that_is_taken_is_named(federation: Federation) -> None:
    async def journey(port: int) -> None:
        with pytest.raises(InvalidInput, match=str(port)):
            async with embedded(federation, port=port):
                pass

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(journey(taken.getsockname()[1]))
