"""A live owner's process: what comes over the wire goes to its node, what the node says goes back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, get_args

from fedgroup.errors import LedgerUnavailable, ProtocolViolation
from fedgroup.live.flushing import Flushing
from fedgroup.live.logs import note_exchange
from fedgroup.live.working import Exchange, Made, Working
from fedgroup.messages.live import ToOwner
from fedgroup.owner.node import Letters, OwnerNode

log = logging.getLogger("fedgroup.owner")


class OwnersLink(Protocol):
    """The owner's end of the wire; `at_hand`, where it has that, tells how many messages came with the last one."""

    @property
    def waited_s(self) -> float: ...

    async def send(self, to: str, payload: bytes) -> None: ...

    def received(self) -> AsyncIterator[tuple[str, bytes]]: ...


async def run_owner(
    node: OwnerNode,
    link: OwnersLink,
    *,
    decode: Callable[[bytes, tuple[type, ...]], Any],
    flushing: Flushing,
    working: Working | None = None,
    in_thread: bool = True,
) -> None:
    """Answer until cancelled, one message after the other; a database's work is done in a thread.

    Messages that came together, also to other owners of the same `working`, are answered together, unless a database is
    asked for each of them. While what was made waits for the disk, more is made, and goes to disk together. Replies
    leave in their order.

    Guarantee: what a message brought about is on disk before anything is sent for it.
    """
    made, working, kinds = Made(), working or Working(), get_args(ToOwner)
    async with asyncio.TaskGroup() as tasks:
        sending = tasks.create_task(_send_on(node, link, made, flushing))
        at_hand: list[tuple[str, Any]] = []
        async for sender, payload in link.received():
            message = _read(node, payload, decode, kinds)
            if message is not None and in_thread:
                work = partial(node.prepare, sender, message, waited_s=link.waited_s)
                await made.room()
                made.add([Exchange(sender, message, await asyncio.to_thread(work))])
            elif message is not None:
                at_hand.append((sender, message))
            if at_hand and not getattr(link, "at_hand", 0):
                await made.room()
                working.begin(node, at_hand, made, waited_s=link.waited_s)
                at_hand = []
        await made.all_taken()
        sending.cancel()


def _read(
    node: OwnerNode, payload: bytes, decode: Callable[[bytes, tuple[type, ...]], Any], kinds: tuple[type, ...]
) -> Any | None:
    """Return a message; None for what is none."""
    try:
        message = decode(payload, kinds)
    except ProtocolViolation:
        log.warning("a message was refused", extra={"party": node.name})
        return None
    if not node.agrees(message):
        log.warning("this owner's [federation] table differs from the provider's", extra={"party": node.name})
    return message


async def _send_on(node: OwnerNode, link: OwnersLink, made: Made, flushing: Flushing) -> None:
    """Send what was made once it is on disk, until cancelled; a ledger that fails makes refusals of it."""
    while True:
        exchanges = await made.take()
        try:
            await flushing.flushed(node.ledger)
        except LedgerUnavailable as error:
            exchanges = [replace(one, replies=node.refusal(one.sender, one.message, error)) for one in exchanges]
        await _send_all(link, [letter for one in exchanges for letter in one.replies])
        for one in exchanges:
            note_exchange(log, node.name, one.message, one.replies)


async def _send_all(link: OwnersLink, letters: Letters) -> None:
    """Send letters, together if the link can do that."""
    together = getattr(link, "send_many", None)
    if together is not None:
        await together(letters)
        return
    for to, reply in letters:
        await link.send(to, reply)
