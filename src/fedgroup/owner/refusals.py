"""Why a live owner refuses: one of a fixed list of reasons, and nothing of what an error says."""

from __future__ import annotations

from fedgroup.errors import BudgetExhausted, LedgerUnavailable, ProtocolViolation, SiloUnavailable
from fedgroup.messages.limits import MOST_NAME
from fedgroup.messages.live import ToOwner
from fedgroup.owner.node_parts import OwnersSilo
from fedgroup.privacy.concentrated import require_noise
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.remembered import remembered
from fedgroup.space import PublicMap
from fedgroup.space.places import require_on_map


class Unknown(ProtocolViolation):
    """Something the owner does not have: a plan, a round, a column."""


def require_answerable(query: RangeQuery, silo: OwnersSilo, *, public_map: PublicMap, protection: Protection) -> None:
    """Refuse a question about another place or about columns that are not there, and noise that cannot be drawn."""
    remembered(
        query, "possible", lambda: _require_possible(query, public_map, protection), given=(public_map, protection)
    )
    if query.measure is not None and query.measure.attribute not in silo.attributes:
        raise Unknown("attribute")
    if (query.since is not None or query.until is not None) and not silo.has_time:
        raise Unknown("attribute")
    if query.by is not None and query.by.attribute not in (silo.texts if query.by.of_texts else silo.attributes):
        raise Unknown("attribute")


def _require_possible(query: RangeQuery, public_map: PublicMap, protection: Protection) -> None:
    """Refuse what no owner could answer."""
    require_on_map(query.range, public_map)
    for scale in scales_of(query, protection).values():
        require_noise(scale, shared=False)


def about(message: ToOwner) -> bytes:
    """Return what a refusal is about: the round, the session or the plan, cut to what a refusal holds."""
    name = getattr(message, "round", None) or getattr(message, "session", None)
    return name if isinstance(name, bytes) else str(getattr(message, "plan", "message")).encode()[:MOST_NAME]


def reason_of(error: Exception) -> str:
    """Return the reason of a refusal; the text of an error never leaves."""
    match error:
        case Unknown():
            return str(error)
        case BudgetExhausted():
            return "budget"
        case LedgerUnavailable():
            return "ledger"
        case SiloUnavailable():
            return "silo"
    return "protocol"
