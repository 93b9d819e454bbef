"""Maps as tiles for web maps, and what their colours mean. All of it reads; nothing is spent."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from fedgroup.errors import InvalidQuery
from fedgroup.maps.tiles import DEEPEST, PER, require_tile
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.service.accounts import Reader, TheService
from fedgroup.service.handlers import documented
from fedgroup.service.kept_maps import Choice
from fedgroup.service.problems import Problem

PNG, SVG = "image/png", "image/svg+xml"
_DRAWN = 1
"""Another number makes browsers fetch tiles again: a map never changes, the way it is drawn may."""
_HEADERS = {"Cache-Control": "private, max-age=3600", "Vary": "Authorization"}
_REPLIES = documented(
    "unknown-token", "unknown-map", "no-crs", "invalid-query", "invalid-request", "too-large", "internal",
    "ledger-unavailable",
)  # fmt: skip

router = APIRouter(prefix="/v1/maps/{map_id}", responses=_REPLIES)


class Png(Response):
    media_type = PNG


class Svg(Response):
    media_type = SVG


Step = Annotated[int | None, Query(ge=0, le=1_000_000, description="which step of time, from 0; all by default")]
Category = Annotated[str | None, Query(max_length=MOST_TEXT, description="which category; all by default")]
Per = Annotated[
    str | None, Query(description=f"{' or '.join(PER)}: what colours tell; per km2 where places differ in size")
]


@router.get("/tiles/{z}/{x}/{y}.png", response_class=Png, responses={304: {"description": "it is what you have"}})
async def tile(
    map_id: str,
    z: str,
    x: str,
    y: str,
    user: Reader,
    service: TheService,
    step: Step = None,
    category: Category = None,
    per: Per = None,
    if_none_match: Annotated[str, Header()] = "",
) -> Response:
    """Draw a tile in web Mercator, 256 pixels wide; what noise alone may explain is clear."""
    place, choice = _place(z, x, y), Choice(step, category, per)
    tag = _tag(map_id, choice, place)
    await service.maps.layer(user, map_id)
    if tag in (each.strip().removeprefix("W/") for each in if_none_match.split(",")):
        return Response(status_code=304, headers=_HEADERS | {"ETag": tag})
    content = await service.maps.tile(user, map_id, choice, place)
    return Png(content, headers=_HEADERS | {"ETag": tag})


@router.get("/legend", responses={200: {"content": {SVG: {"schema": {"type": "string"}}}}})
async def legend(
    map_id: str,
    user: Reader,
    service: TheService,
    step: Step = None,
    category: Category = None,
    per: Per = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Show what the colours of tiles mean: as JSON, or with `Accept: image/svg+xml` as a picture."""
    painting = await service.maps.painting(user, map_id, Choice(step, category, per))
    if SVG in accept:
        return Svg(painting.legend_svg(), headers=_HEADERS)
    return JSONResponse(painting.legend(), headers=_HEADERS)


def _place(z: str, x: str, y: str) -> tuple[int, int, int]:
    try:
        if not all(re.fullmatch(r"[0-9]{1,8}", each) for each in (z, x, y)):
            raise InvalidQuery("a tile is three whole numbers")
        place = int(z), int(x), int(y)
        require_tile(*place)
    except InvalidQuery:
        text = f"tiles have a zoom from 0 to {DEEPEST}, and x and y from 0 to 2^zoom - 1"
        raise Problem("unknown-map", text) from None
    return place


def _tag(map_id: str, choice: Choice, place: tuple[int, int, int]) -> str:
    said = repr((_DRAWN, map_id, choice, place)).encode()
    return f'"{hashlib.sha256(said).hexdigest()[:24]}"'
