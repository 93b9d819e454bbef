"""How many vectors owners may be sending at the same time, over all questions: no more than the provider can take in.

A question about one range is a few bytes an owner, and is asked of everybody at once. One with many bins is asked in
waves of a public size; and what all questions together have under way is bounded too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from fedgroup.live.plans import LiveGroup

FEW_WORDS = 64
"""So short answers are not counted."""
IN_FLIGHT_BYTES = 32 << 20
"""What owners may be sending at once unless the provider's file says otherwise: half of what brokers let wait."""

_WORD = 8
_MOST_LANES, _LEAST_IN_LANE = 4, 200
Message = TypeVar("Message")


class Flow:
    """Room for the vectors that owners were asked for and have not sent yet."""

    def __init__(self, most_bytes: int = IN_FLIGHT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._used = 0
        self._in_turn = asyncio.Lock()
        self._left = asyncio.Event()

    def owners_at_once(self, words: int) -> int | None:
        """Return how many owners are asked for so many words each at once; None: all of them."""
        return None if words <= FEW_WORDS else max(1, self._most_bytes // (words * _WORD))

    @asynccontextmanager
    async def room(self, words: int, *, owners: int) -> AsyncIterator[None]:
        """Wait, in turn, until a question's largest wave fits beside what is under way."""
        most = self.owners_at_once(words)
        need = 0 if most is None else min(min(most, owners) * words * _WORD, self._most_bytes)
        if need:
            async with self._in_turn:
                while self._used + need > self._most_bytes:
                    self._left.clear()
                    await self._left.wait()
                self._used += need
        try:
            yield
        finally:
            self._used -= need
            self._left.set()


def waves_of(
    groups: Sequence[LiveGroup], alone: Sequence[str], *, most: int | None
) -> Iterator[tuple[list[LiveGroup], list[str]]]:
    """Yield who is asked at the same time: whole groups, and owners alone, `most` owners unless one group has more."""
    together: list[LiveGroup] = []
    single: list[str] = []
    size = 0
    items: list[LiveGroup | str] = [*groups, *alone]
    for each in items:
        more = 1 if isinstance(each, str) else len(each.members)
        if most is not None and size and size + more > most:
            yield together, single
            together, single, size = [], [], 0
        size += more
        if isinstance(each, str):
            single.append(each)
        else:
            together.append(each)
    yield together, single


def lanes_of(groups: Sequence[LiveGroup], alone: Sequence[str]) -> list[tuple[list[LiveGroup], list[str]]]:
    """Return who goes through the steps of a round side by side: whole groups, a few lanes of about as many owners.

    Owners of one lane work while the provider takes in what those of another said. Few owners are one lane.
    """
    owners = len(alone) + sum(len(group.members) for group in groups)
    return list(waves_of(groups, alone, most=max(_LEAST_IN_LANE, -(-owners // _MOST_LANES)) if groups else None))


def shares_of(messages: Mapping[str, Message], most: int | None) -> Iterator[dict[str, Message]]:
    """Yield messages in shares of so many at most; a question to nobody is one share."""
    names = list(messages)
    step = most or max(1, len(names))
    for start in range(0, max(1, len(names)), step):
        yield {name: messages[name] for name in names[start : start + step]}
