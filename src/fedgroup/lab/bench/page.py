"""`fedgroup bench page`: a question over HTTP while many pages are open, against the same while none is.

A trial federation runs in processes of its own; the pages are those of one real browser on the same machine: maps,
which rest until somebody does something, and then pages about the federation, which look anew every few seconds.
The browser gives way to everybody else: what drawing takes is its user's, not the provider's. Questions are
asked with none open, with all of them, and with none again, so that whatever else changes burdens both.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from fedgroup.lab.bench.measuring import BenchRow

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_RUN = "from fedgroup.cli.main import main; main()"
_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is as fast as the others for half their processor time, and has no window."""
BROWSER_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
_WATCH = """() => new MutationObserver(() => {
  const value = document.querySelector(".fg-value[data-question]");
  if (value && window.seen !== value.dataset.question) {
    window.seen = value.dataset.question;
    window.delay = Date.now() - Number(value.dataset.replied);
  }
}).observe(document.body, { childList: true, subtree: true })"""
"""Notes how long after the provider's reply an answer is on the page."""
_WATCH_FREE = """() => {
  const free = () => document.querySelector(".fg-free");
  const press = () => Object.assign(window, { pressed: performance.now(), before: free(), free: null });
  addEventListener("pointerup", press, true);
  new MutationObserver(() => {
    if (window.free !== null || !free() || free() === window.before) return;
    requestAnimationFrame(() => { window.free ??= performance.now() - window.pressed; });
  }).observe(document.body, { childList: true, subtree: true });
}"""
"""Notes how long after a click a free answer is on the page."""
_LEGEND = ".fg-legend:not([hidden])"
_REST_S = 3.0
_PATIENCE_MS = 60_000
_PAUSE_S = 0.5
"""Between questions: all series of them stay within what a user may ask."""


@dataclass(frozen=True)
class _Kind:
    """A kind of page: what it is called, where it is, and what is on it once it is ready."""

    one: str
    several: str
    path: str
    ready: str


_MAPS = _Kind("a map", "maps", "", ".fg-expected:has-text('±')")
_FEDERATION = _Kind("a page about the federation", "pages about the federation", "federation", ".fg-number")


