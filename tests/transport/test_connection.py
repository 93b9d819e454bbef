"""A connection to a broker that misbehaves: silent, too talkative, or of another mind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from wire_brokers import PATIENCE_S, TOPICS
from wire_certificates import Federation
from wire_parties import SOON

from fedgroup.transport import packets
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.inbox import MOST_WAITING, MOST_WAITING_BYTES, Pulse
from fedgroup.transport.links import MOST_BYTES
from fedgroup.transport.mqtt import MqttOwnerLink, MqttProviderLink
from fedgroup.transport.topics import PROVIDER

WELCOME, GRANTED = b"\x20\x02\x00\x00", b"\x90\x04\x00\x01\x00\x00"
TURNS = 5_000
"""In so many turns of the loop that both ends share, everything would have come in if nothing held it back."""
Conduct = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def broker_that(
    conduct: Conduct, federation: Federation, *, keepalive_s: int = 10, place: tuple[str, int] = ("127.0.0.1", 0)
) -> AsyncIterator[BrokerAddress]:
    """A broker of some conduct at a place, to whom the provider comes."""
    tls = federation.listening(0).tls()
    tasks = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        try:
            await conduct(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, *place, ssl=tls)
    try:
        port = server.sockets[0].getsockname()[1]
        yield BrokerAddress("127.0.0.1", port, federation.client("provider"), keepalive_s)
    finally:
        server.close()
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE_S)


async def opened(address: BrokerAddress, turn: int = 0) -> Connection:
    return await Connection.open(address, client="provider", will=None, on_message=lambda *_: None, turn=turn)


async def welcoming(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(WELCOME)
    while await reader.read(100):
        pass


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends."""
    while piece := await reader.read(10_000):
        writer.write(piece)
    writer.close()
    await writer.wait_closed()


def lead_to(*addresses: str) -> None:
    """Let every name lead to these addresses, in the loop that runs."""

    async def found(host: str, port: int, **_: object) -> list[tuple]:
        return [(None, None, 0, "", (address, port)) for address in addresses]

    asyncio.get_running_loop().getaddrinfo = found


def test_a_silent_broker_is_given_up(federation: Federation) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME)
        while await reader.read(100):
            pass

    async def journey() -> None:
        async with broker_that(silent, federation, keepalive_s=1) as address:
            connection = await opened(address)
            await asyncio.wait_for(connection.end(), PATIENCE_S)

    asyncio.run(journey())


@pytest.mark.parametrize("times", [0.1, 3])
def test_what_comes_to_an_owner_waits_while_somebody_holds_within_bounds_and_nothing_is_lost(
    federation: Federation, times: float
) -> None:
    count, length, sent = int(times * MOST_WAITING_BYTES / 500_000), 500_000, asyncio.Event()

    async def talkative(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME + GRANTED)
        for number in range(count):
            writer.write(packets.publish(TOPICS.ask("ann-0"), number.to_bytes(4, "big") + bytes(length)))
            await writer.drain()
        sent.set()
        await reader.read()

    async def journey() -> None:
        heard: list[int] = []
        async with broker_that(talkative, federation) as address:
            link = MqttOwnerLink("ann-0", topics=TOPICS, broker=address, certificate=b"", backoff=SOON)
            link.listen(lambda _, payloads, __: heard.extend(int.from_bytes(each[:4], "big") for each in payloads))
            link.hold()  # before there is a connection
            link.hold()
            async with link:
                assert await link.until_up(PATIENCE_S)
                link.go_on()
                for _ in range(TURNS):
                    await asyncio.sleep(0)
                if times < 1:  # all of it is read, so that it is known when it came
                    await asyncio.wait_for(sent.wait(), PATIENCE_S)
                assert (heard, sent.is_set()) == ([], times < 1)
                link.go_on()
                async with asyncio.timeout(PATIENCE_S):
                    while len(heard) < count:
                        await asyncio.sleep(0)
        assert heard == list(range(count))

    asyncio.run(journey())


