"""Public moments at which an owner begins what it was asked and says what it made: times of answers tell nothing.

A period of some milliseconds is public. What arrived is handed on at the next whole multiple of it, by the clock of the
event loop, and what is said leaves at the next multiple after it was ready. So the time of a reply is a multiple that
follows from the time of the question, unless the work on all that arrived within one period takes longer than a period.
Who leaves before whom, what goes in one frame, and when reading goes on follow from the same moments.

Guarantee: who sees when messages to and from the owners of a process come and leave learns, while the work on what came
           within any one period is done and on disk within the next, when they came, and nothing else. The work on a
           lone message that takes longer tells how many periods it took.
Proof:     docs/guarantees.md#times-of-answers
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter

from fedgroup.transport.guarding import guarded
from fedgroup.transport.links import Hear, OwnerLink

EVERY_MS = 10.0
"""Milliseconds between two moments, unless an owner's file says otherwise."""
_MOST_HELD = 256
_MOST_HELD_BYTES = 4 << 20
"""How many frames, and bytes of them, wait until work on them begins before nothing more is read."""


class Moments:
    """The whole multiples of a period, for all owners of an event loop.

    At each, first letters leave, owner by owner in the order in which they were set up; then who held goes on reading;
    then work begins. One timer serves all of them. It is set only while somebody waits.
    """

    def __init__(self, every_s: float) -> None:
        self.every_s = every_s
        self._turns = itertools.count()
        self._leaving: list[tuple[int, Callable[[], None]]] = []
        self._going_on: list[Callable[[], None]] = []
        self._beginning: list[Callable[[], None]] = []
        self._awaited = False

    def turn(self) -> int:
        """Return the place of one more owner among those whose letters leave at one moment."""
        return next(self._turns)

    def call_to_begin(self, begin: Callable[[], None]) -> None:
        """Call something at the next moment, after everybody's letters have left."""
        self._beginning.append(begin)
        self._await()

    def call_to_leave(self, leave: Callable[[], None], *, turn: int) -> None:
        """Call something at the next moment, after those of earlier turns: who was ready first must not show."""
        self._leaving.append((turn, leave))
        self._await()

    def call_to_go_on(self, go_on: Callable[[], None]) -> None:
        """Call something at the next moment, after letters have left and before anybody begins to work."""
        self._going_on.append(go_on)
        self._await()

    def _await(self) -> None:
        if not self._awaited:
            self._awaited = True
            loop = asyncio.get_running_loop()
            loop.call_at(self.every_s * (math.floor(loop.time() / self.every_s) + 1), self._has_come)

    def _has_come(self) -> None:
        self._awaited = False
        leaving, self._leaving = sorted(self._leaving, key=itemgetter(0)), []
        going_on, self._going_on = self._going_on, []
        beginning, self._beginning = self._beginning, []
        for call in (*(leave for _, leave in leaving), *going_on, *beginning):
            guarded(call)


def paced(link: OwnerLink, moments: Moments) -> OwnerLink:
    """Return a link on which messages come and leave at these moments; without a period, the link as it is."""
    return PacedLink(link, moments) if moments.every_s else link


class PacedLink:
    """A link on which messages come and leave at public moments only.

    Letters leave in their order; who says much begins nothing more until it has left (`when_left`). Those that wait
    when the event loop ends are lost, as those of a lost connection are.
    """

    __slots__ = ("_came", "_came_bytes", "_full", "_hear", "_leaving", "_link", "_moments", "_turn")

    def __init__(self, link: OwnerLink, moments: Moments) -> None:
        self._link = link
        self._moments = moments
        self._turn = moments.turn()
        self._hear: Hear | None = None
        self._came: list[tuple[str, Sequence[bytes], float]] = []
        self._came_bytes = 0
        self._full = False
        self._leaving: list[Iterable[tuple[str, bytes]]] = []

    @property
    def every_s(self) -> float:
        return self._moments.every_s

    def listen(self, hear: Hear) -> None:
        """Call `hear` for all that comes from now on, at the first moment after it came."""
        self._hear = hear
        self._link.listen(self._take)

    def say(self, messages: Iterable[tuple[str, bytes]]) -> None:
        """Let letters be made and leave at the next moment; reading goes on: when they were ready must not show."""
        if not self._leaving:
            self._moments.call_to_leave(self._leave, turn=self._turn)
        self._leaving.append(messages)

    def when_left(self, call: Callable[[], None]) -> None:
        """Call something after the next moment at which letters leave, and once the line takes more."""
        self._moments.call_to_go_on(partial(self._link.when_left, call))

    def hold(self) -> None:
        """Read nothing more until `go_on` was called as often."""
        self._link.hold()

    def go_on(self) -> None:
        """Read again from the next moment on, unless somebody else holds."""
        self._moments.call_to_go_on(self._link.go_on)

    def _take(self, sender: str, payloads: Sequence[bytes], came_at: float) -> None:
        if not self._came:
            self._moments.call_to_begin(self._begin)
        self._came.append((sender, payloads, came_at))
        self._came_bytes += sum(map(len, payloads))
        if not self._full and (len(self._came) >= _MOST_HELD or self._came_bytes >= _MOST_HELD_BYTES):
            self._full = True
            self._link.hold()
            self._moments.call_to_go_on(self._link.go_on)

    def _begin(self) -> None:
        came, self._came, self._came_bytes, self._full = self._came, [], 0, False
        for message in came:
            if self._hear is not None:
                guarded(self._hear, *message)

    def _leave(self) -> None:
        said, self._leaving = self._leaving, []
        for messages in said:
            guarded(self._say_each, messages)

    def _say_each(self, messages: Iterable[tuple[str, bytes]]) -> None:
        for letter in messages:
            guarded(self._link.say, [letter])
