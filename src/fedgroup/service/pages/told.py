"""Questions and answers in words, as a page shows them: value and interval, who was heard, what it cost."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from fedgroup.questions.answers import PrivateAnswer
from fedgroup.questions.kinds import KINDS
from fedgroup.service.pages.words import counted, number
from fedgroup.service.replies import AnswerShown
from fedgroup.storage.provider_state import Question

_SYMMETRIC = 0.001
"""How far the halves of an interval may differ, by share, to be told as one number."""
AREAS = ("circle", "rectangle", "polygon")
_NO_VALUE = "no value"
_SIDES = ("west", "south", "east", "north")


def question_told(question: Question) -> dict[str, Any]:
    """Return a question on record as a page shows it: what was asked, where, when, and how it ended."""
    request = question.request
    told: dict[str, Any] = {
        "id": question.id,
        "at": question.at,
        "state": question.state,
        "question": question_text(request),
        "place": area_text(request),
        "area": {name: request[name] for name in AREAS if name in request},
        "request": dict(request),
        "method": request.get("method") or "",
        "cost": f"{float(question.epsilon):g}",
    }
    return told if question.answer is None else told | _answer(AnswerShown.of(question), request)


def _answer(answer: AnswerShown, request: Mapping[str, Any]) -> dict[str, Any]:
    low, high = answer.interval
    return {
        "value": _finite(answer.value),
        "low": _finite(low),
        "high": _finite(high),
        "shown": _NO_VALUE if answer.value is None else number(possible(answer.value, request)),
        "between": interval_text(answer),
        "short": in_short(answer, request),
        "heard": hearing(answer),
        "cost": price(answer),
        "free": answer.stored,
        "method": answer.method,
        "noises": counted(answer.noises, "noise term"),
        "took": f"{answer.seconds * 1000:,.0f} ms",
        "notes": [answer.trust, *answer.notes],
        "replied": round(time.time() * 1000),
    }


def possible(value: float, request: Mapping[str, Any]) -> float:
    """Return the possible value that is nearest to a noisy one: no count is below 0. Intervals stay as they are."""
    signed = request.get("signed") and KINDS[str(request.get("kind", "count"))].measured
    return value if signed else max(0, value)


def in_short(answer: AnswerShown, request: Mapping[str, Any]) -> str:
    """Return value and interval as they fit on the map."""
    if answer.value is None:
        return _NO_VALUE
    return with_interval(answer, request)


def with_interval(answer: PrivateAnswer, request: Mapping[str, Any]) -> str:
    """Return a value with its interval: as one number where both halves are alike."""
    value, (low, high) = answer.value or 0.0, answer.interval
    shown = number(possible(value, request))
    if math.isclose(high - value, value - low, rel_tol=_SYMMETRIC):
        return f"{shown} ± {number((high - low) / 2)}"
    return f"{shown}, from {number(low)} to {number(high)}"


def interval_text(answer: PrivateAnswer) -> str:
    """Return where the truth is."""
    if answer.value is None:
        return "too few records"
    low, high = answer.interval
    return f"the truth is between {number(low)} and {number(high)} in 95 % of such answers"


def price(answer: AnswerShown) -> str:
    """Return what an answer cost, and why it cost nothing if it did."""
    return "nothing: the same as before" if answer.stored else f"epsilon {answer.charged:g}"


def hearing(answer: AnswerShown) -> str:
    """Return how many owners were heard, how many are missing, and how many of these are away."""
    absent = getattr(answer, "absent", 0)
    away = "" if not absent else " (away)" if absent == answer.missing else f" ({absent} of them away)"
    return f"{answer.heard} of {answer.owners} heard, {answer.missing or 'none'} missing{away}"


def question_text(request: Mapping[str, Any]) -> str:
    """Return what was asked about which area, in few words; times are told by the browser, in its own zone."""
    kind, attribute, clip = request.get("kind", ""), request.get("attribute"), request.get("clip")
    what = kind if attribute is None else f"{kind} of {attribute}{'' if clip is None else f' up to {clip:.10g}'}"
    return f"{what} {area_text(request)}"


def area_text(request: Mapping[str, Any]) -> str:
    """Return a question's area in few words."""
    if circle := request.get("circle"):
        return f"within {circle['radius']:.10g} of {circle['x']:.10g}, {circle['y']:.10g}"
    if sides := request.get("rectangle"):
        west, south, east, north = (f"{sides[name]:.10g}" for name in _SIDES)
        return f"in {west}, {south} to {east}, {north}"
    shape = request.get("polygon", {})
    rings = shape.get("coordinates", [[]]) if shape.get("type") == "Polygon" else None
    return "in polygons" if rings is None else f"in a polygon of {max(0, len(rings[0]) - 1)} corners"


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
