"""The HTTP API of a live provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fedgroup.errors import InvalidInput

try:
    from fastapi import FastAPI
except ImportError:
    raise InvalidInput("serving users over HTTP needs the extra [serve]: pip install 'fedgroup[serve]'") from None


from collections.abc import Iterator, Mapping
from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from fedgroup.live.expiry import Expiries
from fedgroup.live.provider import LiveProvider
from fedgroup.service import app as api_page
from fedgroup.service import routes as reading
from fedgroup.service.accounts import Service
from fedgroup.service.bodies import LimitedBodies
from fedgroup.service.charged_work import ChargedWork
from fedgroup.service.handlers import add_handlers
from fedgroup.service.metrics import Metrics
from fedgroup.service.questions import Questions
from fedgroup.service.rates import Rates
from fedgroup.service.replies import ProblemShown
from fedgroup.service.turns import Turns
from fedgroup.storage.provider_state import ProviderState

router = APIRouter(include_in_schema=False)

_HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fedgroup</title>
<style>body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code{background:#eee;padding:0 .3em}td{padding:.1rem .8rem .1rem 0;vertical-align:top}</style>
<h1>fedgroup</h1>
<p>Send <code>Authorization: Bearer TOKEN</code>. For programs: <a href="openapi.json">openapi.json</a>.
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """Show what can be asked here."""
    text = "\n".join([_HEAD, *_sections(request.app.openapi())])
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})


def _sections(document: Mapping[str, Any]) -> Iterator[str]:
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            yield f"<h2><code>{escape(verb.upper())} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('description', ''))}"
            yield from _table("send", _fields(operation, document))
            yield from _table("replies", {s: r["description"] for s, r in sorted(operation["responses"].items())})


def _fields(operation: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, str]:
    """Return what can be sent, by name: headers, parts of the path, members of the body."""
    sent = {each["name"]: each.get("description", "") for each in operation.get("parameters", ())}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = body.get("$ref", "").rpartition("/")[2]
    members = document["components"]["schemas"].get(name, {}).get("properties", {})
    return sent | {member: schema.get("description", "") for member, schema in members.items()}


def _table(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    if rows:
        yield f"<h3>{title}</h3><table>"
        yield from (f"<tr><td><code>{escape(name)}</code><td>{escape(text)}" for name, text in rows.items())
        yield "</table>"


_SILENT: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Traces and logs of requests would tell others who asks what."""

MOST_AT_ONCE, LEAST_AT_ONCE = 64, 2
"""How many questions are put to the owners at once, whatever the settings; more wait for their turn."""


def create_app(
    provider: LiveProvider,
    state: ProviderState,
    *,
    turns: Turns | None = None,
    rates: Rates | None = None,
    expiries: Expiries | None = None,
) -> FastAPI:
    """Return the application through which users ask a provider's owners; `expiries` are what operators are shown.

    Requires:  `state` is also what the provider keeps its answers and plans in; its desk listens; one process.
    Guarantee: see `fedgroup.service`.
    """
    work, metrics = ChargedWork(state, turns or Turns(lambda: questions_at_once(provider))), Metrics()

    @asynccontextmanager
    async def until_all_is_done(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await work.all_done()

    app = _application(until_all_is_done)
    questions = Questions(provider, state, work, metrics)
    app.state.service = Service(provider, state, questions, rates or Rates(), metrics, expiries or Expiries())
    for router in (reading.router, reading.looking, reading.open_router, api_page.router):
        app.include_router(router)
    add_handlers(app, metrics)
    app.add_middleware(LimitedBodies)
    return app


def questions_at_once(provider: LiveProvider) -> int:
    """Return how many questions are put to the owners at once: fewer where there are many owners."""
    each = max(1, len(provider.desk.present))
    return min(MOST_AT_ONCE, max(LEAST_AT_ONCE, provider.settings.messages_at_once // each))


class _Application(FastAPI):
    """An application whose OpenAPI document knows what problems look like."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        document["components"]["schemas"].setdefault(ProblemShown.__name__, ProblemShown.model_json_schema())
        return document


def _application(lifespan: Any) -> FastAPI:
    return _Application(
        title="fedgroup",
        summary="Differentially private counts over many owners' location records",
        version=version("fedgroup"),
        lifespan=lifespan,
        docs_url=None,  # these pages would load scripts from elsewhere; `api_page` is one that does not
        redoc_url=None,
        telemetry=_SILENT,
    )
