"""The first screen with a published map: the city, free answers, and sharper ones for a price."""

from __future__ import annotations

import re

import pytest
from page_process import Here
from page_steps import ask, drag, elsewhere, order, place, ready, tool
from playwright.sync_api import expect

BUSY = (0.45, 0.5)
NAMES = {
    "type": "FeatureCollection",
    "credit": "Names by nobody",
    "features": [
        {"type": "Feature", "properties": {"kind": "land"}, "geometry": {"type": "Polygon", "coordinates": [
            [[0, 0], [20_000, 0], [20_000, 15_000], [0, 20_000], [0, 0]]]}},
        {"type": "Feature", "properties": {"name": "Nakano", "population": 5},
         "geometry": {"type": "Point", "coordinates": [6_000, 14_000]}},
        {"type": "Feature", "properties": {"name": "Ōta", "population": 9},
         "geometry": {"type": "Point", "coordinates": [12_000, 4_000]}},
        {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [9_000, 9_000]}},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def here():
    found = Here(layers=True, outlines=NAMES)
    yield found
    found.close()


@pytest.fixture
def somebody(here):
    return here.new_user(allowance=3)


@pytest.fixture
def page(opened, somebody):
    found = opened(token=somebody[1])
    ready(found)
    expect(found.locator(".fg-legend")).to_be_visible()
    return found


def value(page, slot="A"):
    return page.get_by_role("article", name=f"Area {slot}").locator(".fg-value")


def test_the_city_is_there_before_anybody_asks(page, here, somebody, picture):
    assert int(page.locator("canvas.fg-heat").get_attribute("data-cells")) > 5
    expect(page.locator("#sentence")).to_have_text(
        "Private counts of 6 owners' records, 10 Nov to 16 Nov 2025; records never leave them"
    )
    expect(page.locator(".fg-legend")).to_contain_text("cannot be told from none")
    assert len(page.locator(".fg-scale li").all()) >= 2
    assert here.tell("spent", somebody[0]) == 0
    picture(page)


def test_a_cell_tells_its_value_and_an_empty_one_that_it_is_not_known(page):
    (west, south, east, north, count, low, high) = page.evaluate("fetch('layers/1').then(it => it.json())")["cells"][-1]
    page.mouse.move(*place(page, (west + east) / 40_000, (south + north) / 40_000))
    expect(page.locator(".fg-hover")).to_contain_text(f"about {count:,.0f} (± {(high - low) / 2:,.0f})")
    expect(page.locator(".fg-hover")).to_contain_text("1 km cell")
    page.mouse.move(*place(page, 0.01, 0.9))
    expect(page.locator(".fg-hover")).to_contain_text("cannot be told from none")


def test_an_area_is_answered_at_once_for_nothing(page, here, somebody):
    page.mouse.click(*place(page, *BUSY))
    expect(value(page).locator("strong")).to_have_text(re.compile(r"^about [\d,]+$"))
    expect(page.locator(".fg-badge")).to_have_text("free")
    expect(page.locator(".fg-told-A")).to_have_text(re.compile(r"^about [\d,]+ ± [\d,]+$"))
    assert here.tell("spent", somebody[0]) == 0


def test_snapping_to_cells_makes_a_wide_answer_narrow(page, here, somebody):
    tool(page, "Rectangle")
    drag(page, place(page, 0.231, 0.268), place(page, 0.62, 0.68))
    snap = page.get_by_role("button", name=re.compile("Snap to cells"))
    expect(snap).to_be_visible()
    half = int(re.search(r"± ([\d,]+)", page.locator(".fg-told-A").inner_text())[1].replace(",", ""))
    snap.click()
    expect(snap).to_be_hidden()
    expect(page.get_by_label("west")).to_have_value("5000")
    expect(page.locator(".fg-told-A")).to_contain_text("±")
    assert int(re.search(r"± ([\d,]+)", page.locator(".fg-told-A").inner_text())[1].replace(",", "")) < half
    assert here.tell("spent", somebody[0]) == 0


def test_sharpening_uses_one_question(page, here, somebody, picture):
    page.mouse.click(*place(page, *BUSY))
    expect(page.locator(".fg-badge")).to_have_text("free")
    expect(order(page)).to_have_text(re.compile(r"^Sharpen to ± [\d.]+$"))
    expect(page.locator(".fg-cost").first).to_contain_text("uses 1 of your 10 questions left")
    ask(page)
    expect(page.locator(".fg-badge")).to_contain_text("asked")
    expect(page.locator(".fg-cost").first).to_contain_text("uses 1 of your 9 questions left")
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)
    picture(page)


def test_two_areas_are_compared_and_earlier_answers_shown_for_nothing(page, here, somebody, picture):
    elsewhere(page)
    ask(page)
    first = page.locator(".fg-asked").inner_text()
    page.get_by_role("button", name="Compare with another area").click()
    page.mouse.click(*place(page, 0.05, 0.93))
    expect(value(page, "B")).to_be_visible()
    expect(page.locator("#difference")).to_have_text(re.compile(r"^A (has .* more than B|and B cannot be told apart)"))
    picture(page)
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("article", name="Area B")).to_have_count(0)
    page.mouse.click(*place(page, 0.8, 0.2))
    expect(page.locator(".fg-asked")).to_have_count(0)
    expect(page.locator("path.fg-earlier")).to_have_count(1)
    page.get_by_role("button", name=f"Show: {first}").click()
    expect(page.locator(".fg-asked")).to_have_text(first)
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)


def test_windows_are_a_strip_of_time(page):
    page.get_by_role("slider", name="time").press("ArrowLeft")
    expect(page.locator("#sentence")).to_contain_text("3 Nov to 9 Nov 2025")
    expect(page.locator(".fg-legend")).to_contain_text("3 Nov to 9 Nov 2025")
    assert "layer=0" in page.url


@pytest.mark.parametrize("wished", ["nakano", "NAK", "ota", "6000 14000"])
def test_places_are_found_by_name_or_numbers(page, wished):
    page.get_by_label("Find a place").fill(wished)
    page.get_by_label("Find a place").press("Enter")
    name = "Ōta" if wished == "ota" else "Nakano"
    expect(page.get_by_role("heading", name=re.compile(f"^A · {name}, 2 km around"))).to_be_visible()


def test_names_are_words_and_points_do_not_look_like_records(page, watch):
    assert sorted(page.locator(".fg-name").all_inner_texts()) == ["Nakano", "Ōta"]
    expect(page.locator(".fg-cross")).to_have_count(1)
    assert page.locator(".fg-cross").inner_text() == "+"
    expect(page.locator(".leaflet-control-attribution")).to_contain_text("Names by nobody")
    expect(page.locator("path.fg-land")).to_have_count(1)


def test_operators_see_what_published_maps_cost(here, opened):
    page = opened(token=here.new_user(role="operator")[1])
    ready(page)
    page.get_by_role("link", name="Federation").click()
    expect(page.get_by_text("together they cost a record epsilon 5 at most", exact=False)).to_be_visible()
    expect(page.locator("time").first).to_contain_text("2025")
