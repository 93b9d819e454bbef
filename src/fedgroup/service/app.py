"""The HTTP API of a live provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fedgroup.errors import InvalidInput

try:
    from fastapi import FastAPI
except ImportError:
    raise InvalidInput("serving users over HTTP needs the extra [serve]: pip install 'fedgroup[serve]'") from None


from fedgroup.live.config import StandingTable
from fedgroup.live.expiry import Expiries
from fedgroup.live.provider import LiveProvider
from fedgroup.service import api_page, log_routes, published_routes, routes, standing_routes, tile_routes
from fedgroup.service.accounts import Service
from fedgroup.service.bodies import LimitedBodies
from fedgroup.service.charged_work import ChargedWork
from fedgroup.service.handlers import add_handlers
from fedgroup.service.kept_maps import KeptMaps
from fedgroup.service.metrics import Metrics
from fedgroup.service.ogc import routes as ogc_routes
from fedgroup.service.publications import Publications
from fedgroup.service.questions import Questions
from fedgroup.service.rates import Rates
from fedgroup.service.replies import ProblemShown
from fedgroup.service.standing import StandingMaps
from fedgroup.service.turns import Turns
from fedgroup.storage.provider_state import ProviderState

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
    standing: Sequence[StandingTable] = (),
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Return the application through which users ask a provider's owners; `expiries` are what operators are shown.

    `standing` maps are kept up while it runs, by a `clock` of seconds since 1970.

    Requires:  `state` is also what the provider keeps its answers and plans in; its desk listens; one process.
    Guarantee: see `fedgroup.service`.
    """
    work, metrics = ChargedWork(state, turns or Turns(lambda: questions_at_once(provider))), Metrics()

    expiries = expiries or Expiries()
    maps = KeptMaps(state)
    questions = Questions(provider, state, work, metrics, expiries, maps)
    publications = Publications(provider, state, work, questions)
    repeated = StandingMaps(standing, provider, state, questions, clock=clock)

    @asynccontextmanager
    async def until_all_is_done(_app: FastAPI) -> AsyncIterator[None]:
        publications.resume()
        repeating = repeated.start()
        yield
        for task in repeating:
            task.cancel()
        await asyncio.gather(*repeating, return_exceptions=True)
        await work.all_done()

    app = _application(until_all_is_done)
    app.state.service = Service(
        provider, state, questions, rates or Rates(), metrics, expiries, maps, publications, repeated
    )
    looked_at = (routes.looking, published_routes.router, standing_routes.router, tile_routes.router, ogc_routes.router)
    for router in (routes.router, *looked_at, log_routes.router, routes.open_router, api_page.router):
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
