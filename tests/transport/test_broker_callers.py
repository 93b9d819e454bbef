"""Connections to the embedded broker: strangers give way, the silent and slow are cut off, and files may run out."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from wire_brokers import PATIENCE_S, TOPICS
from wire_certificates import Federation, by_subject

from driven_time import in_driven_time
from fedgroup.transport import callers as module
from fedgroup.transport import packets, star
from fedgroup.transport.access import access_of
from fedgroup.transport.broker import PAUSE_S, EmbeddedBroker, accepting
from fedgroup.transport.callers import Callers
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.star import Star

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def broker(federation: Federation) -> AsyncIterator[int]:
    tls = federation.listening(0).tls()
    async with EmbeddedBroker(TOPICS, bind="127.0.0.1", port=0, tls=tls, identify=by_subject) as up:
        yield up.port


def new_callers(federation: Federation) -> Callers:
    access = access_of(TOPICS, "owner", "ann-0")
    assert access is not None
    return Callers(federation.listening(0).tls(), Star(TOPICS), lambda _: ("ann-0", access))


async def let_in(federation: Federation, port: int, name: str) -> Stream:
    """Connect, and be let in."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=federation.client(name))
    writer.write(packets.connect(name, keepalive_s=0))
    assert await reader.readexactly(4) == packets.LET_IN
    return reader, writer


