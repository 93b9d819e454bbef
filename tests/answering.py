"""Owners that answer on wires of tests, on which nothing is sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fedgroup.live.flushing import Flushing
from fedgroup.live.owner import RunningOwner
from fedgroup.transport.codec import decode
from fedgroup.transport.links import OwnerLink


class OpenWire:
    """An owner's end of a wire: every message by itself, as it is."""

    def __init__(self, link: OwnerLink) -> None:
        self._link = link

    def listen(self, hear: Callable[[str, Sequence[bytes], float], None]) -> None:
        self._link.listen(lambda sender, payload, came_at: hear(sender, [payload], came_at))

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        for message in messages:
            self._link.say(*message)

    def hold(self) -> None:
        self._link.hold()

    def go_on(self) -> None:
        self._link.go_on()


def answering(node: Any, link: OwnerLink, *, flushing: Flushing | None = None) -> RunningOwner:
    """Let an owner answer until it is closed."""
    return RunningOwner(node, OpenWire(link), decode=decode, flushing=flushing or Flushing(), in_thread=False)
