"""Numbers in words, as all pages say them."""

from __future__ import annotations

from fedgroup.service.problems import KINDS, Problem


def number(value: float) -> str:
    """Return a number as people read it: grouped, and with few digits."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[0].upper()}{words[1:]}."


def counted(value: float, thing: str) -> str:
    """Return how many of a thing there are, one or several."""
    told = number(value)
    return f"{told} {thing}" if told == "1" else f"{told} {thing}s"


def in_words(problem: Problem) -> str:
    """Return what went wrong, and what about it."""
    title = KINDS[problem.kind][1]
    return f"{title[0].upper()}{title[1:]}. {problem.detail[0].upper()}{problem.detail[1:]}."
