"""What is chosen lives in the browser: whatever the network does, what is asked is what is seen.

Every one of these was a defect once. Each is tried with requests that wait 0, 50 and 300 ms, and while the server is
stalled.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import pytest
from page_steps import Fingers, ask, box_of, drag, elsewhere, field, order, place, price, ready, tool
from playwright.sync_api import expect

CORNERS = ((0.2, 0.2), (0.8, 0.3), (0.5, 0.8), (0.3, 0.7))
STALL_MS = 5_000
SIDES = ("west", "south", "east", "north")
LATE = pytest.mark.parametrize("network", ["0", "50", "300", "stalled"], indirect=True)


@pytest.fixture
def network(here, request):
    """A slow network, as a block: where it is stalled, nothing is heard before the block ends."""
    stalled = request.param == "stalled"

    @contextmanager
    def slow():
        here.tell("delay", 0 if stalled else float(request.param))
        try:
            with here.held() if stalled else nullcontext():
                yield
        finally:
            here.tell("delay", 0)

    return slow


@pytest.fixture
def somebody(here):
    return here.new_user()


@pytest.fixture
def page(opened, somebody):
    found = opened(token=somebody[1])
    ready(found)
    return found


def corners(page) -> int:
    expect(page.get_by_label("corners")).to_be_visible()
    return len(page.get_by_label("corners").input_value().split())


def asked(page):
    return page.locator(".fg-asked")


@LATE
def test_tools_that_were_just_taken_lose_no_corners(page, network):
    with network():
        tool(page, "Polygon")
        for x, y in CORNERS[:3]:
            page.mouse.click(*place(page, x, y))
        page.mouse.dblclick(*place(page, *CORNERS[3]))
        assert corners(page) == 4


@LATE
def test_what_is_asked_is_what_the_fields_said(page, here, somebody, network):
    with network():
        page.get_by_label("x", exact=True).fill("5100")
        x = elsewhere(page)
        price(page, "0.05")
        order(page).click()
    expect(asked(page)).to_have_text(f"count within 2000 of {x}, 10000")
    expect(page.locator(".fg-answer dl").first).to_contain_text("epsilon 0.05")
    assert here.tell("spent", somebody[0]) == pytest.approx(0.05)


@LATE
def test_fields_without_a_number_ask_nothing(page, here, somebody, network):
    with network():
        for name, text in (("x", ""), ("radius in m", "-5"), ("radius in m", "0")):
            before = page.get_by_label(name, exact=True).input_value()
            page.get_by_label(name, exact=True).fill(text)
            expect(order(page)).to_be_disabled()
            order(page).click(force=True)
            expect(page.get_by_label(name, exact=True)).to_have_attribute("aria-invalid", "true")
            expect(page.locator("path.fg-area")).to_have_count(0)
            page.get_by_label(name, exact=True).fill(before)
            expect(order(page)).to_be_enabled()
        price(page, "-1")
        expect(order(page)).to_be_disabled()
        order(page).click(force=True)
    page.reload()
    ready(page)
    expect(page.get_by_text("None yet.")).to_be_visible()
    assert here.tell("spent", somebody[0]) == 0


@LATE
def test_an_answer_does_not_move_with_its_circle(page, network):
    ask(page)
    told = page.locator(".fg-value[data-question]")
    expect(page.locator(".fg-told-A")).to_have_count(1)
    with network():
        page.mouse.click(*place(page, 0.8, 0.8))
        expect(told).to_have_count(0)
        expect(page.locator(".fg-told-A")).to_have_count(0)
        expect(page.locator("path.fg-earlier")).to_have_count(1)


@LATE
def test_an_answer_that_comes_late_is_told_by_its_own_name(page, here, somebody, network):
    x = elsewhere(page)
    with network():
        order(page).click()
        page.get_by_label("x", exact=True).fill("3000")
    expect(page.locator(".fg-answers .fg-was").first).to_have_text(f"count within 2000 of {x}, 10000")
    expect(page.locator(".fg-value[data-question]")).to_have_count(0)
    assert field(page, "x") == 3_000
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)


@LATE
def test_a_hand_that_trembles_draws_what_it_means(page, network):
    with network():
        tool(page, "Polygon")
        for x, y in CORNERS[:3]:
            across, down = place(page, x, y)
            page.mouse.move(across, down)
            page.mouse.down()
            page.mouse.move(across + 3, down - 2)
            page.mouse.up()
        across, down = place(page, *CORNERS[3])
        page.mouse.click(across, down)
        page.mouse.click(across + 2, down + 1)  # a double click that trembles, too
        assert corners(page) == 4


@LATE
def test_double_clicks_neither_lose_nor_add_corners(page, network):
    with network():
        tool(page, "Polygon")
        for x, y in CORNERS[:2]:
            page.mouse.dblclick(*place(page, x, y))
        page.mouse.dblclick(*place(page, *CORNERS[2]))
        assert corners(page) == 3


@LATE
def test_fingers_draw_and_pinches_do_not(here, opened, network):
    page = opened(token=here.new_user()[1], has_touch=True, viewport={"width": 390, "height": 844})
    ready(page)
    fingers = Fingers(page)
    with network():
        fingers.drag(place(page, 0.5, 0.5), place(page, 0.7, 0.5))
        expect(page.get_by_label("radius in m")).not_to_have_value("2000")
        assert abs(field(page, "radius in m") - 4_000) < 250
        said = page.url
        before = box_of(page.locator("path.fg-domain"))["width"]
        fingers.pinch(place(page, 0.5, 0.4), start=30, end=90)
        page.wait_for_function(
            "(was) => document.querySelector('path.fg-domain').getBoundingClientRect().width > was", arg=before
        )
        assert page.url == said
        tool(page, "Polygon")
        box = box_of(page.locator(".fg-map"))
        for x, y in ((0.3, 0.4), (0.7, 0.45), (0.5, 0.7)):
            fingers.tap((box["x"] + x * box["width"], box["y"] + y * box["height"]))
        tool(page, "Close polygon")
        assert corners(page) == 3


@pytest.mark.parametrize("network", ["0", "50", "300"], indirect=True)
def test_reloads_and_the_way_back_keep_everything(page, here, network):
    tool(page, "Rectangle")
    drag(page, place(page, 0.2, 0.2), place(page, 0.6, 0.4))
    price(page, "0.2")
    ask(page)
    sides, said = [field(page, side) for side in SIDES], asked(page).inner_text()
    with network():
        for leave in (page.reload, lambda: (page.goto(f"{here.url}guarantees"), page.go_back())):
            leave()
            ready(page)
            expect(asked(page)).to_have_text(said)
            assert [field(page, side) for side in SIDES] == sides
            expect(page.locator(".fg-cost").first).to_contain_text("epsilon 0.2")
            expect(page.get_by_role("button", name="Rectangle")).to_have_attribute("aria-pressed", "true")


def test_a_reload_while_owners_are_asked_charges_once(page, here, somebody):
    x = elsewhere(page)
    with here.held():
        order(page).click()
        expect(page.locator(".fg-waiting")).to_be_visible()
    page.reload()
    expect(asked(page)).to_have_text(f"count within 2000 of {x}, 10000")
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)


def test_a_question_whose_reply_was_lost_is_charged_once(page, here, somebody, watch):
    watch.expected.append("net::ERR_")
    lost = []

    def lose(route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch())  # it was asked, and nobody hears of it
        route.abort()

    page.route("**/ask", lose)
    elsewhere(page)
    order(page).click()
    expect(page.locator(".fg-answer .fg-fault")).to_contain_text("charged twice")
    order(page).click()
    expect(asked(page)).to_be_visible()
    assert lost[0].json()["answer"]["id"] == page.locator(".fg-value").get_attribute("data-question")
    assert here.tell("spent", somebody[0]) == pytest.approx(0.3)


@LATE
def test_the_focus_stays_after_asking(page, network):
    with network():
        order(page).focus()
        page.keyboard.press("Enter")
    expect(asked(page)).to_be_visible()
    expect(order(page)).to_be_focused()


@LATE
def test_keyboards_draw_circles_rectangles_and_polygons(page, network):
    with network():
        surface = page.locator(".fg-map")
        tool(page, "Rectangle")
        surface.focus()
        page.keyboard.press("Enter")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(page.get_by_label("west")).to_be_visible()
        west, south, east, north = (field(page, side) for side in SIDES)
        assert (west, south) == pytest.approx((10_000, 10_000), abs=600)
        assert east > west + 500
        assert north > south + 500
        tool(page, "Polygon")
        surface.focus()
        for key in ("ArrowLeft", "ArrowDown", "ArrowRight"):
            page.keyboard.press("Enter")
            page.keyboard.press(key)
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        assert corners(page) == 4


@LATE
def test_a_spent_allowance_turns_the_button_off(here, opened, network):
    name, token = here.new_user(allowance=0.5)
    page = opened(token=token)
    ready(page)
    elsewhere(page)
    with network():
        order(page).click()
    expect(asked(page)).to_be_visible()
    expect(order(page)).to_be_disabled()
    expect(page.locator(".fg-cost").first).to_contain_text("Your allowance is spent: epsilon 0.2 is left")
    order(page).click(force=True)
    price(page, "0.2")
    expect(order(page)).to_be_enabled()
    assert here.tell("spent", name) == pytest.approx(0.3)


def test_five_seconds_of_silence_change_nothing(page, here, somebody):
    here.tell("delay", STALL_MS)
    try:
        tool(page, "Polygon")
        for x, y in CORNERS[:3]:
            page.mouse.click(*place(page, x, y))
        page.mouse.dblclick(*place(page, *CORNERS[3]))
        price(page, "0.05")
        order(page).click()
        tool(page, "Circle")
        page.mouse.click(*place(page, 0.5, 0.5))
    finally:
        here.tell("delay", 0)
    expect(page.locator(".fg-answers .fg-was").first).to_have_text("count in a polygon of 4 corners")
    expect(page.locator(".fg-value[data-question]")).to_have_count(0)
    ask(page)
    expect(asked(page)).to_contain_text("within 2000 of")
    assert here.tell("spent", somebody[0]) == pytest.approx(0.1)
