"""An embedded broker: amqtt behind a door of ours, in the same loop as whoever starts it.

A client is known by its TLS certificate before amqtt hears of it, greets in its own name, and takes the place of its
own older connection only, whose will is out by then. A thousand owners are asked and heard in less than a second, about
seven times slower than with mosquitto or NATS: beyond that, take one of those.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from fedgroup.errors import InvalidInput
from fedgroup.transport.listening import Identify, by_common_name
from fedgroup.transport.topics import Topics

try:
    from amqtt.mqtt.connect import ConnectPacket

    from fedgroup.transport.admission import NOT_AUTHORISED, PacketReader, PromptWriter
    from fedgroup.transport.amqtt_rules import FederationRules, access_by_certificate, may_enter
    from fedgroup.transport.delivery import LookupBroker
except ImportError:
    raise InvalidInput("the embedded broker needs amqtt: pip install 'fedgroup[live]'") from None

log = logging.getLogger("fedgroup.broker")

_LISTENER = "default"
_PATIENCE_S = 30.0
_FAREWELL_S = 5.0
_NEVER_S = 10**6
_LONGEST_SILENCE_S = 60.0


@dataclass(frozen=True)
class _Guest:
    """A client that was let in: its connection, who serves it, and how long it may be silent."""

    reader: PacketReader
    writer: asyncio.StreamWriter
    task: asyncio.Task[Any]
    silence_s: float

    def cut_off(self) -> None:
        self.writer.transport.abort()


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
        self._guests: dict[str, _Guest] = {}
        self._serving: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None
        self._leaving = AsyncExitStack()

    @property
    def port(self) -> int:
        """The port it listens on, also when any free one was asked for (0)."""
        sockets = () if self._server is None else self._server.sockets
        return int(sockets[0].getsockname()[1]) if sockets else self._port

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as leaving:
            broker = LookupBroker(self._settings())
            await broker.start()
            leaving.push_async_callback(broker.shutdown)
            self._server = await self._listen(broker)
            leaving.push_async_callback(self._close, self._server)
            watch = asyncio.create_task(self._drop_the_silent())
            leaving.callback(watch.cancel)
            self._leaving = leaving.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leaving.aclose()

    async def _listen(self, broker: LookupBroker) -> asyncio.Server:
        try:
            return await asyncio.start_server(
                partial(self._receive, broker),
                self._bind,
                self._port,
                ssl=self._tls,
                ssl_handshake_timeout=_PATIENCE_S,
                ssl_shutdown_timeout=_FAREWELL_S,
                backlog=1_024,
            )
        except OSError as error:
            raise InvalidInput(f"the broker cannot listen on {self._bind}:{self._port}: {error.strerror}") from None

    async def _close(self, server: asyncio.Server) -> None:
        """Let nobody in any more, and cut off everybody."""
        server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        if self._serving:
            await asyncio.wait(tuple(self._serving), timeout=_FAREWELL_S)
        with suppress(TimeoutError):
            await asyncio.wait_for(server.wait_closed(), _FAREWELL_S)

    def _settings(self) -> dict[str, Any]:
        """amqtt with our plugin alone: no anonymous clients, no statistics; time limits are ours."""
        rules = {
            "federation": self._topics.federation,
            "prefix": self._topics.prefix,
            "identify": self._identify,
        }
        return {
            "listeners": {_LISTENER: {"type": "external", "bind": self._bind}},
            "timeout_disconnect_delay": _NEVER_S,
            "plugins": {f"{FederationRules.__module__}.{FederationRules.__qualname__}": rules},
        }

    async def _receive(self, broker: LookupBroker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from its first byte to its end; whatever a client does ends its own connection only."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  asyncio calls this in a task
        self._serving[task] = writer
        try:
            known = await self._greeted(PacketReader(reader), writer, task)
            if known is not None:
                await self._host(broker, *known)
        except Exception as error:
            log.debug("a connection ended: %s", type(error).__name__)
        finally:
            del self._serving[task]
            writer.close()

    async def _greeted(
        self, reader: PacketReader, writer: asyncio.StreamWriter, task: asyncio.Task[Any]
    ) -> tuple[str, _Guest] | None:
        """Return a client and its name, or nothing if it was shown out."""
        known = access_by_certificate(self._topics, self._identify, writer.get_extra_info("ssl_object"))
        greeting = await asyncio.wait_for(ConnectPacket.from_stream(reader), _PATIENCE_S)
        if known is None or not may_enter(*known, greeting):
            log.warning("a client was refused")
            writer.write(NOT_AUTHORISED)
            return None
        reader.let_in()
        silence_s = min(1.5 * greeting.keep_alive or _LONGEST_SILENCE_S, _LONGEST_SILENCE_S)
        return known[0], _Guest(reader, writer, task, silence_s)

    async def _host(self, broker: LookupBroker, name: str, guest: _Guest) -> None:
        """Leave a client to amqtt, after its older connection and the will of that are done with."""
        while (older := self._guests.get(name)) is not None:
            older.cut_off()
            _, stuck = await asyncio.wait((older.task,), timeout=_FAREWELL_S)
            for task in stuck:
                task.cancel()
        self._guests[name] = guest
        try:
            await broker.external_connected(guest.reader, PromptWriter(guest.writer), _LISTENER)
        finally:
            del self._guests[name]

    async def _drop_the_silent(self) -> None:
        """Cut off clients that have been silent for longer than they said they would be."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1)
            for guest in tuple(self._guests.values()):
                if loop.time() - guest.reader.heard_at > guest.silence_s:
                    guest.cut_off()
