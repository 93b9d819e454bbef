"""An embedded broker for one federation, in the same loop as whoever starts it: a door, and a star behind it.

A client is known by its TLS certificate before it says a word, greets in its own name, and takes the place of its own
older connection only, whose will is out by then. What may be said and heard is decided in `star.py`.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.transport.access import Access, access_of
from fedgroup.transport.callers import Callers
from fedgroup.transport.listening import Identify, by_common_name
from fedgroup.transport.star import Star
from fedgroup.transport.topics import Topics

log = logging.getLogger("fedgroup.broker")

PAUSE_S = 0.5
"""How long nobody is let in when no file can be opened and nobody gives way."""

_BACKLOG = 1_024
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""Of an address that a name leads to and this machine does not have."""

Accept = Callable[[], Awaitable[tuple[socket.socket, Any]]]


class EmbeddedBroker:
    """A broker for as long as its context lasts.

    `tls` must ask for clients' certificates (`Identity.server_context`, or `Listening.tls` of files); `identify` tells
    role and name from one, and raises `ProtocolViolation` for those it does not want.
    """

    def __init__(
        self, topics: Topics, *, bind: str, port: int, tls: ssl.SSLContext, identify: Identify = by_common_name
    ) -> None:
        if tls.verify_mode != ssl.CERT_REQUIRED:
            raise InvalidInput("the broker must ask for clients' certificates; set verify_mode of its TLS context")
        self._topics = topics
        self._bind = bind
        self._port = port
        self._tls = tls
        self._identify = identify
        self._leaving = AsyncExitStack()

    @property
    def port(self) -> int:
        """The port it listens on, also when any free one was asked for (0)."""
        return self._port

    async def __aenter__(self) -> Self:
        loop, callers = asyncio.get_running_loop(), Callers(self._tls, Star(self._topics), self._recognised)
        async with AsyncExitStack() as leaving:
            leaving.push_async_callback(callers.dismiss)
            listeners = await self._listen(leaving)
            self._port = int(listeners[0].getsockname()[1])
            work = [accepting(partial(loop.sock_accept, each), callers) for each in listeners]
            for each in (*work, _dropping_the_silent(callers)):
                leaving.push_async_callback(_end, asyncio.create_task(each))
            self._leaving = leaving.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leaving.aclose()

    def _recognised(self, certificate: bytes | None) -> tuple[str, Access] | None:
        """Return a client's name and what it may do, or nothing if it has no business here."""
        if not certificate:
            return None
        try:
            role, name = self._identify(certificate)
        except (ProtocolViolation, ValueError):
            return None
        access = access_of(self._topics, role, name)
        return None if access is None else (name, access)

    async def _listen(self, leaving: AsyncExitStack) -> list[socket.socket]:
        try:
            return await _listening(self._bind, self._port, leaving)
        except OSError as error:
            raise InvalidInput(f"the broker cannot listen on {self._bind}:{self._port}: {error.strerror}") from None


async def accepting(
    accept: Accept, callers: Callers, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Let callers in, one after the other; when no file can be opened, a stranger gives way, or else all wait."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            connection, _ = await accept()
        except ConnectionAbortedError:  # it left before its turn
            continue
        except OSError:
            if callers.make_room():
                await pause(0)  # its file is closed in this turn of the loop
            else:
                log.warning("no connection can be accepted for a moment")
                await pause(PAUSE_S)
            continue
        try:
            await loop.connect_accepted_socket(callers.new, connection)
        except OSError:
            connection.close()


async def _listening(bind: str, port: int, leaving: AsyncExitStack) -> list[socket.socket]:
    """Return a socket for every address that a name has here, all at one port."""
    found = await asyncio.get_running_loop().getaddrinfo(
        bind or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listeners: list[socket.socket] = []
    trouble = OSError(errno.EADDRNOTAVAIL, "no such address")
    for family, *_, place in dict.fromkeys(found):
        at = port or (listeners[0].getsockname()[1] if listeners else 0)
        try:
            listener = socket.create_server((place[0], at, *place[2:]), family=family, backlog=_BACKLOG)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise
            trouble = error
        else:
            leaving.callback(listener.close)
            listener.setblocking(False)
            listeners.append(listener)
    if not listeners:
        raise trouble
    return listeners


async def _dropping_the_silent(callers: Callers) -> None:
    while True:
        await asyncio.sleep(1)
        callers.drop_the_silent()


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
