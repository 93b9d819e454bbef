"""Both ends of the wire in one process, for tests and simulations: presence, wills and losses as with a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

from fedgroup.errors import ProtocolViolation
from fedgroup.messages.said import Presence
from fedgroup.transport.codec import encode
from fedgroup.transport.guarding import guarded
from fedgroup.transport.inbox import Inbox
from fedgroup.transport.links import MOST_BYTES, Hear
from fedgroup.transport.topics import PROVIDER, require_owner


class MemoryHub:
    """Where links meet. A party that comes again under its name takes the place of the older one."""

    def __init__(self) -> None:
        self._inboxes: dict[str, Inbox] = {}
        self._presences: dict[str, bytes] = {}

    def owner(self, name: str, certificate: bytes = b"", agreed: bytes = b"") -> MemoryOwnerLink:
        """Return the link of an owner, who is here from now on."""
        inbox = self._enter(require_owner(name))
        self._note(name, encode(Presence(name, here=True, certificate=certificate, agreed=agreed)))
        return MemoryOwnerLink(self, name, inbox)

    def provider(self) -> MemoryProviderLink:
        """Return the link of the provider, who learns first who is here."""
        inbox = self._enter(PROVIDER)
        for owner, presence in self._presences.items():
            inbox.put(owner, presence)
        return MemoryProviderLink(self, inbox)

    def deliver(self, to: str, sender: str, payload: bytes) -> None:
        """Put a message into an inbox; lost if nobody is there, or too much waits already."""
        if len(payload) > MOST_BYTES:
            raise ProtocolViolation(f"a message has at most {MOST_BYTES} bytes")
        inbox = self._inboxes.get(to)
        if inbox is not None and not inbox.full:
            inbox.put(sender, payload)

    def leave(self, name: str, inbox: Inbox) -> None:
        """Take a party out; of an owner, everybody learns that it is gone."""
        inbox.close()
        if self._inboxes.get(name) is inbox:
            del self._inboxes[name]
            if name != PROVIDER:
                self._note(name, encode(Presence(name, here=False)))

    def _enter(self, name: str) -> Inbox:
        if name in self._inboxes:
            self.leave(name, self._inboxes[name])
        inbox = self._inboxes[name] = Inbox()
        return inbox

    def _note(self, owner: str, presence: bytes) -> None:
        self._presences[owner] = presence
        self.deliver(PROVIDER, owner, presence)


class MemoryOwnerLink:
    """An owner's end in memory. Messages are heard by whoever listens, or taken one by one."""

    def __init__(self, hub: MemoryHub, owner: str, inbox: Inbox) -> None:
        self._hub = hub
        self._owner = owner
        self._inbox: Inbox | None = inbox
        self._taken_from = inbox
        self._go_on = asyncio.Event()
        self._go_on.set()
        self._holding = 0
        self._hearing: asyncio.Task[None] | None = None

    def listen(self, hear: Hear) -> None:
        """Call `hear` for every message, those that wait included, until the link is closed."""
        self._hear_no_more()
        self._hearing = asyncio.create_task(self._hear(hear))

    async def _hear(self, hear: Hear) -> None:
        while await self._taken_from.until_any():
            await self._go_on.wait()
            sender, payload = self._taken_from.take()
            guarded(hear, sender, [payload], self._taken_from.came_at)

    def _hear_no_more(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (sender, payload) until the link is closed."""
        return self._taken_from.taken()

    def say(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each to the provider (`PROVIDER`) or to another owner; lost if the link is down or nobody listens."""
        for to, payload in messages:
            if self._inbox is not None:
                self._hub.deliver(to if to == PROVIDER else require_owner(to), self._owner, payload)

    def when_left(self, call: Callable[[], None]) -> None:
        """Call something at once: what is said has left."""
        call()

    def hold(self) -> None:
        """Let nothing more be heard until `go_on` was called as often."""
        self._holding += 1
        self._go_on.clear()

    def go_on(self) -> None:
        """Let messages be heard again, unless somebody else holds."""
        self._holding -= 1
        if not self._holding:
            self._go_on.set()

    def drop(self) -> None:
        """Be lost without a word: the will tells that the owner is gone."""
        if self._inbox is not None:
            self._hub.leave(self._owner, self._inbox)
        self._inbox = None
        self._hear_no_more()

    async def close(self) -> None:
        """Say that the owner is gone, and leave."""
        self.drop()


class MemoryProviderLink:
    """The provider's end in memory."""

    def __init__(self, hub: MemoryHub, inbox: Inbox) -> None:
        self._hub = hub
        self._inbox: Inbox | None = inbox
        self._messages = inbox.taken()

    async def send(self, owner: str, payload: bytes) -> None:
        """Send to one owner; lost if the link is down or the owner is not here."""
        if self._inbox is not None:
            self._hub.deliver(require_owner(owner), PROVIDER, payload)

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each owner its message."""
        for owner, payload in messages:
            await self.send(owner, payload)

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (owner, payload) until the link is closed; payloads are answers and encoded `Presence`s."""
        return self._messages

    async def close(self) -> None:
        """Leave."""
        if self._inbox is not None:
            self._hub.leave(PROVIDER, self._inbox)
        self._inbox = None
