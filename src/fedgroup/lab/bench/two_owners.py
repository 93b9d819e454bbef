"""Two owners in two processes that compare count vectors over a socket: what a pair takes, and what a session."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from fedgroup.lab.bench.channel import Channel
from fedgroup.lab.bench.measuring import peak_mb
from fedgroup.lab.bench.processes import Alone
from fedgroup.secure.comparison import Counts, SecureComparison
from fedgroup.secure.sign import Bits
from fedgroup.secure.similarity import FirstOwner, SecondOwner

BATCH = 128
AHEAD = 4
"""How many batches are under way at once."""


@dataclass
class Lap:
    """What one side took between two meetings of the sides."""

    wall_s: float = 0.0
    processor_s: float = 0.0
    bytes_sent: int = 0


@dataclass(frozen=True)
class BenchSide:
    """What one side took for its sessions, each with one comparison, and for its pairs; and its shares of the bits."""

    peak_mb: float
    shares: Bits
    pairs: Lap
    sessions: list[Lap] = field(default_factory=list)
    comparisons: list[Lap] = field(default_factory=list)


def compare_in_two_processes(
    comparison: SecureComparison, first: Counts, second: Counts, *, sessions: int
) -> tuple[BenchSide, BenchSide]:
    """Return what both sides took: `sessions` fresh sessions with one comparison each, then all pairs in one."""
    one_end, other_end = socket.socketpair()
    with one_end, other_end:
        sides = [
            Alone(_side, end, comparison, counts, position, sessions)
            for position, (end, counts) in enumerate(((one_end, first), (other_end, second)))
        ]
    one, other = (side.result() for side in sides)
    return one, other


def _side(end: socket.socket, comparison: SecureComparison, counts: Counts, position: int, sessions: int) -> BenchSide:
    with end:
        return _Endpoint(Channel(end), comparison, position).measured(counts, sessions)


class _Endpoint:
    """One side in its process."""

    def __init__(self, channel: Channel, comparison: SecureComparison, position: int) -> None:
        self._channel = channel
        self._comparison = comparison
        self._position = position
        self._session = 0

    def measured(self, counts: Counts, sessions: int) -> BenchSide:
        """Return what this side took, after a session that loads every kernel."""
        self._compare(self._set_up(), counts[:BATCH])
        alone = [self._one_session(counts[:1]) for _ in range(sessions)]
        owner = self._set_up()
        warm = self._compare(owner, counts[:BATCH])
        with self._lap() as pairs:
            self._compare(owner, counts)
        shares = np.concatenate([owner.shares[batch] for batch in sorted(owner.shares)])[warm:]
        return BenchSide(peak_mb(), shares, pairs, [a for a, _ in alone], [b for _, b in alone])

    def _one_session(self, counts: Counts) -> tuple[Lap, Lap]:
        with self._lap() as session:
            owner = self._set_up()
        with self._lap() as comparison:
            self._compare(owner, counts)
        return session, comparison

    @contextmanager
    def _lap(self) -> Iterator[Lap]:
        """Fill in what is taken from one meeting of the sides to the next."""
        taken = Lap()
        self._channel.meet()
        sent, processor, wall = self._channel.bytes_sent, time.process_time(), time.perf_counter()
        yield taken
        self._channel.meet()
        taken.wall_s = time.perf_counter() - wall
        taken.processor_s = time.process_time() - processor
        taken.bytes_sent = self._channel.bytes_sent - sent

    def _set_up(self) -> FirstOwner | SecondOwner:
        """Return this side of a fresh session, set up."""
        context = self._session.to_bytes(8, "big")
        self._session += 1
        session = self._comparison.session(first=b"first", second=b"second", context=context)
        if self._position == 0:
            first = FirstOwner(self._comparison, session)
            for _ in range(2):
                self._channel.send(first.receive(self._channel.receive()))
            return first
        second = SecondOwner(self._comparison, session)
        self._channel.send(second.start())
        self._channel.send(second.receive(self._channel.receive()))
        return second

    def _compare(self, owner: FirstOwner | SecondOwner, counts: Counts) -> int:
        """Compare all pairs in batches, some of them ahead of their turn, and return how many there were."""
        batches = [counts[at : at + BATCH] for at in range(0, len(counts), BATCH)]
        before, submitted = len(owner.shares), 0
        while (done := len(owner.shares) - before) < len(batches):
            for batch in batches[submitted : done + AHEAD]:
                self._channel.send(owner.submit(batch))
                submitted += 1
            self._channel.send(owner.receive(self._channel.receive()))
        return len(counts)
