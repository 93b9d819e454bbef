"""What owners of one event loop do about the messages they received: those that came at one moment, together.

The ledgers of owners that one process hosts are often in one file; then their charges are one transaction, and so are
their replies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedgroup.owner.node import Letters, OwnerNode
from fedgroup.owner.together import Answering, answered_together
from fedgroup.transport.inbox import Pulse

_MOST_MADE = 64
"""How many messages are answered while the answers to others are on their way to the disk."""
_MOST_AT_ONCE = 128
"""So many messages, or those to one owner, are worked on before the event loop does anything else."""


@dataclass(frozen=True)
class Exchange:
    """A message, who sent it, and what is to be sent for it."""

    sender: str
    message: Any
    replies: Letters


class Made:
    """What an owner made and has not sent; whoever makes more than so much waits."""

    def __init__(self) -> None:
        self._waiting: list[Exchange] = []
        self._begun = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._gone = asyncio.Event()
        self._room.set()
        self._gone.set()

    async def room(self) -> None:
        """Wait until there is room for more."""
        await self._room.wait()

    def expect(self) -> None:
        """Take in that something is being made."""
        self._begun += 1
        self._gone.clear()

    def add(self, exchanges: Sequence[Exchange], *, expected: bool = False) -> None:
        """Add exchanges to the end; those that were `expected` are not expected any more."""
        self._begun -= expected
        self._waiting += exchanges
        self._gone.clear()
        self._news.set()
        if len(self._waiting) >= _MOST_MADE:
            self._room.clear()

    async def take(self) -> list[Exchange]:
        """Return, and forget, all there is, once there is something; what was taken before has left then."""
        if not self._waiting and not self._begun:
            self._gone.set()
        await self._news.wait()
        taken, self._waiting = self._waiting, []
        self._news.clear()
        self._room.set()
        return taken

    async def all_taken(self) -> None:
        """Wait until everything has left."""
        await self._gone.wait()


@dataclass(frozen=True)
class _Begun:
    """Messages that an owner received together, how long they had waited at some time, and where replies go."""

    node: OwnerNode
    received: Sequence[tuple[str, Any]]
    made: Made
    waited_s: float
    at_s: float

    def answers(self) -> list[Answering[list[Letters]]]:
        """Return what leads to the replies."""
        return self.node.answering(self.received, waited_s=self.waited_s + Pulse.now() - self.at_s)


class Working:
    """Works on what was received: for owners that share a file, once all that received something at a time said so.

    Guarantee: what one owner received later is worked on after what it received before is done.
    """

    def __init__(self) -> None:
        self._begun: list[_Begun] = []
        self._soon = False

    def begin(self, node: OwnerNode, received: Sequence[tuple[str, Any]], made: Made, *, waited_s: float) -> None:
        """Work on messages that an owner received together, at once or soon, and add what comes of it to `made`."""
        if not hasattr(node.ledger, "together"):
            made.add(_exchanges(received, _prepared(node, received, waited_s)))
            return
        made.expect()
        self._begun.append(_Begun(node, received, made, waited_s, Pulse.now()))
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        some, self._begun = _first_of_each(self._begun, most=_MOST_AT_ONCE)
        self._soon = bool(self._begun)
        if self._soon:
            asyncio.get_running_loop().call_soon(self._work)
        answers = [each.answers() for each in some]
        several = [(one, each.node.ledger) for each, those in zip(some, answers, strict=True) for one in those]
        found = iter(answered_together(several))
        for each, those in zip(some, answers, strict=True):
            each.made.add(_exchanges(each.received, [letters for _ in those for letters in next(found)]), expected=True)


def _first_of_each(begun: Sequence[_Begun], *, most: int) -> tuple[list[_Begun], list[_Begun]]:
    """Return what comes first for each owner, up to so many messages or one owner's, and the rest."""
    first: dict[int, _Begun] = {}
    rest: list[_Begun] = []
    messages = 0
    for each in begun:
        if messages < most and id(each.node) not in first:
            first[id(each.node)] = each
            messages += len(each.received)
        else:
            rest.append(each)
    return list(first.values()), rest


def _prepared(node: OwnerNode, received: Sequence[tuple[str, Any]], waited_s: float) -> list[Letters]:
    if len(received) == 1:
        return [node.prepare(*received[0], waited_s=waited_s)]
    return node.prepare_many(received, waited_s=waited_s)


def _exchanges(received: Sequence[tuple[str, Any]], replies: Sequence[Letters]) -> list[Exchange]:
    return [Exchange(*one, letters) for one, letters in zip(received, replies, strict=True)]
