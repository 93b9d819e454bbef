"""Comparing live owners, many pairs at once: the provider carries sealed frames, and learns one bit a pair.

All comparisons of a wave go step by step together: an owner gets the frames of all its comparisons in one message, and
its reply holds those for all the others. So a wave takes as many rounds as one comparison does, seven at most.

Guarantee: two owners whose comparison came to a bit, and who say in time that it is one of their epoch, are not
           compared again in it: a later plan takes the bit. Such bits are kept in the memory of the provider only, so a
           provider that starts anew compares anew.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.live.desk import Desk
from fedgroup.messages.asked import Recall, Relay, RelayMany
from fedgroup.messages.limits import MOST_RELAYS
from fedgroup.messages.said import Recalled, RelayedMany
from fedgroup.provider.lazy_grouping import GroupingProgress
from fedgroup.secure.sign import Bits

log = logging.getLogger("fedgroup.provider")

Ints = npt.NDArray[np.int64]

_MOST_STEPS = 16
"""A comparison takes seven; a side that sends more is not followed for ever."""
_MOST_BYTES = 1 << 18
"""The frames of a message, but for the first of them."""
_SECONDS_EACH = 0.05
"""So much longer is waited for each frame of a step: owners may share a processor."""
_TRIES = 2
"""How often a step is said to an owner that stays silent: it may have been lost, or the reply."""


@dataclass(eq=False)
class _Pair:
    """Two owners that are being compared."""

    first: str
    second: str
    shares: dict[str, int]

    def other(self, owner: str) -> str:
        return self.second if owner == self.first else self.first


@dataclass(frozen=True)
class _LearntBit:
    """A bit that the provider learnt, and of which comparison."""

    session: bytes
    over: tuple[int, int, float]
    bit: int


class Learnt:
    """The bits that the provider learnt of pairs of owners, the last of each; who is first makes no difference."""

    def __init__(self) -> None:
        self._known: dict[frozenset[str], _LearntBit] = {}

    def keep(self, pair: _Pair, session: bytes, over: tuple[int, int, float]) -> None:
        bit = pair.shares[pair.first] ^ pair.shares[pair.second]
        self._known[frozenset((pair.first, pair.second))] = _LearntBit(session, over, bit)

    def among(self, owners: Iterable[str], over: tuple[int, int, float]) -> dict[frozenset[str], _LearntBit]:
        """Return what was learnt over this grid and threshold of pairs of these owners."""
        here = frozenset(owners)
        return {pair: known for pair, known in self._known.items() if known.over == over and pair <= here}

    def forget(self, pair: frozenset[str]) -> None:
        """Forget what was learnt of a pair: an owner of it is in another epoch."""
        del self._known[pair]


class LiveComparing:
    """Compares owners two by two over one grid. Owners that will not be compared, or fall silent, are a "no"."""

    def __init__(
        self, desk: Desk, *, grid: tuple[int, int], threshold: float, seconds: float, learnt: Learnt | None = None
    ) -> None:
        self._desk = desk
        self._learnt = Learnt() if learnt is None else learnt
        self._recalled: dict[frozenset[str], int] = {}
        self._grid = grid
        self._threshold = threshold
        self._seconds = seconds
        self._over = (*grid, threshold)
        self.refused: set[str] = set()
        self.rounds = 0

    def from_thread(self, names: Sequence[str]) -> Callable[[Ints, Ints], tuple[Bits, Bits]]:
        """Return the comparison of many pairs for code that runs in a thread beside this event loop."""
        loop = asyncio.get_running_loop()

        def compare(first: Ints, second: Ints) -> tuple[Bits, Bits]:
            pairs = [(names[i], names[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
            return asyncio.run_coroutine_threadsafe(self.shares(pairs), loop).result()

        return compare

    def report(self, far: GroupingProgress) -> None:
        """Tell how far a grouping is."""
        told = {"compared": far.compared, "expected": far.expected, "waves": far.waves, "rounds": self.rounds}
        log.info("comparing owners", extra=told)

    async def recall(self, owners: Iterable[str]) -> None:
        """Take the bits of comparisons that both owners began in the epochs they are in; others are made anew."""
        known = self._learnt.among(owners, self._over)
        sessions: dict[str, list[bytes]] = {}
        for pair, each in known.items():
            for owner in pair:
                sessions.setdefault(owner, []).append(each.session)
        asked, held = set[tuple[str, bytes]](), set[tuple[str, bytes]]()
        for begin in range(0, max(map(len, sessions.values()), default=0), MOST_RELAYS):
            for owner, some in (await self._held(sessions, begin)).items():
                asked.update((owner, session) for session in sessions[owner][begin : begin + MOST_RELAYS])
                held.update((owner, session) for session in some)
        denied = asked - held
        for pair, each in known.items():
            if all((owner, each.session) in held for owner in pair):
                self._recalled[pair] = each.bit
            elif any((owner, each.session) in denied for owner in pair):
                self._learnt.forget(pair)

    async def _held(self, sessions: dict[str, list[bytes]], begin: int) -> dict[str, list[bytes]]:
        """Return which comparisons owners say they began in their epochs; nothing of owners that stay silent."""
        name = secrets.token_bytes(16)
        asked = {
            owner: Recall(name, each[begin : begin + MOST_RELAYS], self._desk.agreed)
            for owner, each in sessions.items()
            if each[begin:]
        }
        self.rounds += 1
        replies = await self._desk.ask(name, asked, (Recalled,), seconds=self._seconds, patient=True)
        return {owner: reply.sessions for owner, reply in replies.said.items()}

    async def shares(self, pairs: Sequence[tuple[str, str]]) -> tuple[Bits, Bits]:
        """Return both sides' shares of the bits of all pairs."""
        under_way = {
            secrets.token_bytes(16): _Pair(first, second, {})
            for first, second in pairs
            if self.refused.isdisjoint((first, second)) and frozenset((first, second)) not in self._recalled
        }
        begun = dict(under_way)
        found = {(pair.first, pair.second): pair for pair in under_way.values()}
        frames = [(owner, session, b"") for session, pair in under_way.items() for owner in (pair.first, pair.second)]
        for _ in range(_MOST_STEPS):
            if not frames:
                break
            frames = await self._step(frames, under_way)
        for session, pair in begun.items():
            if len(pair.shares) == 2:
                self._learnt.keep(pair, session, self._over)
        shares = np.zeros((2, len(pairs)), dtype=np.uint8)
        for at, (first, second) in enumerate(pairs):
            compared = found.get((first, second))
            if compared is not None and len(compared.shares) == 2:
                shares[:, at] = compared.shares[first], compared.shares[second]
            else:
                shares[0, at] = self._recalled.get(frozenset((first, second)), 0)
        return shares[0], shares[1]

    async def _step(
        self, frames: list[tuple[str, bytes, bytes]], under_way: dict[bytes, _Pair]
    ) -> list[tuple[str, bytes, bytes]]:
        """Send every owner its frames, and return those that follow from them."""
        to_owner: dict[str, list[Relay]] = {}
        for owner, session, frame in frames:
            to_owner.setdefault(owner, []).append(self._relay(owner, session, under_way[session], frame))
        self.rounds += 1
        replies = await asyncio.gather(
            *(
                self._said(dict(some))
                for some in _rounds_of({owner: _messages(each) for owner, each in to_owner.items()})
            )
        )
        following: list[tuple[str, bytes, bytes]] = []
        for owner, reply in (one for some in replies for one in some):
            following += self._taken(owner, reply, under_way)
        return [one for one in following if one[1] in under_way and one[0] not in self.refused]

    def _relay(self, owner: str, session: bytes, pair: _Pair, frame: bytes) -> Relay:
        certificate = self._desk.certificates.get(pair.other(owner), b"")
        return Relay(session, certificate, *self._grid, self._threshold, owner == pair.first, frame, self._desk.agreed)

    async def _said(self, relays: dict[str, list[Relay]]) -> list[tuple[str, RelayedMany]]:
        """Return what each owner says to its message; who stays silent is asked for the same step again."""
        step = secrets.token_bytes(16)
        waiting: dict[str, Any] = {
            owner: RelayMany(step, some, self._desk.agreed)
            for owner, some in relays.items()
            if owner not in self.refused
        }
        asked, said = set(waiting), dict[str, RelayedMany]()
        seconds = self._seconds + _SECONDS_EACH * sum(map(len, relays.values()))
        for _ in range(_TRIES):
            replies = await self._desk.ask(step, waiting, (RelayedMany,), seconds=seconds, patient=True)
            said |= replies.said
            waiting = {owner: each for owner, each in waiting.items() if owner in replies.silent}
            if not waiting:
                break
        self.refused |= asked - set(said)
        return list(said.items())

    def _taken(
        self, owner: str, reply: RelayedMany, under_way: dict[bytes, _Pair]
    ) -> Iterator[tuple[str, bytes, bytes]]:
        """Take shares, end what was refused, and yield the frames for the other sides."""
        for refusal in reply.refused:
            ended = under_way.get(refusal.about)
            if ended is not None and owner in (ended.first, ended.second):
                del under_way[refusal.about]
                if refusal.reason == "budget":
                    self.refused.add(owner)  # its comparisons of this epoch are made
        for relayed in reply.relayed:
            pair = under_way.get(relayed.session)
            if pair is None or owner not in (pair.first, pair.second):
                continue
            if relayed.share is not None:
                pair.shares[owner] = relayed.share
            for frame in relayed.frames:
                yield pair.other(owner), relayed.session, frame


def _messages(relays: list[Relay]) -> list[list[Relay]]:
    """Return frames as messages, in their order and none too long."""
    messages: list[list[Relay]] = [[]]
    size = 0
    for relay in relays:
        size += len(relay.frame) + len(relay.other)
        if messages[-1] and (size > _MOST_BYTES or len(messages[-1]) == MOST_RELAYS):
            messages.append([])
            size = len(relay.frame) + len(relay.other)
        messages[-1].append(relay)
    return messages


def _rounds_of(messages: dict[str, list[list[Relay]]]) -> Iterator[list[tuple[str, list[Relay]]]]:
    """Yield the first message of every owner, then the second of those that have one, and so on."""
    for number in range(max(map(len, messages.values()), default=0)):
        yield [(owner, each[number]) for owner, each in messages.items() if number < len(each)]
