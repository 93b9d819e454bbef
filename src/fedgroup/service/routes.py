"""Asking: questions, and an operator's plans."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header

from fedgroup.service.accounts import Asker, Operator, TheService
from fedgroup.service.asked import PlanAsked, QuestionAsked
from fedgroup.service.calls import KEY
from fedgroup.service.handlers import documented
from fedgroup.service.problems import Problem
from fedgroup.service.shown import AnswerShown, ExpectationShown, OwnersShown, PlanShown

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

router = APIRouter(prefix="/v1")


@router.post("/queries", responses=documented(*_COMMON, *_CHARGED, "method-not-ready"))
async def ask(
    asked: QuestionAsked, user: Asker, service: TheService, key: Key = None
) -> AnswerShown | ExpectationShown:
    """Ask a question: it is charged to the user's allowance, put to the owners who are here, and answered.

    With `dry_run`, tell what the answer would be like instead; nothing is spent.
    """
    if asked.dry_run:
        return await service.questions.expect(user, asked)
    return AnswerShown.of(await service.questions.ask(user, asked, key=key))


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
