"""What a page to ask on sends, and what it is told: every request is whole, for what is chosen lives in the browser.

A question comes with everything that was chosen and an idempotency key, so whatever the network does it is asked, and
charged, once. What nobody pays for - what to expect, what a published map says, earlier answers - needs no key.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fedgroup.errors import InvalidQuery
from fedgroup.questions.said import as_invalid_query, range_said
from fedgroup.service.pages.choosing import expectation_told, expectations, smallest
from fedgroup.service.pages.told import AREAS, question_told
from fedgroup.service.pages.visits import Door, SignedOut, Visit
from fedgroup.service.pages.words import in_words, number
from fedgroup.service.problems import KEY, MEDIA_TYPE, Problem, problem_of
from fedgroup.service.requests import QuestionAsked
from fedgroup.space import Range
from fedgroup.space.places import require_on_map
from fedgroup.storage.provider_state import Question, User

log = logging.getLogger("fedgroup.service")

_Reply = Callable[[Visit, Request], Awaitable[Any]]

SHOWN = 12
"""So many earlier questions are listed."""
_PRIVATE = {"Cache-Control": "no-store"}
_FREE = {"kind": "count", "epsilon": 1.0}
"""A range is read as that of a question; what is free has no price."""


def add_asking(app: FastAPI, door: Door) -> None:
    """Add the paths that the page to ask on uses to the pages' application."""
    posted: dict[str, _Reply] = {"/ask": _ask, "/expect": _expect, "/free": _free}
    looked_at: dict[str, _Reply] = {"/answers": _answers, "/layers/{number}": _layer, "/base": _base}
    for path, reply in posted.items():
        app.post(path, include_in_schema=False)(_replying(door, reply))
    for path, reply in looked_at.items():
        app.get(path, include_in_schema=False)(_replying(door, reply))


def budget_told(user: User) -> dict[str, float]:
    """Return what a user may still ask for."""
    return {"left": float(user.left), "allowance": float(user.allowance)}


async def _ask(visit: Visit, request: Request) -> Any:
    """Ask the question that was sent, once for its key."""
    key = request.headers.get("Idempotency-Key", "")
    if not re.fullmatch(KEY, key):
        raise Problem("invalid-request", "a question needs an Idempotency-Key of its own")
    question = await visit.ask(await _read(request), key=key)
    return {"answer": question_told(question), "budget": budget_told(await visit.user())}


async def _expect(visit: Visit, request: Request) -> Any:
    """Tell what every method would answer like, and which has the smallest error."""
    user, asked = await visit.user(), await _read(request)
    found, fault = await expectations(visit, asked)
    return {
        "methods": {name: expectation_told(each) for name, each in found.items()},
        "best": smallest(found.values()),
        "best_trusting": smallest(found.values(), accepts_trust=True),
        "fault": fault,
        "budget": budget_told(user),
    }


async def _free(visit: Visit, request: Request) -> Any:
    """Read an area off a published map: the answer, and that of whole cells where cut ones make it wide."""
    await visit.user()
    body = await _body(request)
    layer = _layer_of(visit, body.get("layer"))
    if layer.count is None:
        raise InvalidQuery("this map tells no sums over areas")
    asked = _range_of(visit, body)
    found = await asyncio.to_thread(layer.count, asked)
    told = _free_told(found.value, found.low, found.high) | {"cut": found.cut}
    snapped = None if layer.snap is None or found.cut < 0.5 else await asyncio.to_thread(layer.snap, asked)
    if snapped is not None:
        again = await asyncio.to_thread(layer.count, _range_of(visit, snapped))
        told["snapped"] = {"area": snapped, **_free_told(again.value, again.low, again.high)}
    return told


def _free_told(value: float, low: float, high: float) -> dict[str, Any]:
    half = max(high - value, value - low)
    shown, half_told = number(round(max(0.0, value))), number(round(half))
    between = f"between {number(round(low))} and {number(round(high))}"
    return {"value": value, "low": low, "high": high, "shown": shown, "half": half_told, "between": between}


async def _answers(visit: Visit, request: Request) -> Any:
    """Show the user's latest questions, and those of these ids if they are its own."""
    user, found = await visit.user(), await visit.history(SHOWN)
    wished = [each for each in request.query_params.get("with", "").split(",") if each][:4]
    known = {question.id for question in found}
    for one in wished:
        older = None if one in known else await asyncio.to_thread(visit.service.state.question, one)
        if older is not None and older.user == user.name and any(name in older.request for name in AREAS):
            found.append(older)
    return {"answers": [question_told(each) for each in found if _is_shown(each)], "budget": budget_told(user)}


def _is_shown(question: Question) -> bool:
    return any(name in question.request for name in AREAS)


async def _layer(visit: Visit, request: Request) -> Any:
    """Give the cells of a published map that can be told from empty ones."""
    await visit.user()
    layer = _layer_of(visit, request.path_params["number"])
    return {"cells": [[float(f"{each:.9g}") for each in row] for row in layer.shown.tolist()]}


async def _base(visit: Visit, _request: Request) -> Any:
    """Give what the map shows below areas."""
    return visit.door.base.outlines


# --- reading ----------------------------------------------------------------------------------------------------------


async def _body(request: Request) -> dict[str, Any]:
    try:
        found = await request.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Problem("invalid-request", "the body is a JSON object")
    return found


async def _read(request: Request) -> QuestionAsked:
    return read_question(await _body(request))


def read_question(said: dict[str, Any]) -> QuestionAsked:
    """Return a question as the HTTP API would read it, or say what is wrong with it."""
    plain = {name: value for name, value in said.items() if value is not None}
    try:
        return QuestionAsked.model_validate(plain)
    except ValidationError as error:
        places = ", ".join(str(each["loc"][-1]) if each["loc"] else str(each["msg"]) for each in error.errors())
        raise InvalidQuery(f"fill in what is missing or not a number: {places}") from None


def _range_of(visit: Visit, said: dict[str, Any]) -> Range:
    asked = read_question(_FREE | {name: said[name] for name in AREAS if name in said})
    settings = visit.service.provider.settings
    with as_invalid_query():
        places = asked.model_dump(include=set(AREAS))
        found = range_said(**places, lonlat=settings.public_map.lonlat)
        require_on_map(found, settings.public_map)
        return found


def _layer_of(visit: Visit, number: Any) -> Any:
    layers = visit.door.layers()
    if not str(number).isdecimal() or int(number) >= len(layers):
        raise Problem("unknown-question", "no such map is published")
    return layers[int(number)]


def _replying(door: Door, reply: _Reply) -> Callable[[Request], Any]:
    """Return a path for whoever is signed in, which tells what goes wrong in words."""

    async def path(request: Request) -> Response:
        visit = await door.visit(request)
        if visit is None:
            return _signed_out()
        try:
            return JSONResponse(await reply(visit, request), headers=_PRIVATE)
        except SignedOut:
            return _signed_out()
        except Exception as error:
            problem = problem_of(error)
            if problem.kind == "internal" and not isinstance(error, Problem):
                log.exception("a page failed")
            body = problem.body() | {"words": in_words(problem)}
            return JSONResponse(body, problem.status, _PRIVATE, MEDIA_TYPE)

    return path


def _signed_out() -> Response:
    return JSONResponse({"words": "You are signed out."}, 401, _PRIVATE)
