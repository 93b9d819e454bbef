"""What can be asked about here, as the provider's file tells it; and what operators are told of a new plan."""

from __future__ import annotations

from fedgroup.errors import InvalidQuery
from fedgroup.live.plans import LivePlan
from fedgroup.live.provider import LiveProvider
from fedgroup.live.settings import LiveSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.service.replies import PlanShown


def plan_made(plan: LivePlan, provider: LiveProvider) -> PlanShown:
    """Return a new plan with its members, and what may be wrong with it, for operators."""
    shown = PlanShown.of(plan, provider, with_members=True)
    return shown.model_copy(update={"notes": _notes(shown.alone, len(provider.desk.present))})


def require_offered(query: RangeQuery, settings: LiveSettings) -> None:
    """Refuse a question about what the owners are known not to have, before it is charged."""
    asked = None if query.measure is None else query.measure.attribute
    if asked is not None and settings.attributes is not None and asked not in settings.attributes:
        known = ", ".join(settings.attributes) or "none"
        raise InvalidQuery(
            f"there is no attribute {asked!r} in this federation; those that can be asked about: {known}"
        )
    if settings.times is False and (query.since is not None or query.until is not None):
        raise InvalidQuery("records of this federation have no times; ask without since and until")


def _notes(alone: int, owners: int) -> list[str]:
    if 2 * alone <= owners:
        return []
    are = "owner is" if alone == 1 else "owners are"
    return [f"{alone} of {owners} {are} in no group: a coarser grid or a larger epsilon may help"]
