"""Pages about the federation share what they show: many of them cost little more than one."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from fedgroup.live.expiry import Ending, Expiries
from fedgroup.service.pages import federation_view
from fedgroup.service.pages.federation_view import FederationViews
from fedgroup.service.pages.layers import About, PublishedShelf


@pytest.fixture
def drawn(monkeypatch):
    """How often the federation was drawn; drawing takes a moment."""
    views = []

    async def view(service, published):
        await asyncio.sleep(0)
        views.append(service)
        return f"view {len(views)}"

    monkeypatch.setattr(federation_view, "_view", view)
    return views


@pytest.fixture
def now(monkeypatch):
    """The time as pages about the federation see it."""
    told = [100.0]
    monkeypatch.setattr(federation_view, "time", SimpleNamespace(monotonic=lambda: told[0]))
    return told


def test_pages_that_refresh_together_share_one_view(drawn, now):
    async def story():
        views = FederationViews()
        return await asyncio.gather(*(views.now("service", tuple) for _ in range(50)))

    assert set(asyncio.run(story())) == {"view 1"}
    assert drawn == ["service"]


def test_a_view_is_drawn_anew_after_a_moment_and_after_a_change(drawn, now):
    async def story():
        views = FederationViews()
        first = await views.now("service", tuple)
        views.forget()
        changed = await views.now("service", tuple)
        now[0] += federation_view.FRESH_S + 0.1
        return first, changed, await views.now("service", tuple)

    assert asyncio.run(story()) == ("view 1", "view 2", "view 3")


def test_what_runs_out_within_30_days_is_shown_and_what_ran_out():
    at = datetime(2026, 11, 1, tzinfo=UTC)
    days = {"taxi-a": 20, "taxi-b": 200, "provider": 3, None: -1}
    ends = [Ending(party, at + timedelta(days=left, hours=1)) for party, left in days.items()]
    shown = federation_view._endings(Expiries(lambda: ends, clock=lambda: at))
    assert shown == (
        '<p class="fg-fault">The list of revocations ran out (2026-10-31).</p>'
        '<p class="fg-fault">The certificate of provider runs out in 3 days (2026-11-04).</p>'
        "<p>The certificate of taxi-a runs out in 20 days (2026-11-21).</p>"
    )
    assert "Nothing runs out" in federation_view._endings(Expiries(lambda: ends[1:2], clock=lambda: at))


def test_every_map_that_was_paid_for_is_counted_also_what_is_not_drawn():
    day = [About(kind="count", epsilon=0.5, since=at, until=at + 1) for at in range(3)]
    hidden = About(kind="avg", epsilon=0.25, since=0, until=3)
    shelf = PublishedShelf(day, [*day, hidden])
    assert "with 1 other not shown they cost a record epsilon 0.75 at most" in federation_view._maps(
        shelf, of_records=True
    )
    assert "epsilon 1.75 at most" in federation_view._maps(shelf, of_records=False)
    more = PublishedShelf(day, [*day, hidden], whole=False)
    assert "at least: there are older ones" in federation_view._maps(more, of_records=True)