async def hung_up(reader: asyncio.StreamReader) -> bool:
    """Wait for the other side's end of a connection."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while await reader.read(1 << 16):
                pass
    except OSError:
        pass
    return True


async def still_serves(federation: Federation, port: int) -> None:
    address = BrokerAddress("127.0.0.1", port, federation.client("bob-0"))
    heard: asyncio.Future[tuple[str, bytes]] = asyncio.get_running_loop().create_future()
    bob = await Connection.open(address, client="bob-0", will=None, on_message=lambda *said: heard.set_result(said))
    await bob.subscribe([TOPICS.letter("bob-0", "+")])
    bob.publish(TOPICS.letter("bob-0", "bob-0"), b"to myself")
    assert await asyncio.wait_for(heard, PATIENCE_S) == (TOPICS.letter("bob-0", "bob-0"), b"to myself")
    await bob.leave()


def test_of_too_many_strangers_the_one_that_waited_longest_gives_way(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_STRANGERS", 3)

    async def journey() -> None:
        async with broker(federation) as port:
            known, writer = await let_in(federation, port, "ann-0")
            strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
            assert await hung_up(strangers[0][0])
            await still_serves(federation, port)
            assert await hung_up(strangers[1][0])
            assert not any(reader.at_eof() for reader, _ in (*strangers[2:], (known, writer)))
            for _, each in (*strangers, (known, writer)):
                each.close()

    asyncio.run(journey())


def test_a_stranger_that_says_nothing_is_cut_off(federation: Federation) -> None:
    async def journey() -> float:
        async with broker(federation) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await hung_up(reader)
            writer.close()
            return asyncio.get_running_loop().time()

    assert module.PATIENCE_S < in_driven_time(journey()) < 2 * module.PATIENCE_S


def test_one_with_a_certificate_that_does_not_greet_is_cut_off(federation: Federation) -> None:
    async def journey() -> float:
        async with broker(federation) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=federation.client("ann-0"))
            began = asyncio.get_running_loop().time()
            writer.write(packets.connect("ann-0", keepalive_s=10)[:-1])
            assert await hung_up(reader)
            writer.close()
            return asyncio.get_running_loop().time() - began

    assert in_driven_time(journey()) < 2 * module.PATIENCE_S


def test_a_guest_that_never_finishes_a_packet_is_silent(federation: Federation) -> None:
    async def journey() -> None:
        async with broker(federation) as port:
            reader, writer = await let_in(federation, port, "ann-0")

            async def dribble() -> None:
                for byte in packets.publish(TOPICS.say("ann-0"), bytes(10_000)):
                    writer.write(bytes((byte,)))
                    await asyncio.sleep(1)

            dribbling = asyncio.create_task(dribble())
            assert await hung_up(reader)
            assert not dribbling.done()
            dribbling.cancel()
            writer.close()

    in_driven_time(journey())


def test_a_guest_that_does_not_read_is_cut_off_and_others_are_served(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(star, "MOST_BACKLOG", 1 << 20)

    async def journey() -> None:
        async with broker(federation) as port:
            reader, writer = await let_in(federation, port, "ann-0")
            writer.write(packets.subscribe([TOPICS.ask("ann-0")]))
            await reader.readexactly(5)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            address = BrokerAddress("127.0.0.1", port, federation.client("provider"))
            provider = await Connection.open(address, client="provider", will=None, on_message=lambda *_: None)
            async with asyncio.timeout(PATIENCE_S):
                while not writer.transport.is_closing():
                    await provider.publish_many([(TOPICS.ask("ann-0"), bytes(1 << 19))])
                    writer.write(packets.PINGREQ)
                    await asyncio.sleep(0)
            await still_serves(federation, port)
            await provider.leave()

    asyncio.run(journey())


def test_what_is_sent_in_one_turn_leaves_in_one_piece(federation: Federation) -> None:
    written: list[bytes] = []

    class Transport(asyncio.Transport):
        def write(self, data: Any) -> None:
            written.append(bytes(data))

        def get_write_buffer_size(self) -> int:
            return 0

    async def journey() -> None:
        callers = new_callers(federation)
        caller = callers.new()
        caller._tunnel = Plain()
        caller.connection_made(Transport())
        caller.send(b"one ")
        caller.send(b"two")
        assert (written, caller.backlog) == ([], 7)
        await asyncio.sleep(0)
        assert (written, caller.backlog) == ([b"one two"], 0)

    asyncio.run(journey())


class Plain:
    """A tunnel without TLS."""

    def __init__(self) -> None:
        self._out = b""

    def seal(self, plain: bytes) -> None:
        self._out += plain

    def to_send(self) -> bytes:
        sent, self._out = self._out, b""
        return sent


def test_when_no_file_can_be_opened_strangers_give_way_and_then_the_accept_pauses(
    federation: Federation, caplog: pytest.LogCaptureFixture
) -> None:
    pauses, troubles = list[float](), [errno.EMFILE, errno.EMFILE, errno.ENFILE, errno.ECONNABORTED]
    strangers = ["one", "another"]

    async def accept() -> Any:
        if troubles:
            raise OSError(troubles.pop(0), "")
        raise EOFError

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def journey() -> None:
        callers = new_callers(federation)
        callers.make_room = lambda: bool(strangers and strangers.pop())
        await accepting(accept, callers, pause=pause)

    with pytest.raises(EOFError):
        asyncio.run(journey())
    assert pauses == [0, 0, PAUSE_S]
    assert {record.message for record in caplog.records} == {"no connection can be accepted for a moment"}


def test_after_files_ran_out_those_who_waited_are_let_in(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def journey() -> None:
        loop = asyncio.get_running_loop()
        usual, short, tries = loop.sock_accept, [True], list[float]()

        async def sock_accept(listener: Any) -> Any:
            found = await usual(listener)
            if short[0]:  # as if it could not be opened
                found[0].close()
                tries.append(loop.time())
                raise OSError(errno.EMFILE, "Too many open files")
            return found

        monkeypatch.setattr(loop, "sock_accept", sock_accept)
        async with broker(federation) as port:
            lost = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            assert all([await hung_up(reader) for reader, _ in lost])
            assert tries[2] - tries[0] >= 2 * PAUSE_S
            short[0] = False
            await still_serves(federation, port)
            for _, writer in lost:
                writer.close()

    in_driven_time(journey())


def test_everybody_is_cut_off_when_the_broker_ends(federation: Federation) -> None:
    async def journey() -> None:
        async with broker(federation) as port:
            guest, stranger = await let_in(federation, port, "ann-0"), await asyncio.open_connection("127.0.0.1", port)
        for reader, writer in (guest, stranger):
            assert await hung_up(reader)
            writer.close()
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(journey())
