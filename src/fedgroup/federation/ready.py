"""Methods made ready once, after a look at whether their plans are for this federation."""

from __future__ import annotations

from fedgroup.federation.fitting import require_own_plan
from fedgroup.federation.masks import MaskRoom
from fedgroup.federation.methods import ChosenMethod, choose_method
from fedgroup.federation.price import unlisted
from fedgroup.federation.questions import Details
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import PublicMap

MOST_METHODS = 16
"""How many methods a federation keeps ready."""

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
        """Return the method asked for; a plan that does not fit is refused."""
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
