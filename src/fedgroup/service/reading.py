"""Looking: a user's questions and account, the federation, its owners and groups, health and metrics."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import PlainTextResponse

from fedgroup.epsilon import NOTHING
from fedgroup.service.accounts import AnyUser, TheService, current_user, is_operator, watcher
from fedgroup.service.handlers import documented
from fedgroup.service.metrics import MEDIA_TYPE
from fedgroup.service.problems import Problem
from fedgroup.service.questions import PLAN
from fedgroup.service.shown import (
    BudgetShown,
    FederationShown,
    GroupsShown,
    HealthShown,
    HistoryShown,
    OwnersShown,
    PlanShown,
    QuestionShown,
    ReadyShown,
)

MOST_QUESTIONS = 100

_COMMON = documented("unknown-token", "invalid-request", "too-large", "internal", "ledger-unavailable")

router = APIRouter(prefix="/v1", responses=_COMMON)
open_router = APIRouter(responses=documented("too-large", "internal"))


@router.get("/queries")
async def history(
    user: AnyUser, service: TheService, limit: Annotated[int, Query(ge=1, le=MOST_QUESTIONS)] = MOST_QUESTIONS
) -> HistoryShown:
    """Show your own latest questions, the newest first."""
    found = await asyncio.to_thread(service.state.questions_of, user.name, most=limit)
    return HistoryShown(queries=[QuestionShown.of(question) for question in found if PLAN not in question.request])


@router.get("/queries/{question_id}", responses=documented("unknown-question"))
async def question(question_id: str, user: AnyUser, service: TheService) -> QuestionShown:
    """Show one of your own questions; those of others look like unknown ones."""
    found = await asyncio.to_thread(service.state.question, question_id)
    if found is None or found.user != user.name or PLAN in found.request:
        raise Problem("unknown-question", "you asked no question with this id")
    return QuestionShown.of(found)


@router.get("/keys/{key}", responses=documented("unknown-question"))
async def question_of_key(key: str, user: AnyUser, service: TheService) -> QuestionShown:
    """Show what became of your question with an idempotency key: asked, answered or failed, and what it was charged.

    A request for a plan is shown too, without the plan.
    """
    found = await asyncio.to_thread(service.state.known, user.name, key)
    if found is None:
        raise Problem("unknown-question", "you asked no question with this key")
    return QuestionShown.of(replace(found, answer=None) if PLAN in found.request else found)


@router.get("/budget")
async def budget(user: AnyUser, service: TheService) -> BudgetShown:
    """Show your allowance, what you spent of it, and what is left."""
    return BudgetShown.of(user, service.provider)


@router.get("/federation", dependencies=[Depends(current_user)])
async def federation(service: TheService) -> FederationShown:
    """Show what all parties agreed on, what can be asked about, and which methods can be used now."""
    return FederationShown.of(service.provider)


@router.get("/owners", response_model_exclude_none=True)
async def owners(user: AnyUser, service: TheService) -> OwnersShown:
    """Show how many owners are known and how many are here; operators see their names."""
    return OwnersShown.of(service.provider, await service.provider.attendance(), named=is_operator(user))


@router.get("/groups", response_model_exclude_none=True)
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
