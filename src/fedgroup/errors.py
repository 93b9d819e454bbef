"""Every error fedgroup raises, on one page, grouped by whose fault it is.

    FedgroupError
    |-- InvalidInput        the user: data, a file or a setting is not usable
    |   `-- InvalidQuery    the user: this question cannot be asked
    |-- BudgetExhausted     an owner refuses: the answer would cost more than is left
    |-- ComparisonsExhausted  owners refuse: no secure comparison is left in this epoch
    |-- LedgerUnavailable   the ledger cannot be written now: nothing was released
    |-- SiloUnavailable     an owner's database cannot be reached now: nothing was counted
    |-- ServiceUnavailable  a federation's service cannot be reached, or is too busy, now
    |-- TooFewHere          fewer owners are here than a quorum asks for: nobody was asked
    |-- TooFewHeard         nobody, or too few members of a masked group, answered: no answer
    `-- ProtocolViolation   a party sent what the protocol forbids
        `-- WrongLog        the provider: its public log was changed, forked, cut off, or does not add up

Texts say what was given, what is allowed and what to do. About private columns they name the column and the
kind of fault, never a value, a row or a count: an error is a release too.
"""

# ruff: noqa: N818 - errors are named by the fact

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

_ASK_LESS = "ask with a smaller epsilon, repeat an earlier question, or agree on a larger budget"
_OTHER_WINDOWS = "ask about another time, or repeat an earlier question; what is left in others is shown by the ledger"
_RENEW = (
    "an earlier question asked again is free; whoever keeps the budget can renew it with another epoch (fedgroup "
    "ledger FILE --new-epoch) or, if its owners agree, raise it (--raise-budget)"
)


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

    def __init__(
        self, *, asked: float, left: float, cap: float, counted: str = "epsilon", windows: str | None = None
    ) -> None:
        """`counted` is what the amounts are of: epsilon, or rho; `windows` are those of time that the cap is for."""
        self.asked = asked
        self.left = left
        self.cap = cap
        self.counted = counted
        self.windows = windows
        whose = "" if windows is None else f" for {windows}"
        if left > 0:
            rest, advice = f"only {left:.12g} of the budget of {cap:.12g}{whose} is left", _ASK_LESS
        else:
            rest = f"nothing of the budget of {cap:.12g}{whose} is left"
            advice = _RENEW if windows is None else _OTHER_WINDOWS
        super().__init__(f"this asks for {counted} {asked:.12g} but {rest}; {advice}")

    def __reduce__(self) -> tuple[Callable[[], BudgetExhausted], tuple[()]]:
        """Survive the way back from a worker process with all facts."""
        names = ("asked", "left", "cap", "counted", "windows")
        facts = {name: getattr(self, name) for name in names}
        return partial(BudgetExhausted, **facts), ()


class ComparisonsExhausted(FedgroupError):
    """The owners of this ledger may not be compared any more in this epoch, or not as often as this plan may need."""

    exit_code = 3

    def __init__(self, *, needed: int, left: int, cap: int) -> None:
        self.needed = needed
        self.left = left
        self.cap = cap
        super().__init__(
            f"{left:,} of the {cap:,} comparisons that all plans of this epoch may make together are left, and this "
            f"plan may need {needed:,}; use a plan that was made before or a graph without comparisons, begin another "
            "epoch (fedgroup ledger FILE --new-epoch), or agree on more (--comparisons N --raise-budget)"
        )

    def __reduce__(self) -> tuple[Callable[[], ComparisonsExhausted], tuple[()]]:
        """Survive the way back from a worker process with all facts."""
        return partial(ComparisonsExhausted, needed=self.needed, left=self.left, cap=self.cap), ()


class LedgerUnavailable(FedgroupError):
    """The ledger cannot be written now (busy, full disk, no permission); nothing was released, try later."""

    exit_code = 75


class SiloUnavailable(FedgroupError):
    """An owner's database cannot be reached or read now; nothing was counted, try later."""

    exit_code = 75


class ServiceUnavailable(FedgroupError):
    """A federation's service cannot be reached, is too busy, or could not answer now; try later."""

    exit_code = 75


class TooFewHere(FedgroupError):
    """Fewer owners are here than the operator or the user asks for; nobody was asked, and nothing was charged."""

    exit_code = 75

    def __init__(self, *, here: int, known: int, needed: int) -> None:
        self.here = here
        self.known = known
        self.needed = needed
        owners = f"{here} of {known} known owners {'is' if here == 1 else 'are'} here"
        super().__init__(f"{owners} and {needed} are asked for; nothing was charged; ask later, or for fewer")

    def __reduce__(self) -> tuple[Callable[[], TooFewHere], tuple[()]]:
        """Survive the way back from a worker process with all facts."""
        return partial(TooFewHere, here=self.here, known=self.known, needed=self.needed), ()


