"""A federation in degrees: the map says so, radii are metres, and a click asks."""

from __future__ import annotations

import re

import httpx
import pytest
from page_process import Here
from page_steps import ask, box_of, drag, field, place, price, ready
from playwright.sync_api import expect

WEST, SOUTH, EAST, NORTH = -74.1, 40.6, -73.8, 40.85
METRES_PER_DEGREE = 111_320
WIDTH_M = 0.3 * METRES_PER_DEGREE * 0.7577  # cosine of the middle's latitude


@pytest.fixture(scope="module")
def here():
    found = Here(degrees=True)
    yield found
    found.close()


@pytest.fixture
def somebody(here):
    return here.new_user()


@pytest.fixture
def page(opened, somebody):
    found = opened(token=somebody[1])
    ready(found)
    return found


def test_the_map_is_in_degrees_and_radii_in_metres(page):
    marks = page.locator(".fg-mark span").all_inner_texts()
    assert marks[0] == "-74.1°"
    assert {"-73.8°", "40.85°"} <= set(marks)
    assert all(mark.endswith("°") for mark in marks)
    assert field(page, "longitude") == pytest.approx((WEST + EAST) / 2, abs=1e-5)
    assert field(page, "latitude") == pytest.approx((SOUTH + NORTH) / 2, abs=1e-5)
    assert field(page, "radius in m") == pytest.approx(WIDTH_M / 10, rel=0.1)
    assert re.search(r"\d k?m", page.locator(".leaflet-control-scale-line").inner_text())


def test_a_click_asks_about_so_many_metres_around_it(page, here, somebody, picture):
    page.get_by_label("radius in m").fill("9000")
    page.wait_for_function("document.querySelector('path.fg-area').getBBox().width > 200")
    page.mouse.click(*place(page, 0.4, 0.6))
    expect(page.get_by_label("longitude")).not_to_have_value("-73.95")
    longitude, latitude = field(page, "longitude"), field(page, "latitude")
    assert longitude == pytest.approx(WEST + 0.4 * (EAST - WEST), abs=2e-3)
    assert latitude == pytest.approx(SOUTH + 0.6 * (NORTH - SOUTH), abs=2e-3)
    assert field(page, "radius in m") == 9000
    price(page, "20")
    ask(page)
    truth = here.tell("true_count", longitude, latitude, 9000)
    answer = float(page.locator(".fg-value strong").inner_text().replace(",", ""))
    assert truth > 100
    assert answer == truth  # at epsilon 20 noise is 0, but for 1 in 10**7
    expect(page.locator(".fg-answer")).to_contain_text("6 of 6 heard")
    expect(page.locator(".fg-asked")).to_have_text(f"count within 9000 of {longitude:.10g}, {latitude:.10g}")
    assert here.tell("spent", somebody[0]) == pytest.approx(20)
    picture(page)


def test_a_circle_that_is_drawn_is_as_wide_in_metres_as_on_earth(page):
    drag(page, place(page, 0.5, 0.5), place(page, 0.7, 0.5))
    expect(page.get_by_label("radius in m")).not_to_have_value("2500")
    assert field(page, "radius in m") == pytest.approx(0.2 * WIDTH_M, rel=0.02)
    drawn = box_of(page.locator("path.fg-area"))
    domain = box_of(page.locator("path.fg-domain"))
    assert drawn["width"] == pytest.approx(0.4 * domain["width"], rel=0.03)
    assert drawn["height"] == pytest.approx(drawn["width"], rel=0.03)


def test_without_tiles_no_other_host_is_asked_or_allowed(page, here, somebody, watch):
    ask(page)
    assert watch.hosts == {httpx.URL(here.url).netloc.decode()}
    assert page.locator(".leaflet-tile").count() == 0
    with httpx.Client(base_url=here.url) as client:
        client.post("login", data={"token": somebody[1]})
        assert "://" not in client.get("").headers["content-security-policy"]
