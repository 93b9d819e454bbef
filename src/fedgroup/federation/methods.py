"""Every method's partition in one process: a sum per group, one noise per group, masked or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedgroup.data.plans import Plan
from fedgroup.errors import InvalidQuery
from fedgroup.federation.fitting import Overlap, require_own_plan, unlisted
from fedgroup.federation.masks import MaskRoom
from fedgroup.federation.questions import Details
from fedgroup.given import one_of
from fedgroup.messages import Partition
from fedgroup.owner.identity import OwnerIds, positions
from fedgroup.owner.records import Records
from fedgroup.owner.role import AnswerTerms
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.methods import ALONE, COHORT_SIZE, EXACT, METHODS, MODES, TRUSTED, Method, chosen, trust_in
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap

MOST_METHODS = 16
"""How many methods a federation keeps ready."""

TRUST_NOBODY = tuple(name for name, method in METHODS.items() if method.private and not method.needs_plan)
_SAID = ("method", "in_group", "cohort_size", "colluders", "dropouts")


class ReadyMethods:
    """The last few methods of one federation: for a million owners making one takes longer than an answer."""

    def __init__(self, records: Records, public_map: PublicMap, *, protection: Protection, masks: MaskRoom) -> None:
        self._records = records
        self._map = public_map
        self._protection = protection
        self._masks = masks
        self._kept: dict[tuple[int, str], ChosenMethod] = {}

    def of(self, details: Details) -> ChosenMethod:
        """Return the method asked for; a plan that does not fit is refused.

        Where an error is the price and no method was asked for, it is the cheapest that trusts nobody but whom the
        groups of a given plan trust: the one with the fewest noises.
        """
        if details.get("error") is None or details.get("method") is not None:
            return self._kept_or_made(details)
        asked: list[Details] = [{**details, "method": name, "plan": None} for name in TRUST_NOBODY]
        if details.get("plan") is not None:
            asked.append(details)
        return min((self._kept_or_made(each) for each in asked), key=lambda how: how.noises)

    def _kept_or_made(self, details: Details) -> ChosenMethod:
        plan = details.get("plan")
        key = (id(plan), repr([details.get(name) for name in _SAID]))
        known = self._kept.get(key)
        if known is None:
            known = self._made(details)
            if len(self._kept) >= MOST_METHODS:
                self._kept.pop(next(iter(self._kept)))
            # The method keeps its plan alive, so no other plan can have its id meanwhile.
            self._kept[key] = known
        return known

    def _made(self, details: Details) -> ChosenMethod:
        made = choose_method(details, owners=self._records.owners, masks=self._masks)
        require_own_plan(made.plan, public_map=self._map, protection=self._protection)
        overlap = made.overlap(self._records.owners)
        if overlap is not None:
            overlap.require_fitting(unlisted=unlisted(self._records))
        return made


@dataclass(frozen=True, eq=False)
class ChosenMethod:
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

    @property
    def shared(self) -> float:
        """How many of the noises come in shares, from masked groups."""
        return 0.0 if self.terms.masked is None else self.terms.masked.noises

    @property
    def delta(self) -> float:
        """The chance that a mask graph fails."""
        return 0.0 if self.terms.masked is None else self.terms.masked.delta

    def facts(self) -> dict[str, Any]:
        """Return what answers and expectations tell of their method."""
        return {
            "method": self.name,
            "in_group": self.in_group,
            "trust": self.trust,
            "groups": self.partition.groups,
            "noises": 0 if self.name == "exact" else self.noises,
            "owners": self.partition.owners,
            "delta": self.delta,
        }

    @property
    def said(self) -> tuple[Any, ...]:
        """What makes two questions by one method different, as JSON values."""
        return self.in_group, repr(self.settings), None if self.plan is None else self.plan.id

    @property
    def told(self) -> str:
        """The method as ledgers show it."""
        plan = "" if self.plan is None else f", plan {self.plan.id[:8]}"
        return f"by {self.name}{plan}" + ("" if self.masking is None else f", {self.masking}")

    @property
    def private(self) -> bool:
        return self.name != "exact" and (self.plan is None or self.plan.private)

    def overlap(self, owners: OwnerIds) -> Overlap | None:
        """Return how the plan's owners and those of the data overlap; None without a plan."""
        return None if self.plan is None else Overlap.of(self.plan, owners, roster=self.roster)


def choose_method(details: Details, *, owners: OwnerIds, masks: MaskRoom) -> ChosenMethod:
    """Return the method asked for, with its partition."""
    plan, in_group = details.get("plan"), details.get("in_group", "trusted")
    method = chosen(details.get("method"), planned=plan is not None)
    one_of(in_group, MODES, name="in-group", refusal=InvalidQuery)
    if method.needs_plan:
        return _planned(method, plan, in_group, owners, masks, _mask_settings(details))
    if plan is not None:
        raise InvalidQuery(f"the method {method.name!r} takes no plan; use method fedgroup, or leave the plan out")
    if method.together is not None:
        size = method.together(len(owners), details.get("cohort_size", COHORT_SIZE))
        return _masked(method, owners, masks, _mask_settings(details), size)
    return _everyone_alone(method, owners)


def _mask_settings(details: Details) -> MaskSettings:
    return MaskSettings(details.get("colluders", 1), details.get("dropouts", 0.1))


def _everyone_alone(method: Method, owners: OwnerIds) -> ChosenMethod:
    partition = Partition.singletons(len(owners))
    terms = AnswerTerms(partition, partition.labels)
    return ChosenMethod(method.name, None, ALONE if method.private else EXACT, owners, terms)


def _masked(method: Method, owners: OwnerIds, masks: MaskRoom, settings: MaskSettings, size: int) -> ChosenMethod:
    """Return the method of public groups that have nothing to do with the data: random cohorts, or all in one."""
    partition = masks.cohorts(len(owners), size)
    ready = masks.ready(partition, settings)
    terms = AnswerTerms(partition, np.arange(len(owners), dtype=np.int32), ready)
    trust = trust_in({"masked"}, colluders=settings.colluders, delta=ready.delta)
    return ChosenMethod(method.name, "masked", trust, owners, terms, None, (settings, size), settings)


def _planned(
    method: Method, plan: Plan | None, in_group: str, owners: OwnerIds, masks: MaskRoom, settings: MaskSettings
) -> ChosenMethod:
    if plan is None:
        raise InvalidQuery(
            f"the method {method.name!r} needs a plan; make one with 'fedgroup group' or Federation.group"
        )
    roster, partition = plan.aligned(owners)
    if in_group == "masked":
        partition = Partition(partition.labels, np.ones(partition.groups, dtype=np.bool_))
    seats = positions(owners, roster)
    if not partition.is_masked.any():
        return ChosenMethod(method.name, in_group, TRUSTED, roster, AnswerTerms(partition, seats), plan)
    ready = masks.ready(partition, settings)
    trust = trust_in({"masked", in_group}, colluders=settings.colluders, delta=ready.delta)
    return ChosenMethod(
        method.name, in_group, trust, roster, AnswerTerms(partition, seats, ready), plan, (settings,), settings
    )
