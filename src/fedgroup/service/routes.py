"""Every path of the API: questions and plans are asked for, all else is looked at."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.responses import PlainTextResponse

from fedgroup.epsilon import NOTHING
from fedgroup.maps.files import geojson_of, parquet_of
from fedgroup.service.accounts import AnyUser, Asker, Operator, TheService, current_user, is_operator, watcher
from fedgroup.service.calls import map_read
from fedgroup.service.handlers import documented
from fedgroup.service.metrics import MEDIA_TYPE
from fedgroup.service.problems import KEY, Problem
from fedgroup.service.questions import PLAN
from fedgroup.service.replies import (
    AnswerShown,
    BudgetShown,
    ExpectationShown,
    FederationShown,
    GroupsShown,
    HealthShown,
    HistoryShown,
    MapOnRecord,
    MapShown,
    MapsShown,
    OwnersShown,
    PlanShown,
    QuestionShown,
    ReadyShown,
)
from fedgroup.service.requests import MAP, MapAsked, PlanAsked, QuestionAsked
from fedgroup.storage.provider_state import Question

_COMMON = ("unknown-token", "too-large", "too-slow", "invalid-query", "too-many-questions", "internal")
_CHARGED = (
    "budget-exhausted", "key-reused", "question-failed", "invalid-request", "too-few-heard", "ledger-unavailable",
    "too-few-here", "no-broker", "too-busy", "trust-ran-out",
)  # fmt: skip

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=f"^{KEY}$",
        description="the same request with the same key is charged once, and replied to alike",
    ),
]

GEOJSON = "application/geo+json"
PARQUET = "application/vnd.apache.parquet"
Format = Literal["json", "geojson", "parquet"]

_FORMATS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "the map",
        "content": {
            GEOJSON: {"schema": {"type": "object"}},
            PARQUET: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
"""A map as files that other programs read, for the OpenAPI document."""

MOST_QUESTIONS = 100

_LOOKING = documented("unknown-token", "invalid-request", "too-large", "internal", "ledger-unavailable")

router = APIRouter(prefix="/v1")
looking = APIRouter(prefix="/v1", responses=_LOOKING)
open_router = APIRouter(responses=documented("too-large", "internal"))


# --- asking -----------------------------------------------------------------------------------------------------------


@router.post("/queries", responses=documented(*_COMMON, *_CHARGED, "method-not-ready"))
async def ask(
    asked: QuestionAsked, user: Asker, service: TheService, key: Key = None
) -> AnswerShown | ExpectationShown:
    """Ask a question: it is charged to the user's allowance, put to the owners who are here, and answered.

    With `dry_run`, tell what the answer would be like instead; nothing is spent.
    """
    if asked.dry_run:
        return ExpectationShown.of(await service.questions.expect(user, asked))
    return AnswerShown.of(await service.questions.ask(user, asked, key=key))


@router.post("/maps", responses=documented(*_COMMON, *_CHARGED, "method-not-ready"))
async def ask_map(asked: MapAsked, user: Asker, service: TheService, key: Key = None) -> MapShown | ExpectationShown:
    """Ask about many bins at once: a grid, H3 cells, districts, steps of time, categories. One epsilon pays for all.

    With `dry_run`, tell what every bin would be like instead; nothing is spent. With `adaptive`, publish a map for
    everybody to read, in three rounds that are paid with one epsilon together.
    """
    if asked.adaptive and asked.dry_run:
        return ExpectationShown.of(await service.publications.expect(user, asked))
    if asked.adaptive:
        return MapShown.of(await service.publications.publish(user, asked, key=key))
    if asked.dry_run:
        return ExpectationShown.of(await service.questions.expect(user, asked))
    return MapShown.of(await service.questions.ask(user, asked, key=key))


@router.post("/owners/{name}/retire", responses=documented(*_COMMON, "operators-only", "unknown-owner"))
async def retire(name: str, _user: Operator, service: TheService) -> OwnersShown:
    """Count an owner that left for good no more; one that comes again is an owner again."""
    if not await service.provider.retire(name):
        raise Problem("unknown-owner", "nobody of that name is known")
    return OwnersShown.of(service.provider, await service.provider.attendance(), named=True)


@router.post("/plans", responses=documented(*_COMMON, *_CHARGED, "operators-only"))
async def regroup(asked: PlanAsked, user: Operator, service: TheService, key: Key = None) -> PlanShown:
    """Group all owners who are here anew; every one of them, and the operator's allowance, is charged `epsilon`."""
    question = await service.questions.regroup(user, asked, key=key)
    return PlanShown.model_validate(question.answer)


# --- looking ----------------------------------------------------------------------------------------------------------


@looking.get("/queries")
async def history(
    user: AnyUser, service: TheService, limit: Annotated[int, Query(ge=1, le=MOST_QUESTIONS)] = MOST_QUESTIONS
) -> HistoryShown:
    """Show your own latest questions, the newest first."""
    found = await asyncio.to_thread(service.state.questions_of, user.name, most=limit)
    return HistoryShown(queries=[QuestionShown.of(question) for question in found if PLAN not in question.request])


