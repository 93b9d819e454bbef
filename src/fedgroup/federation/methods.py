"""The methods as settings of one protocol: a partition, a sum per group, one noise per group, masked or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.federation.masks import MaskRoom
from fedgroup.federation.questions import Details
from fedgroup.given import one_of
from fedgroup.messages import Partition
from fedgroup.owner.identity import OwnerIds, positions
from fedgroup.owner.role import AnswerTerms
from fedgroup.privacy.sensitivity import Protection
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap

METHODS = ("dp", "fedgroup", "cohorts", "mpc", "exact")
COHORT_SIZE = 50
MOST_METHODS = 16
"""How many methods a federation keeps ready."""

_ALONE = "nobody is trusted: every owner adds its own noise"
_TRUSTED = "each group's leader is trusted by its members: it sees their exact partial answers"
_MASKED = (
    "no party is trusted with an owner's answer: members hide theirs under masks and share the noise; it takes more "
    "than {} of a group's members, together with the provider, to learn more, and enough honest ones must be heard"
)
_MIXED = "leaders of groups of similar owners are trusted by their members; all others: "
_EXACT = "everybody is trusted with the exact answer: for evaluation only"


@dataclass(frozen=True, eq=False)
class Method:
    """How a question will be answered: by which partition of which owners, and who is trusted with what."""

    name: str
    in_group: str | None
    trust: str
    roster: OwnerIds
    terms: AnswerTerms
    plan: Plan | None = None
    settings: tuple[object, ...] = ()
    masking: MaskSettings | None = None

    @property
    def partition(self) -> Partition:
        return self.terms.partition

    @property
    def noises(self) -> float:
        """How many noises an answer holds: one a group, and what masked groups add against dropouts."""
        masked = self.terms.masked
        return self.partition.groups if masked is None else self.partition.groups - masked.groups + masked.noises

    def shown(self) -> dict[str, Any]:
        """Return what answers and expectations tell of their method."""
        return {
            "method": self.name,
            "in_group": self.in_group,
            "trust": self.trust,
            "groups": self.partition.groups,
            "noises": 0 if self.name == "exact" else self.noises,
            "owners": self.partition.owners,
        }

    @property
    def told(self) -> str:
        """The method as ledgers show it."""
        plan = "" if self.plan is None else f", plan {self.plan.id[:8]}"
        return f"by {self.name}{plan}" + ("" if self.masking is None else f", {self.masking}")

    @property
    def private(self) -> bool:
        return self.name != "exact" and (self.plan is None or self.plan.private)

    def differences(self, owners: OwnerIds) -> list[str]:
        """Return in words how the plan's owners differ from those of the data; both lists are public."""
        if self.plan is None:
            return []
        new, gone = len(self.roster) - len(self.plan.owners), len(self.roster) - len(owners)
        notes = {
            f"{new:,} owners are not in the plan and stay alone": new,
            f"{gone:,} owners of the plan are not in the data and count as owners without records": gone,
        }
        return [note for note, how_many in notes.items() if how_many]


def choose_method(details: Details, *, owners: OwnerIds, masks: MaskRoom) -> Method:
    """Return the method asked for; without a name, `fedgroup` if there is a plan, else `dp`."""
    plan, in_group = details.get("plan"), details.get("in_group", "trusted")
    name = details.get("method") or ("fedgroup" if plan is not None else "dp")
    one_of(name, METHODS, name="method", refusal=InvalidQuery)
    one_of(in_group, ("trusted", "masked"), name="in-group", refusal=InvalidQuery)
    if name == "fedgroup":
        return _fedgroup(plan, in_group, owners, masks, _mask_settings(details))
    if plan is not None:
        raise InvalidQuery(f"the method {name!r} takes no plan; use method fedgroup, or leave the plan out")
    if name in ("cohorts", "mpc"):
        return _masked(name, owners, masks, _mask_settings(details), details.get("cohort_size", COHORT_SIZE))
    return _everyone_alone(name, owners)


def require_own_plan(plan: Plan | None, *, public_map: PublicMap, protection: Protection) -> None:
    """Refuse a plan of another domain, or one whose epsilon protects something else than is promised here."""
    if plan is None:
        return
    place = [list(public_map.domain.sides), public_map.lonlat]
    if [plan.settings.get("domain"), plan.settings.get("lonlat")] != place:
        raise InvalidInput(f"the plan is for the domain {plan.settings.get('domain')}; make one for {place[0]}")
    made_for = None if plan.grouping.epsilon == NOTHING else plan.settings.get("protection")
    if made_for not in (None, str(protection)):
        raise InvalidInput(f"the plan protects {made_for}, this federation {protection}; make a plan for it")


def _mask_settings(details: Details) -> MaskSettings:
    return MaskSettings(details.get("colluders", 1), details.get("dropouts", 0.1))


def _everyone_alone(name: str, owners: OwnerIds) -> Method:
    partition = Partition.singletons(len(owners))
    terms = AnswerTerms(partition, partition.labels)
    return Method(name, None, _EXACT if name == "exact" else _ALONE, owners, terms)


def _masked(name: str, owners: OwnerIds, masks: MaskRoom, settings: MaskSettings, size: int) -> Method:
    """Return the method of public groups that have nothing to do with the data: random cohorts, or all in one."""
    partition = masks.cohorts(len(owners), len(owners) if name == "mpc" else size)
    ready = masks.ready(partition, settings)
    terms = AnswerTerms(partition, np.arange(len(owners), dtype=np.int32), ready)
    said = (settings, size if name == "cohorts" else None)
    return Method(name, "masked", _MASKED.format(settings.colluders), owners, terms, None, said, settings)


def _fedgroup(plan: Plan | None, in_group: str, owners: OwnerIds, masks: MaskRoom, settings: MaskSettings) -> Method:
    if plan is None:
        raise InvalidQuery("the method 'fedgroup' needs a plan; make one with 'fedgroup group' or Federation.group")
    roster, partition = plan.aligned(owners)
    if in_group == "masked":
        partition = Partition(partition.labels, np.ones(partition.groups, dtype=np.bool_))
    seats = positions(owners, roster)
    if not partition.is_masked.any():
        return Method("fedgroup", in_group, _TRUSTED, roster, AnswerTerms(partition, seats), plan)
    ready = masks.ready(partition, settings)
    hidden = _MASKED.format(settings.colluders)
    trust = hidden if in_group == "masked" else _MIXED + hidden
    return Method(
        "fedgroup", in_group, trust, roster, AnswerTerms(partition, seats, ready), plan, (settings,), settings
    )
