"""Connections to the embedded broker: TLS below, a guest of the star above, and limits of time and number on each.

A caller is a stranger until it has shown a certificate and was let in under its own name. Strangers have little time,
and when they are too many the one that has waited longest gives way: owners need milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from contextlib import suppress

from fedgroup.transport.access import Access
from fedgroup.transport.star import Guest, Star
from fedgroup.transport.tunnel import Tunnel

log = logging.getLogger("fedgroup.broker")

MOST_STRANGERS = 2_000
"""All of a thousand owners at once, and then as many again."""

PATIENCE_S = 30.0
"""How long a handshake may take, and then a greeting."""

FAREWELL_S = 5.0
"""How long a client may take to read what it is sent last."""

Recognise = Callable[[bytes | None], tuple[str, Access] | None]
"""From a certificate to a client's name and what it may do, or none if it has no business here."""


class Callers:
    """Everybody who is connected, and what waits to be sent to them in this turn of the loop."""

    def __init__(self, tls: ssl.SSLContext, star: Star, recognise: Recognise) -> None:
        self.tls = tls
        self.star = star
        self.recognise = recognise
        self._loop = asyncio.get_running_loop()
        self._strangers: dict[Caller, None] = {}
        self._guests: set[Caller] = set()
        self._unsent: list[Caller] = []
        self._nobody = asyncio.Event()
        self._nobody.set()

    def new(self) -> Caller:
        """Return what serves the next connection."""
        return Caller(self, self._loop)

    def came(self, caller: Caller) -> None:
        """Count a connection as a stranger's; if they are too many, one gives way."""
        self._nobody.clear()
        self._strangers[caller] = None
        if len(self._strangers) > MOST_STRANGERS:
            self.make_room()

    def let_in(self, caller: Caller) -> None:
        """Count a connection as a guest's."""
        if caller in self._strangers:
            del self._strangers[caller]
            self._guests.add(caller)

    def gone(self, caller: Caller) -> None:
        """Count a connection no more."""
        self._strangers.pop(caller, None)
        self._guests.discard(caller)
        if not self._strangers and not self._guests:
            self._nobody.set()

    def make_room(self) -> bool:
        """Cut off the stranger that has been here longest, and tell whether there was one."""
        oldest = next(iter(self._strangers), None)
        if oldest is None:
            return False
        log.warning("a stranger gave way to others")
        del self._strangers[oldest]
        oldest.cut_off()
        return True

    def drop_the_silent(self) -> None:
        """Cut off whoever has been silent for longer than it may."""
        now = self._loop.time()
        for caller in (*self._strangers, *self._guests):
            if caller.deadline < now:
                caller.cut_off()

    def flush_soon(self, caller: Caller) -> None:
        """Have a caller's packets sent in one piece, after everything that arrived in this turn was read."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(caller)

    async def dismiss(self) -> None:
        """Cut everybody off, and wait until nobody is here."""
        for caller in (*self._strangers, *self._guests):
            caller.cut_off()
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._nobody.wait()

    def _flush(self) -> None:
        callers, self._unsent = self._unsent, []
        for caller in callers:
            caller.flush()


class Caller(asyncio.Protocol):
    """One connection, from its first byte to its end; whatever a client does ends its own connection only."""

    def __init__(self, callers: Callers, loop: asyncio.AbstractEventLoop) -> None:
        self._callers = callers
        self._loop = loop
        self._tunnel = Tunnel(callers.tls)
        self._guest: Guest | None = None
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._over = False
        self._farewell: asyncio.TimerHandle | None = None
        self.deadline = loop.time() + PATIENCE_S

    @property
    def backlog(self) -> int:
        """Bytes that were sent and that the client has not taken."""
        below = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._unsent_bytes + below

    def send(self, packet: bytes) -> None:
        """Send at the end of this turn of the loop, together with whatever else is sent until then."""
        if self._over:
            return
        if not self._unsent:
            self._callers.flush_soon(self)
        self._unsent.append(packet)
        self._unsent_bytes += len(packet)

    def flush(self) -> None:
        """Send what waits."""
        if self._unsent and not self._over:
            plain = b"".join(self._unsent)
            self._unsent.clear()
            self._unsent_bytes = 0
            try:
                self._tunnel.seal(plain)
                self._push()
            except ssl.SSLError:
                self.cut_off()

    def close(self) -> None:
        """Send what waits, and end; a client that does not read it is cut off."""
        if self._over or self._transport is None:
            return
        self.flush()
        self._tunnel.end()
        self._push()
        self._over = True
        self._transport.close()
        self._farewell = self._loop.call_later(FAREWELL_S, self._transport.abort)

    def cut_off(self) -> None:
        """End at once."""
        self._over = True
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  asyncio promises it
        self._transport = transport
        self._callers.came(self)

    def data_received(self, data: bytes) -> None:
        try:
            said = self._tunnel.receive(data)
            if self._tunnel.open:
                self._hear(said)
            self._push()
            if self._tunnel.ended:
                self.close()
        except Exception as error:  # no TLS, no MQTT, or a fault of ours such as files that cannot be read
            self._break_off(type(error).__name__)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's own
        self._over = True
        if self._farewell is not None:
            self._farewell.cancel()
        if self._guest is not None:
            self._guest.lost()
            self._guest = None
        self._callers.gone(self)

    def _hear(self, said: bytes) -> None:
        if self._guest is None:
            known = self._callers.recognise(self._tunnel.certificate)
            self._guest = Guest(self._callers.star, self, known=known)
            self.deadline = self._loop.time() + PATIENCE_S
        if not said or not self._guest.hear(said) or self._guest.silence_s is None:
            return
        self._callers.let_in(self)
        self.deadline = self._loop.time() + self._guest.silence_s

    def _break_off(self, why: str) -> None:
        """End a connection by its client's fault, or ours: a guest is lost at once."""
        log.debug("a connection ended: %s", why)
        if self._guest is not None:
            self._guest.lost()
        self.close()

    def _push(self) -> None:
        data = self._tunnel.to_send()
        if data and self._transport is not None and not self._over:
            self._transport.write(data)
