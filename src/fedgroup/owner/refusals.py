"""Why a live owner refuses: one of a fixed list of reasons, and nothing of what an error says."""

from __future__ import annotations

from fedgroup.errors import BudgetExhausted, LedgerUnavailable, ProtocolViolation, SiloUnavailable
from fedgroup.messages.limits import MOST_NAME
from fedgroup.messages.live import ToOwner


class Unknown(ProtocolViolation):
    """Something the owner does not have: a plan, a round, a column."""


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
