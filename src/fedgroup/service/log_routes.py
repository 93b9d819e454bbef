"""The provider's public log, page by page: looked at by anybody, without a token.

Guarantee: nothing here spends or asks owners. What is shown was released, or is public; see `live/public_log.py`.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Response

from fedgroup.live.public_log import PublicLog
from fedgroup.service.accounts import TheService
from fedgroup.service.handlers import documented

MOST_ENTRIES = 1_000
MOST_BYTES = 4 << 20
"""A page ends after an entry that makes it longer than this."""
LINES = "application/jsonl"

router = APIRouter(prefix="/v1", responses=documented("invalid-request", "too-large", "internal", "ledger-unavailable"))


@router.get("/log", response_class=Response, responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}})
async def log(
    service: TheService,
    first: Annotated[int, Query(ge=0, description="the number of the first entry to show")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES, description="how many at most")] = MOST_ENTRIES,
) -> Response:
    """Show entries of the public log, one a line, as `fedgroup verify` reads them; no token is needed.

    `Log-Entries` in the header tells how many there are, `Log-Next` with which to go on; at the end both are the same.
    """
    kept = service.provider.log
    lines = [] if kept is None else await asyncio.to_thread(_page, kept, first, limit)
    count = 0 if kept is None else len(kept)
    told = {"Log-Entries": str(count), "Log-Next": str(min(count, first + len(lines)))}
    return Response(b"".join(line + b"\n" for line in lines), media_type=LINES, headers=told)


def _page(kept: PublicLog, first: int, limit: int) -> list[bytes]:
    """Return as many entries as fit a page, at least one if there is one."""
    page: list[bytes] = []
    size = 0
    for number in range(first, min(first + limit, len(kept))):
        (line,) = kept.lines(number, 1)
        page.append(line)
        size += len(line)
        if size > MOST_BYTES:
            break
    return page
