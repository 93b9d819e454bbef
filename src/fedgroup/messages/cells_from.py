"""What the cells of a published map follow from, as it travels: public sizes, and what was released before.

Guarantee: everything here was released or is public. An owner works the cells out itself (`owner/cells.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedgroup.messages.limits import MOST_WORDS, require, require_words

_EARLIER = 2
"""The coarse grid and the blocks are answered before the cells are asked for."""
_MOST_RECORDS = 10**12


@dataclass(frozen=True)
class CellsFrom:
    """The whole epsilon of a map, its guess of records and its cap, and both earlier answers with their noises."""

    epsilon_nano: int
    records: int
    most_cells: int
    expected_noises: float
    noises: list[float]
    answers: list[list[int]]

    def __post_init__(self) -> None:
        require(self.epsilon_nano > 0, "a map has an epsilon greater than 0")
        require(1 <= self.records <= _MOST_RECORDS, "a map is sized for some records")
        require(1 <= self.most_cells <= MOST_WORDS, f"a live map has at most {MOST_WORDS} cells")
        require(len(self.noises) == len(self.answers) == _EARLIER, "cells follow from two answers")
        noises = (self.expected_noises, *self.noises)
        require(all(math.isfinite(each) and each > 0 for each in noises), "an answer holds some noises")
        require(all(0 < len(each) <= MOST_WORDS for each in self.answers), f"an answer has at most {MOST_WORDS} bins")
        for each in self.answers:
            require_words(each)
