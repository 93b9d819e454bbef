"""What a method sends, and how many rounds wait for one another: payloads, without what a transport adds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from fedgroup.data.plans import Plan
from fedgroup.lab.experiments.methods import Contender
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.member import WORD_BYTES
from fedgroup.secure.similarity import FirstOwner, SecondOwner

CELL_BYTES = 4
MASKING_BYTES = 32 + 32 + 16
"""A member of a masked group commits to a nonce, reveals it, and shows a public key."""
SESSION_ROUNDS, COMPARISON_ROUNDS = 3, 4
MASKING_ROUNDS = 2


@dataclass(frozen=True)
class Cost:
    """Bytes that an owner sends on average, and rounds, for the set-up and for a question.

    A round is a message to owners and their replies; a wave of comparisons counts one for each frame of a pair.
    """

    setup_bytes: float
    setup_rounds: int
    question_bytes: int
    question_rounds: int


@dataclass(frozen=True)
class ComparisonBytes:
    """What both sides send for a session and for one comparison in it."""

    session: int
    pair: int


def cost_of(method: Contender, plan: Plan | None, *, owners: int, cells: int) -> Cost:
    """Return what a method costs; live, every two owners that are compared open a session of their own.

    Pairs are compared in waves, and all of a wave take the rounds of one. Sessions are opened along with the first wave
    that needs them, so their rounds are counted once.
    """
    is_masked = method.asking.get("in_group") == "masked" or "method" in method.asking
    some_masked = is_masked or (plan is not None and bool(plan.partition.is_masked.any()))
    setup_bytes, setup_rounds = (0.0, 0) if plan is None else (float(CELL_BYTES * cells), 1)
    if some_masked:
        setup_bytes, setup_rounds = setup_bytes + MASKING_BYTES, setup_rounds + MASKING_ROUNDS
    if plan is not None and (comparisons := plan.settings.get("comparisons")):
        sent = comparison_bytes(cells)
        setup_bytes += comparisons * (sent.session + sent.pair) / owners
        setup_rounds += SESSION_ROUNDS + plan.settings["waves"] * COMPARISON_ROUNDS
    return Cost(setup_bytes, setup_rounds, max(WORD_BYTES), 2 if plan is not None or some_masked else 1)


@cache
def comparison_bytes(cells: int) -> ComparisonBytes:
    """Return what a session and a comparison take, counted on the frames of a real one."""
    comparison = SecureComparison(cells, 0.5)
    session = comparison.session(first=b"first", second=b"second", context=b"counting bytes")
    first, second = FirstOwner(comparison, session), SecondOwner(comparison, session)
    opening = _carried(first, second, second.start())
    counts = np.ones((1, cells), dtype=np.int64)
    first.submit(counts)
    return ComparisonBytes(opening, _carried(first, second, second.submit(counts)))


def _carried(first: FirstOwner, second: SecondOwner, frames: list[bytes]) -> int:
    """Return how many bytes pass to and fro until neither side has more to say; the second side has begun."""
    total, sides, turn = 0, (first, second), 0
    while frames:
        total += sum(map(len, frames))
        frames = [answer for frame in frames for answer in sides[turn].receive(frame)]
        turn = 1 - turn
    return total
