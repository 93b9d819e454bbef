"""What visitors do on the pages."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def sign_in(page: Page, url: str, token: str) -> None:
    page.goto(url)
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def ready(page: Page) -> None:
    page.wait_for_selector(".fg-map[data-ready]")
    page.wait_for_selector(".fg-expected")


def place(page: Page, x: float, y: float) -> tuple[float, float]:
    """Where a place of the domain, as shares of its width and height, is on the screen."""
    box = page.locator("path.fg-domain").bounding_box()
    return box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"]


def field(page: Page, name: str) -> float:
    return float(page.get_by_label(name, exact=True).input_value())


def ask(page: Page) -> None:
    before = page.locator(".fg-value").get_attribute("data-question") if page.locator(".fg-value").count() else ""
    page.get_by_role("button", name="Ask for").click()
    expect(page.locator(f'.fg-value:not([data-question="{before}"])')).to_be_visible()


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def tool(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
