"""Asking in a browser: by a click, by drawing, by keyboard; what it costs, and what is told when it goes wrong."""

from __future__ import annotations

import re

import pytest
from page_steps import ask, drag, field, place, ready, tool
from playwright.sync_api import expect

DOMAIN_M = 20_000


@pytest.fixture
def somebody(here):
    return here.new_user()


@pytest.fixture
def page(opened, somebody):
    found = opened(token=somebody[1])
    ready(found)
    return found


def test_a_click_asks_about_a_circle(page, here, somebody, picture):
    page.mouse.click(*place(page, 0.25, 0.75))
    expect(page.get_by_label("x", exact=True)).not_to_have_value("10000")
    assert abs(field(page, "x") - 0.25 * DOMAIN_M) < 60
    assert abs(field(page, "y") - 0.75 * DOMAIN_M) < 60
    ask(page)
    told = page.locator(".fg-answer").inner_text()
    assert re.search(r"between .+ and .+ in 95 %", told)
    assert "6 of 6 heard, none missing" in told
    assert "epsilon 0.3" in told
    assert re.search(r"\d ms", told)
    assert "±" in page.locator(".fg-told").inner_text()
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)
    picture(page)


def test_circles_and_rectangles_are_drawn_by_dragging(page):
    drag(page, place(page, 0.5, 0.5), place(page, 0.7, 0.5))
    expect(page.get_by_label("radius in m")).not_to_have_value("2000")
    assert abs(field(page, "radius in m") - 0.2 * DOMAIN_M) < 100
    tool(page, "Rectangle")
    drag(page, place(page, 0.2, 0.2), place(page, 0.6, 0.4))
    expect(page.get_by_label("west")).to_be_visible()
    found = [field(page, side) for side in ("west", "south", "east", "north")]
    assert found == pytest.approx([4_000, 4_000, 12_000, 8_000], abs=100)
    ask(page)


def test_polygons_are_drawn_by_their_corners(page, picture):
    tool(page, "Polygon")
    for x, y in ((0.2, 0.2), (0.8, 0.3), (0.5, 0.8)):
        page.mouse.click(*place(page, x, y))
    page.mouse.dblclick(*place(page, 0.3, 0.7))
    expect(page.get_by_label("corners")).to_be_visible()
    assert len(page.get_by_label("corners").input_value().split()) == 4
    ask(page)
    expect(page.get_by_text("in a polygon of 4 corners")).to_be_visible()
    picture(page)


def test_the_keyboard_alone_suffices(page):
    page.get_by_label("x", exact=True).fill("4000")
    page.get_by_role("spinbutton", name="epsilon").fill("0.5")
    expect(page.get_by_role("button", name="Ask for epsilon 0.5")).to_be_visible()
    page.get_by_role("button", name="Ask for epsilon 0.5").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".fg-value")).to_be_visible()
    expect(page.get_by_text("within 2000 of 4000, 10000")).to_be_visible()
    page.locator(".fg-map").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("x", exact=True)).not_to_have_value("4000")


def test_the_error_to_expect_is_told_before_anything_is_spent(page, here, somebody):
    def told() -> str:
        return page.locator(".fg-expected").inner_text()

    first = told()
    assert re.search(r"± [\d.]+ in 95 %", first.replace("\n", " "))
    page.get_by_role("slider", name="epsilon").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".fg-expected")).not_to_have_text(first)
    cheap = told()
    page.get_by_role("radio", name=re.compile("^mpc")).click()
    expect(page.locator(".fg-expected")).not_to_have_text(cheap)
    expect(page.locator(".fg-panel")).to_contain_text("little more noise than one owner")
    assert here.tell("spent", somebody[0]) == 0


def test_the_same_again_is_free_and_says_so(page, here, somebody):
    page.get_by_label("x", exact=True).fill("2700")
    ask(page)
    first = page.locator(".fg-value strong").inner_text()
    before = page.locator(".fg-value").get_attribute("data-question")
    page.get_by_role("button", name="Ask again").first.click()
    expect(page.locator(f'.fg-value:not([data-question="{before}"])')).to_be_visible()
    assert "nothing: the same as before" in page.locator(".fg-answer").inner_text()
    assert page.locator(".fg-value strong").inner_text() == first
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)


def test_the_history_is_exported_as_csv(page):
    ask(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export as CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0].startswith("id,at,state,kind,area")
    assert len(lines) == 2
    assert '"within 2000 of 10000, 10000"' in lines[1]


def test_a_spent_allowance_is_told_and_nothing_is_asked(here, opened, picture):
    name, token = here.new_user(allowance=0.5)
    page = opened(token=token)
    ready(page)
    page.get_by_label("x", exact=True).fill("2500")
    ask(page)
    page.get_by_label("x", exact=True).fill("2600")
    page.get_by_role("button", name="Ask for").click()
    expect(page.locator(".fg-answer .fg-fault")).to_contain_text("costs more than is left of the allowance")
    assert here.tell("spent", name) == pytest.approx(0.3)
    picture(page)


def test_owners_that_are_lost_in_the_middle_are_told_as_missing(page, here, picture):
    here.tell("vanish", "owner-4")
    page.get_by_role("radio", name=re.compile("^cohorts")).click()
    page.get_by_label("x", exact=True).fill("7000")
    ask(page)
    expect(page.locator(".fg-answer")).to_contain_text("5 of 6 heard, 1 missing")
    expect(page.locator(".fg-answer")).to_contain_text("nothing is extrapolated")
    picture(page)
    here.tell("back", "owner-4")


def test_dark_pages_are_dark(here, opened, picture):
    page = opened(token=here.new_user()[1], dark=True)
    ready(page)
    ask(page)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in re.findall(r"\d+", ground)[:3]) < 60
    picture(page)
    page.get_by_role("button", name="Dark or light").click()
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator("body")).to_have_class(re.compile("body--light"))


def test_a_phone_is_wide_enough(here, opened, picture):
    page = opened(token=here.new_user()[1], viewport={"width": 390, "height": 844})
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".fg-map").click()
    ask(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".fg-value")).to_be_in_viewport()
    picture(page)


def test_your_questions_are_whole_on_a_phone(here, opened, picture):
    page = opened(token=here.new_user()[1], viewport={"width": 390, "height": 844}, dark=True)
    ready(page)
    ask(page)
    ask_again = page.get_by_role("button", name="Ask again")
    ask_again.scroll_into_view_if_needed()
    for found in (ask_again, *page.locator("td").all()):
        box = found.bounding_box()
        assert box["x"] + box["width"] <= 390
    picture(page)


def test_a_tool_draws_at_once_whatever_the_server_says(here, page):
    with here.held():
        tool(page, "Polygon")
        for x, y in ((0.2, 0.2), (0.8, 0.3), (0.5, 0.8)):
            page.mouse.click(*place(page, x, y))
        page.mouse.dblclick(*place(page, 0.3, 0.7))
    expect(page.get_by_label("corners")).to_be_visible()
    assert len(page.get_by_label("corners").input_value().split()) == 4
