"""Connections end that take too long for a request's head, and nobody can keep others out by holding many."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI, WebSocket
from service_city import PATIENCE_S
from websockets.asyncio.client import connect

from fedgroup.errors import InvalidInput
from fedgroup.identity import Authority, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.service.accepting import Accepting
from fedgroup.service.callers import CallerLimits, HttpCallers, place_of
from fedgroup.service.serving import served

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
NEVER_S = 3_600.0
HEALTH = b"GET /health HTTP/1.1\r\nHost: here\r\n"


def run(story: Any) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await story()

    asyncio.run(in_time())


@asynccontextmanager
async def called(url: str, said: bytes = b"") -> AsyncIterator[Stream]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(said)
    try:
        yield reader, writer
    finally:
        writer.close()


async def status(stream: Stream, said: bytes) -> int:
    """Send a request and read the whole reply."""
    reader, writer = stream
    writer.write(said)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0]))
    return int(head.split()[1])


async def is_over(stream: Stream) -> bool:
    """Wait until nothing more comes."""
    try:
        return await stream[0].read() == b""
    except ConnectionResetError:
        return True


def application() -> FastAPI:
    app = FastAPI()
    app.get("/health")(lambda: {"ok": True})
    return app


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", b"G", HEALTH], ids=["nothing", "a letter", "no end"])
def test_a_head_that_is_not_whole_in_time_ends_its_connection(said: bytes) -> None:
    async def story() -> None:
        async with (
            served(application(), limits=CallerLimits(head_s=0.05, idle_s=NEVER_S)) as url,
            called(url, said) as slow,
        ):
            assert await is_over(slow)

    run(story)


def test_a_second_head_has_no_more_time_than_the_first() -> None:
    async def story() -> None:
        async with served(application(), limits=CallerLimits(head_s=0.5, idle_s=NEVER_S)) as url, called(url) as slow:
            assert await status(slow, HEALTH + b"\r\n") == 200
            slow[1].write(b"GET /hea")
            assert await is_over(slow)

    run(story)


def test_a_connection_that_pauses_too_long_is_closed() -> None:
    async def story() -> None:
        async with served(application(), limits=CallerLimits(head_s=NEVER_S, idle_s=0.05)) as url, called(url) as idle:
            assert await status(idle, HEALTH + b"\r\n") == 200
            assert await is_over(idle)

    run(story)


def test_who_does_not_shake_hands_in_time_is_shown_out(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path / "authority", "city")
    request = write_request(tmp_path / "provider", "provider", "provider", hosts=("127.0.0.1",))
    write_answer(tmp_path / "provider", authority.issue(request), Trust.load(tmp_path / "authority"))
    files = {"certificate": tmp_path / "provider" / "certificate.pem", "key": tmp_path / "provider" / "tls.key"}

    async def story() -> None:
        async with served(application(), limits=CallerLimits(head_s=0.05), **files) as url, called(url) as silent:
            assert await is_over(silent)

    run(story)


@pytest.mark.parametrize("begun", [HEALTH + b"X: ", HEALTH + b"Content-Length: 9000\r\n\r\n"], ids=["head", "old body"])
def test_what_dribbles_in_gets_no_more_time(begun: bytes) -> None:
    async def story() -> None:
        async with (
            served(application(), limits=CallerLimits(head_s=0.3, idle_s=NEVER_S)) as url,
            called(url, begun) as slow,
        ):
            if begun.endswith(b"\r\n"):
                assert await status(slow, b"") == 200
            while not slow[0].at_eof():
                slow[1].write(b"x")
                try:
                    async with asyncio.timeout(0.01):
                        assert await is_over(slow)
                        break
                except TimeoutError:
                    continue

    run(story)


def test_a_websocket_and_a_long_answer_have_all_the_time_they_need() -> None:
    app, go_on = application(), asyncio.Event()

    @app.websocket("/echo")
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())

    @app.get("/long")
    async def long() -> dict[str, bool]:
        await go_on.wait()
        return {"ok": True}

    async def story() -> None:
        limits = CallerLimits(head_s=0.3, idle_s=NEVER_S)
        async with served(app, pages=True, limits=limits) as url, called(url) as patient:
            answer = asyncio.create_task(status(patient, b"GET /long HTTP/1.1\r\nHost: here\r\n\r\n"))
            async with connect(f"ws{url[4:]}/echo") as socket, called(url) as slow:
                assert await is_over(slow)  # it came last, and its time is up
                await socket.send("still here")
                assert await socket.recv() == "still here"
            go_on.set()
            assert await answer == 200

    run(story)


# --- how many ---------------------------------------------------------------------------------------------------------


def test_slow_strangers_give_way_to_whoever_comes_the_oldest_first() -> None:
    limits = CallerLimits(head_s=NEVER_S, idle_s=NEVER_S, most=50, most_strangers=5)

    async def story() -> None:
        async with served(application(), limits=limits) as url, AsyncExitStack() as stack:
            slow = [await stack.enter_async_context(called(url, HEALTH)) for _ in range(20)]
            for stream in slow[:14]:
                assert await is_over(stream)
            async with called(url) as quick:
                assert await status(quick, HEALTH + b"\r\n") == 200
            assert await status(slow[-1], b"\r\n") == 200

    run(story)


def test_who_showed_a_token_gives_way_to_no_stranger(service: Callable[..., Any]) -> None:
    limits = CallerLimits(head_s=NEVER_S, idle_s=NEVER_S, most=50, most_strangers=2)

    async def story() -> None:
        async with service(1) as here, served(here.app, limits=limits) as url, AsyncExitStack() as stack:
            ask = (
                f"GET /v1/budget HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {here.tokens['ann']}\r\n\r\n".encode()
            )
            known, wrong = [await stack.enter_async_context(called(url)) for _ in range(2)]
            assert (await status(known, ask), await status(wrong, ask.replace(b"Bearer ", b"Bearer x"))) == (200, 401)
            for _ in range(5):
                await stack.enter_async_context(called(url))
            assert await is_over(wrong)
            assert await status(known, ask) == 200

    run(story)


class Fakes:
    """Callers with sockets that are counted, and a clock that ticks with every look."""

    def __init__(self, **limits: Any) -> None:
        self.now = 0.0
        self.callers = HttpCallers(CallerLimits(**limits), clock=self.tick)

    def tick(self) -> float:
        self.now += 1
        return self.now

    def come(self, host: str = "192.0.2.1", **facts: bool) -> Any:
        """Return the caller, who is None if it was sent away; `gone` tells that it had to give way."""
        connection = SimpleNamespace(fileno=lambda: 7, close=lambda: None)
        caller = self.callers.admit(connection, host)
        if caller is not None:
            vars(caller)["gone"] = False
            caller.cut_off = lambda: setattr(caller, "gone", True)
            vars(caller).update(facts)
        return caller


def test_one_address_has_so_many_connections_and_others_are_not_hurt() -> None:
    fakes = Fakes(most_of_an_address=2)
    other, first, second = fakes.come("192.0.2.9"), fakes.come(busy=True), fakes.come()
    assert fakes.come(busy=True) is not None
    assert (other.gone, first.gone, second.gone) == (False, False, True)
    assert fakes.come() is None
    assert fakes.come("192.0.2.8") is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "192.0.2.7"])
def test_this_machine_and_proxies_have_no_limit_of_their_own(host: str) -> None:
    fakes = Fakes(most_of_an_address=1, proxies=("192.0.2.7",))
    assert all(fakes.come(host, busy=True) is not None for _ in range(5))


def test_addresses_of_one_network_of_ipv6_are_one() -> None:
    assert place_of("2001:db8::1") == place_of("2001:db8::ffff:1") != place_of("2001:db8:0:1::1")
    assert place_of("::ffff:192.0.2.1") == "192.0.2.1"


def test_when_all_places_are_taken_those_who_wait_give_way_then_strangers_and_users_never() -> None:
    fakes = Fakes(most=3)
    user, stranger, idle = fakes.come(busy=True, known=True), fakes.come(busy=True), fakes.come(known=True)
    assert fakes.come(busy=True, known=True) is not None
    assert (user.gone, stranger.gone, idle.gone) == (False, False, True)
    assert fakes.come(busy=True, known=True) is not None
    assert (user.gone, stranger.gone) == (False, True)
    assert fakes.come() is None


def test_callers_who_left_take_no_place() -> None:
    fakes = Fakes(most=1)
    fakes.come(busy=True, known=True).connection.fileno = lambda: -1
    assert fakes.come() is not None
    assert len(fakes.callers) == 1


def test_half_of_the_files_are_left_for_others() -> None:
    assert CallerLimits().within(1 << 20) == CallerLimits()
    few = CallerLimits().within(256)
    assert (few.most, few.most_strangers) == (128, 64)


@pytest.mark.parametrize("said", [{"head_s": 0}, {"idle_s": -1}, {"most": 0}, {"proxies": ("nobody",)}])
def test_limits_that_make_no_sense_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        CallerLimits(**said)


# --- when files run out -----------------------------------------------------------------------------------------------


def test_when_no_file_can_be_opened_one_who_waits_gives_way_and_the_accept_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fakes, pauses = Fakes(), list[float]()
    waiting, troubles = fakes.come(), [errno.EMFILE, errno.EMFILE, errno.ENFILE]

    async def accept() -> Any:
        if troubles:
            raise OSError(troubles.pop(), "")
        raise ConnectionAbortedError if len(fakes.callers) else EOFError

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    with pytest.raises(EOFError):
        asyncio.run(Accepting(None, fakes.callers, head_s=1).run(accept, pause=pause))
    assert (waiting.gone, len(pauses), min(pauses) > 0.1) == (True, 3, True)
    assert {record.message for record in caplog.records} == {"no connection can be accepted for a moment"}
