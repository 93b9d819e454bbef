"""An embedded broker: amqtt behind a door of ours, in the same loop as whoever starts it.

A client is known by its TLS certificate before amqtt hears of it, greets in its own name, and takes the place of its
own older connection only, whose will is out by then. For about 500 owners; beyond that, take mosquitto or NATS.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from fedgroup.errors import InvalidInput
from fedgroup.transport.access import Access
from fedgroup.transport.listening import Identify, Listening, by_common_name
from fedgroup.transport.topics import Topics

try:
    from amqtt.errors import AMQTTError, MQTTError, NoDataError
    from amqtt.mqtt.connect import ConnectPacket

    from fedgroup.transport.admission import NOT_AUTHORISED, PacketReader, PromptWriter
    from fedgroup.transport.amqtt_rules import FederationRules, access_by_certificate, may_enter
    from fedgroup.transport.delivery import LookupBroker
except ImportError:
    raise InvalidInput("the embedded broker needs amqtt: pip install 'fedgroup[live]'") from None

log = logging.getLogger("fedgroup.broker")

_LISTENER = "default"
_PATIENCE_S = 10.0
_NEVER_S = 10**6
_LONGEST_SILENCE_S = 60.0


@dataclass(frozen=True)
class _Guest:
    """A client that was let in: its connection, who serves it, and how long it may be silent."""

    reader: PacketReader
    transport: asyncio.WriteTransport
    task: asyncio.Task[Any]
    silence_s: float


class EmbeddedBroker:
    """A broker for as long as its context lasts."""

    def __init__(self, listening: Listening, topics: Topics, *, identify: Identify = by_common_name) -> None:
        self._listening = listening
        self._topics = topics
        self._identify = identify
        self._guests: dict[str, _Guest] = {}
        self._serving: set[asyncio.Task[Any]] = set()
        self._broker: LookupBroker | None = None
        self._server: asyncio.Server | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port it listens on, also when any free one was asked for (0)."""
        sockets = () if self._server is None else self._server.sockets
        return int(sockets[0].getsockname()[1]) if sockets else self._listening.port

    async def __aenter__(self) -> Self:
        tls = self._listening.tls()
        broker = LookupBroker(self._settings())
        await broker.start()
        self._broker = broker
        try:
            self._server = await asyncio.start_server(
                self._receive,
                self._listening.bind,
                self._listening.port,
                ssl=tls,
                ssl_handshake_timeout=_PATIENCE_S,
                backlog=1_024,
            )
        except OSError as error:
            await broker.shutdown()
            raise InvalidInput(f"the broker cannot listen on {self._listening.bind}: {error.strerror}") from None
        self._watch = asyncio.create_task(self._drop_the_silent())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._broker is not None and self._server is not None and self._watch is not None  # noqa: S101, PT018
        self._server.close()
        self._watch.cancel()
        with suppress(asyncio.CancelledError):
            await self._watch
        for guest in tuple(self._guests.values()):
            guest.transport.abort()
        if self._serving:
            await asyncio.wait(self._serving, timeout=_PATIENCE_S)
        await self._broker.shutdown()
        await self._server.wait_closed()

    def _settings(self) -> dict[str, Any]:
        """amqtt with our plugin alone: no anonymous clients, no statistics; time limits are ours."""
        rules = {
            "federation": self._topics.federation,
            "prefix": self._topics.prefix,
            "identify": self._identify,
        }
        return {
            "listeners": {_LISTENER: {"type": "external", "bind": self._listening.bind}},
            "timeout_disconnect_delay": _NEVER_S,
            "plugins": {f"{FederationRules.__module__}.{FederationRules.__qualname__}": rules},
        }

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection from its first byte to its end."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio calls this in a task
        self._serving.add(task)
        try:
            await self._serve(PacketReader(reader), writer, task)
        except (OSError, EOFError, AMQTTError, MQTTError, NoDataError) as error:
            log.debug("a connection ended: %s", type(error).__name__)
        finally:
            self._serving.discard(task)
            writer.close()

    async def _serve(self, reader: PacketReader, writer: asyncio.StreamWriter, task: asyncio.Task[Any]) -> None:
        known = access_by_certificate(self._topics, self._identify, writer.get_extra_info("ssl_object"))
        greeting = await asyncio.wait_for(ConnectPacket.from_stream(reader), _PATIENCE_S)
        if known is None or not may_enter(*known, greeting):
            log.warning("a client was refused")
            writer.write(NOT_AUTHORISED)
            return
        reader.again()
        silence_s = 1.5 * greeting.keep_alive if greeting.keep_alive else _LONGEST_SILENCE_S
        guest = _Guest(reader, writer.transport, task, min(silence_s, _LONGEST_SILENCE_S))
        await self._host(known, guest, writer)

    async def _host(self, known: tuple[str, Access], guest: _Guest, writer: asyncio.StreamWriter) -> None:
        """Leave a client to amqtt, after its older connection and the will of that are done with."""
        name, _ = known
        while (older := self._guests.get(name)) is not None:
            older.transport.abort()
            await asyncio.wait((older.task,), timeout=_PATIENCE_S)
        self._guests[name] = guest
        try:
            assert self._broker is not None  # noqa: S101 - set before anybody can connect
            await self._broker.external_connected(guest.reader, PromptWriter(writer), _LISTENER)
        finally:
            del self._guests[name]

    async def _drop_the_silent(self) -> None:
        """Cut off clients that have been silent for longer than they said they would be."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(1)
            for guest in tuple(self._guests.values()):
                if loop.time() - guest.reader.heard_at > guest.silence_s:
                    guest.transport.abort()
