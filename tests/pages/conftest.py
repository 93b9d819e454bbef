"""A browser, and a federation of six with its pages. No page may ask another host for anything, or complain."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from page_steps import sign_in
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


class Here:
    """The federation's process, and how it is told what to do."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("page_city.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = str(json.loads(self._process.stdout.readline())["url"])
        self._users = 0

    def tell(self, *words: Any) -> Any:
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["said"]

    def new_user(self, allowance: float = 100, role: str = "user") -> tuple[str, str]:
        self._users += 1
        name = f"user-{self._users}"
        return name, self.tell("user", name, allowance, role)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@pytest.fixture(scope="session")
def here() -> Iterator[Here]:
    found = Here()
    yield found
    found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; while it is open, its event loop is this thread's, and tests elsewhere need loops of their own."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "there is no browser: run `make services`"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS, headless=True)
        yield opened
        opened.close()


@dataclass
class Watch:
    """What a page asked for and complained about."""

    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    loopback: bool = False
    """Whether any port of this machine is welcome: pages of other processes than the federation's."""


@pytest.fixture
def opened(here: Here, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages; at the end, none has asked another host or complained, but for what a test expected."""
    watch, contexts = Watch(), []

    def open_page(
        *, viewport: dict[str, int] = DESKTOP, dark: bool = False, token: str | None = None, anywhere: bool = False
    ) -> Page:
        context = browser.new_context(viewport=viewport, color_scheme="dark" if dark else "light")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        if anywhere:
            watch.loopback = True
        page.on("request", lambda request: watch.hosts.add(urlsplit(request.url).netloc))
        page.on("websocket", lambda socket: watch.hosts.add(urlsplit(socket.url).netloc))
        page.on("console", lambda line: watch.complaints.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: watch.complaints.append(str(error)))
        if token is not None:
            sign_in(page, here.url, token)
        return page

    yield open_page
    for context in contexts:
        context.close()
    ours = {urlsplit(here.url).netloc, ""}
    assert all(host in ours or (watch.loopback and host.startswith("127.0.0.1:")) for host in watch.hosts)
    # an owner that left serves its page no more, and the page notices
    expected = ("401", "WebSocket connection", "net::ERR_") if watch.loopback else ("401",)
    assert [text for text in watch.complaints if not any(word in text for word in expected)] == []


@pytest.fixture
def picture(request: pytest.FixtureRequest) -> Callable[[Page], None]:
    """Save what a page looks like, in the folder that FEDGROUP_PICTURES names, if it does."""
    folder = os.environ.get("FEDGROUP_PICTURES")

    def save(page: Page) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{request.node.name.removeprefix('test_')}.png")

    return save
