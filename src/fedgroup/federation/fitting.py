"""Whether a plan is for this federation: its domain, its protection and, most of all, its owners."""

from __future__ import annotations

from dataclasses import dataclass

from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING
from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import OwnerIds
from fedgroup.owner.records import Records
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import PublicMap

UNLISTED = (
    "no public list of owners was given, so it was taken from the records: whether an owner has a record at all shows "
    "for certain, and an owner's only record is not protected; give the agreed list (--owner-list FILE, owners=)"
)


@dataclass(frozen=True)
class Overlap:
    """How many owners a plan has, how many the list of owners here has, and how many are in both; lists are public."""

    planned: int
    here: int
    both: int

    @classmethod
    def of(cls, plan: Plan, owners: OwnerIds, *, roster: OwnerIds) -> Overlap:
        """Return the overlap of a plan's owners and those here, of whom `roster` is the union."""
        planned, here = len(plan.owners), len(owners)
        return cls(planned, here, planned + here - len(roster))

    @property
    def fits(self) -> bool:
        """Whether at least half of the plan's owners are here, and at least half of those here are in the plan.

        A plan that has lost half of its owners adds noise for nobody, and one that lacks half of the owners here leaves
        them alone: both are signs of other data. Owners without records are here where the public list holds them.
        """
        return 2 * self.both >= max(self.planned, self.here)

    def require_fitting(self, *, unlisted: tuple[str, ...]) -> None:
        """Refuse a plan for other owners; `unlisted` tells what the numbers cost where no public list was given."""
        if not self.fits:
            text = (
                f"the plan is for other owners: {self.both:,} of its {self.planned:,} are among {self.here:,} here; "
                "at least half of both must be: make a plan of this data (fedgroup group, Federation.group)"
            )
            raise InvalidInput("; ".join([text, *unlisted]))

    def notes(self) -> list[str]:
        """Return in words how the plan's owners differ from those here."""
        gone, new = self.planned - self.both, self.here - self.both
        notes = []
        if gone:
            notes.append(
                f"{self.both:,} of the plan's {self.planned:,} owners are in the data's list of owners; "
                "the others count as owners without records"
            )
        if new:
            notes.append(f"{new:,} of the {self.here:,} owners in the data's list are not in the plan and stay alone")
        return notes


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


def unlisted(records: Records) -> tuple[str, ...]:
    """Return what it costs that nobody gave the list of owners; nothing where it was given."""
    return () if records.listed else (UNLISTED,)
