"""What owners of one event loop do about the messages they received: those that came at one moment, together.

Questions to one owner that came in several frames are charged in one transaction, and their replies kept in another.
The ledgers of owners that one process hosts are often in one file; then that is so for all of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedgroup.owner.node import Letters, OwnerNode
from fedgroup.owner.together import Answering, Answers, answered_together
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


_Replies = Answers[list[Letters]]


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

    def answers(self, *, single: bool) -> _Replies:
        """Return what leads to the replies; with a ledger of its own a `single` message shares nothing with others."""
        waited_s = self.waited_s + Pulse.now() - self.at_s
        by_itself = len(self.received) == 1 and not hasattr(self.node.ledger, "together")
        if not (single and by_itself):
            answers = self.node.answering(self.received, waited_s=waited_s)
            if answers.alone or not by_itself:
                return answers
        return Answers([self._reply(waited_s)])

    def _reply(self, waited_s: float) -> Answering[list[Letters]]:
        yield from ()
        return [self.node.prepare(*self.received[0], waited_s=waited_s)]


class Working:
    """Works on what was received, once all owners that received something at a time said so.

    Guarantee: what one owner received later is worked on after what it received before is done, unless all of that are
               questions to it alone, each of another round.
    """

    def __init__(self) -> None:
        self._begun: list[_Begun] = []
        self._soon = False

    def begin(self, node: OwnerNode, received: Sequence[tuple[str, Any]], made: Made, *, waited_s: float) -> None:
        """Work soon on messages that an owner received together, and add what comes of it to `made`."""
        made.expect()
        self._begun.append(_Begun(node, received, made, waited_s, Pulse.now()))
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        some, self._begun = _next_of_each(self._begun, most=_MOST_AT_ONCE)
        self._soon = bool(self._begun)
        if self._soon:
            asyncio.get_running_loop().call_soon(self._work)
        found = iter(answered_together([(one, each.node.ledger) for each, answers in some for one in answers.several]))
        for each, answers in some:
            replies = [letters for _ in answers.several for letters in next(found)]
            each.made.add(_exchanges(each.received, replies), expected=True)


def _next_of_each(begun: Sequence[_Begun], *, most: int) -> tuple[list[tuple[_Begun, _Replies]], list[_Begun]]:
    """Return what comes next for each owner, up to so many messages or one owner's, and the rest.

    For one owner several that mind nothing of each other come next: a question that is asked again does.
    """
    many = Counter(id(each.node) for each in begun)
    taken: list[tuple[_Begun, _Replies]] = []
    rest: list[_Begun] = []
    rounds: dict[int, set[bytes]] = {}
    closed: set[int] = set()
    messages = 0
    for each in begun:
        name = id(each.node)
        answers = None if messages >= most or name in closed else each.answers(single=many[name] == 1)
        earlier = rounds.setdefault(name, set())
        if answers is None or (earlier and not (answers.alone and earlier.isdisjoint(answers.rounds))):
            closed.add(name)
            rest.append(each)
            continue
        taken.append((each, answers))
        messages += len(each.received)
        earlier |= answers.rounds
        if not answers.alone:
            closed.add(name)
    return taken, rest


def _exchanges(received: Sequence[tuple[str, Any]], replies: Sequence[Letters]) -> list[Exchange]:
    return [Exchange(*one, letters) for one, letters in zip(received, replies, strict=True)]
