"""What was paid, together with what the published map knows: what to expect of it, what came out, and comparisons.

Guarantee: everything here is made of answers that were released and of published maps: it costs nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import FreeAnswer
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.sharpening import COMBINED, agree, foreseen_half_width
from fedgroup.questions.answers import Answer, Expectation, answer_from
from fedgroup.questions.query import RangeQuery
from fedgroup.service.pages.layers import PageLayer
from fedgroup.service.pages.told import AREAS, interval_text, possible, with_interval
from fedgroup.service.pages.visits import Visit
from fedgroup.service.pages.words import number
from fedgroup.service.requests import QuestionAsked, range_query
from fedgroup.space import Range
from fedgroup.storage.provider_state import Question

_ALIKE = 0.05
"""By so much of their length both halves of an interval may differ, to be told as one number: the larger."""


async def half_widths(visit: Visit, asked: QuestionAsked, found: Mapping[str, Expectation]) -> dict[str, float]:
    """Return how far an answer of each method will reach together with the published map, where one fits."""
    if not found:
        return {}
    query = range_query(asked, visit.service.provider.settings)
    made = await _map_for(visit, query)
    if made is None:
        return {}
    free = await asyncio.to_thread(made.count, query.range)
    parts = {name: list(each.errors.values()) for name, each in found.items()}
    return {
        name: foreseen_half_width(free, errors[0].half_width, noises=found[name].noises)
        for name, errors in parts.items()
        if len(errors) == 1
    }


async def sharpened(visit: Visit, question: Question) -> dict[str, Any]:
    """Return what changes in what is told of an answer, once it is taken together with the map that fits it.

    Nothing changes where there is none, or where both cannot be of the same records: then that is told.
    """
    if question.answer is None or not any(name in question.request for name in AREAS):
        return {}
    query, paid = _asked(visit, question), answer_from(question.answer)
    made = None if paid.value is None else await _map_for(visit, query)
    return {} if made is None else await asyncio.to_thread(_together, made, query, paid, question.request)


async def compared(
    visit: Visit, layer: PageLayer, sides: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return how much more there is in one area than in another, by the map and by the answers that are named."""
    made = layer.published
    if made is None:
        raise InvalidQuery("this map compares no areas")
    (one, paid_one), (other, paid_other) = [await _side(visit, layer, side) for side in sides]
    told = await asyncio.to_thread(made.compare, one, other, paid=(paid_one, paid_other))
    low, high = told.interval
    return {"difference": told.difference, "low": low, "high": high, "certain": told.certain}


def _together(made: PublishedMap, query: RangeQuery, paid: Answer, request: Mapping[str, Any]) -> dict[str, Any]:
    free = made.count(query.range)
    low, high = free.interval
    half = max(high - (free.value or 0.0), (free.value or 0.0) - low)
    of_map = f"about {number(round(free.value or 0.0))} ± {number(round(half))}"
    if not agree(paid, free):
        why = "heard other owners" if paid.heard != free.heard else "is of other records: some came or went since"
        return {"joined": f"The published map says {of_map}; it {why}, so this is the owners' answer alone."}
    both = made.combined(paid, free=free)
    ends = (_few_digits(both.interval[0]), _few_digits(both.interval[1]))
    of_owners = with_interval(paid, request)
    return {
        "value": both.value,
        "low": both.interval[0],
        "high": both.interval[1],
        "shown": number(possible(_few_digits(both.value or 0.0), request)),
        "short": _short(both, request),
        "between": interval_text(replace(both, interval=ends)),
        "joined": f"The owners answered {of_owners}, the published map says {of_map}: this is both together.",
    }


def _short(both: FreeAnswer, request: Mapping[str, Any]) -> str:
    value, (low, high) = both.value or 0.0, both.interval
    shown = number(possible(_few_digits(value), request))
    if value - low > 0 and math.isclose(high - value, value - low, rel_tol=_ALIKE):
        return f"{shown} ± {number(_few_digits(max(high - value, value - low)))}"
    return f"{shown}, from {number(_few_digits(low))} to {number(_few_digits(high))}"


def _few_digits(value: float) -> float:
    """Return a value without decimals that nobody reads."""
    return round(value) if abs(value) >= 10 else round(value, 1)


async def _map_for(visit: Visit, query: RangeQuery) -> PublishedMap | None:
    """Return the newest published map of what a question is about."""
    if query.kind not in COMBINED:
        return None
    wanted = (query.kind, query.measure, query.since, query.until)
    name = next((each.name for each in await visit.door.layers.listed() if each.subject == wanted), None)
    return None if name is None else (await visit.door.layers.layer(await visit.user(), name)).published


async def _side(visit: Visit, layer: PageLayer, said: Mapping[str, Any]) -> tuple[Range, Answer | None]:
    """Return an area, and the user's own answer about it if one is named."""
    area = visit.range_of(said)
    user, wished = await visit.user(), said.get("answer")
    found = await asyncio.to_thread(visit.service.state.question, wished) if isinstance(wished, str) else None
    if found is None or found.user != user.name or found.answer is None or layer.kind not in COMBINED:
        return area, None
    query = _asked(visit, found)
    same = query.range == area and (query.kind, query.measure, query.since, query.until) == layer.about.subject
    paid = answer_from(found.answer)
    return area, paid if same and paid.value is not None else None


def _asked(visit: Visit, question: Question) -> RangeQuery:
    """Return what a question on record asked."""
    asked = QuestionAsked.model_validate(dict(question.request))
    return range_query(asked, visit.service.provider.settings, to_price=True)
