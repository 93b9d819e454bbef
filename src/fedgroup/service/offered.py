"""What can be asked about here, as the provider's file tells it; and what operators are told of a new plan."""

from __future__ import annotations

from pydantic import Field

from fedgroup.errors import InvalidQuery
from fedgroup.live.config import ProviderSettings
from fedgroup.live.plans import LivePlan
from fedgroup.live.provider import LiveProvider, LiveSettings
from fedgroup.messages import RangeQuery
from fedgroup.service.shown import FederationShown, PlanShown


class FederationTold(FederationShown):
    """The public facts of a federation, and what can be asked about; null where nobody said it."""

    attributes: list[str] | None = None
    times: bool | None = None

    @classmethod
    def by(cls, provider: LiveProvider) -> FederationTold:
        """Return what a provider tells everybody who asks."""
        settings = told_settings(provider.settings)
        named = None if settings.attributes is None else list(settings.attributes)
        facts = FederationShown.of(provider).model_dump()
        return cls(**facts, attributes=named, times=settings.times)


class PlanTold(PlanShown):
    """A plan that was just made, with what an operator should know about it."""

    notes: list[str] = Field([], description="what may be wrong with it")

    @classmethod
    def made(cls, plan: LivePlan, present: set[str]) -> PlanTold:
        """Return a new plan with its members, for operators."""
        shown = PlanShown.of(plan, present, with_members=True)
        return cls(**shown.model_dump(), notes=_notes(shown.alone, len(present)))


def told_settings(settings: LiveSettings) -> ProviderSettings:
    """Return the settings of a provider; of one that was not started from a file, nobody said what can be asked."""
    if isinstance(settings, ProviderSettings):
        return settings
    return ProviderSettings(**vars(settings))


def require_offered(query: RangeQuery, settings: LiveSettings) -> None:
    """Refuse a question about what the owners are known not to have, before it is charged."""
    told = told_settings(settings)
    asked = None if query.measure is None else query.measure.attribute
    if asked is not None and told.attributes is not None and asked not in told.attributes:
        known = ", ".join(told.attributes) or "none"
        raise InvalidQuery(
            f"there is no attribute {asked!r} in this federation; those that can be asked about: {known}"
        )
    if told.times is False and (query.since is not None or query.until is not None):
        raise InvalidQuery("records of this federation have no times; ask without since and until")


def _notes(alone: int, owners: int) -> list[str]:
    if 2 * alone <= owners:
        return []
    are = "owner is" if alone == 1 else "owners are"
    return [f"{alone} of {owners} {are} in no group: a coarser grid or a larger epsilon may help"]
