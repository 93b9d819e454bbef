"""Owners on one host compare themselves, many pairs at once, as two sides that exchange frames and send shares away.

Each side's vector is frozen when the host is made, so that repeated questions meet the same vector. In one process a
few sessions serve all pairs, each in a thread of its own; live, every two owners have a session of their own, with the
same messages. Many pairs travel in one frame: what a session costs, and a frame, is paid once for all of them.
"""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.secure.comparison import Counts, SecureComparison
from fedgroup.secure.sign import Bits
from fedgroup.secure.similarity import MOST_PAIRS, FirstOwner, SecondOwner

_BATCH_BITS = 1 << 18
"""How many bits of counts a frame covers: what they take stays in the processor's own memory."""
_MOST_LANES = 4


class ComparingOwners:
    """The owners' exact count vectors, ready to be compared two by two; they do not print.

    Guarantee: what leaves is one share per side and pair, each a fair coin; together they are the bit cos > threshold,
               exact but for the stated margin. The bits are *not* differentially private.
    """

    def __init__(self, vectors: npt.NDArray[np.int32], *, threshold: float, width: int = 8) -> None:
        self._vectors = vectors
        self._comparison = SecureComparison(vectors.shape[1], threshold, width)
        self._pairs = max(1, min(MOST_PAIRS, _BATCH_BITS // (vectors.shape[1] * width)))
        self._lanes: list[_Lane] = []

    def __repr__(self) -> str:
        return "ComparingOwners(<private>)"

    def shares(self, first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Bits, Bits]:
        """Return both sides' shares of the bits of many pairs: each owner of `first` with that of `second`."""
        one, other = (np.atleast_1d(np.asarray(side, dtype=np.int64)) for side in (first, second))
        if one.ndim != 1 or one.shape != other.shape:
            raise InvalidInput("every pair has a first and a second owner")
        batches = [slice(at, at + self._pairs) for at in range(0, len(one), self._pairs)]
        lanes = self._opened(min(len(batches), _MOST_LANES, numba.get_num_threads()))
        found = np.empty((2, len(one)), dtype=np.uint8)

        def work(number: int) -> None:
            for batch in batches[number :: len(lanes)]:
                found[:, batch] = lanes[number].shares(self._vectors[one[batch]], self._vectors[other[batch]])

        if len(lanes) == 1:
            work(0)
        elif lanes:
            with ThreadPoolExecutor(len(lanes)) as threads:
                list(threads.map(work, range(len(lanes))))
        return found[0], found[1]

    def _opened(self, wanted: int) -> list[_Lane]:
        """Return so many lanes; a session is set up when it is used for the first time."""
        while len(self._lanes) < wanted:
            self._lanes.append(_Lane(self._comparison))
        return self._lanes[:wanted]


class _Lane:
    """One session on this host, set up once: both sides, and frames carried between them."""

    def __init__(self, comparison: SecureComparison) -> None:
        session = comparison.session(first=b"host", second=b"host", context=secrets.token_bytes(16))
        self._first = FirstOwner(comparison, session)
        self._second = SecondOwner(comparison, session)
        self._exchange(self._second.start())

    def shares(self, first: Counts, second: Counts) -> tuple[Bits, Bits]:
        """Return both sides' shares of a batch of pairs."""
        self._first.submit(first)
        self._exchange(self._second.submit(second))
        return self._first.shares.popitem()[1], self._second.shares.popitem()[1]

    def _exchange(self, frames: list[bytes]) -> None:
        """Carry frames to and fro, beginning with the second side's, until neither has more to say."""
        sides = (self._first, self._second)
        turn = 0
        while frames:
            frames = [answer for frame in frames for answer in sides[turn].receive(frame)]
            turn = 1 - turn
