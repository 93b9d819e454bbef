"""Take the documents' pictures of the map: a trial federation of 100 owners with its published map, in a browser."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from fedgroup.lab.bench.page import BROWSER_FLAGS, browser_program

COMMAND = Path(sys.executable).with_name("fedgroup")
DESKTOP, TABLET, PHONE = {"width": 1440, "height": 900}, {"width": 780, "height": 1000}, {"width": 390, "height": 844}


def main(out: Path) -> None:
    """Write map.png, map-dark.png, map-tablet.png, map-phone.png, federation.png and learn.png to a folder."""
    program = browser_program()
    if program is None:
        sys.exit("there is no browser: run `make services`")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, running(folder) as facts:
        take(playwright.chromium.launch(executable_path=program, args=BROWSER_FLAGS), facts, out)


@contextmanager
def running(folder: str) -> Iterator[dict[str, str]]:
    """Run the trial federation of a folder; yield where it is."""
    words = [COMMAND, "up", "--json", "--owners", "100", "--map-epsilon", "1"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as up:  # noqa: S603
        try:
            yield json.loads(whole(up)) | {"folder": folder}
        finally:
            up.send_signal(signal.SIGINT)


def whole(up: subprocess.Popen[str]) -> str:
    """Read the one JSON object that is printed once the federation is up."""
    lines = [""]
    while lines[-1] not in ("}\n",) and (line := up.stdout.readline()):
        lines.append(line)
        if line.startswith("{") and line.endswith("}\n"):
            break
    return "".join(lines)


def take(browser: Browser, facts: dict[str, str], out: Path) -> None:
    """Ask and look around, at the desk, in the dark and on a phone."""
    token = json.loads((Path(facts["folder"]) / facts["access"]).read_text())["token"]
    looks = {
        "map": (DESKTOP, "light"),
        "map-dark": (DESKTOP, "dark"),
        "map-tablet": (TABLET, "light"),
        "map-phone": (PHONE, "light"),
    }
    for name, (size, scheme) in looks.items():
        page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
        page.goto(facts["page"])
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        ask(page)
        page.screenshot(path=out / f"{name}.png")
    for name in ("federation", "learn"):
        page = browser.new_context(viewport=DESKTOP).new_page()
        page.goto(facts["page"])
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{facts['page']}{name}")
        page.locator("svg.fg-chart").first.wait_for()
        if name == "learn":
            run_all(page)
        page.screenshot(path=out / f"{name}.png", full_page=name == "learn")
    browser.close()


def ask(page: Page) -> None:
    page.locator(".fg-expected").get_by_text("±").wait_for()
    page.locator(".fg-legend").wait_for()
    box = page.locator("path.fg-domain").bounding_box()
    page.mouse.click(box["x"] + 0.55 * box["width"], box["y"] + 0.45 * box["height"])
    page.locator(".fg-button").click()
    page.locator(".fg-value[data-question]").wait_for()
    page.get_by_role("button", name="Compare with another area").click()
    box = page.locator("path.fg-domain").bounding_box()
    page.mouse.click(box["x"] + 0.77 * box["width"], box["y"] + 0.7 * box["height"])
    page.locator(".fg-slot-B .fg-value").wait_for()
    page.mouse.move(5, 5)


def run_all(page: Page) -> None:
    page.get_by_role("button", name="Run all").click()
    page.get_by_role("article", name="mpc").get_by_text("The exact answer is").wait_for()
    page.mouse.move(5, 5)
    page.wait_for_timeout(700)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
