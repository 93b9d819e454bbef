"""The two ends of a wire. A message is sent at most once: what nobody listens to is lost, and rounds have deadlines.

An owner's end calls whoever listens for every message, and says what it is told at once: where one process hosts
thousands of owners, a task for each of them, and a wait at each step of a message, cost more than the work itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Protocol

MOST_BYTES = 1 << 20
"""No payload on a wire is longer."""

MOST_MESSAGE = MOST_BYTES - 256
"""No message is longer: there is room for what seals it."""


Hear = Callable[[str, Sequence[bytes], float], None]
"""Takes who sent messages that came together, the messages, and the earliest moment (`Pulse.now`) of their coming."""


class OwnerLink(Protocol):
    """An owner's end. While it is up, the owner is present; when it is lost, the owner is gone."""

    def listen(self, hear: Hear) -> None:
        """Call `hear` for all that comes from now on; a lost connection is made again without a word."""

    def say(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each to the provider (`PROVIDER`) or to another owner; lost if the link is down or nobody listens.

        They are gone through when they leave, which may be later.
        """

    def when_left(self, call: Callable[[], None]) -> None:
        """Call something, now or later, once all that was said has left and more can."""

    def hold(self) -> None:
        """Hand on nothing more until `go_on` was called as often: what comes waits, and tells since when."""

    def go_on(self) -> None:
        """Hand on what waits and what comes, unless somebody else holds."""


class ProviderLink(Protocol):
    """The provider's end."""

    async def send(self, owner: str, payload: bytes) -> None:
        """Send to one owner; lost if the link is down or the owner is not here."""

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Send each owner its message, without a round trip for each."""

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (owner, payload) until the link is closed; payloads are answers and encoded `Presence`s."""

    async def close(self) -> None:
        """Leave."""
