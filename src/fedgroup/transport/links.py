"""The two ends of a wire. A message is sent at most once: what nobody listens to is lost, and rounds have deadlines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

MOST_BYTES = 1 << 20
"""No payload on a wire is longer."""

MOST_MESSAGE = MOST_BYTES - 256
"""No message is longer: there is room for what seals it."""


class OwnerLink(Protocol):
    """An owner's end. While it is up, the owner is present; when it is lost, the owner is gone."""

    @property
    def waited_s(self) -> float:
        """How long the message received last had waited to be taken."""

    async def send(self, to: str, payload: bytes) -> None:
        """Send to the provider (`PROVIDER`) or to another owner; lost if the link is down or nobody listens."""

    def received(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (sender, payload) until the link is closed; a lost connection is made again without a word."""

    async def close(self) -> None:
        """Say that the owner is gone, and leave."""


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
