"""How a ledger counts what is spent: pure epsilon, which adds up, or rho, which composes better and needs a delta.

A ledger counts in whole *units*: nano-epsilon, or rho in parts of 10^-12. Its cap is an epsilon either way; with a
delta it stands for the largest rho that comes to no more.

Guarantee: what is counted within a cap keeps within the cap's epsilon (and delta), and what it is stated to come to is
           never too little.
Proof:     docs/guarantees.md#composition, docs/guarantees.md#concentrated-accounting
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedgroup.epsilon import LARGEST, NANO, Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.given import one_of
from fedgroup.privacy.zcdp import epsilon_of, rho_within
from fedgroup.rho import LARGEST as LARGEST_RHO
from fedgroup.rho import PICO, Delta, Rho

Kind = Literal["pure", "zcdp"]
KINDS = ("pure", "zcdp")

RHO_IN_PURE = (
    "this federation counts pure epsilon, which a rho does not add up with; ask with epsilon, or count with "
    'accounting="zcdp" and a delta (--accounting zcdp --delta 1e-6)'
)


@dataclass(frozen=True)
class Accounting:
    """Pure epsilon without a delta, concentrated accounting with one."""

    delta: Delta | None = None

    @classmethod
    def of(cls, kind: str, delta: float | str | Delta | None) -> Accounting:
        """Return the accounting that was said in words."""
        one_of(kind, KINDS, name="accounting")
        if (kind == "zcdp") != (delta is not None):
            raise InvalidInput("accounting zcdp needs a delta, such as 1e-6; accounting pure takes none")
        return cls(None if delta is None else Delta.of(delta))

    @property
    def kind(self) -> Kind:
        return "pure" if self.delta is None else "zcdp"

    def __str__(self) -> str:
        return self.kind if self.delta is None else f"zcdp with delta {self.delta}"

    def units_of(self, epsilon: Epsilon, rho: Rho | None, *, times: int = 1) -> int:
        """Return what a release counts: its rho, or else its epsilon.

        Of an epsilon that was shared equally by so many releases, concentrated accounting counts each of them.

        Guarantee: never less than the releases count one by one.
        """
        if self.delta is not None:
            one = Epsilon(-(-epsilon.nano // times))
            return Rho.of_pure(one).pico * times if rho is None else rho.pico
        if rho is not None:
            raise InvalidInput(RHO_IN_PURE)
        return epsilon.nano

    def units_within(self, cap: Epsilon) -> int:
        """Return how much may be counted so that it comes to no more than a cap."""
        return cap.nano if self.delta is None else rho_within(cap, self.delta).pico

    def stated(self, units: int) -> Epsilon:
        """Return the epsilon that so many units come to, of which without a cap there may be more than there is."""
        if self.delta is None:
            return Epsilon(min(units, LARGEST * NANO))
        return epsilon_of(self.as_rho(units), self.delta)

    def largest(self, units: int) -> Epsilon:
        """Return the largest epsilon that a question may have whose answer counts no more than so many units."""
        return Epsilon(min(units, LARGEST * NANO)) if self.delta is None else self.as_rho(units).pure

    def rho_of(self, epsilon: Epsilon, rho: Rho | None, *, times: int = 1) -> Rho | None:
        """Return what a release counts as a rho; None where epsilon is counted."""
        return None if self.delta is None else Rho(self.units_of(epsilon, rho, times=times))

    def as_rho(self, units: int) -> Rho:
        """Return units of concentrated accounting as a rho."""
        return Rho(min(units, LARGEST_RHO * PICO))

    def carried(self, units: int) -> int:
        """Return what so many nano-epsilon of before count here: all of it, as one pure release."""
        return self.units_of(Epsilon(min(units, LARGEST * NANO)), None)


PURE = Accounting()


def require_move(before: Accounting, after: Accounting, *, fresh: bool, agreed: bool) -> None:
    """Refuse a change of accounting that would forget something, or weaken a promise that nobody meant to weaken.

    Guarantee: a ledger counts one way for its life, or pure epsilon first and concentrated from some day on.
    """
    if before.kind == "zcdp":
        raise InvalidInput(f"this ledger's accounting is {before}, for its life; {after} needs another ledger")
    if not fresh and not agreed:
        raise InvalidInput(
            "this ledger has counted pure epsilon, and accounting zcdp promises an epsilon with a delta instead; if "
            "its owners agreed, say --raise-budget (raise_budget=True): what was spent stays spent"
        )
