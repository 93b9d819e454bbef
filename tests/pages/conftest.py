"""A browser, and a federation of six with its pages. No page may ask another host for anything, or complain."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from page_process import Here
from page_steps import enter
from playwright.sync_api import Browser, Page, expect, sync_playwright

from fedgroup.lab.bench.page import BROWSER_FLAGS, browser_program

sys.path.append(str(Path(__file__).parents[1] / "journeys"))
"""A federation's processes are run here as they are there."""

DESKTOP = {"width": 1280, "height": 800}
PATIENCE_MS = 120_000
"""How long what must be seen may take, on a machine that has other things to do."""
expect.set_options(timeout=PATIENCE_MS)
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def here() -> Iterator[Here]:
    found = Here()
    yield found
    found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; while it is open, its event loop is this thread's, and tests elsewhere need loops of their own."""
    program = browser_program()
    assert program, "there is no browser: run `make services`"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=BROWSER_FLAGS, headless=True)
        yield opened
        opened.close()


@dataclass
class Watch:
    """What a page asked for and complained about, and what of that a test expects."""

    hosts: set[str] = field(default_factory=set)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Hosts, and what kind of thing each was asked for."""
    complaints: list[str] = field(default_factory=list)
    loopback: bool = False
    """Whether any port of this machine is welcome: pages of other processes than the federation's."""
    others: set[str] = field(default_factory=set)
    expected: list[str] = field(default_factory=lambda: ["401"])

    def note(self, host: str, kind: str) -> None:
        self.hosts.add(host)
        self.asked.append((host, kind))


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def opened(here: Here, browser: Browser, watch: Watch) -> Iterator[Callable[..., Page]]:
    """Open pages; at the end, none has asked another host or complained, but for what a test expected."""
    contexts = []

    def open_page(
        *,
        viewport: dict[str, int] = DESKTOP,
        dark: bool = False,
        token: str | None = None,
        anywhere: bool = False,
        **more: Any,
    ) -> Page:
        context = browser.new_context(viewport=viewport, color_scheme="dark" if dark else "light", **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if anywhere:
            watch.loopback = True
        page.on("request", lambda request: watch.note(urlsplit(request.url).netloc, request.resource_type))
        page.on("websocket", lambda socket: watch.note(urlsplit(socket.url).netloc, "websocket"))
        page.on("console", lambda line: watch.complaints.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: watch.complaints.append(str(error)))
        if token is not None:
            enter(page, here.url, token)
        return page

    yield open_page
    for context in contexts:
        context.close()
    ours = {urlsplit(here.url).netloc, "", *watch.others}
    assert all(host in ours or (watch.loopback and host.startswith("127.0.0.1:")) for host in watch.hosts)
    # an owner that left serves its page no more, and the page notices
    expected = [*watch.expected, *(["WebSocket connection", "net::ERR_"] if watch.loopback else [])]
    assert [text for text in watch.complaints if not any(word in text for word in expected)] == []


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> Callable[[Page], None]:
    """Save what a page looks like, in the folder that FEDGROUP_PICTURES names, if it does."""
    folder = os.environ.get("FEDGROUP_PICTURES")

    def save(page: Page) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{request.node.name.removeprefix('test_')}.png")

    return save
