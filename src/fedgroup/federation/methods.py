"""The methods as settings of one protocol: a partition, a sum per group, one noise per group, masked or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedgroup.data.plans import Plan
from fedgroup.errors import InvalidQuery
from fedgroup.federation.fitting import Overlap
from fedgroup.federation.masks import MaskRoom
from fedgroup.federation.questions import Details
from fedgroup.given import one_of
from fedgroup.messages import Answer, Partition, RangeQuery
from fedgroup.owner.identity import OwnerIds, positions
from fedgroup.owner.role import AnswerTerms
from fedgroup.secure.round import MaskSettings
from fedgroup.user.trust import ALONE, EXACT, TRUSTED, trust_in

METHODS = ("dp", "fedgroup", "cohorts", "mpc", "exact")
COHORT_SIZE = 50


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
            "delta": 0.0 if self.terms.masked is None else self.terms.masked.delta,
        }

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


def exact_answer(
    query: RangeQuery, how: Method, truths: dict[str, Any], *, asked_at: str, notes: tuple[str, ...]
) -> Answer:
    """Return what is true after clipping as an answer: without noise, without an epsilon, and not private."""
    value = truths["true_value_clipped"]
    interval = (value, value) if value is not None else (query.measure.bounds if query.measure else (0.0, 0.0))
    return Answer(
        kind=query.kind,
        value=value,
        interval=interval,
        confidence=1.0,
        epsilon=0.0,
        **how.shown(),
        heard=how.partition.owners,
        missing=0,
        private=False,
        asked_at=asked_at,
        notes=notes,
        **truths,
    )


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


def _mask_settings(details: Details) -> MaskSettings:
    return MaskSettings(details.get("colluders", 1), details.get("dropouts", 0.1))


def _everyone_alone(name: str, owners: OwnerIds) -> Method:
    partition = Partition.singletons(len(owners))
    terms = AnswerTerms(partition, partition.labels)
    return Method(name, None, EXACT if name == "exact" else ALONE, owners, terms)


def _masked(name: str, owners: OwnerIds, masks: MaskRoom, settings: MaskSettings, size: int) -> Method:
    """Return the method of public groups that have nothing to do with the data: random cohorts, or all in one."""
    partition = masks.cohorts(len(owners), len(owners) if name == "mpc" else size)
    ready = masks.ready(partition, settings)
    terms = AnswerTerms(partition, np.arange(len(owners), dtype=np.int32), ready)
    said = (settings, size if name == "cohorts" else None)
    trust = trust_in({"masked"}, colluders=settings.colluders, delta=ready.delta)
    return Method(name, "masked", trust, owners, terms, None, said, settings)


def _fedgroup(plan: Plan | None, in_group: str, owners: OwnerIds, masks: MaskRoom, settings: MaskSettings) -> Method:
    if plan is None:
        raise InvalidQuery("the method 'fedgroup' needs a plan; make one with 'fedgroup group' or Federation.group")
    roster, partition = plan.aligned(owners)
    if in_group == "masked":
        partition = Partition(partition.labels, np.ones(partition.groups, dtype=np.bool_))
    seats = positions(owners, roster)
    if not partition.is_masked.any():
        return Method("fedgroup", in_group, TRUSTED, roster, AnswerTerms(partition, seats), plan)
    ready = masks.ready(partition, settings)
    trust = trust_in({"masked", in_group}, colluders=settings.colluders, delta=ready.delta)
    return Method(
        "fedgroup", in_group, trust, roster, AnswerTerms(partition, seats, ready), plan, (settings,), settings
    )
