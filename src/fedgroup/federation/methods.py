"""The paper's methods as settings of one protocol: a partition, a sum per group, one noise per group."""

from __future__ import annotations

from dataclasses import dataclass

from fedgroup.data.plans import Plan
from fedgroup.errors import InvalidQuery
from fedgroup.messages import Partition
from fedgroup.owner.identity import Codes, OwnerIds, positions

METHODS = ("dp", "fedgroup", "exact")
NOT_BUILT = ("cohorts", "mpc")

_ALONE = "nobody is trusted: every owner adds its own noise"
_TRUSTED = "each group's leader is trusted by its members: it sees their exact partial answers"
_EXACT = "everybody is trusted with the exact answer: for evaluation only"


@dataclass(frozen=True, eq=False)
class Method:
    """How a question will be answered: by which partition of which owners, and who is trusted with what."""

    name: str
    in_group: str | None
    trust: str
    roster: OwnerIds
    seats: Codes
    partition: Partition
    plan: Plan | None = None

    @property
    def told(self) -> str:
        """The method as ledgers show it."""
        return f"by {self.name}" if self.plan is None else f"by {self.name}, plan {self.plan.id[:8]}"

    def differences(self, owners: OwnerIds) -> list[str]:
        """Return in words how the plan's owners differ from those of the data; both lists are public."""
        if self.plan is None:
            return []
        new, gone = len(self.roster) - len(self.plan.owners), len(self.roster) - len(owners)
        notes = [f"{new:,} owners are not in the plan and stay alone"] if new else []
        return notes + (
            [f"{gone:,} owners of the plan have no place in the data and count as owners without records"]
            if gone
            else []
        )

    @property
    def private(self) -> bool:
        return self.name != "exact" and (self.plan is None or self.plan.private)


def choose_method(name: str | None, *, plan: Plan | None, in_group: str, owners: OwnerIds) -> Method:
    """Return the named method over these owners; without a name, `fedgroup` if there is a plan, else `dp`."""
    name = name or ("fedgroup" if plan is not None else "dp")
    if name in NOT_BUILT:
        raise InvalidQuery(f"the method {name!r} is not built yet; use one of {', '.join(METHODS)}")
    if name not in METHODS:
        raise InvalidQuery(f"method is one of {', '.join(METHODS)}, got {name!r}")
    if in_group not in ("trusted", "masked"):
        raise InvalidQuery(f"in-group is trusted or masked, got {in_group!r}")
    if name == "fedgroup":
        return _fedgroup(plan, in_group, owners)
    if plan is not None:
        raise InvalidQuery(f"the method {name!r} takes no plan; use method fedgroup, or leave the plan out")
    return _everyone_alone(name, owners)


def _everyone_alone(name: str, owners: OwnerIds) -> Method:
    partition = Partition.singletons(len(owners))
    return Method(name, None, _EXACT if name == "exact" else _ALONE, owners, partition.labels, partition)


def _fedgroup(plan: Plan | None, in_group: str, owners: OwnerIds) -> Method:
    if plan is None:
        raise InvalidQuery("the method 'fedgroup' needs a plan; make one with 'fedgroup group' or Federation.group")
    if in_group == "masked":
        raise InvalidQuery("in-group 'masked' is not built yet; use trusted")
    roster, partition = plan.aligned(owners)
    return Method("fedgroup", in_group, _TRUSTED, roster, positions(owners, roster), partition, plan)
