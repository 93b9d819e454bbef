"""Bits that a test chooses, in place of a keystream."""

from __future__ import annotations

import numpy as np


class BitsInOrder:
    """A keystream that gives out the words it was given, in order."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int, dtype: type) -> np.ndarray:
        return np.array([self._words.pop(0) for _ in range(count)], dtype=dtype)

    def bits(self, count: int) -> int:
        assert count == 64
        return self._words.pop(0)
