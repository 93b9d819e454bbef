"""The page to ask on: a map and a panel. Whatever is chosen there lives in the browser, and in the page's address."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fedgroup.questions.kinds import KINDS
from fedgroup.questions.methods import PRIVATE
from fedgroup.service.accounts import is_operator
from fedgroup.service.pages.asking import budget_told
from fedgroup.service.pages.assets import read_asset
from fedgroup.service.pages.choosing import FIRST, methods_told
from fedgroup.service.pages.exports import formats
from fedgroup.service.pages.login import to_login
from fedgroup.service.pages.map import decimals_of, first_area, radii_of
from fedgroup.service.pages.plain import plain_page
from fedgroup.service.pages.visits import Door, Visit
from fedgroup.storage.provider_state import User

EPSILON = 0.3
"""The price of a question until somebody says another one."""


def add_ask_page(app: FastAPI, door: Door, *, images: str = "") -> None:
    """Add the page to the pages' application; `images` names a server of tiles, if there is one."""

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        visit = await door.visit(request)
        user = None if visit is None else await visit.known()
        if visit is None or user is None:
            return to_login(request)
        return await ask_page(visit, user, request, images=images)


async def ask_page(visit: Visit, user: User, request: Request, *, images: str) -> HTMLResponse:
    """Return the page for somebody, with all that it needs to begin."""
    layers = [about.facts() for about in await visit.door.layers.listed()]
    told = page_facts(visit, user) | {"layers": layers}
    facts = json.dumps(told, allow_nan=False).replace("<", "\\u003c")
    body = read_asset("ask/page.html").replace("FACTS", facts)
    name = visit.service.provider.settings.federation
    return plain_page(request, name, body, here="/", who=user.name, scripts=("ask/main.js",), images=images)


def page_facts(visit: Visit, user: User) -> dict[str, Any]:
    """Return what the page knows from the start; nothing in it is private."""
    provider, base = visit.service.provider, visit.door.base
    settings = provider.settings
    attributes = settings.attributes
    kinds = [kind for kind in KINDS.values() if not kind.measured or attributes != ()]
    return {
        "federation": settings.federation,
        "operator": is_operator(user),
        "domain": list(settings.public_map.domain.sides),
        "lonlat": settings.public_map.lonlat,
        "decimals": decimals_of(settings.public_map),
        "radii": radii_of(settings.public_map),
        "first": first_area(settings.public_map),
        "kinds": [{"name": kind.name, "title": kind.title, "measured": kind.measured} for kind in kinds],
        "attributes": None if attributes is None else list(attributes),
        "times": settings.times is not False,
        "methods": methods_told(PRIVATE),
        "method": FIRST,
        "epsilon": EPSILON,
        "budget": budget_told(user),
        "owners": len(provider.desk.present),
        "outlines": base.outlines is not None,
        "districts": base.districts is not None,
        "tiles": base.tiles,
        "credit": base.credit,
        "formats": formats(),
    }
