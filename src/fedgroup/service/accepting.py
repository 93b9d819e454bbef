"""Letting callers in: one after the other, each with so much time for the head of a request, and never in a busy loop.

What uvicorn does not offer: a limit on how long a head may take, and an accept that waits when no file can be opened.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fedgroup.service.callers import HttpCaller, HttpCallers, state_of

log = logging.getLogger("fedgroup.service")

PAUSE_S = 0.5
"""How long nobody is let in after no file could be opened."""

Accept = Callable[[], Awaitable[tuple[socket.socket, Any]]]


class PromptProtocol(H11Protocol):
    """HTTP with a caller that may wait, but not dawdle: who begins a request sends its whole head in time.

    Whatever comes while no request is under way counts as a head: also the rest of a body that was refused.
    """

    def __init__(self, caller: HttpCaller, *, head_s: float, server: uvicorn.Server) -> None:
        state = server.lifespan.state | state_of(caller)
        super().__init__(config=server.config, server_state=server.server_state, app_state=state)
        self._caller = caller
        self._head_s = head_s
        self._upgraded = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._caller.cut_off = transport.abort
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._stop_timer()  # the next head has not begun; a pause is uvicorn's to end
        self._caller.now(busy=self._busy, at=self.loop.time())

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._upgraded = True
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        return self._upgraded or (self.cycle is not None and not self.cycle.response_complete)

    def _watch(self) -> None:
        self._caller.now(busy=self._busy, at=self.loop.time())
        if self._busy or self.transport.is_closing():
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._head_s, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Accepting:
    """Takes connections for a server that has started."""

    def __init__(self, server: uvicorn.Server, callers: HttpCallers, *, head_s: float) -> None:
        self._server = server
        self._callers = callers
        self._head_s = head_s
        self._entering: set[asyncio.Task[None]] = set()

    async def run(self, accept: Accept, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Let callers in until cancelled; when no file can be opened, somebody gives way and the others wait."""
        try:
            while True:
                try:
                    connection, address = await accept()
                except ConnectionAbortedError:  # it left before its turn
                    continue
                except OSError:
                    log.warning("no connection can be accepted for a moment")
                    self._callers.make_room()
                    await pause(PAUSE_S)
                    continue
                self._admit(connection, address[0])
        finally:
            for task in self._entering:
                task.cancel()

    def _admit(self, connection: socket.socket, host: str) -> None:
        caller = self._callers.admit(connection, host)
        if caller is None:
            log.warning("too many connections of one address, or in all")
            connection.close()
            return
        task = asyncio.create_task(self._enter(connection, caller))
        caller.cut_off = partial(_cancel, task)
        self._entering.add(task)
        task.add_done_callback(partial(self._entered, connection))

    def _entered(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._entering.discard(task)
        if task.cancelled():
            connection.close()

    async def _enter(self, connection: socket.socket, caller: HttpCaller) -> None:
        """Shake hands, if there is TLS, and hand the connection over."""
        tls = self._server.config.ssl
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: PromptProtocol(caller, head_s=self._head_s, server=self._server),
                connection,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else self._head_s,
            )
        except OSError:  # it left, or knows no TLS, or took too long
            connection.close()


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