def missing() -> str | None:
    """Return what this machine lacks for the bench, or none."""
    lacking = [name for name in ("nicegui", "playwright", "msgspec", "httpx") if find_spec(name) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed; 'make build' installs everything"
    return None if browser_program() else "there is no browser; 'make services' installs one"


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield how long questions take while pages are open, and how long a page takes to be ready."""
    from playwright.sync_api import sync_playwright

    pages, questions = (2, 2) if quick else (50, 25)
    with (
        _giving_way(browser_program(), priority=0 if quick else 19) as giving_way,
        _federation(owners=6 if quick else 20) as (url, token),
        sync_playwright() as playwright,
    ):
        _seconds(url, token, 3)  # the first ones form groups and fill caches
        before = _seconds(url, token, questions)
        for kind in (_MAPS, _FEDERATION):
            browser = playwright.chromium.launch(executable_path=giving_way, args=BROWSER_FLAGS)
            ready = _opened(browser, url, token, kind, pages)
            free = _free(browser, questions) if kind is _MAPS else []
            shown = _shown(browser, questions) if kind is _MAPS else []
            time.sleep(_REST_S)
            during = _seconds(url, token, questions)
            browser.close()
            time.sleep(_REST_S)
            after = _seconds(url, token, questions)
            alone, told = median([*before, *after]), {"pages": pages}
            yield BenchRow(
                f"a question, {pages} {kind.several} open", median(during), 0.0, "the same, none open", alone, told
            )
            yield BenchRow(f"{kind.one}, until it is ready", median(ready), 0.0, None, None, {"slowest_s": max(ready)})
            if free:
                yield BenchRow(
                    "a free answer, from click to screen", median(free), 0.0, None, None, {"slowest_s": max(free)}
                )
            if shown:
                yield BenchRow(
                    "an answer on a map, until it is seen", median(shown), 0.0, None, None, {"slowest_s": max(shown)}
                )
            before = after


def browser_program() -> str | None:
    """Return the browser that is here, if there is one."""
    return next((found for name in _BROWSERS if (found := shutil.which(name))), None)


@contextmanager
def _giving_way(browser: str | None, *, priority: int) -> Iterator[Path]:
    """Yield a program that is the browser, at a low priority: 19 is the lowest."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "browser"
        program.write_text(f'#!/bin/sh\nexec nice -n {priority} "{browser}" "$@"\n', encoding="utf-8")
        program.chmod(0o700)
        yield program


@contextmanager
def _federation(owners: int) -> Iterator[tuple[str, str]]:
    """Run a trial federation; yield its address and a token."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "trial"
        words = [sys.executable, "-c", _RUN, "up", "--json", "--owners", str(owners), "--folder", str(place)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as up:  # noqa: S603  our own program
            try:
                access = _access(up, place)
                yield access["url"], access["token"]
            finally:
                up.send_signal(signal.SIGINT)


def _access(up: subprocess.Popen[str], place: Path) -> dict[str, Any]:
    file = place / "up.json"
    while up.poll() is None:
        if file.exists() and file.stat().st_size:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return found
        time.sleep(0.1)
    raise RuntimeError("the trial federation did not come up")


def _seconds(url: str, token: str, questions: int) -> list[float]:
    from fedgroup.service.client import connect
    from fedgroup.space import Circle

    took = []
    with connect(url, token) as federation:
        for _ in range(questions):
            started = time.perf_counter()
            federation.count(Circle(10_000, 10_000, 2_000), epsilon=0.001, method="dp", fresh=True)
            took.append(time.perf_counter() - started)
            time.sleep(_PAUSE_S)
    return took


def _opened(browser: Browser, url: str, token: str, kind: _Kind, pages: int) -> list[float]:
    """Open so many pages of a kind, and return how long each but the first took to be ready."""
    context = browser.new_context()
    context.set_default_timeout(_PATIENCE_MS)
    first = context.new_page()
    first.goto(f"{url}/map/")
    first.get_by_label("Your token").fill(token)
    first.get_by_role("button", name="Sign in").click()
    first.locator(_MAPS.ready).wait_for()
    first.goto(f"{url}/map/{kind.path}")
    first.locator(kind.ready).first.wait_for()
    took = []
    for _ in range(pages - 1):
        started = time.perf_counter()
        page = context.new_page()
        page.goto(f"{url}/map/{kind.path}")
        page.locator(kind.ready).first.wait_for()
        took.append(time.perf_counter() - started)
    return took


def _free(browser: Browser, areas: int) -> list[float]:
    """Click on one of the open maps, and return how long after each click its free answer was seen."""
    page, took = browser.contexts[0].pages[-1], []
    page.locator(_LEGEND).wait_for()
    page.evaluate(_WATCH_FREE)
    box = page.locator("path.fg-domain").bounding_box() or {"x": 0.0, "y": 0.0, "width": 0.0, "height": 0.0}
    for number in range(areas):
        across = 0.25 + 0.5 * number / areas
        page.mouse.click(box["x"] + across * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_function("() => window.free !== null")
        took.append(page.evaluate("() => window.free") / 1000)
        time.sleep(_PAUSE_S)
    return took


def _shown(browser: Browser, questions: int) -> list[float]:
    """Ask on one of the open maps, and return how long after each reply its answer was seen."""
    page, took = browser.contexts[0].pages[-1], []
    page.evaluate(_WATCH)
    for _ in range(questions):
        before = page.evaluate("window.seen ?? null")
        page.locator(".fg-button").click()
        page.wait_for_function("before => (window.seen ?? null) !== before", arg=before)
        took.append(page.evaluate("window.delay") / 1000)
    return took
