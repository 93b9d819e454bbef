"""Waiting for many owners at once: one collector a round, no task per owner."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from fedgroup.messages.said import Refused

MOMENT_S = 0.25


class Replies:
    """What owners answered to one thing that was asked: the first reply of each that was asked, and nothing else.

    `taking` takes a reply and returns what is kept of it: long vectors are added up, and kept by nobody. `enough` tells
    whether no more are needed, whoever is still silent.
    """

    def __init__(
        self,
        expected: Collection[str],
        *,
        quiet: Collection[str] = (),
        taking: Callable[[str, Any], Any] = lambda _owner, message: message,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        self._taking = taking
        self._enough = enough
        self.silent = set(expected)
        self._waited_for = self.silent.difference(quiet) or set(expected)
        self._enough_in = asyncio.Event()
        self._all_in = asyncio.Event()
        self.said: dict[str, Any] = {}
        self.refused: dict[str, str] = {}
        self._note()

    def take(self, owner: str, message: Any) -> None:
        """Keep a reply; a second one, or one of somebody who was not asked, is ignored."""
        if owner not in self.silent:
            return
        if isinstance(message, Refused):
            self.refused[owner] = message.reason
        else:
            self.said[owner] = self._taking(owner, message)
        self.give_up_on(owner)

    def add(self, more: Replies) -> None:
        """Add what others were asked, or the same owners later."""
        self.said |= more.said
        self.refused |= more.refused

    def give_up_on(self, owner: str) -> None:
        """Stop waiting for an owner that is gone."""
        self.silent.discard(owner)
        self._waited_for.discard(owner)
        self._note()

    async def wait(self, seconds: float) -> None:
        """Return when everybody answered, or when the time is over; quiet owners get a moment more than the others."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._enough_in.wait()
                async with asyncio.timeout(MOMENT_S):
                    await self._all_in.wait()

    def _note(self) -> None:
        done = self._enough()
        if done or not self._waited_for:
            self._enough_in.set()
        if done or not self.silent:
            self._all_in.set()


class Switchboard:
    """Brings each reply to whoever waits for it, by what it is about and by its kind.

    Several may wait for replies about the same thing, of different owners.
    """

    def __init__(self) -> None:
        self._waiting: dict[Replies, tuple[bytes, tuple[type, ...]]] = {}

    @contextmanager
    def expecting(
        self, about: bytes, kinds: tuple[type, ...], owners: Collection[str], **how: Any
    ) -> Iterator[Replies]:
        """Collect replies of these kinds about one thing while the context lasts, in one of the ways of `Replies`."""
        replies = Replies(owners, **how)
        self._waiting[replies] = about, kinds
        try:
            yield replies
        finally:
            del self._waiting[replies]

    def deliver(self, owner: str, message: Any) -> None:
        """Hand a reply over; what nobody waits for is dropped: late, repeated or never asked for."""
        about = _about(message)
        for replies, (name, kinds) in list(self._waiting.items()):
            if name == about and isinstance(message, (*kinds, Refused)):
                replies.take(owner, message)

    def owner_gone(self, owner: str) -> None:
        """Tell everybody who waits that an owner is gone."""
        for replies in list(self._waiting):
            replies.give_up_on(owner)


def _about(message: Any) -> bytes:
    if isinstance(message, Refused):
        return message.about
    name = getattr(message, "round", None) or getattr(message, "session", None)
    return name if isinstance(name, bytes) else str(message.plan).encode()
