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
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from fedgroup.service.pages import reading
from fedgroup.service.pages.choosing import expectation_told, expectations, smallest
from fedgroup.service.pages.sharpening import half_widths, sharpened
from fedgroup.service.pages.told import AREAS, question_told
from fedgroup.service.pages.visits import Door, SignedOut, Visit, body_of, read_question
from fedgroup.service.pages.words import in_words
from fedgroup.service.problems import KEY, MEDIA_TYPE, Problem, problem_of
from fedgroup.service.requests import QuestionAsked
from fedgroup.storage.provider_state import Question, User

log = logging.getLogger("fedgroup.service")

_Reply = Callable[[Visit, Request], Awaitable[Any]]

SHOWN = 12
"""So many earlier questions are listed."""
_PRIVATE = {"Cache-Control": "no-store"}


def add_asking(app: FastAPI, door: Door) -> None:
    """Add the paths that the page to ask on uses to the pages' application."""
    posted: dict[str, _Reply] = {"/ask": _ask, "/expect": _expect, "/free": reading.free, "/compare": reading.compare}
    looked_at: dict[str, _Reply] = {
        "/answers": _answers,
        "/layers": reading.listed,
        "/layers/{name}": reading.opened,
        "/base": _base,
        "/districts": _districts,
    }
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
    return {"answer": await _told(visit, question), "budget": budget_told(await visit.user())}


async def _told(visit: Visit, question: Question) -> dict[str, Any]:
    """Return a question as it is shown: its answer together with what the published map knows."""
    return question_told(question) | await sharpened(visit, question)


async def _expect(visit: Visit, request: Request) -> Any:
    """Tell what every method would answer like, and which has the smallest error."""
    user, asked = await visit.user(), await _read(request)
    found, fault = await expectations(visit, asked)
    sharper = await half_widths(visit, asked, found)
    return {
        "methods": {name: expectation_told(each, sharper=sharper.get(name)) for name, each in found.items()},
        "best": smallest(found.values()),
        "best_trusting": smallest(found.values(), accepts_trust=True),
        "fault": fault,
        "budget": budget_told(user),
    }


async def _answers(visit: Visit, request: Request) -> Any:
    """Show the user's latest questions, and those of these ids if they are its own."""
    user, found = await visit.user(), await visit.history(SHOWN)
    wished = [each for each in request.query_params.get("with", "").split(",") if each][:4]
    known = {question.id for question in found}
    for one in wished:
        older = None if one in known else await asyncio.to_thread(visit.service.state.question, one)
        if older is not None and older.user == user.name and any(name in older.request for name in AREAS):
            found.append(older)
    return {"answers": [await _told(visit, each) for each in found if _is_shown(each)], "budget": budget_told(user)}


def _is_shown(question: Question) -> bool:
    return any(name in question.request for name in AREAS)


async def _base(visit: Visit, _request: Request) -> Any:
    """Give what the map shows below areas."""
    return visit.door.base.outlines


async def _districts(visit: Visit, _request: Request) -> Any:
    """Give the areas that have names."""
    return visit.door.base.districts or {"type": "FeatureCollection", "features": []}


# --- reading ----------------------------------------------------------------------------------------------------------


async def _read(request: Request) -> QuestionAsked:
    return read_question(await body_of(request))


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
