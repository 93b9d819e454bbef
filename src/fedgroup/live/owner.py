"""A live owner at work: what comes over the wire goes to its node, what the node says goes back.

Owners of one process share what they wait for: the moments at which messages come and leave, the work on those that
came together, and the disk. An owner has a task of its own only while its database is asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

from fedgroup.errors import ProtocolViolation
from fedgroup.live.flushing import Flushing
from fedgroup.live.logs import note_exchange
from fedgroup.live.threads import in_thread
from fedgroup.live.working import Exchange, Received, Working
from fedgroup.messages.live import ToOwner
from fedgroup.owner.node import OwnerNode
from fedgroup.transport.guarding import guarded
from fedgroup.transport.inbox import Pulse
from fedgroup.transport.links import OwnerLink

log = logging.getLogger("fedgroup.owner")

_MOST_MADE = 64
"""How many messages are under way at once, until the answers to them are on disk."""
_MOST_SAID_BYTES = 4 << 20
"""After so many bytes of answers nothing more is begun until these have left."""
_KINDS = get_args(ToOwner)

Decode = Callable[[bytes, tuple[type, ...]], Any]


class RunningOwner:
    """Answers from its birth on until it is closed, one message after the other.

    Messages that came together, also to other owners of the same `working`, are answered together; a database is asked
    in a thread, for each message by itself. While what was made waits for the disk, more is made, and goes to disk
    together. Replies leave in their order. While much is under way, or waits until it may leave, nothing is read.

    Guarantee: what a message brought about is on disk before anything is sent for it.
    """

    __slots__ = (
        "_asking", "_decode", "_flushing", "_leaving", "_link", "_made", "_pausing", "_said_bytes", "_under_way",
        "_waiting", "_working", "closed", "node",
    )  # fmt: skip

    def __init__(
        self,
        node: OwnerNode,
        link: OwnerLink,
        *,
        decode: Decode,
        flushing: Flushing,
        working: Working | None = None,
        in_thread: bool = True,
    ) -> None:
        self.node = node
        self._link = link
        self._decode = decode
        self._flushing = flushing
        self._working = working or Working()
        self._asking = _AskingInThread(node, self.made) if in_thread else None
        self._waiting: deque[Received] | None = None
        self._under_way = 0
        self._made: list[Exchange] = []
        self._leaving: list[Exchange] = []
        self._said_bytes = 0
        self._pausing = False
        self.closed = False
        link.listen(self._hear)

    def close(self) -> None:
        """Answer nothing more, and send nothing more: what is under way is lost, as when a process ends."""
        self.closed = True
        if self._asking is not None:
            self._asking.close()

    def made(self, exchanges: Sequence[Exchange]) -> None:
        """Send replies once they are on disk, after those that were made before."""
        if self.closed:
            return
        self._made += exchanges
        self._flush()

    def _hear(self, sender: str, payloads: Sequence[bytes], came_at: float) -> None:
        messages = [(sender, message) for payload in payloads if (message := self._read(payload)) is not None]
        if not self.closed:
            for at in range(0, len(messages), _MOST_MADE):
                self._receive(Received(messages[at : at + _MOST_MADE], came_at))

    @property
    def _can_begin(self) -> bool:
        return self._under_way < _MOST_MADE and not self._pausing

    def _receive(self, received: Received) -> None:
        if self._can_begin:
            self._begin(received)
        elif self._waiting:
            self._waiting.append(received)
        else:
            self._waiting = deque([received])
            self._link.hold()

    def _read(self, payload: bytes) -> Any | None:
        """Return a message; None for what is none."""
        try:
            message = self._decode(payload, _KINDS)
        except ProtocolViolation:
            log.warning("a message was refused", extra={"party": self.node.name})
            return None
        if not self.node.agrees(message):
            log.warning("this owner's [federation] table differs from the provider's", extra={"party": self.node.name})
        return message

    def _begin(self, received: Received) -> None:
        self._under_way += len(received.messages)
        if self._asking is not None:
            self._asking.begin(received)
        else:
            self._working.begin(self, received)

    def _flush(self) -> None:
        """Let all that was made go to disk, unless what was made before is still on its way."""
        if self._made and not self._leaving:
            self._leaving, self._made = self._made, []
            self._flushing.when_flushed(self.node.ledger, self._flushed)

    def _flushed(self, error: Exception | None) -> None:
        """Send what is on disk now; a ledger that failed makes refusals of it."""
        exchanges, self._leaving = self._leaving, []
        if self.closed:
            return
        self._under_way -= len(exchanges)
        guarded(self._send, exchanges, error)
        self._flush()
        self._take_waiting()

    def _send(self, exchanges: Sequence[Exchange], error: Exception | None) -> None:
        if error is not None:
            exchanges = [one.refused(self.node, error) for one in exchanges]
        letters = [letter for one in exchanges for letter in one.replies]
        self._link.say(letters)
        self._note_said(sum(len(payload) for _, payload in letters))
        for one in exchanges:
            note_exchange(log, self.node.name, one.message, one.replies)

    def _note_said(self, size: int) -> None:
        """Begin nothing more when much was said, until it has left: what is repeated is made faster than it leaves."""
        self._said_bytes += size
        if self._said_bytes >= _MOST_SAID_BYTES and not self._pausing:
            self._pausing = True
            self._link.when_left(self._note_left)

    def _note_left(self) -> None:
        self._pausing = False
        self._said_bytes = 0
        if not self.closed:
            self._take_waiting()

    def _take_waiting(self) -> None:
        """Begin with what had to wait, as far as there is room."""
        while self._waiting and self._can_begin:
            received = self._waiting.popleft()
            if not self._waiting:
                self._waiting = None
                self._link.go_on()
            self._begin(received)


class _AskingInThread:
    """An owner's database, asked in a thread for one message after the other."""

    def __init__(self, node: OwnerNode, made: Callable[[Sequence[Exchange]], None]) -> None:
        self._node = node
        self._made = made
        self._waiting: deque[Received] = deque()
        self._task: asyncio.Task[None] | None = None

    def begin(self, received: Received) -> None:
        """Ask for these messages after those before."""
        self._waiting.append(received)
        if self._task is None:
            self._task = asyncio.create_task(self._ask())

    def close(self) -> None:
        """Ask nothing more."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _ask(self) -> None:
        try:
            while self._waiting:
                messages, came_at = self._waiting.popleft()
                for sender, message in messages:
                    exchange = Exchange(sender, message, [])
                    try:
                        letters = await in_thread(partial(self._prepared, sender, message, came_at))
                        exchange = exchange._replace(replies=letters)
                    except Exception as error:  # no thread can be started
                        exchange = exchange.refused(self._node, error)
                    self._made([exchange])
        finally:
            self._task = None

    def _prepared(self, sender: str, message: Any, came_at: float) -> list[tuple[str, bytes]]:
        return self._node.prepare(sender, message, waited_s=Pulse.now() - came_at)