class TooFewHeard(FedgroupError):
    """Nobody was heard, or fewer members of a masked group than its noise needs; the round gave no answer.

    `refused` tells how many owners refused, by the reason they gave. `charged` is False if no owner paid anything, so
    that whoever asked pays nothing either. `spent` tells that owners' budgets are why: later is no better. `known_left`
    says in words what is known of them. So many of those asked were `silent`, and so many masked groups `gave_nothing`
    for want of members, of whom others may have paid. `lasting` tells that all who refused would refuse later, too:
    their policies do not allow such a question, or they do not have what it is about.
    """

    exit_code = 75

    def __init__(
        self,
        *,
        heard: int,
        needed: int,
        refused: Mapping[str, int] | None = None,
        charged: bool = True,
        spent: bool = False,
        known_left: str | None = None,
        silent: int = 0,
        gave_nothing: int = 0,
    ) -> None:
        self.heard = heard
        self.needed = needed
        self.refused = dict(refused or {})
        self.charged = charged
        self.spent = spent
        self.known_left = known_left
        self.silent = silent
        self.gave_nothing = gave_nothing
        self.lasting = heard == 0 and bool(refused) and set(self.refused) <= _LASTING
        if spent or self.lasting:
            self.exit_code = BudgetExhausted.exit_code
        if needed > 1:
            members = "1 member of a masked group was" if heard == 1 else f"{heard} members of a masked group were"
            few = f"{members} heard but {needed} are needed for enough noise"
            advice = "ask again later, or agree on terms that allow more dropouts"
        else:
            few = groups_in_words(gave_nothing) if gave_nothing else "no owner answered"
            advice = (
                "ask differently" if self.lasting else "ask differently, or later" if refused else "ask again later"
            )
        if spent:
            advice = (
                "ask with a smaller epsilon, or repeat an earlier question; budgets do not renew themselves: "
                "an owner that wants to give more raises its cap or begins an epoch (fedgroup ledger FILE --new-epoch)"
            )
        told = [silence_in_words(silent)] if silent else []
        told += [refusals_in_words(self.refused)] if refused else []
        if not charged:
            told.append("nothing was charged")
        elif gave_nothing:
            told.append("members of it may have paid, and you have")
        told += [] if known_left is None else [known_left]
        super().__init__("; ".join([few, *told, advice]))

    def as_charged(self) -> TooFewHeard:
        """Return the same of a question whose charge could not be given back."""
        return TooFewHeard(**self._facts | {"charged": True})

    def __reduce__(self) -> tuple[Callable[[], TooFewHeard], tuple[()]]:
        """Survive the way back from a worker process with all facts."""
        return partial(TooFewHeard, **self._facts), ()

    @property
    def _facts(self) -> dict[str, Any]:
        told = ("heard", "needed", "refused", "charged", "spent", "known_left", "silent", "gave_nothing")
        return {name: getattr(self, name) for name in told}


class ProtocolViolation(FedgroupError):
    """A party sent a message that the protocol forbids."""


class WrongLog(ProtocolViolation):
    """A public log is not one that its provider signed, does not add up, or is not the one that an owner saw.

    `line` is the number of the first wrong entry, from 0.
    """

    def __init__(self, line: int, why: str) -> None:
        self.line = line
        self.why = why
        super().__init__(f"entry {line} of the log is wrong: {why}")


REASONS_IN_WORDS: Mapping[str, str] = {
    "budget": "the owner's budget does not cover it",
    "epsilon": "it costs more at once than the owner's policy allows",
    "kind": "the owner's policy does not allow this kind of question",
    "radius": "the range, or a part of it, is smaller or narrower than the owner's policy allows",
    "window": "the time window is shorter than the owner's policy allows",
    "members": "the group has fewer members, or withstands fewer colluders, than the owner's policy asks for",
    "mode": "the owner's policy does not allow such a group, or such members",
    "plan": "the owner does not know its group any more: ask again",
    "roster": "a member of the owner's group was revoked: ask again",
    "round": "the owner does not know this round any more, as after a restart",
    "attribute": "the owner has no such attribute or no times, or does not let them be asked about",
    "bins": "the question has more bins than the owner's policy allows, or bins that the owner cannot make",
    "cells": "the cells of the map do not follow from what was released before",
    "paused": "the owner paused",
    "offers": "the owner was offered more groups than it joins in an epoch",
    "silo": "the owner's database does not answer",
    "failed": "the owner paid, and then its database failed",
    "ledger": "the owner's ledger cannot be written",
    "incomplete": "its time is not over yet by the owner's clock, or not for long enough",
    "late": "the question came to its turn too late",
    "federation": "what the owner's file says of the federation differs from the provider's",
    "log": "the provider's log is not the one that the owner saw, or the owner was away and has not caught up",
    "bounds": "the sums of the owner, or of its group, are not what honest owners can give: they are not counted",
    "protocol": "the question was against the protocol",
}
"""What owners mean by the reasons that `messages.said.REASONS` lists."""

_LASTING = frozenset({"epsilon", "kind", "radius", "window", "attribute", "bins", "cells"})
"""Reasons that are about the question itself: later is no better."""


def silence_in_words(silent: int) -> str:
    """Return how many owners said nothing."""
    return (
        "1 owner that is here said nothing in time"
        if silent == 1
        else f"{silent} owners that are here said nothing in time"
    )


def groups_in_words(gave_nothing: int) -> str:
    """Return how many masked groups gave nothing, and why."""
    groups = "1 masked group" if gave_nothing == 1 else f"{gave_nothing} masked groups"
    return f"{groups} gave nothing: too few of {'its' if gave_nothing == 1 else 'their'} members answered"


def refusals_in_words(refused: Mapping[str, int]) -> str:
    """Return how many owners refused, and why, the commonest reason first."""
    ordered = sorted(refused.items(), key=lambda each: (-each[1], each[0]))
    told = [(REASONS_IN_WORDS.get(reason, reason), count) for reason, count in ordered]
    count = sum(refused.values())
    why = told[0][0] if len(told) == 1 else "; ".join(f"{words} ({n})" for words, n in told)
    return f"{count} owner{'' if count == 1 else 's'} refused: {why}"
