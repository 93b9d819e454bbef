"""Answers that share transactions: each is a generator that says what it needs of the ledger next.

It asks to be charged, what was said earlier in its round if it is not to be answered anew, and to have its reply kept,
each once at most and in this order; it counts before the last. What several answers need at the same time is done in
one transaction.

Guarantee: an answer goes on only after what it asked for was done. So none counts before it is charged, and one that
           the budget does not cover, or that fails, holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fedgroup.owner.node_parts import RoundLedger
from fedgroup.privacy.budget import Charge


@dataclass(frozen=True)
class Earlier:
    """What was said earlier in a round? The reply, empty if it was charged and has none; None for a new one."""

    round: bytes


@dataclass(frozen=True)
class Begin:
    """Charge a round; tell whether it is new. One that the budget does not cover gets `BudgetExhausted`."""

    round: bytes
    charge: Charge
    snapshot: str


@dataclass(frozen=True)
class Keep:
    """Keep the reply of a round that was charged; return the one that stays."""

    round: bytes
    reply: bytes


Need = Earlier | Begin | Keep
Result = TypeVar("Result")
Answering = Generator[Need, Any, Result]


def answered(one: Answering[Result], ledger: RoundLedger) -> Result:
    """Return what an answer comes to, or raise what it fails with."""
    try:
        need = next(one)
        while True:
            (given,) = _done({0: need}, ledger).values()
            need = one.throw(given) if isinstance(given, Exception) else one.send(given)
    except StopIteration as end:
        found: Result = end.value
        return found


def answered_together(several: Sequence[Answering[Result]], ledger: RoundLedger) -> list[Result | Exception]:
    """Return what each answer comes to, or what it fails with."""
    found: dict[int, Result | Exception] = {}
    needs: dict[int, Need] = {}

    def go_on(at: int, resume: Callable[[], Need]) -> None:
        try:
            needs[at] = resume()
        except StopIteration as end:
            found[at] = end.value
        except Exception as error:
            found[at] = error

    for at, each in enumerate(several):
        go_on(at, each.__next__)
    for kind in (Begin, Earlier, Keep):
        alike = {at: needs.pop(at) for at, need in list(needs.items()) if isinstance(need, kind)}
        for at, given in _done(alike, ledger).items():
            each = several[at]
            if isinstance(given, Exception):
                go_on(at, lambda each=each, given=given: each.throw(given))  # type: ignore[misc]
            else:
                go_on(at, lambda each=each, given=given: each.send(given))  # type: ignore[misc]
    return [found[at] for at in range(len(several))]


def _done(needs: Mapping[int, Need], ledger: RoundLedger) -> dict[int, Any]:
    """Return what is given for each of these needs, which are of one kind; an error of the ledger is for all."""
    if not needs:
        return {}
    try:
        return dict(zip(needs, _given(list(needs.values()), ledger), strict=True))
    except Exception as error:
        return dict.fromkeys(needs, error)


def _given(needs: Sequence[Any], ledger: RoundLedger) -> Sequence[Any]:
    match needs[0]:
        case Earlier():
            return ledger.kept_replies([each.round for each in needs])
        case Begin():
            begun = ledger.begin_rounds([(each.round, each.charge, each.snapshot) for each in needs])
            return [new if error is None else error for new, error in begun]
    return ledger.keep_replies([(each.round, each.reply) for each in needs])
