"""Every error fedgroup raises, on one page, grouped by whose fault it is.

    FedgroupError
    |-- InvalidInput        the user: data, a file or a setting is not usable
    |   `-- InvalidQuery    the user: this question cannot be asked
    |-- BudgetExhausted     an owner refuses: the answer would cost more than is left
    |-- LedgerUnavailable   the ledger cannot be written now: nothing was released
    |-- SiloUnavailable     an owner's database cannot be reached now: nothing was counted
    |-- ServiceUnavailable  a federation's service cannot be reached, or is too busy, now
    |-- TooFewHeard         nobody, or too few members of a masked group, answered: no answer
    `-- ProtocolViolation   a party sent what the protocol forbids

Texts say what was given, what is allowed and what to do. About private columns they name the column and the
kind of fault, never a value, a row or a count: an error is a release too.
"""

# ruff: noqa: N818 - errors are named by the fact

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial


class FedgroupError(Exception):
    """Any error raised on purpose by fedgroup."""

    exit_code = 2


class InvalidInput(FedgroupError, ValueError):
    """Data, a file or a setting cannot be used as given."""


class InvalidQuery(InvalidInput):
    """A question cannot be asked as given."""


class BudgetExhausted(FedgroupError):
    """Answering would take an owner past its cap; nothing was released and nobody paid."""

    exit_code = 3

    def __init__(self, *, asked: float, left: float, cap: float) -> None:
        self.asked = asked
        self.left = left
        self.cap = cap
        super().__init__(
            f"this asks for epsilon {asked:.12g} but only {left:.12g} of the budget of {cap:.12g} is left; "
            "ask with a smaller epsilon, repeat an earlier question, or agree on a larger budget"
        )

    def __reduce__(self) -> tuple[Callable[[], BudgetExhausted], tuple[()]]:
        """Survive the way back from a worker process with all facts."""
        return partial(BudgetExhausted, asked=self.asked, left=self.left, cap=self.cap), ()


class LedgerUnavailable(FedgroupError):
    """The ledger cannot be written now (busy, full disk, no permission); nothing was released, try later."""

    exit_code = 75


class SiloUnavailable(FedgroupError):
    """An owner's database cannot be reached or read now; nothing was counted, try later."""

    exit_code = 75


class ServiceUnavailable(FedgroupError):
    """A federation's service cannot be reached, is too busy, or could not answer now; try later."""

    exit_code = 75


class TooFewHeard(FedgroupError):
    """Nobody was heard, or fewer members of a masked group than its noise needs; the round gave no answer.

    `refused` tells how many owners refused, by the reason they gave.
    """

    exit_code = 75

    def __init__(self, *, heard: int, needed: int, refused: Mapping[str, int] | None = None) -> None:
        self.heard = heard
        self.needed = needed
        self.refused = dict(refused or {})
        if needed > 1:
            few = f"{heard} members of a masked group were heard but {needed} are needed for enough noise"
            advice = "ask again later, or agree on terms that allow more dropouts"
        else:
            few = "no owner answered"
            advice = "ask differently, or later" if refused else "ask again later"
        super().__init__("; ".join([few, *([refusals_in_words(self.refused)] if refused else []), advice]))

    def __reduce__(self) -> tuple[Callable[[], TooFewHeard], tuple[()]]:
        """Survive the way back from a worker process with all facts."""
        return partial(TooFewHeard, heard=self.heard, needed=self.needed, refused=self.refused), ()


class ProtocolViolation(FedgroupError):
    """A party sent a message that the protocol forbids."""


def refusals_in_words(refused: Mapping[str, int]) -> str:
    """Return how many owners refused, and for which reasons, the commonest first."""
    ordered = sorted(refused.items(), key=lambda each: (-each[1], each[0]))
    count = sum(refused.values())
    return f"{count} owner{'' if count == 1 else 's'} refused: {', '.join(f'{n} {reason}' for reason, n in ordered)}"
