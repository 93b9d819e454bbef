"""Looking: a user's questions and account, the federation, its owners and groups, health and metrics."""

from __future__ import annotations

import asyncio
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
    """Show how many owners are here; operators see their names."""
    present = service.provider.desk.present
    names = (sorted(present), sorted(service.provider.desk.differing)) if is_operator(user) else (None, None)
    return OwnersShown(present=len(present), names=names[0], differing=names[1])


@router.get("/groups", response_model_exclude_none=True)
async def groups(user: AnyUser, service: TheService) -> GroupsShown:
    """Show how many groups there are and how large, of each method; operators see who is in them."""
    plans = await asyncio.to_thread(service.questions.plans)
    provider, named = service.provider, is_operator(user)
    return GroupsShown(plans=[PlanShown.of(plan, provider, with_members=named) for plan in plans.values()])


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
    desk = service.provider.desk
    text = service.metrics.text(
        owners=len(desk.present),
        refused_messages=desk.refused_messages,
        left=service.provider.owners_left(NOTHING),
        days_left=service.expiries.days_left(),
    )
    return Response(text, media_type=MEDIA_TYPE)
