"""Owners that answer on wires of tests."""

from __future__ import annotations

from typing import Any

from fedgroup.live.flushing import Flushing
from fedgroup.live.owner import RunningOwner
from fedgroup.transport.codec import decode
from fedgroup.transport.links import OwnerLink


def answering(node: Any, link: OwnerLink, *, flushing: Flushing | None = None) -> RunningOwner:
    """Let an owner answer until it is closed."""
    return RunningOwner(node, link, decode=decode, flushing=flushing or Flushing(), in_thread=False)
