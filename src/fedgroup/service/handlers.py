"""Errors become problem details here; nothing else of an error leaves."""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from fedgroup.errors import FedgroupError
from fedgroup.service.metrics import Metrics
from fedgroup.service.problems import KINDS, MEDIA_TYPE, Problem, problem_of
from fedgroup.service.replies import ProblemShown

log = logging.getLogger("fedgroup.service")


def problem_response(problem: Problem) -> JSONResponse:
    """Return a problem as it is sent."""
    headers = {"Cache-Control": "no-store"}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(problem.retry_after)))
    if problem.status == 401:
        headers["WWW-Authenticate"] = ", ".join(problem.facts.get("accepts", ["Bearer"]))
    return JSONResponse(problem.body(), problem.status, headers, MEDIA_TYPE)


def documented(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the replies of these kinds for the OpenAPI document."""
    statuses: dict[int | str, list[str]] = {}
    for kind in kinds:
        status, title = KINDS[kind]
        statuses.setdefault(status, []).append(f"{kind}: {title}")
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{ProblemShown.__name__}"}}}
    return {status: {"description": "; ".join(texts), "content": content} for status, texts in statuses.items()}


def add_handlers(app: FastAPI, metrics: Metrics) -> None:
    """Make an application reply to every error with a problem."""

    async def reply(_request: Request, error: Exception) -> JSONResponse:
        problem = problem_of(error)
        if problem.kind == "internal" and not isinstance(error, Problem):
            log.error("a request failed", exc_info=error)
        metrics.count_problem(problem.kind)
        return problem_response(problem)

    async def reply_invalid(request: Request, error: Exception) -> JSONResponse:
        metrics.count_problem("invalid-request")
        return problem_response(_not_json() if _is_other_body(request) else _invalid(error))

    async def reply_http(_request: Request, error: Exception) -> JSONResponse:
        unreadable = isinstance(error, HTTPException) and error.status_code == 400
        return problem_response(_invalid(error)) if unreadable else _plain_response(error)

    for kind in (Problem, FedgroupError, Exception):
        app.add_exception_handler(kind, reply)
    app.add_exception_handler(RequestValidationError, reply_invalid)
    app.add_exception_handler(HTTPException, reply_http)


def _invalid(error: Exception) -> Problem:
    """Say what was not understood, and where, without what was sent."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    told = [{"where": ".".join(map(str, each["loc"])), "what": str(each["msg"])} for each in found]
    return Problem("invalid-request", "see errors for what is wrong, and /openapi.json for what is right", errors=told)


def _is_other_body(request: Request) -> bool:
    """Tell whether a request has a body that does not claim to be JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = request.method == "POST" and request.headers.get("content-length") != "0"
    return has_body and kind != "application/json" and not kind.endswith("+json")


def _not_json() -> Problem:
    return Problem(
        "invalid-request",
        "send the header 'Content-Type: application/json', for the body is JSON",
        errors=[{"where": "header.Content-Type", "what": "must be application/json"}],
    )


def _plain_response(error: Exception) -> JSONResponse:
    """Return what HTTP itself has to say: no such path, no such method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": title.lower()}
    return JSONResponse(body, status, getattr(error, "headers", None), MEDIA_TYPE)
