"""How many secure comparisons a ledger's owners allow: one way of comparing an epoch, and so many in all of its plans.

Guarantee: in one epoch of a ledger owners are compared over one grid of one domain with one threshold, and all plans
           together make at most as many comparisons as were allowed. What a plan may make is counted before the first
           one is made; a crash wastes comparisons, never makes more.
Proof:     docs/guarantees.md#secure-similarity
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedgroup.errors import ComparisonsExhausted, InvalidInput

ANNOUNCED = "exact comparisons over"
"""How a ledger's line about comparisons begins."""


@dataclass(frozen=True)
class Compared:
    """The comparisons of an earlier plan of the epoch: those it made, or may make as long as it is not ready."""

    over: str
    count: int
    cap: int | None


@dataclass(frozen=True)
class Comparing:
    """The comparisons a plan asks for: over what, of how many pairs, and how many all plans of an epoch may make.

    `over` names the grid, the domain and the threshold exactly. Without a `cap` the one that was said earlier in the
    epoch stays in force; a larger one is taken only if `raising`. A plan that `needs_all` is not made with fewer. An
    evaluation is counted and not limited.
    """

    over: str
    plan: str
    pairs: int
    protection: str
    cap: int | None = None
    raising: bool = False
    needs_all: bool = False
    evaluation: bool = False

    def line(self, allowed: int) -> str:
        """Return what a ledger tells of them."""
        return f"{ANNOUNCED} {self.over}, at most {allowed}, for plan {self.plan[:8]}; not epsilon-DP"

    def reserved(self, allowed: int) -> Compared:
        """Return what is counted until the plan is ready; what an evaluation allows itself binds nobody else."""
        return Compared(self.over, allowed, None if self.evaluation else self.cap)


def made_line(plan: str, made: int) -> str:
    """Return what a ledger tells once a plan is ready."""
    return f"{made} comparisons were made for plan {plan[:8]}"


def allowed_comparisons(wanted: Comparing, before: Sequence[Compared]) -> int:
    """Return how many comparisons a plan may make, or refuse it."""
    if wanted.evaluation:
        return wanted.pairs
    other = next((each.over for each in before if each.over != wanted.over), None)
    if other is not None:
        raise InvalidInput(f"owners were compared otherwise in this epoch (over {other}); begin another epoch first")
    cap = _cap_in_force(wanted, before)
    if cap is None:
        return wanted.pairs
    left = max(0, cap - sum(each.count for each in before))
    needed = wanted.pairs if wanted.needs_all else min(wanted.pairs, 0 if wanted.cap == 0 else 1)
    if left < needed:
        raise ComparisonsExhausted(needed=needed, left=left, cap=cap)
    return min(left, wanted.pairs)


def _cap_in_force(wanted: Comparing, before: Sequence[Compared]) -> int | None:
    said = next((each.cap for each in reversed(before) if each.cap is not None), None)
    if wanted.cap is None or said is None or wanted.cap <= said or wanted.raising:
        return said if wanted.cap is None else wanted.cap
    raise InvalidInput(
        f"all plans of this epoch may make {said:,} comparisons together, and {wanted.cap:,} would raise that; if the "
        "owners agreed, say --raise-budget (raise_budget=True), else leave the number out"
    )