@looking.get("/queries/{question_id}", responses=documented("unknown-question"))
async def question(question_id: str, user: AnyUser, service: TheService) -> QuestionShown:
    """Show one of your own questions; those of others look like unknown ones."""
    found = await asyncio.to_thread(service.state.question, question_id)
    if found is None or found.user != user.name or not {PLAN, MAP}.isdisjoint(found.request):
        raise Problem("unknown-question", "you asked no question with this id")
    return QuestionShown.of(found)


@looking.get("/maps")
async def maps(
    user: AnyUser, service: TheService, limit: Annotated[int, Query(ge=1, le=MOST_QUESTIONS)] = MOST_QUESTIONS
) -> MapsShown:
    """Show which maps you asked for lately, and which were published, the newest first, without their values."""
    found = await asyncio.to_thread(service.state.maps_of, user.name, most=limit)
    return MapsShown(maps=[MapOnRecord.of(question) for question in found])


@looking.get(
    "/maps/{question_id}",
    response_model=MapShown,
    responses=documented("unknown-question", "question-failed") | _FORMATS,
)
async def map_of(
    question_id: str,
    user: AnyUser,
    service: TheService,
    as_format: Annotated[Format | None, Query(alias="format")] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """Show one of your own maps, or a published one: as JSON, as Parquet, or as GeoJSON.

    `Accept: application/geo+json` asks for the latter, too.
    """
    found = await asyncio.to_thread(service.state.question, question_id)
    own = found is not None and found.user == user.name and MAP in found.request
    if found is None or not (own or await asyncio.to_thread(service.state.is_published, question_id)):
        raise Problem("unknown-question", "you asked for no map with this id")
    if found.answer is None:
        raise Problem("question-failed", "this map is not there: it is under way, or no owner was heard", id=found.id)
    chosen = as_format or ("geojson" if GEOJSON in accept else "json")
    return MapShown.of(found) if chosen == "json" else await asyncio.to_thread(_as_file, found, chosen)


def _as_file(question: Question, chosen: Format) -> Response:
    """Return the map of a question as a file."""
    made = map_read({**(question.answer or {}), "request": question.request[MAP]})
    content = geojson_of(made) if chosen == "geojson" else parquet_of(made)
    name = f"{question.id}.{chosen}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, headers=headers, media_type=GEOJSON if chosen == "geojson" else PARQUET)


@looking.get("/keys/{key}", responses=documented("unknown-question"))
async def question_of_key(key: str, user: AnyUser, service: TheService) -> QuestionShown:
    """Show what became of your question with an idempotency key: asked, answered or failed, and what it was charged.

    A request for a plan or a map is shown too, without the plan or the map.
    """
    found = await asyncio.to_thread(service.state.known, user.name, key)
    if found is None:
        raise Problem("unknown-question", "you asked no question with this key")
    unshown = PLAN in found.request or MAP in found.request
    return QuestionShown.of(replace(found, answer=None) if unshown else found)


@looking.get("/budget")
async def budget(user: AnyUser, service: TheService) -> BudgetShown:
    """Show your allowance, what you spent of it, and what is left."""
    return BudgetShown.of(user, service.provider)


@looking.get("/federation", dependencies=[Depends(current_user)])
async def federation(service: TheService) -> FederationShown:
    """Show what all parties agreed on, what can be asked about, and which methods can be used now."""
    return FederationShown.of(service.provider)


@looking.get("/owners", response_model_exclude_none=True)
async def owners(user: AnyUser, service: TheService) -> OwnersShown:
    """Show how many owners are known and how many are here; operators see their names."""
    return OwnersShown.of(service.provider, await service.provider.attendance(), named=is_operator(user))


@looking.get("/groups", response_model_exclude_none=True)
async def groups(user: AnyUser, service: TheService) -> GroupsShown:
    """Show how many groups there are and how large, of each method; operators see who is in them."""
    provider, named = service.provider, is_operator(user)
    return GroupsShown(plans=[PlanShown.of(plan, provider, with_members=named) for plan in provider.plans.values()])


@open_router.get("/ready", responses={503: {"model": ReadyShown, "description": "not ready"}})
async def ready(service: TheService, response: Response) -> ReadyShown:
    """Say whether questions can be answered now; 503 if not."""
    provider = service.provider
    found, last = provider.desk.attendance(), provider.answered_at
    needed = provider.settings.quorum.needed(found)
    shown = ReadyShown(
        ready=provider.desk.connected and len(found.present) >= needed,
        broker=provider.desk.connected,
        present=len(found.present),
        known=len(found.known),
        needed=needed,
        last_answer=None if last is None else datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds"),
    )
    response.status_code = 200 if shown.ready else 503
    return shown


@open_router.get("/health")
async def health() -> HealthShown:
    """Say that the service is there."""
    return HealthShown()


@open_router.get(
    "/metrics",
    dependencies=[Depends(watcher)],
    response_class=PlainTextResponse,
    responses=documented("unknown-token", "operators-only", "ledger-unavailable"),
)
async def metrics(service: TheService) -> Response:
    """Show numbers about the service for Prometheus; for operators and requests from the same machine."""
    desk, last = service.provider.desk, service.provider.answered_at
    text = service.metrics.text(
        desk.attendance(),
        broker=desk.connected,
        answered_at=last,
        refused_messages=desk.refused_messages,
        left=service.provider.owners_left(NOTHING),
        days_left=service.expiries.days_left(),
    )
    return Response(text, media_type=MEDIA_TYPE)
