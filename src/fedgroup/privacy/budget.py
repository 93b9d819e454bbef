"""The rules of spending: what a charge is, and when it is refused. Where balances are kept is `storage/`'s matter.

Guarantee: for every owner and epoch, the sum of all charges recorded before anything was released never exceeds the
           cap. A crash between charge and release wastes budget, never privacy.
Proof:     docs/guarantees.md#composition
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from fedgroup.epsilon import LARGEST, NANO, NOTHING, Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.privacy.comparing import Comparing


@dataclass(frozen=True)
class Charge:
    """What one release costs each of its owners; `owners` names them as texts, None means every owner.

    A charge for a plan (`plan` is its id) is made once per ledger: repeated, it costs nothing. `protection` says what
    the epsilon protects; amounts that protect different things do not add up, so a ledger takes one kind only. Nothing
    is protected by an evaluation, which shows exact values: it costs no epsilon and leaves its line all the same.
    """

    epsilon: Epsilon
    purpose: Literal["setup", "query", "evaluation"]
    question: str
    plan: str | None = None
    owners: Sequence[str] | None = None
    protection: str | None = "one record, add-remove"


@dataclass(frozen=True)
class Entry:
    """One line of a ledger."""

    at: str
    epoch: int
    purpose: str
    question: str
    epsilon: Epsilon
    owners: int | None


def evaluation_of(question: str) -> Charge:
    """Return the charge of an exact result: nothing, for no epsilon can tell what it reveals."""
    return Charge(NOTHING, "evaluation", question, protection=None)


def entry_of(charge: Charge, *, at: str, epoch: int) -> Entry:
    """Return the line a charge leaves in a ledger."""
    owners = None if charge.owners is None else len(charge.owners)
    return Entry(at, epoch, charge.purpose, charge.question, charge.epsilon, owners)


class Ledger(Protocol):
    """Keeps what was spent. Every method is safe under threads; a durable ledger also under processes and crashes."""

    @property
    def cap(self) -> Epsilon | None: ...

    @property
    def epoch(self) -> int: ...

    def charge(self, charges: Sequence[Charge]) -> Epsilon:
        """Record all of `charges`, or none and raise `BudgetExhausted`; return what one owner pays at most."""
        ...

    def price(self, charges: Sequence[Charge]) -> Epsilon:
        """Return what one owner would pay at most for `charges`, without recording them."""
        ...

    def reserve_comparisons(self, wanted: Comparing) -> int:
        """Record that a plan may compare owners, and return how often; refuse what the epoch does not allow."""
        ...

    def settle_comparisons(self, plan: str, made: int) -> None:
        """Record how many comparisons a plan made; the others it might have made can be made by later ones."""
        ...

    def spent(self) -> Epsilon:
        """Return what the owner that spent most has spent in this epoch."""
        ...

    def entries(self) -> list[Entry]:
        """Return every line, oldest first."""
        ...

    def stored_answer(self, key: str) -> Mapping[str, Any] | None:
        """Return the answer kept under `key`, if there is one."""
        ...

    def store_answers(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep answers that were paid for, each under its key."""
        ...

    def close(self) -> None:
        """Let go of what the ledger is kept in; using it again takes it up again."""
        ...

    def now(self) -> str:
        """Return the time to date an answer with."""
        ...


@dataclass(frozen=True)
class Spending:
    """What all owners spent alike, and what some spent besides, in nano-epsilon."""

    for_all: int = 0
    for_some: Mapping[str, int] = field(default_factory=dict)

    @property
    def most(self) -> Epsilon:
        """What the owner that spent most has spent; without a cap it can be more than the largest epsilon there is."""
        most = self.for_all + max(self.for_some.values(), default=0)
        return Epsilon(min(most, LARGEST * NANO))


def settle(charges: Sequence[Charge], *, cap: Epsilon | None, before: Spending) -> Spending:
    """Return what `charges` add to the spending, or refuse them all.

    Guarantee: no owner that pays ends above the cap.
    """
    for_all = sum(charge.epsilon.nano for charge in charges if charge.owners is None)
    for_some: Counter[str] = Counter()
    for charge in charges:
        for owner in charge.owners or ():
            for_some[owner] += charge.epsilon.nano
    payers = {"": 0, **before.for_some, **for_some} if for_all else for_some
    for owner in payers:
        spent = before.for_all + before.for_some.get(owner, 0)
        _require_affordable(cap=cap, spent=spent, asked=for_all + for_some[owner])
    return Spending(for_all, for_some)


def once_per_plan(charges: Sequence[Charge], known: Callable[[Charge], bool]) -> list[Charge]:
    """Leave out the setup of plans that are `known` to be paid, or were earlier in `charges`, with no less than now."""
    due: list[Charge] = []
    paid: dict[str, int] = {}
    for charge in charges:
        if charge.plan is not None:
            if paid.get(charge.plan, -1) >= charge.epsilon.nano or known(charge):
                continue
            paid[charge.plan] = charge.epsilon.nano
        due.append(charge)
    return due


def require_one_protection(known: str | None, charges: Sequence[Charge]) -> None:
    """Refuse charges that protect something else than what a ledger has counted so far."""
    for charge in charges:
        known = known or charge.protection
        if charge.protection not in (None, known):
            raise InvalidInput(
                f"this ledger counts epsilon for {known}, not for {charge.protection}; use another ledger"
            )


def change_of_cap(before: Epsilon | None, cap: Epsilon, *, raising: bool) -> str:
    """Return what a ledger notes when its cap changes, or refuse to raise it if nobody means to.

    Guarantee: a cap that owners rely on is raised on purpose only, and its line tells from where.
    """
    if before is None or before == cap:
        return f"budget set to {cap}"
    if cap < before:
        return f"budget set to {cap}, lowered from {before}"
    if not raising:
        raise InvalidInput(
            f"the ledger's budget is {before}, and {cap} would raise it; if its owners agreed, say --raise-budget "
            "(raise_budget=True), else leave the budget out"
        )
    return f"budget set to {cap}, raised from {before}"


def left_of(cap: Epsilon | None, spent: Epsilon) -> Epsilon | None:
    """Return what is left under the cap; None when nothing is capped."""
    return None if cap is None else Epsilon(max(0, cap.nano - spent.nano))


def _require_affordable(*, cap: Epsilon | None, spent: int, asked: int) -> None:
    if cap is not None and spent + asked > cap.nano:
        left = max(0, cap.nano - spent)
        raise BudgetExhausted(asked=asked / NANO, left=left / NANO, cap=float(cap))
