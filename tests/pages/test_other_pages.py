"""The page about the federation; what fits on a phone."""

from __future__ import annotations

import re

import pytest
from page_steps import ask, box_of, ready
from playwright.sync_api import expect

from fedgroup.service.metrics import Metrics
from fedgroup.service.pages.drawings import sizes
from fedgroup.service.pages.words import counted


def test_users_see_counts_and_sizes_and_no_names(here, opened, picture):
    page = opened(token=here.new_user()[1])
    ready(page)
    ask(page)
    page.get_by_role("link", name="Federation").click()
    expect(page.get_by_text("6 here")).to_be_visible()
    expect(page.get_by_text("Guarantee:")).to_be_visible()
    text = page.locator(".fg-main").inner_text()
    assert "owner-" not in text
    expect(page.locator("meter")).to_have_count(1)
    expect(page.get_by_role("img", name="questions in each minute")).to_be_visible()
    expect(page.get_by_role("button", name="Group anew")).to_have_count(0)
    expect(page.get_by_text("None is published.")).to_be_visible()
    expect(page.get_by_text("Disagreeing and silent owners")).to_have_count(0)
    picture(page)


def test_operators_see_names_and_group_anew(here, opened, picture):
    name, token = here.new_user(role="operator")
    page = opened(token=token)
    page.goto(f"{here.url}federation")
    expect(page.get_by_text("owner-0, owner-1")).to_be_visible()
    expect(page.get_by_text("Nobody disagrees, nobody fell silent, and nobody is doubted.")).to_be_visible()
    page.get_by_role("button", name="Group anew").click()
    expect(page.get_by_text(re.compile("Done: .* groups?, "))).to_be_visible()
    assert here.tell("spent", name) == pytest.approx(0.3)
    picture(page)


@pytest.mark.parametrize("path", ["federation", "learn"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_they_fit_on_a_phone(here, opened, path, dark, picture):
    page = opened(token=here.new_user()[1], viewport={"width": 390, "height": 844}, dark=dark)
    page.goto(f"{here.url}{path}")
    expect(page.locator("h1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture(page)


def test_the_latest_point_of_a_chart_is_whole(here, opened, picture):
    page = opened(token=here.new_user()[1])
    ready(page)
    ask(page)
    page.goto(f"{here.url}federation")
    chart = page.get_by_role("img", name="median milliseconds in each minute")
    whole = box_of(chart)
    for point in chart.locator("circle, polyline").all():
        box = box_of(point)
        assert box["x"] + box["width"] <= whole["x"] + whole["width"] - 2
    chart.scroll_into_view_if_needed()
    picture(page)


@pytest.mark.parametrize("found", [[50], [9, 4], [7] * 8, [5] * 9, list(range(60, 0, -1))], ids=len)
def test_groups_fill_their_chart(browser, found):
    page = browser.new_page(viewport={"width": 420, "height": 300})
    page.set_content(f"<style>body {{ margin: 0 }}</style>{sizes(found, label='groups')}")
    boxes = [box_of(each) for each in page.locator("rect").all()]
    assert len(boxes) == len(found)
    assert min(box["x"] for box in boxes) < 80
    assert max(box["x"] + box["width"] for box in boxes) > 350
    page.close()


@pytest.mark.parametrize(("value", "told"), [(0, "0 groups"), (1, "1 group"), (1.02, "1.02 groups"), (50, "50 groups")])
def test_one_is_told_as_one(value, told):
    assert counted(value, "group") == told


def test_questions_are_counted_by_the_minute():
    now = [1000.0]
    metrics = Metrics(lambda: now[0])
    metrics.count_question("dp", "answered", 0.5)
    now[0] += 61
    metrics.count_question("dp", "answered", 0.1)
    metrics.count_question("dp", "failed", 0.3)
    assert metrics.by_minute(3) == [(0, None), (1, 0.5), (2, 0.2)]


def test_operators_choose_how_owners_are_grouped_and_are_told_what_it_shows(here, opened, picture):
    name, token = here.new_user(role="operator")
    page = opened(token=token)
    page.goto(f"{here.url}federation")
    expect(page.get_by_text("pays this epsilon")).to_be_visible()
    expect(page.get_by_text("one exact bit")).to_have_count(0)
    page.get_by_role("combobox", name="how owners are grouped").click()
    page.get_by_role("option", name=re.compile("^hybrid")).click()
    expect(page.get_by_text("one exact bit of each pair")).to_be_visible()
    page.get_by_role("combobox", name="how owners are grouped").click()
    page.get_by_role("option", name=re.compile("^secure")).click()
    expect(page.get_by_text("It costs no epsilon.")).to_be_visible()
    expect(page.get_by_label("epsilon of grouping")).to_be_hidden()
    picture(page)
    page.get_by_role("button", name="Group anew").click()
    expect(page.get_by_text(re.compile("Done: .* groups?, "))).to_be_visible()
    assert here.tell("spent", name) == 0
