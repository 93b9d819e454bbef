"""What owners of one event loop do about the messages they received: those that came at one moment, together.

Questions to one owner that came in several frames are charged in one transaction, and their replies kept in another.
The ledgers of owners that one process hosts are often in one file; then that is so for all of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from fedgroup.owner.node import Letters, OwnerNode
from fedgroup.owner.together import Answering, Answers, answered_together, require_answers
from fedgroup.transport.guarding import guarded, told
from fedgroup.transport.inbox import Pulse

_MOST_AT_ONCE = 128
"""So many messages, or those to one owner, are worked on before the event loop does anything else."""


class Received(NamedTuple):
    """Messages that came together, each with its sender, and the earliest moment at which they may have come."""

    messages: list[tuple[str, Any]]
    came_at: float


class Exchange(NamedTuple):
    """A message, who sent it, and what is to be sent for it."""

    sender: str
    message: Any
    replies: Letters

    def refused(self, node: OwnerNode, error: Exception) -> Exchange:
        """Return it with what is said where an error spoilt the answer; with nothing where that fails, too."""
        try:
            return self._replace(replies=node.refusal(self.sender, self.message, error))
        except Exception as another:
            told(another)
            return self._replace(replies=[])


class Worker(Protocol):
    """An owner that received messages, and takes what was made of them."""

    @property
    def node(self) -> OwnerNode: ...

    @property
    def closed(self) -> bool: ...

    def made(self, exchanges: Sequence[Exchange]) -> None: ...


_Begun = tuple[Worker, Received]
_Replies = Answers[list[Letters]]


class Working:
    """Works on what was received, once all owners that received something at a time said so.

    Guarantee: what one owner received later is worked on after what it received before is done, unless all of that are
               questions to it alone, each of another round.
    """

    def __init__(self) -> None:
        self._begun: deque[_Begun] = deque()
        self._of_owner = Counter[int]()
        self._soon = False

    def begin(self, owner: Worker, received: Received) -> None:
        """Work soon on messages that an owner received together, and let it have what is made of them."""
        self._begun.append((owner, received))
        self._of_owner[id(owner)] += 1
        self._work_soon()

    def _work_soon(self) -> None:
        if not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        self._soon = False
        some = self._next_of_each()
        if self._begun:
            self._work_soon()
        try:
            several = answered_together([(one, owner.node.ledger) for owner, _, its in some for one in its.several])
        except Exception as error:  # a fault that no owner answers for: nobody may wait for ever
            for owner, received, _ in some:
                guarded(owner.made, [Exchange(*one, []).refused(owner.node, error) for one in received.messages])
            raise
        found = iter(several)
        for owner, received, answers in some:
            guarded(owner.made, _exchanges(owner.node, received, [next(found) for _ in answers.several]))

    def _next_of_each(self) -> list[tuple[Worker, Received, _Replies]]:
        """Take what comes next for each owner off what was begun, up to so many messages or one owner's.

        For one owner several that mind nothing of each other come next: a question that is asked again does.
        """
        taken: list[tuple[Worker, Received, _Replies]] = []
        passed: list[_Begun] = []
        rounds: dict[int, frozenset[bytes]] = {}
        closed: set[int] = set()
        messages = 0
        while self._begun and messages < _MOST_AT_ONCE:
            owner, received = self._begun.popleft()
            if owner.closed:
                self._forget(owner)
                continue
            name, earlier = id(owner), rounds.get(id(owner))
            answers = None if name in closed else _answers(owner.node, received, single=self._of_owner[name] == 1)
            if answers is None or (earlier and not (answers.alone and earlier.isdisjoint(answers.rounds))):
                closed.add(name)
                passed.append((owner, received))
                continue
            taken.append((owner, received, answers))
            messages += len(received.messages)
            rounds[name] = answers.rounds if earlier is None else earlier | answers.rounds
            if not answers.alone:
                closed.add(name)
        for owner, _, _ in taken:
            self._forget(owner)
        self._begun.extendleft(reversed(passed))
        return taken

    def _forget(self, owner: Worker) -> None:
        """Take in that one of the things that an owner received waits no more."""
        self._of_owner[id(owner)] -= 1
        if not self._of_owner[id(owner)]:
            del self._of_owner[id(owner)]


def _exchanges(node: OwnerNode, received: Received, came: Sequence[list[Letters] | Exception]) -> Sequence[Exchange]:
    """Return messages with what their answers came to; if one of these failed, all of them are refused."""
    try:
        replies = [letters for some in require_answers(came) for letters in some]
        return [Exchange(*one, each) for one, each in zip(received.messages, replies, strict=True)]
    except Exception as error:
        told(error)
        return [Exchange(*one, []).refused(node, error) for one in received.messages]


def _answers(node: OwnerNode, received: Received, *, single: bool) -> _Replies:
    """Return what leads to the replies, which may be refusals: what fails for one owner holds up no other."""
    try:
        return _leading_to_replies(node, received, single=single)
    except Exception as error:
        told(error)
        return Answers([_refusals(node, received, error)])


def _leading_to_replies(node: OwnerNode, received: Received, *, single: bool) -> _Replies:
    """Return what leads to the replies; with a ledger of its own a `single` message shares nothing with others."""
    waited_s = Pulse.now() - received.came_at
    by_itself = len(received.messages) == 1 and not hasattr(node.ledger, "together")
    if not (single and by_itself):
        answers = node.answering(received.messages, waited_s=waited_s)
        if answers.alone or not by_itself:
            return answers
    return Answers([_reply(node, received, waited_s)])


def _refusals(node: OwnerNode, received: Received, error: Exception) -> Answering[list[Letters]]:
    yield from ()
    return [Exchange(*one, []).refused(node, error).replies for one in received.messages]


def _reply(node: OwnerNode, received: Received, waited_s: float) -> Answering[list[Letters]]:
    yield from ()
    return [node.prepare(*received.messages[0], waited_s=waited_s)]
