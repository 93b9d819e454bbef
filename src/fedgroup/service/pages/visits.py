"""A visit: one open page of somebody who is signed in, and what it may do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request

from fedgroup.errors import InvalidQuery
from fedgroup.questions.answers import Expectation
from fedgroup.questions.said import as_invalid_query, range_said
from fedgroup.service.accounts import Service
from fedgroup.service.callers import vouch
from fedgroup.service.pages.examples import ExampleRuns
from fedgroup.service.pages.federation_view import FederationViews
from fedgroup.service.pages.published_layers import Layers
from fedgroup.service.pages.sessions import SESSION, PageSession, Sessions, random_name
from fedgroup.service.pages.told import AREAS
from fedgroup.service.problems import Problem
from fedgroup.service.questions import PLAN
from fedgroup.service.requests import PlanAsked, QuestionAsked
from fedgroup.space import Range
from fedgroup.space.places import require_on_map
from fedgroup.storage.provider_state import Question, User

_FREE = {"kind": "count", "epsilon": 1.0}
"""A range is read as that of a question; what is free has no price."""


class SignedOut(Exception):  # noqa: N818  a turn of events, not an error
    """The session ended, or its token did."""


@dataclass(frozen=True)
class Base:
    """What a map shows below areas: outlines (GeoJSON), and tiles of a server with the credit that it asks for.

    `districts` is a GeoJSON collection of areas that have names.
    """

    outlines: Mapping[str, Any] | None = None
    tiles: str | None = None
    credit: str = ""
    districts: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Door:
    """What all pages of an application share."""

    service: Service
    sessions: Sessions
    layers: Layers
    base: Base = Base()
    examples: ExampleRuns | None = None
    views: FederationViews = field(default_factory=FederationViews)

    async def visit(self, request: Request) -> Visit | None:
        """Return the visit of whoever sends a request, if signed in."""
        session = self.sessions.find(request.session.get(SESSION))
        user = None if session is None else await Visit(self, session).known()
        if session is None or user is None:
            return None
        vouch(request.scope)
        return Visit(self, session, user)


@dataclass(frozen=True)
class Visit:
    """One open page: everything it does is done as the user of its session's token, if that still is one.

    `seen` is whose page it was when the visit began; what takes a moment and spends nothing need not ask again.
    """

    door: Door
    session: PageSession
    seen: User | None = None

    @property
    def service(self) -> Service:
        return self.door.service

    async def known(self) -> User | None:
        """Return whose page this is, while the session lasts."""
        if not self.door.sessions.is_open(self.session):
            return None
        return await asyncio.to_thread(self.service.state.user_of, self.session.token)

    async def user(self) -> User:
        """Return whose page this is, or say that nobody is signed in any more."""
        found = await self.known()
        if found is None:
            raise SignedOut
        return found

    async def reader(self) -> User:
        """Return who looks at what everybody may see."""
        return self.seen or await self.user()

    async def ask(self, asked: QuestionAsked, *, key: str) -> Question:
        """Ask as the HTTP API does: counted, charged once for a key, kept."""
        user = await self.user()
        self.service.rates.take(user)
        return await self.service.questions.ask(user, asked, key=key)

    async def expect(self, asked: QuestionAsked) -> Expectation:
        """Return what an answer would be like; nothing is spent."""
        return await self.service.questions.expect(await self.user(), asked)

    async def regroup(self, asked: PlanAsked) -> Question:
        """Make a new plan, as an operator."""
        user = await self.user()
        self.service.rates.take(user)
        return await self.service.questions.regroup(user, asked, key=random_name())

    async def history(self, most: int) -> list[Question]:
        """Return the user's own latest questions, the newest first."""
        user = await self.user()
        found = await asyncio.to_thread(self.service.state.questions_of, user.name, most=most)
        return [question for question in found if PLAN not in question.request]

    def range_of(self, said: Mapping[str, Any]) -> Range:
        """Return the area that was said, or what is wrong with it."""
        asked = read_question(_FREE | {name: said[name] for name in AREAS if name in said})
        public_map = self.service.provider.settings.public_map
        with as_invalid_query():
            found = range_said(**asked.model_dump(include=set(AREAS)), lonlat=public_map.lonlat)
            require_on_map(found, public_map)
            return found


def read_question(said: Mapping[str, Any]) -> QuestionAsked:
    """Return a question as the HTTP API would read it, or say what is wrong with it."""
    plain = {name: value for name, value in said.items() if value is not None}
    try:
        return QuestionAsked.model_validate(plain)
    except ValidationError as error:
        places = ", ".join(str(each["loc"][-1]) if each["loc"] else str(each["msg"]) for each in error.errors())
        raise InvalidQuery(f"fill in what is missing or not a number: {places}") from None


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent."""
    try:
        found = await request.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Problem("invalid-request", "the body is a JSON object")
    return found
