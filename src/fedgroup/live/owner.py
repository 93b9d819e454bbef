"""A live owner's process: what comes over the wire goes to its node, what the node says goes back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Protocol, get_args

from fedgroup.errors import LedgerUnavailable, ProtocolViolation
from fedgroup.live.flushing import Flushing
from fedgroup.live.logs import note_exchange
from fedgroup.messages.live import ToOwner
from fedgroup.owner.node import OwnerNode

log = logging.getLogger("fedgroup.owner")


class Link(Protocol):
    """The owner's end of the wire."""

    @property
    def waited_s(self) -> float: ...

    async def send(self, to: str, payload: bytes) -> None: ...

    def received(self) -> AsyncIterator[tuple[str, bytes]]: ...


async def run_owner(
    node: OwnerNode,
    link: Link,
    *,
    decode: Callable[[bytes, tuple[type, ...]], Any],
    flushing: Flushing,
    in_thread: bool = True,
) -> None:
    """Answer until cancelled, one message after the other; a database's work is done in a thread.

    Guarantee: what a message brought about is on disk before anything is sent for it.
    """
    async for sender, payload in link.received():
        try:
            message = decode(payload, get_args(ToOwner))
        except ProtocolViolation:
            log.warning("a message was refused", extra={"party": node.name})
            continue
        if not node.agrees(message):
            log.warning("this owner's [federation] table differs from the provider's", extra={"party": node.name})
        work = partial(node.prepare, sender, message, waited_s=link.waited_s)
        replies = await asyncio.to_thread(work) if in_thread else work()
        try:
            await flushing.flushed(node.ledger)
        except LedgerUnavailable as error:
            replies = node.refusal(sender, message, error)
        for to, reply in replies:
            await link.send(to, reply)
        note_exchange(log, node.name, message, replies)
