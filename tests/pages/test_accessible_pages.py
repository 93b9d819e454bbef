"""Pages for everybody: nothing that axe knows is wrong, the keyboard alone suffices, times are local."""

from __future__ import annotations

import re

import httpx
import pytest
from page_process import Here
from page_steps import ask, details, place, ready, violations
from playwright.sync_api import expect

PATHS = ("federation", "learn", "guarantees")
LOADING_BAR = """() => {
  const bar = Object.assign(document.createElement("div"), { className: "q-loading-bar" });
  document.body.append(bar);
  const seen = getComputedStyle(bar).display;
  bar.remove();
  return seen;
}"""


@pytest.fixture(scope="module")
def here():
    found = Here(layers=True)
    yield found
    found.close()


@pytest.mark.parametrize(("dark", "width"), [(False, 1440), (True, 390)], ids=["light, wide", "dark, a phone"])
def test_axe_finds_nothing_on_any_page(here, opened, dark, width):
    page = opened(dark=dark, viewport={"width": width, "height": 900})
    page.goto(here.url)
    assert violations(page) == []
    page.goto(here.tell("code", here.new_user(role="operator")[1]))
    ready(page)
    assert page.evaluate(LOADING_BAR) == "none", "it comes and goes, and has no name"
    details(page)
    ask(page)
    page.get_by_role("button", name="Compare with another area").click()
    page.mouse.click(*place(page, 0.7, 0.6))
    expect(page.get_by_role("article", name="Area B").locator(".fg-value")).to_be_visible()
    assert violations(page) == []
    for path in PATHS:
        page.goto(f"{here.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert violations(page) == []


def test_the_keyboard_alone_signs_in_draws_and_sharpens(here, opened):
    name, token = here.new_user()
    page = opened()
    page.goto(here.url)
    expect(page.get_by_label("Your token")).to_be_focused()
    page.keyboard.type(token)
    page.keyboard.press("Enter")
    ready(page)
    press_until(page, lambda: page.locator(".fg-map").evaluate("it => it === document.activeElement"))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_label("x", exact=True)).not_to_have_value("10000")
    expect(page.locator(".fg-badge")).to_have_text("free")
    button = page.locator(".fg-button")
    expect(button).to_have_text(re.compile("^Sharpen to ±"))
    press_until(page, lambda: button.evaluate("it => it === document.activeElement"))
    page.keyboard.press("Enter")
    expect(page.locator(".fg-asked")).to_be_visible()
    expect(button).to_be_focused()
    assert here.tell("spent", name) == pytest.approx(0.3)


def press_until(page, there) -> None:
    for _ in range(60):
        if there():
            return
        page.keyboard.press("Tab")
    raise AssertionError("the keyboard does not get there")


def test_times_are_local_and_name_their_zone(here, opened):
    page = opened(token=here.new_user()[1], timezone_id="Asia/Tokyo", locale="en-GB")
    ready(page)
    ask(page)
    expect(page.locator(".fg-badge")).to_contain_text("GMT+9")
    expect(page.locator(".fg-answers li").first).to_contain_text("GMT+9")
    details(page)
    expect(page.get_by_text("Time (Asia/Tokyo)")).to_be_visible()


def test_a_restart_of_the_server_signs_nobody_out(tmp_path):
    first = Here(sessions=str(tmp_path))
    _, token = first.new_user()
    with httpx.Client() as client:
        client.post(f"{first.url}login", data={"token": token})
        assert client.get(first.url).status_code == 200
        first.tell("keep", str(tmp_path))
        first.close()
        second = Here(sessions=str(tmp_path))
        try:
            assert client.get(second.url).status_code == 200
            assert httpx.get(second.url).status_code == 303
        finally:
            second.close()
