"""Which method a page asks with: that of the smallest error among those whose trust a user accepts.

The page to ask on and the page to learn on both take it from here, so that they agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from fedgroup.errors import FedgroupError
from fedgroup.live.balances import left_in_words
from fedgroup.questions.answers import Expectation
from fedgroup.questions.methods import METHODS, PRIVATE
from fedgroup.service.pages.visits import Visit
from fedgroup.service.pages.words import counted, number, sentence
from fedgroup.service.problems import Problem
from fedgroup.service.requests import QuestionAsked

FIRST = "dp"
"""What is asked with while nothing is known: it needs nobody's help."""


def trusting(expected: Expectation) -> bool:
    """Tell whether a method lets some owners see others' exact answers, which a user, or its owners, may refuse."""
    return expected.in_group == "trusted"


def smallest(expected: Iterable[Expectation], *, accepts_trust: bool = False) -> str | None:
    """Return the method of the smallest error among those that are accepted; of equals, the first."""
    accepted = [each for each in expected if accepts_trust or not trusting(each)]
    best = min(accepted, key=_error, default=None)
    return None if best is None else best.method


async def expectations(visit: Visit, asked: QuestionAsked) -> tuple[dict[str, Expectation], str]:
    """Return what each method that can be used now would answer like, and why there is none if there is none."""
    found, fault = {}, ""
    for name in PRIVATE:
        if not visit.service.provider.can_use(METHODS[name]):
            continue
        try:
            found[name] = await visit.expect(asked.model_copy(update={"method": name}))
        except (FedgroupError, Problem) as error:
            fault = fault or _in_words(error)
    return found, "" if found else fault


def expectation_told(expected: Expectation, *, sharper: float | None = None) -> dict[str, Any]:
    """Return what to expect of a method, in numbers and in words; `sharper` is how far it reaches with a map."""
    parts = {part: number(error.half_width) for part, error in expected.errors.items()}
    halves = "; ".join(
        f"± {half}" + ("" if part == expected.kind else f" in the {part}") for part, half in parts.items()
    )
    mean = ", ".join(number(error.mean_absolute) for error in expected.errors.values())
    sources = f"{counted(expected.noises, 'noise term')} of {counted(expected.owners, 'owner')}"
    left = "" if expected.owners_left is None else sentence(left_in_words(expected.owners_left))
    return {
        "method": expected.method,
        "half": None if len(parts) > 1 else next(iter(expected.errors.values())).half_width,
        "halves": halves,
        "sharper": sharper,
        "sharper_told": None if sharper is None else number(sharper),
        "error": _error(expected),
        "average": f"{mean} on average, from {sources}",
        "left": left,
        "trust": sentence(expected.trust),
        "trusting": trusting(expected),
    }


def methods_told(names: Iterable[str]) -> list[Mapping[str, str]]:
    """Return methods as somebody who has to choose one is told of them."""
    told = (METHODS[name] for name in METHODS if name in set(names))
    return [{"name": each.name, "title": each.title, "how": f"{each.how} {each.take_it}"} for each in told]


def _error(expected: Expectation) -> float:
    return math.hypot(*(error.standard_deviation for error in expected.errors.values()))


def _in_words(error: Exception) -> str:
    return error.detail if isinstance(error, Problem) else str(error)
