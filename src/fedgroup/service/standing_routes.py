"""What became of standing maps: which windows are published, and what comes next. Looking costs nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query

from fedgroup.privacy.windows import length_in_words
from fedgroup.service.accounts import AnyUser, TheService
from fedgroup.service.handlers import documented
from fedgroup.service.replies import Shown
from fedgroup.service.standing import StandingMap, StandingMaps
from fedgroup.service.window_reading import MOST_LISTED
from fedgroup.storage.standing_book import StandingWindow

router = APIRouter(
    prefix="/v1",
    responses=documented("unknown-token", "invalid-request", "too-large", "internal", "ledger-unavailable"),
)


class WindowShown(Shown):
    """A window of time: `published` has a map, `failed` tells why there is none, `left out` may be many at once."""

    since: str
    until: str
    state: str
    map: str | None = None
    why: str | None = None


class NextShown(Shown):
    """The window that comes next, when it is asked for, and what that waits for if it is due."""

    since: str
    until: str
    due_at: str
    waits_for: str | None = None


class StandingShown(Shown):
    """A standing map: what is asked for every window, and its windows, the latest first."""

    name: str
    every: str
    grace: str
    map: dict[str, Any]
    next: NextShown
    windows: list[WindowShown]
    late: str


class AllStandingShown(Shown):
    """All standing maps of a federation."""

    standing: list[StandingShown]


@router.get("/standing")
async def standing(
    _user: AnyUser, service: TheService, limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 48
) -> AllStandingShown:
    """Show which windows of standing maps are published, and what comes next."""
    found = service.standing
    return AllStandingShown(standing=[await asyncio.to_thread(_shown, found, each, limit) for each in found.maps])


def _shown(maps: StandingMaps, standing: StandingMap, most: int) -> StandingShown:
    windows = standing.windows
    begin = maps.next_window(standing)
    coming = NextShown(
        since=_text(begin),
        until=_text(begin + windows.every),
        due_at=_text(windows.due_at(begin)),
        waits_for=maps.waits_for(standing),
    )
    return StandingShown(
        name=windows.name,
        every=length_in_words(windows.every),
        grace=length_in_words(windows.grace),
        map=standing.asked.model_dump(exclude_defaults=True, exclude={"districts"}),
        next=coming,
        windows=[_window(each, windows.every) for each in maps.book.windows(windows.name, most=most)],
        late=windows.late_note,
    )


def _window(window: StandingWindow, every: int) -> WindowShown:
    published = window.question if window.state == "published" else None
    why = window.told.get("why") if window.state == "failed" else None
    until = _text(window.last + every)
    return WindowShown(since=_text(window.begin), until=until, state=window.state, map=published, why=why)


def _text(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
