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

from fedgroup.epsilon import NANO, NOTHING, Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.comparing import Comparing
from fedgroup.privacy.windows import UNKNOWN, Cost, Span, WindowBudget, WindowsSpent
from fedgroup.rho import PICO, Rho


@dataclass(frozen=True)
class Charge:
    """What one release costs each of its owners; `owners` names them as texts, None means every owner.

    A charge for a plan (`plan` is its id) is made once per ledger: repeated, it costs nothing. `protection` says what
    the epsilon protects; amounts that protect different things do not add up, so a ledger takes one kind only. Nothing
    is protected by an evaluation, which shows exact values: it costs no epsilon and leaves its line all the same.

    With a `rho` that is its cost, and only ledgers of concentrated accounting take it; `epsilon` is then the largest
    pure one that costs no more. `span` tells which windows of time it is charged to, where there are budgets of such.
    A question that is asked several `times` costs them all, of one epsilon, or rho, in all.
    """

    epsilon: Epsilon
    purpose: Literal["setup", "query", "evaluation"]
    question: str
    plan: str | None = None
    owners: Sequence[str] | None = None
    protection: str | None = "one record, add-remove"
    rho: Rho | None = None
    span: Span = UNKNOWN
    times: int = 1

    def units(self, accounting: Accounting) -> int:
        """Return what it counts."""
        return accounting.units_of(self.epsilon, self.rho, times=self.times)


@dataclass(frozen=True)
class Entry:
    """One line of a ledger; `rho` is what it counts in concentrated accounting, and `epsilon` 0 if it was priced so."""

    at: str
    epoch: int
    purpose: str
    question: str
    epsilon: Epsilon
    owners: int | None
    rho: Rho | None = None


def evaluation_of(question: str) -> Charge:
    """Return the charge of an exact result: nothing, for no epsilon can tell what it reveals."""
    return Charge(NOTHING, "evaluation", question, protection=None)


def entry_of(charge: Charge, *, at: str, epoch: int, accounting: Accounting = PURE) -> Entry:
    """Return the line a charge leaves in a ledger."""
    owners = None if charge.owners is None else len(charge.owners)
    epsilon = charge.epsilon if charge.rho is None else NOTHING
    rho = accounting.rho_of(charge.epsilon, charge.rho, times=charge.times)
    return Entry(at, epoch, charge.purpose, charge.question, epsilon, owners, rho)


class Ledger(Protocol):
    """Keeps what was spent. Every method is safe under threads; a durable ledger also under processes and crashes."""

    @property
    def cap(self) -> Epsilon | None: ...

    @property
    def epoch(self) -> int: ...

    @property
    def accounting(self) -> Accounting: ...

    @property
    def window_budget(self) -> WindowBudget | None: ...

    def windows_spent(self) -> WindowsSpent:
        """Return what was charged to windows of time in this epoch, where they have a budget."""
        ...

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

    def left(self) -> Epsilon | None:
        """Return the largest epsilon that every owner can still spend on one question; None when nothing is capped."""
        ...

    def left_rho(self) -> Rho | None:
        """Return what every owner can still spend as a rho; None when nothing is capped, or epsilon is counted."""
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
    """What all owners spent alike, and what some spent besides, in the units of the accounting."""

    for_all: int = 0
    for_some: Mapping[str, int] = field(default_factory=dict)
    accounting: Accounting = PURE

    @property
    def units(self) -> int:
        """What the owner that spent most has spent."""
        return self.for_all + max(self.for_some.values(), default=0)

    @property
    def most(self) -> Epsilon:
        """What that comes to."""
        return self.accounting.stated(self.units)

    @property
    def price(self) -> Epsilon:
        """The epsilon of one pure release that counts as much: prices are told so, and what is left too."""
        return self.accounting.largest(self.units)

    def units_left(self, cap: Epsilon | None) -> int | None:
        """Return what is left under the cap; None when nothing is capped."""
        return None if cap is None else max(0, self.accounting.units_within(cap) - self.units)

    def left(self, cap: Epsilon | None) -> Epsilon | None:
        """Return the largest epsilon of one question that is still within the cap; None when nothing is capped."""
        units = self.units_left(cap)
        return None if units is None else self.accounting.largest(units)

    def left_rho(self, cap: Epsilon | None) -> Rho | None:
        """Return the largest rho that is still within the cap; None when nothing is capped, or epsilon is counted."""
        units = self.units_left(cap)
        return None if units is None or self.accounting == PURE else self.accounting.as_rho(units)

    def carried_to(self, accounting: Accounting) -> Spending:
        """Return the same spending as another accounting counts it: what each owner spent in all, as one release.

        Guarantee: no owner's spending becomes less than that of its one release of all it had spent.
        """
        for_all = accounting.carried(self.for_all)
        some = {owner: accounting.carried(self.for_all + units) - for_all for owner, units in self.for_some.items()}
        return Spending(for_all, some, accounting)


def settle(charges: Sequence[Charge], *, cap: Epsilon | None, before: Spending) -> Spending:
    """Return what `charges` add to the spending, or refuse them all.

    Guarantee: no owner that pays ends above the cap.
    """
    accounting = before.accounting
    if len(charges) == 1 and charges[0].owners is None and not before.for_some:  # as of a live owner, very often
        cost = charges[0].units(accounting)
        most = None if cap is None else accounting.units_within(cap)
        if cost:  # what costs nothing is not refused, also where a cap was lowered below what was spent
            _require_affordable(accounting, most=most, spent=before.for_all, asked=cost)
        return Spending(cost, {}, accounting)
    costs = [charge.units(accounting) for charge in charges]
    for_all = sum(cost for charge, cost in zip(charges, costs, strict=True) if charge.owners is None)
    for_some: Counter[str] = Counter()
    for charge, cost in zip(charges, costs, strict=True):
        for owner in charge.owners or ():
            for_some[owner] += cost
    most = None if cap is None else accounting.units_within(cap)
    payers = {"": 0, **before.for_some, **for_some} if for_all else for_some
    for owner in payers:
        spent = before.for_all + before.for_some.get(owner, 0)
        _require_affordable(accounting, most=most, spent=spent, asked=for_all + for_some[owner])
    return Spending(for_all, for_some, accounting)


def window_costs(charges: Sequence[Charge], accounting: Accounting) -> list[Cost]:
    """Return what charges cost in windows of time; what some owners pay counts for all."""
    return [(charge.units(accounting), charge.span) for charge in charges]


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


def moved_line(accounting: Accounting, spent: Spending) -> str:
    """Return what a ledger notes when it counts otherwise from now on."""
    return f"accounting is {accounting} from now on; what was spent counts as {accounting.as_rho(spent.units)}"


def _require_affordable(accounting: Accounting, *, most: int | None, spent: int, asked: int) -> None:
    if most is not None and spent + asked > most:
        left, unit = max(0, most - spent), NANO if accounting == PURE else PICO
        counted = "epsilon" if accounting == PURE else "rho"
        raise BudgetExhausted(asked=asked / unit, left=left / unit, cap=most / unit, counted=counted)
