"""The page of a live provider with its published map: how to get one, the city, sharper answers, differences."""

from __future__ import annotations

import re

import pytest
from page_process import Here
from page_steps import ask, order, place, ready, tool
from playwright.sync_api import expect

BUSY, OTHER = (0.45, 0.5), (0.15, 0.85)
WARDS = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "properties": {"name": "Old Town"}, "geometry": {"type": "Polygon", "coordinates": [
            [[6_000, 6_000], [12_000, 6_000], [13_000, 13_000], [6_000, 12_000], [6_000, 6_000]],
            [[9_500, 9_500], [10_500, 9_500], [10_500, 10_500], [9_500, 10_500], [9_500, 9_500]]]}},
        {"type": "Feature", "properties": {"name": "Île Saint-Paul"}, "geometry": {
            "type": "MultiPolygon", "coordinates": [
            [[[1_000, 15_000], [4_000, 15_000], [4_000, 18_000], [1_000, 15_000]]],
            [[[5_000, 15_000], [6_000, 15_000], [6_000, 18_000], [5_000, 15_000]]]]}},
    ],
}  # fmt: skip
COME_BACK = "document.dispatchEvent(new Event('visibilitychange'))"


@pytest.fixture(scope="module")
def here():
    found = Here(districts=WARDS)
    yield found
    found.close()


def whole(text: str) -> float:
    """The number behind ± in a text."""
    return float(re.search(r"± ([\d,.]+)", text)[1].replace(",", "").rstrip("."))


def test_a_map_that_is_published_appears_on_open_pages_and_is_sharpened_and_compared(here, opened, picture):
    name, token = here.new_user(allowance=3)
    operator = opened(token=here.new_user(role="operator")[1])
    expect(operator.locator("#notice")).to_contain_text("fedgroup ask publish --epsilon 1")
    page = opened(token=token)
    ready(page)
    expect(page.locator("#notice")).to_contain_text("ask the owners directly")
    expect(page.locator("#sentence")).to_have_text("6 owners keep records of this place; records never leave them")
    expect(page.locator(".fg-legend")).to_be_hidden()

    charged = here.tell("charges")
    first = here.tell("publish", 4)
    assert here.tell("charges") > charged
    page.evaluate(COME_BACK)
    expect(page.locator(".fg-legend")).to_contain_text(re.compile("^Records per (cell|km²), all times"))
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator("#sentence")).to_have_text(
        "Private counts of 6 owners' records, all times; records never leave them"
    )
    heat = page.locator("canvas.fg-heat")
    assert int(heat.get_attribute("data-cells")) > 5
    side = heat.get_attribute("data-side")
    page.get_by_role("button", name="Zoom in").click()
    expect(heat).to_have_attribute("data-side", str(2 * int(side)))
    page.get_by_role("button", name="Zoom out").click()
    expect(heat).to_have_attribute("data-side", side)

    charged = here.tell("charges")
    page.mouse.click(*place(page, *BUSY))
    expect(page.locator(".fg-badge")).to_have_text("free")
    expect(page.locator(".fg-told-A")).to_have_text(re.compile(r"^about [\d,]+ ± [\d,]+$"))
    free = whole(page.locator(".fg-told-A").inner_text())
    expect(order(page)).to_have_text(re.compile(r"^Sharpen to ± [\d.]+$"))
    expect(page.locator(".fg-cost").first).to_contain_text("the answer and the map together")
    foreseen = whole(order(page).inner_text())
    paid_alone = whole(page.locator(".fg-expected").inner_text())
    assert foreseen < min(free, paid_alone)
    assert (here.tell("charges"), here.tell("spent", name)) == (charged, 0)

    ask(page)
    joined = re.compile("The owners answered .* this is both together|so this is the owners' answer alone")
    expect(page.locator(".fg-joined")).to_have_text(joined)
    if "alone" not in page.locator(".fg-joined").inner_text():  # in one of a hundred cases chance does not explain it
        assert whole(page.locator(".fg-told-A").inner_text()) == pytest.approx(foreseen, abs=1)
    assert here.tell("spent", name) == pytest.approx(0.3)
    charged = here.tell("charges")
    page.get_by_role("button", name="Compare with another area").click()
    page.mouse.click(*place(page, *OTHER))
    difference = page.locator("#difference")
    expect(difference).to_have_text(re.compile(r"^A .* than B: they differ by about [\d,]+ ± [\d,]+\.$"))
    halves = [whole(page.locator(f".fg-told-{slot}").inner_text()) for slot in "AB"]
    assert whole(difference.inner_text()) < sum(halves)
    picture(page)

    second = here.tell("publish", 8)
    page.reload()
    expect(page.locator(".fg-joined")).to_be_visible()
    listed = page.evaluate("fetch('layers').then(it => it.json())")["layers"]
    assert [each["name"] for each in listed] == [second]
    old = page.evaluate(f"fetch('layers/{first}').then(it => it.json())")
    assert (old["facts"]["name"], old["facts"]["epsilon"]) == (first, 4)
    assert here.tell("spent", name) == pytest.approx(0.3)

    operator.get_by_role("link", name="Federation").click()
    cost = "together with 1 other not shown they cost a record epsilon 12 at most"
    expect(operator.get_by_text(cost, exact=False)).to_be_visible()


def test_districts_are_chosen_by_a_click_or_by_their_names_and_stay_in_the_address(here, opened, picture):
    name, token = here.new_user(allowance=3)
    page = opened(token=token)
    ready(page)
    title = page.get_by_role("article", name="Area A").get_by_role("heading")
    tool(page, "District")
    expect(page.locator("path.fg-district")).to_have_count(2)
    page.mouse.click(*place(page, 0.4, 0.4))
    expect(title).to_have_text("A · Old Town")
    picture(page)
    page.mouse.click(*place(page, 0.5, 0.5))  # the hole in it is another's
    page.mouse.click(*place(page, 0.275, 0.8))
    expect(title).to_have_text("A · Île Saint-Paul")
    tool(page, "Circle")
    expect(page.locator("path.fg-district")).to_have_count(0)
    page.get_by_label("Find a place").fill("old town")
    page.get_by_label("Find a place").press("Enter")
    expect(title).to_have_text("A · Old Town")
    ask(page)
    expect(title).to_have_text("A · Old Town")
    page.reload()
    expect(title).to_have_text("A · Old Town")
    expect(page.locator(".fg-badge")).to_contain_text("asked")
    expect(page.locator(".fg-was").first).to_have_text("count in Old Town")
    assert "district" in page.url
    assert here.tell("spent", name) == pytest.approx(0.3)