def test_what_waited_while_somebody_held_tells_when_it_came(federation: Federation) -> None:
    async def talkative(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME + GRANTED + packets.publish(TOPICS.ask("ann-0"), b"question"))
        await reader.read()

    async def journey() -> None:
        heard = asyncio.Queue[float]()
        async with broker_that(talkative, federation) as address:
            link = MqttOwnerLink("ann-0", topics=TOPICS, broker=address, certificate=b"", backoff=SOON)
            link.listen(lambda _, __, came_at: heard.put_nowait(came_at))
            link.hold()
            async with link, asyncio.timeout(PATIENCE_S):
                while not link._kept:
                    await asyncio.sleep(0)
                came = Pulse.now()
                await asyncio.sleep(0.01)
                link.go_on()
                assert await heard.get() <= came

    asyncio.run(journey())


def test_a_broker_that_takes_nothing_any_more_is_given_up_although_nothing_is_read(federation: Federation) -> None:
    async def journey() -> None:
        over = asyncio.Event()

        async def deaf(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(WELCOME + GRANTED)
            await asyncio.sleep(0)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            await over.wait()
            writer.transport.abort()

        async with broker_that(deaf, federation, keepalive_s=1) as address:
            address = replace(address, tls=federation.client("ann-0"))
            async with MqttOwnerLink("ann-0", topics=TOPICS, broker=address, certificate=b"", backoff=SOON) as link:
                assert await link.until_up(PATIENCE_S)
                link.say([(PROVIDER, bytes(MOST_BYTES))] * 12)  # more than buffers take
                assert link._holding == 1, "while it does not go out, nothing is handed on"
                left: list[int] = []
                link.when_left(lambda: left.append(link.connections))
                assert left == []
                async with asyncio.timeout(PATIENCE_S):
                    while link.connections < 2:
                        await asyncio.sleep(0.05)
                assert link._holding == 0
                assert left == [1], "it is lost now, and more can be said"
                link.when_left(lambda: left.append(link.connections))
                assert len(left) == 2
            over.set()

    asyncio.run(journey())


def test_a_broker_that_takes_what_is_sent_is_not_given_up_while_nothing_is_read(federation: Federation) -> None:
    async def journey() -> None:
        pings = asyncio.Queue[bytes]()

        async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(2)
            writer.write(WELCOME)
            while piece := await reader.read(100):
                for _ in range(piece.count(packets.PINGREQ)):
                    pings.put_nowait(piece)

        async with broker_that(quiet, federation, keepalive_s=1) as address:
            connection = await opened(address)
            connection.hold()
            for _ in range(7):  # two for each second, of which two are a broker's
                await asyncio.wait_for(pings.get(), PATIENCE_S)
            await connection.leave()

    asyncio.run(journey())


def test_a_broker_that_is_slow_to_shake_hands_is_waited_for(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy one takes seconds: a ping is nothing that could be said before."""
    kept, keep_alive, seen = asyncio.Event(), Connection._keep_alive, list[bool]()

    def noted(self: Connection) -> None:
        keep_alive(self)
        seen.append(self._tunnel.open)
        if len(seen) == 5:
            kept.set()

    monkeypatch.setattr(Connection, "_keep_alive", noted)

    async def journey() -> None:
        async with broker_that(welcoming, federation, keepalive_s=1) as address:

            async def busy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await kept.wait()
                there, back = await asyncio.open_connection(address.host, address.port)
                await asyncio.gather(passed_on(reader, back), passed_on(there, writer))

            server = await asyncio.start_server(busy, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            connection = await asyncio.wait_for(opened(replace(address, port=port)), PATIENCE_S)
            await connection.leave()
            server.close()
            await server.wait_closed()

    asyncio.run(journey())
    assert seen[:5] == [False] * 5


@pytest.mark.parametrize(
    "answer", [b"\x20\x02\x00\x05", b"", b"\x20\x00", b"\x30\xff\xff\xff\x7f"], ids=["refused", "closed", "odd", "long"]
)
def test_without_consent_there_is_no_connection(federation: Federation, answer: bytes) -> None:
    async def unwilling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        writer.write(answer)

    async def journey() -> None:
        async with broker_that(unwilling, federation) as address:
            with pytest.raises(ConnectionRefusedError):
                await opened(address)

    asyncio.run(journey())


def test_a_host_is_reached_at_whichever_of_its_addresses_answers(federation: Federation) -> None:
    async def journey() -> None:
        async with broker_that(welcoming, federation) as here:
            lead_to("127.0.0.2", "127.0.0.1", "127.0.0.3")  # nobody is at the others
            for turn in range(3):
                await (await opened(replace(here, host="localhost"), turn)).leave()

    asyncio.run(journey())


def test_a_node_that_lets_nobody_in_is_passed_over_the_next_time(federation: Federation) -> None:
    async def unwilling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)

    async def journey() -> None:
        async with (
            broker_that(welcoming, federation) as here,
            broker_that(unwilling, federation, place=("127.0.0.2", here.port)),
        ):
            lead_to("127.0.0.2", "127.0.0.1")
            with pytest.raises(ConnectionRefusedError):
                await opened(replace(here, host="localhost"), turn=0)
            await (await opened(replace(here, host="localhost"), turn=1)).leave()

    asyncio.run(journey())


def test_a_broker_of_another_name_is_told_nothing(federation: Federation) -> None:
    heard: list[bytes] = []

    async def curious(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))

    async def journey() -> None:
        async with broker_that(curious, federation) as address:
            with pytest.raises(OSError, match="certificate"):
                await opened(replace(address, named="elsewhere.example"))

    asyncio.run(journey())
    assert not any(heard)


def test_what_was_sent_before_leaving_arrives_though_nothing_was_read(federation: Federation) -> None:
    last, heard = packets.publish("last", bytes(100_000)), bytearray()
    unread = packets.publish("to nobody", bytes(300_000))

    async def talkative(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME)
        writer.write(unread)
        while piece := await reader.read(1_000):
            heard.extend(piece)

    async def journey() -> None:
        async with broker_that(talkative, federation) as address:
            connection = await opened(address)
            connection.hold()
            connection.publish("last", bytes(100_000))
            await connection.leave()

    asyncio.run(journey())
    assert heard.endswith(last + packets.DISCONNECT)


def test_connections_of_a_thread_read_into_one_place(federation: Federation) -> None:
    async def journey() -> None:
        async with broker_that(welcoming, federation) as address:
            both = [await opened(address) for _ in range(2)]
            assert both[0].get_buffer(-1) is both[1].get_buffer(-1)
            for each in both:
                await each.leave()

    asyncio.run(journey())


def test_topics_that_are_not_granted_are_an_error(federation: Federation) -> None:
    async def stern(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME + b"\x90\x04\x00\x01\x00\x80")
        await reader.read()

    async def journey() -> None:
        async with broker_that(stern, federation) as address:
            connection = await opened(address)
            with pytest.raises(ConnectionRefusedError):
                await connection.subscribe(["a", "b"])

    asyncio.run(journey())


@pytest.mark.parametrize(
    ("count", "length"), [(3 * MOST_WAITING, 500), (3 * MOST_WAITING_BYTES // 500_000, 500_000)], ids=["many", "long"]
)
def test_a_flood_waits_at_the_door_and_nothing_is_lost(count: int, length: int, federation: Federation) -> None:
    topic = TOPICS.say("ann-0")
    sent = asyncio.Event()

    async def talkative(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME + GRANTED)
        for number in range(count):
            writer.write(packets.publish(topic, number.to_bytes(4, "big") + bytes(length)))
            await writer.drain()
        sent.set()
        await reader.read()

    async def journey() -> None:
        async with (
            broker_that(talkative, federation) as address,
            MqttProviderLink(topics=TOPICS, broker=address, backoff=SOON) as link,
        ):
            assert await link.until_up(PATIENCE_S)
            while not link._inbox.full:
                await asyncio.sleep(0)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            assert not sent.is_set()
            messages = link.received()
            for number in range(count):
                owner, payload = await anext(messages)
                assert (owner, int.from_bytes(payload[:4], "big")) == ("ann-0", number)

    asyncio.run(journey())


REFUSAL = "the broker does not let this client in"


def test_a_link_keeps_trying_and_says_why_it_is_down(federation: Federation, caplog: pytest.LogCaptureFixture) -> None:
    async def unwilling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x20\x02\x00\x05")

    async def journey() -> None:
        async with broker_that(unwilling, federation) as address:
            async with MqttProviderLink(topics=TOPICS, broker=address, backoff=SOON) as link:
                while caplog.text.count(REFUSAL) < 2:
                    await asyncio.sleep(0.02)
                assert not await link.until_up(0)
                await link.send("ann-0", b"lost")
            assert [message async for message in link.received()] == []

    asyncio.run(journey())
