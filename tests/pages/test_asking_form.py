"""What a visitor is told while asking: hints before faults, the radius just typed, intervals as they are."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from page_steps import ask, choose, details, method, order, price, ready
from playwright.sync_api import expect

from fedgroup.service.pages.told import hearing, in_short

AVERAGE, SUM = "average of an attribute", "sum of an attribute"


@pytest.fixture
def page(opened, here):
    found = opened(token=here.new_user()[1])
    ready(found)
    return found


@pytest.fixture
def offer(here):
    yield lambda *attributes: here.tell("offer", attributes)
    here.tell("offer", None)


def average(page, *, clip="5"):
    choose(page, "question", AVERAGE)
    page.get_by_label("attribute").fill("fare")
    page.get_by_label("clip").fill(clip)
    expect(page.locator(".fg-expected")).to_contain_text("in the sum")


@pytest.mark.parametrize("kind", [AVERAGE, SUM])
def test_what_is_still_to_be_filled_in_keeps_from_asking(page, here, kind, picture):
    choose(page, "question", kind)
    expect(page.locator(".fg-needed")).to_contain_text("clip")
    expect(order(page)).to_be_disabled()
    picture(page)
    page.get_by_label("attribute").fill("fare")
    page.get_by_label("clip").fill("5")
    expect(order(page)).to_be_enabled()
    ask(page)


def test_attributes_that_are_named_are_chosen_from_a_list(offer, here, opened, picture):
    offer("fare", "tip")
    page = opened(token=here.new_user()[1])
    ready(page)
    choose(page, "question", SUM)
    choose(page, "attribute", "fare")
    page.get_by_label("clip").fill("5")
    ask(page)
    picture(page)
    expect(page.locator(".fg-asked")).to_contain_text("sum of fare up to 5")


def test_counts_are_all_that_is_offered_where_there_are_no_attributes(offer, here, opened):
    offer()
    page = opened(token=here.new_user()[1])
    ready(page)
    details(page)
    expect(page.get_by_label("question", exact=True).locator("option")).to_have_text(["count records", "count people"])


def test_an_interval_that_is_not_symmetric_is_told_by_its_ends(page, picture):
    average(page)
    price(page, "3")
    expect(page.locator(".fg-cost").first).to_contain_text("epsilon 3")
    ask(page)
    short = re.compile(r"^[\d.]+, from [\d.]+ to [\d.]+$")
    expect(page.locator(".fg-told")).to_have_text(short)
    expect(page.locator(".fg-answers strong").first).to_have_text(short)
    picture(page)


def test_your_questions_say_attribute_and_method(page):
    average(page)
    method(page, "dp")
    ask(page)
    expect(page.locator(".fg-answers .fg-was").first).to_have_text("avg of fare up to 5 within 2000 of 10000, 10000")
    expect(page.locator(".fg-answers li").first).to_contain_text("dp")
    page.locator(".fg-menu summary").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    head, row = waiting.value.path().read_text().splitlines()
    assert head.endswith(",charged,stored,clip,absent,since,until,geometry")
    assert ",fare,0.3,dp," in row
    assert ",5.0,0,,," in row


def test_a_failed_question_takes_the_earlier_answer_off_the_map(page, watch):
    watch.expected.append("503")
    ask(page)
    expect(page.locator(".fg-told")).to_be_visible()
    words = "Too few owners answered."
    page.route("**/ask", lambda route: route.fulfill(status=503, json={"words": words}))
    price(page, "0.4")
    order(page).click()
    expect(page.locator(".fg-answer .fg-fault")).to_have_text(words)
    expect(page.locator(".fg-told-A")).to_have_count(0)


def test_a_circle_has_the_radius_just_typed(page):
    page.get_by_label("radius in m").fill("700")
    page.locator(".fg-map").focus()
    page.keyboard.press("Enter")
    ask(page)
    expect(page.locator(".fg-asked")).to_contain_text("within 700 of")


def test_the_slider_follows_the_epsilon_typed(page):
    price(page, "0.8")
    expect(page.get_by_role("slider", name="epsilon")).to_have_value("0.8")


def test_who_is_trusted_is_one_clause(page):
    for name, start in (("dp", "Nobody is trusted: every"), ("mpc", "No party is trusted with an owner's answer: ")):
        method(page, name)
        expect(page.locator(".fg-trust")).to_contain_text(start)
        assert page.locator(".fg-trust").inner_text().count(":") == 1
    expect(page.locator(".fg-expected")).to_contain_text(
        re.compile(r"from (1 noise term|[\d.]+ noise terms) of 6 owners")
    )


def test_what_owners_have_left_is_told_to_be_unknown(page):
    details(page)
    expect(page.locator(".fg-left")).to_have_text("What owners have left is unknown: no owner tells.")


def test_owners_that_are_away_are_told_beside_those_missing(page, here, picture):
    here.tell("leave", "owner-4")
    try:
        method(page, "dp")
        page.get_by_label("x", exact=True).fill("6100")
        ask(page)
        expect(page.locator(".fg-answer").first).to_contain_text("5 of 6 heard, 1 missing (away)")
        picture(page)
    finally:
        here.tell("back", "owner-4")


@pytest.mark.parametrize(
    ("missing", "absent", "told"),
    [(0, 0, "none missing"), (3, 0, "3 missing"), (3, 1, "3 missing (1 of them away)"), (3, 3, "3 missing (away)")],
)
def test_who_is_away_is_told_of_those_missing(missing, absent, told):
    answer = SimpleNamespace(heard=4, owners=4 + missing, missing=missing, absent=absent)
    assert hearing(answer) == f"4 of {4 + missing} heard, {told}"


@pytest.mark.parametrize(
    ("value", "interval", "told"),
    [
        (30, (20, 40), "30 ± 10"),
        (30, (18.76, 35.59), "30, from 18.8 to 35.6"),
        (30, (30, 30), "30 ± 0"),
        (-5, (-15, 5), "0 ± 10"),
    ],
)
def test_a_symmetric_interval_is_told_by_its_half(value, interval, told):
    assert in_short(SimpleNamespace(value=value, interval=interval), {"kind": "count"}) == told
