"""Owners on one host compare themselves pair by pair, as two sides that exchange frames and send shares away.

Each side's vector is frozen when the host is made, so that repeated questions meet the same vector. In one process a
single session serves all pairs; live, every two owners have a session of their own, with the same messages.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from fedgroup.secure.comparison import Comparison
from fedgroup.secure.sign import Bits
from fedgroup.secure.similarity import FirstOwner, SecondOwner


class ComparingOwners:
    """The owners' exact count vectors, ready to be compared two by two; they do not print.

    Guarantee: what leaves is one share per side and pair, each a fair coin; together they are the bit cos > threshold,
               exact but for the stated margin. The bits are *not* differentially private.
    """

    def __init__(self, vectors: npt.NDArray[np.int32], *, threshold: float, width: int = 8) -> None:
        self._vectors = vectors
        comparison = Comparison(vectors.shape[1], threshold, width)
        session = comparison.session(first=b"host", second=b"host", context=secrets.token_bytes(16))
        self._first = FirstOwner(comparison, session)
        self._second = SecondOwner(comparison, session)
        self._exchange(self._second.start())

    def __repr__(self) -> str:
        return "ComparingOwners(<private>)"

    def shares(self, first: int, second: int) -> tuple[Bits, Bits]:
        """Return both sides' shares of one pair's bit."""
        self._first.submit(self._vectors[first : first + 1])
        self._exchange(self._second.submit(self._vectors[second : second + 1]))
        return self._first.shares.popitem()[1], self._second.shares.popitem()[1]

    def _exchange(self, frames: list[bytes]) -> None:
        """Carry frames to and fro, beginning with the second side's, until neither has more to say."""
        sides = (self._first, self._second)
        turn = 0
        while frames:
            frames = [answer for frame in frames for answer in sides[turn].receive(frame)]
            turn = 1 - turn
