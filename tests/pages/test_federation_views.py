"""Pages about the federation share what they show: many of them cost little more than one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from fedgroup.service.pages import federation_view
from fedgroup.service.pages.federation_view import FederationViews


@pytest.fixture
def drawn(monkeypatch):
    """How often the federation was drawn; drawing takes a moment."""
    views = []

    async def view(service):
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
        return await asyncio.gather(*(views.now("service") for _ in range(50)))

    assert set(asyncio.run(story())) == {"view 1"}
    assert drawn == ["service"]


def test_a_view_is_drawn_anew_after_a_moment_and_after_a_change(drawn, now):
    async def story():
        views = FederationViews()
        first = await views.now("service")
        views.forget()
        changed = await views.now("service")
        now[0] += federation_view.FRESH_S + 0.1
        return first, changed, await views.now("service")

    assert asyncio.run(story()) == ("view 1", "view 2", "view 3")
