"""What visitors do on the pages."""

from __future__ import annotations

import itertools

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import CDPSession, FloatRect, Locator, Page, expect

Place = tuple[float, float]


def sign_in(page: Page, url: str, token: str) -> None:
    page.goto(url)
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def enter(page: Page, url: str, token: str) -> None:
    """Come in as somebody whose browser is signed in: sooner than by the form."""
    assert page.context.request.post(f"{url.rstrip('/')}/login", form={"token": token}, max_redirects=0).status == 303
    page.goto(url)


def ready(page: Page) -> None:
    page.wait_for_selector(".fg-map[data-ready]")
    expect(page.locator(".fg-expected")).to_contain_text("±")


def place(page: Page, x: float, y: float) -> Place:
    """Where a place of the domain, as shares of its width and height, is on the screen."""
    box = box_of(page.locator("path.fg-domain"))
    return box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"]


def box_of(found: Locator) -> FloatRect:
    """Return where something is on the screen; while a page draws it anew, it is nowhere for a moment."""
    while (box := found.bounding_box()) is None:
        expect(found).to_be_visible()
    return box


def field(page: Page, name: str) -> float:
    return float(page.get_by_label(name, exact=True).input_value())


_numbers = itertools.count(1)


def elsewhere(page: Page) -> str:
    """Say a place that nobody asked about yet, so that an answer is new, and return its x."""
    x = f"{9_000 + next(_numbers)}.5"
    page.get_by_label("x", exact=True).fill(x)
    return x


def order(page: Page, slot: str = "A"):
    """The button of an area's card that asks."""
    return page.get_by_role("article", name=f"Area {slot}").locator(".fg-button")


def ask(page: Page, slot: str = "A") -> None:
    card = page.get_by_role("article", name=f"Area {slot}")
    told = card.locator(".fg-value[data-question]")
    before = told.get_attribute("data-question") if told.count() else ""
    order(page, slot).click()
    expect(card.locator(f'.fg-value[data-question]:not([data-question="{before}"])')).to_be_visible()


def is_sent_out(page: Page) -> None:
    """Ask, and come to the door; a page that looks something up by itself may be there before anybody asks."""
    order(page).or_(page.get_by_label("Your token")).click()
    page.wait_for_url("**/login")


def drag(page: Page, start: Place, end: Place) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def details(page: Page) -> None:
    """Open what is under privacy and method."""
    found = page.locator("#details")
    if found.get_attribute("open") is None:
        found.locator("summary").click()


def choose(page: Page, label: str, option: str) -> None:
    details(page)
    page.get_by_label(label, exact=True).select_option(label=option)


def method(page: Page, name: str) -> None:
    details(page)
    page.locator(f'input[name="method"][value="{name}"]').check()


def price(page: Page, epsilon: str) -> None:
    details(page)
    page.get_by_role("spinbutton", name="epsilon").fill(epsilon)


def tool(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def violations(page: Page) -> list[str]:
    """What axe finds wrong with a page."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['target']} {node['failureSummary']}" for each in found for node in each["nodes"]]


class Fingers:
    """Fingers on a touch screen: each is put down, moved and lifted."""

    def __init__(self, page: Page) -> None:
        self._session: CDPSession = page.context.new_cdp_session(page)

    def touch(self, kind: str, *places: Place) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self._session.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    def tap(self, at: Place) -> None:
        self.touch("Start", at)
        self.touch("End")

    def drag(self, start: Place, end: Place) -> None:
        self.touch("Start", start)
        for step in (0.25, 0.5, 0.75, 1):
            self.touch("Move", _between(start, end, step))
        self.touch("End")

    def pinch(self, middle: Place, *, start: float, end: float) -> None:
        """Move two fingers apart, or together."""

        def two(size: float) -> tuple[Place, Place]:
            return (middle[0] - size, middle[1]), (middle[0] + size, middle[1])

        self.touch("Start", two(start)[0])
        self.touch("Start", *two(start))
        for step in (0.25, 0.5, 0.75, 1):
            self.touch("Move", *two(start + (end - start) * step))
        self.touch("End", two(end)[0])
        self.touch("End")


def _between(start: Place, end: Place, share: float) -> Place:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
