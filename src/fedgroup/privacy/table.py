"""An exact sampler of integer noise by table: one look-up for nearly every draw.

A draw is the inverse of the cumulative law F at a uniform U in [0, 1), whose bits are taken only as they are needed:
16 bits decide it nearly always, 64 almost surely, and where even those leave two outcomes possible (a tie with a
threshold, or the far tail) more bits are drawn until one is left. So the law of a draw is exact: nothing is rounded,
and no tail is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fedgroup.privacy.keystream import Keystream

_UNDECIDED = -(2**15)
_NONE = np.empty(0, dtype=np.int64)

Resolve = Callable[[int, int], tuple[int, int]]
"""Given u and b: the smallest and the largest outcome possible when U lies in [u / 2^b, (u + 1) / 2^b)."""


class TableSampler:
    """Draws the outcomes low, low + 1, ... by table, and all others (and ties) by `resolve`.

    Requires:  `thresholds[i]` = floor(2^64 F(low - 1 + i)), ascending; all outcomes of the table fit 16 bits.
    Guarantee: each draw has exactly the law F, given uniform independent bits.
    """

    def __init__(self, thresholds: Sequence[int], low: int, *, resolve: Resolve) -> None:
        self._low = low
        self._resolve = resolve
        self._thresholds = np.array(thresholds, dtype=np.uint64)
        first_bits = self._thresholds >> np.uint64(48)
        starts = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
        outcome = np.searchsorted(self._thresholds, starts, side="right") + (low - 1)
        # A bucket of 16 leading bits decides alone unless a threshold falls into it or it lies in a tail.
        undecided = np.zeros(2**16, dtype=np.bool_)
        undecided[first_bits.astype(np.int64)] = True
        undecided[: int(first_bits[0]) + 1] = True
        undecided[int(first_bits[-1]) :] = True
        self._by_first_bits = np.where(undecided, _UNDECIDED, outcome).astype(np.int16)

    def draw(self, stream: Keystream, count: int) -> npt.NDArray[np.int64]:
        """Return `count` independent draws."""
        drawn, undecided, decided = self._draw(stream, count)
        wide = drawn.astype(np.int64)
        if len(undecided):
            wide[undecided] = decided
        return wide

    def draw_one(self, stream: Keystream) -> int:
        """Return the draw that `draw` would return, without an array for it."""
        first_bits = stream.word16()
        drawn = self._by_first_bits.item(first_bits)
        if drawn != _UNDECIDED:
            return drawn
        return int(self._draw_by_64_bits(stream, np.array([first_bits], dtype=np.uint16))[0])

    def draw_sum(self, stream: Keystream, count: int) -> int:
        """Return the sum of what `draw` would return, without widening every draw."""
        if count == 1:
            return self.draw_one(stream)
        drawn, undecided, decided = self._draw(stream, count)
        first = int(drawn.sum(dtype=np.int64))
        return first - len(undecided) * _UNDECIDED + int(decided.sum()) if len(undecided) else first

    def _draw(
        self, stream: Keystream, count: int
    ) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the draws that 16 bits decide, the places of the others, and these decided by more bits."""
        first_bits = stream.words(count, np.uint16)
        drawn: npt.NDArray[np.int16] = np.take(self._by_first_bits, first_bits)
        undecided = np.flatnonzero(drawn == _UNDECIDED)
        decided = self._draw_by_64_bits(stream, first_bits[undecided]) if len(undecided) else _NONE
        return drawn, undecided, decided

    def _draw_by_64_bits(self, stream: Keystream, first_bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.int64]:
        more = stream.words(len(first_bits), np.uint64) >> np.uint64(16)
        u = (first_bits.astype(np.uint64) << np.uint64(48)) | more
        above = np.searchsorted(self._thresholds, u, side="right")
        drawn = above.astype(np.int64) + (self._low - 1)
        tie = self._thresholds[np.maximum(above - 1, 0)] == u
        for at in np.flatnonzero(tie | (above == 0) | (above == len(self._thresholds))):
            drawn[at] = self._draw_by_more_bits(stream, int(u[at]))
        return drawn

    def _draw_by_more_bits(self, stream: Keystream, u: int) -> int:
        bits = 64
        while True:
            smallest, largest = self._resolve(u, bits)
            if smallest == largest:
                return smallest
            u, bits = (u << 64) | stream.bits(64), bits + 64
