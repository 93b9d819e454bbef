"""Everything that can go wrong at the service, as RFC 9457 problem details, and back into errors at the client."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fedgroup.errors import (
    BudgetExhausted,
    FedgroupError,
    InvalidInput,
    InvalidQuery,
    LedgerUnavailable,
    ServiceUnavailable,
    TooFewHeard,
    TooFewHere,
)

KEY = r"[\x21-\x7e]{1,255}"
"""What an idempotency key is made of."""
PREFIX = "urn:fedgroup:problem:"
MEDIA_TYPE = "application/problem+json"

KINDS: dict[str, tuple[int, str]] = {
    "invalid-parameter": (400, "a parameter of the address is not understood"),
    "unknown-token": (401, "the token is missing or unknown"),
    "budget-exhausted": (403, "this costs more than is left of the allowance"),
    "operators-only": (403, "only operators may do this"),
    "unknown-question": (404, "there is no such question of yours"),
    "unknown-map": (404, "there is no such map, feature or tile for you"),
    "too-slow": (408, "the request did not arrive in time"),
    "key-reused": (409, "this idempotency key belongs to another request"),
    "method-not-ready": (409, "this method has no groups yet"),
    "no-crs": (409, "this map is on a plane that other programs do not know"),
    "question-failed": (409, "the question with this key gave no answer"),
    "too-large": (413, "the request is too large"),
    "invalid-query": (422, "this question cannot be asked"),
    "invalid-request": (422, "the request is not understood"),
    "too-many-questions": (429, "too many questions in a minute"),
    "internal": (500, "something went wrong here"),
    "ledger-unavailable": (503, "the accounts cannot be written now"),
    "too-few-heard": (503, "too few owners answered"),
    "too-few-here": (503, "too few owners are here"),
    "no-broker": (503, "there is no connection to the owners' broker"),
    "trust-ran-out": (503, "what owners and the provider are believed by ran out"),
    "too-busy": (429, "too many questions are under way"),
    "unknown-owner": (404, "there is no such owner"),
}
"""Status and title by the last part of a type, which is `PREFIX` and that part; they do not change."""

LEDGER_SECONDS = 1
HEARD_SECONDS = 10
"""When to try again, at the earliest."""


class Problem(Exception):  # noqa: N818  a reply, not an error of ours
    """A reply that says what went wrong: its kind, what it is about, and facts that programs can use."""

    def __init__(self, kind: str, detail: str, *, retry_after: float | None = None, **facts: Any) -> None:
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.facts = facts
        super().__init__(detail)

    @property
    def status(self) -> int:
        return KINDS[self.kind][0]

    def body(self) -> dict[str, Any]:
        """Return the problem as it is sent."""
        status, title = KINDS[self.kind]
        return {"type": PREFIX + self.kind, "title": title, "status": status, "detail": self.detail, **self.facts}


def problem_of(error: Exception, **facts: Any) -> Problem:
    """Return the reply to an error; texts of unforeseen ones, or with names of files, stay here."""
    match error:
        case Problem():
            return Problem(error.kind, error.detail, retry_after=error.retry_after, **error.facts | facts)
        case InvalidQuery():
            return Problem("invalid-query", str(error), **facts)
        case BudgetExhausted():
            spending = {"asked": error.asked, "left": error.left, "cap": error.cap}
            return Problem("budget-exhausted", str(error), **spending, **facts)
        case TooFewHeard():
            told = {"heard": error.heard, "needed": error.needed, "refused": error.refused, "spent": error.spent}
            told |= {} if error.known_left is None else {"known_left": error.known_left}
            later = None if error.spent or error.lasting else HEARD_SECONDS
            return Problem("too-few-heard", str(error), retry_after=later, **told, **facts)
        case TooFewHere():
            told = {"here": error.here, "known": error.known, "needed": error.needed}
            return Problem("too-few-here", str(error), retry_after=HEARD_SECONDS, **told, **facts)
        case LedgerUnavailable():
            text = "the accounts cannot be written now; try later"
            return Problem("ledger-unavailable", text, retry_after=LEDGER_SECONDS, **facts)
    return Problem("internal", "it was noted; try later, or ask whoever runs this service", **facts)


def error_of(status: int, body: Mapping[str, Any]) -> FedgroupError:
    """Return the error that a reply stands for, so that a client raises what a federation in one process would."""
    kind = str(body.get("type", "")).removeprefix(PREFIX)
    text = str(body.get("detail") or body.get("title") or f"the service replied with status {status}")
    try:
        if kind == "budget-exhausted":
            return BudgetExhausted(asked=float(body["asked"]), left=float(body["left"]), cap=float(body["cap"]))
        if kind == "too-few-heard":
            refused = {str(reason): int(count) for reason, count in dict(body.get("refused") or {}).items()}
            charged, spent = body.get("charged") is not False, body.get("spent") is True
            error = partial(TooFewHeard, heard=int(body["heard"]), needed=int(body["needed"]), refused=refused)
            left = body.get("known_left")
            return error(charged=charged, spent=spent, known_left=None if left is None else str(left))
        if kind == "too-few-here":
            return TooFewHere(here=int(body["here"]), known=int(body["known"]), needed=int(body["needed"]))
    except (LookupError, TypeError, ValueError):
        return ServiceUnavailable(text)
    if kind == "ledger-unavailable":
        return LedgerUnavailable(text)
    if kind in ("invalid-query", "invalid-request", "method-not-ready"):
        return InvalidQuery(_with_places(text, body))
    if status in (408, 429, 500, 502, 503, 504) or kind == "question-failed":
        return ServiceUnavailable(text)
    return InvalidInput(text)


def _with_places(text: str, body: Mapping[str, Any]) -> str:
    """Add what was wrong where, if a reply tells it."""
    errors = body.get("errors")
    found = [error for error in errors if isinstance(error, Mapping)] if isinstance(errors, list) else []
    return "; ".join([text, *(f"{error.get('where')}: {error.get('what')}" for error in found)])
