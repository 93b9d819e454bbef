"""Asking in a browser: by a click, by drawing, by keyboard; what it costs, and what is told when it goes wrong."""

from __future__ import annotations

import json
import re

import pytest
from page_steps import ask, box_of, details, drag, elsewhere, field, method, order, place, price, ready, tool
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
    told = page.locator(".fg-answer").first.inner_text()
    assert re.search(r"between .+ and .+ in 95 %", told)
    assert "6 of 6 heard, none missing" in told
    assert "epsilon 0.3" in told
    assert re.search(r"\d ms", told)
    assert f"count within 2000 of {field(page, 'x'):.10g}, {field(page, 'y'):.10g}" in told
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
    expect(page.locator(".fg-asked")).to_have_text("count in a polygon of 4 corners")
    picture(page)


def test_the_error_to_expect_is_told_before_anything_is_spent(page, here, somebody):
    told = page.locator(".fg-expected")
    first = told.inner_text()
    assert re.search(r"± [\d.]+ in 95 %", first)
    details(page)
    page.get_by_role("slider", name="epsilon").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("spinbutton", name="epsilon")).to_have_value("0.6")
    expect(told).not_to_have_text(first)
    cheap = told.inner_text()
    method(page, "dp")
    expect(told).not_to_have_text(cheap)
    expect(page.locator(".fg-panel")).to_contain_text("errors grow with the number of owners")
    assert here.tell("spent", somebody[0]) == 0


def test_the_smallest_error_among_accepted_trust_is_chosen(page):
    details(page)
    expect(page.locator(".fg-expected")).to_contain_text("by mpc")
    half = r"± ([\d.]+) "
    found = {}
    for name in ("mpc", "cohorts", "fedgroup", "dp"):
        method(page, name)
        expect(page.locator(".fg-expected")).to_contain_text(f"by {name}")
        found[name] = float(re.search(half, page.locator(".fg-expected").inner_text())[1])
    assert found["mpc"] == min(found.values()) < found["dp"] == max(found.values())


def test_the_same_again_is_free_and_says_so(page, here, somebody):
    page.get_by_label("x", exact=True).fill("2700")
    ask(page)
    first = page.locator(".fg-value strong").inner_text()
    ask(page)
    assert "nothing: the same as before" in page.locator(".fg-answer").first.inner_text()
    assert page.locator(".fg-value strong").inner_text() == first
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)


def test_the_history_is_exported_as_csv_and_geojson(page):
    x = elsewhere(page)
    ask(page)
    page.locator(".fg-menu summary").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0].startswith("id,at,state,kind,area")
    assert lines[0].endswith("geometry")
    assert len(lines) == 2
    assert f'"within 2000 of {x}, 10000"' in lines[1]
    assert f"POLYGON (({float(x) + 2000} 10000" in lines[1]
    with page.expect_download() as waiting:
        page.get_by_role("link", name="GeoJSON").click()
    (feature,) = json.loads(waiting.value.path().read_text())["features"]
    assert (feature["geometry"]["type"], feature["properties"]["charged"]) == ("Polygon", 0.3)
    assert page.get_by_role("link", name="GeoPackage").is_visible()


def test_owners_that_are_lost_in_the_middle_are_told_as_missing(page, here, picture):
    here.tell("vanish", "owner-4")
    method(page, "cohorts")
    page.get_by_label("x", exact=True).fill("7000")
    ask(page)
    expect(page.locator(".fg-answer").first).to_contain_text("5 of 6 heard, 1 missing")
    expect(page.locator(".fg-answer").first).to_contain_text("nothing is extrapolated")
    picture(page)
    here.tell("back", "owner-4")


def test_dark_pages_are_dark_and_stay_as_they_were_left(here, opened, picture):
    page = opened(token=here.new_user()[1], dark=True)
    ready(page)
    ask(page)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert max(int(part) for part in re.findall(r"\d+", page.evaluate(ground))[:3]) < 60
    picture(page)
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator("body")).to_have_class(re.compile("body--light"))
    page.get_by_role("link", name="Federation").click()
    expect(page.locator("body")).to_have_class(re.compile("body--light"))
    page.get_by_role("button", name="Dark or light").click()
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    page.goto(here.url)
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))


def test_a_phone_is_wide_enough(here, opened, picture):
    page = opened(token=here.new_user()[1], viewport={"width": 390, "height": 844})
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".fg-map").click()
    ask(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for found in (*page.locator(".fg-answers li > *").all(), order(page)):
        box = box_of(found)
        assert box["x"] + box["width"] <= 390
    page.locator(".fg-value").scroll_into_view_if_needed()
    picture(page)


def test_what_is_impossible_is_not_shown_and_intervals_are_as_they_are(page):
    page.get_by_label("x", exact=True).fill("10")
    page.get_by_label("y", exact=True).fill("10")
    page.get_by_label("radius in m").fill("1")
    price(page, "0.05")
    for x in range(10, 15):  # nothing is there: one in two values is below 0
        page.get_by_label("x", exact=True).fill(str(x))
        ask(page)
        assert float(page.locator(".fg-value strong").inner_text().replace(",", "")) >= 0
        assert re.search(r"between -", page.locator(".fg-interval").inner_text())
